//! How much is taken from each leaf in one round.

use super::PreemptionPolicy;
use super::tree::Branch;
use crate::config::Percent;
use crate::resource::{RESOURCE_TYPES_MAX, Resources};

/// All of an amount, in millionths.
pub(super) const WHOLE: u64 = Percent::ALL.millionths() as u64;

/// The amounts to take from each queue, by number; zero except for leaves above their fair amounts.
pub(super) fn to_take(branches: &[Branch], total: &Resources, policy: &PreemptionPolicy) -> Vec<Resources> {
    let above: Resources = branches.iter().filter(|branch| branch.is_leaf()).map(above_ideal).sum();
    let cap = round_cap(total, policy);
    let of_branch = |branch: &Branch| {
        if !branch.is_leaf() || branch.is_exempt {
            return Resources::ZERO;
        }
        let owed = within_cap(&outside_dead_zone(branch, policy.dead_zone), &above, &cap);
        part_of_round(&owed, policy.natural_termination)
    };
    branches.iter().map(of_branch).collect()
}

/// The most that one round takes from the partition.
pub(super) fn round_cap(total: &Resources, policy: &PreemptionPolicy) -> Resources {
    total.scaled(policy.per_round.millionths().into(), WHOLE)
}

/// The amounts that rounds may take from each queue in all, by number.
pub(super) fn all_to_take(branches: &[Branch], policy: &PreemptionPolicy) -> Vec<Resources> {
    let of_branch = |branch: &Branch| match branch.is_leaf() && !branch.is_exempt {
        true => outside_dead_zone(branch, policy.dead_zone),
        false => Resources::ZERO,
    };
    branches.iter().map(of_branch).collect()
}

fn above_ideal(branch: &Branch) -> Resources {
    branch.used.saturating_sub(&branch.ideal)
}

/// The amount that this leaf owes to others.
pub(super) fn debt(branch: &Branch) -> Resources {
    branch.used.saturating_sub(&branch.kept())
}

/// The same without types in which the leaf exceeds its guarantee by no more than the dead zone.
fn outside_dead_zone(branch: &Branch, dead_zone: Percent) -> Resources {
    let tolerated = branch.guaranteed.scaled(WHOLE + u64::from(dead_zone.millionths()), WHOLE);
    let is_over = branch.used.combine(&tolerated, |used, tolerated| i64::from(used > tolerated));
    debt(branch).combine(&is_over, |debt, is_over| debt * is_over)
}

/// The leaf's part of the cap, where all leaves together are `above` by more than the cap.
fn within_cap(owed: &Resources, above: &Resources, cap: &Resources) -> Resources {
    let of_type = |index: usize| {
        let (owed, above, cap) = (owed[index], above[index], cap[index]);
        if above <= cap {
            return owed;
        }
        (i128::from(owed) * i128::from(cap) / i128::from(above)) as i64
    };
    Resources::new(&std::array::from_fn::<_, RESOURCE_TYPES_MAX, _>(of_type))
}

/// The part that one round takes, rounded up.
fn part_of_round(owed: &Resources, part: Percent) -> Resources {
    let part = i128::from(part.millionths());
    let of_type = |index: usize| (i128::from(owed[index]) * part + i128::from(WHOLE) - 1) / i128::from(WHOLE);
    Resources::new(&std::array::from_fn::<_, RESOURCE_TYPES_MAX, _>(|index| of_type(index) as i64))
}

/// Whether a queue that uses this much may lose `size` on top of `lost`. At least one type of `size` stays at its
/// guarantee or above. No type falls below its guarantee, but types that are below already may fall further.
pub(super) fn keeps_guarantee(
    guaranteed: &Resources,
    used: &Resources,
    lost: &Resources,
    size: &Resources,
) -> bool {
    let stays = |index: usize| used[index] - lost[index] - size[index] >= guaranteed[index];
    let had_less = |index: usize| used[index] < guaranteed[index];
    let positive = || size.types().filter(|index| size[*index] > 0);
    positive().any(stays) && positive().all(|index| stays(index) || had_less(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_keeps_its_guarantee_of_each_type_that_is_not_below_it_already() {
        let guaranteed = Resources::new(&[5, 5]);
        let keeps = |used: [i64; 2], lost: [i64; 2], size: [i64; 2]| {
            keeps_guarantee(
                &guaranteed,
                &Resources::new(&used),
                &Resources::new(&lost),
                &Resources::new(&size),
            )
        };
        assert!(keeps([6, 6], [0, 0], [1, 1]), "down to the guarantee");
        assert!(!keeps([6, 6], [1, 1], [1, 1]), "it was lost before");
        assert!(!keeps([9, 5], [0, 0], [1, 1]), "the second type is right at the guarantee");
        assert!(keeps([9, 4], [0, 0], [1, 1]), "the second type is below already");
        assert!(keeps([9, 5], [0, 0], [1, 0]), "the second type is not lost");
        assert!(!keeps([4, 4], [0, 0], [1, 1]), "nothing stays above");
    }
}
