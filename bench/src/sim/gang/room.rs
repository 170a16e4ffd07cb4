//! Whether the members of a job fit into the free room of all nodes. This shares no code with the engine.

use apportion::Resources;

use super::WaitReason;
use crate::amounts::multiplied;

/// Members of one size, and their number.
pub(super) type Members = (Resources, u64);

/// Why members do not start, by the free room alone. [`WaitReason::Room`] if nothing speaks against it.
pub(super) fn reason_in(free: &[Resources], members: &[Members]) -> WaitReason {
    let total_free: Resources = free.iter().copied().sum();
    let needed: Resources = members.iter().map(|(size, count)| multiplied(size, *count)).sum();
    if !needed.within(&total_free) {
        WaitReason::TooFewFree
    } else if !placement_exists(free, members) {
        WaitReason::Fragmented
    } else {
        WaitReason::Room
    }
}

/// Whether the members fit beside each other. With members of one size the answer is exact. Otherwise the largest are
/// placed first, each on the first node with room; that finds every placement if the larger sizes fill whole nodes.
fn placement_exists(free: &[Resources], members: &[Members]) -> bool {
    if let [(size, count)] = members {
        return free.iter().map(|room| times(room, size)).sum::<u64>() >= *count;
    }
    let mut free = free.to_vec();
    let mut members = members.to_vec();
    members.sort_by(|a, b| b.0.amounts().cmp(a.0.amounts()));
    members.into_iter().all(|(size, mut left)| {
        for room in &mut free {
            let here = times(room, &size).min(left);
            *room -= multiplied(&size, here);
            left -= here;
        }
        left == 0
    })
}

/// How many members of this size the room holds; an empty member fits any number of times.
fn times(room: &Resources, size: &Resources) -> u64 {
    let types = size.amounts().iter().zip(room.amounts()).filter(|(size, _)| **size > 0);
    types.map(|(size, room)| (room / size).max(0) as u64).min().unwrap_or(u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(free: &[i64], members: &[(i64, u64)]) -> WaitReason {
        let free: Vec<Resources> = free.iter().map(|free| Resources::new(&[*free])).collect();
        let members: Vec<Members> =
            members.iter().map(|(size, count)| (Resources::new(&[*size]), *count)).collect();
        reason_in(&free, &members)
    }

    #[test]
    fn room_in_total_is_not_room_on_nodes() {
        assert_eq!(reason(&[8, 8, 3], &[(8, 2)]), WaitReason::Room);
        assert_eq!(reason(&[8, 7, 4], &[(8, 2)]), WaitReason::Fragmented);
        assert_eq!(reason(&[8, 7], &[(8, 2)]), WaitReason::TooFewFree);
        assert_eq!(reason(&[3, 3], &[(4, 1)]), WaitReason::Fragmented);
        assert_eq!(reason(&[], &[(1, 1)]), WaitReason::TooFewFree);
    }

    #[test]
    fn members_of_two_sizes_do_not_share_room() {
        assert_eq!(reason(&[8, 4], &[(8, 1), (4, 1)]), WaitReason::Room);
        assert_eq!(reason(&[4, 8], &[(4, 1), (8, 1)]), WaitReason::Room, "the largest is placed first");
        assert_eq!(reason(&[8, 3, 1], &[(8, 1), (4, 1)]), WaitReason::Fragmented);
    }

    #[test]
    fn every_type_counts() {
        let room = Resources::new(&[8, 2]);
        assert_eq!(times(&room, &Resources::new(&[2, 1])), 2);
        assert_eq!(times(&room, &Resources::new(&[2, 0])), 4);
        assert_eq!(times(&Resources::new(&[-1]), &Resources::new(&[1])), 0);
    }
}
