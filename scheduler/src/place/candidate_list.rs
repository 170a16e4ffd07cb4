//! The candidates of a placement set as a list that stays in few cache lines.

use crate::ids::NodeId;
use crate::resource::{
    CommonAmounts, Need, Resources, Room, common_used_share, fits, fits_common, used_share,
};

/// A node as a set sees it, or a position without one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Candidate {
    pub(super) node: Option<NodeId>,
    pub(super) capacity: Resources,
    pub(super) room: Room,
}

/// A candidate without devices and without amounts of rare types, in one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct CompactCandidate {
    node: Option<NodeId>,
    capacity: CommonAmounts,
    free: CommonAmounts,
}

/// The candidates by position.
#[derive(Debug)]
pub(super) enum CandidateList {
    /// As long as no candidate has devices or amounts of rare types.
    Compact(Vec<CompactCandidate>),
    /// Once a candidate had some. The list never turns back.
    Full(Vec<Candidate>),
}

impl CandidateList {
    /// Positions without candidates.
    pub(super) fn new(positions: usize) -> Self {
        Self::Compact(vec![CompactCandidate::default(); positions])
    }

    /// The number of positions.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Compact(list) => list.len(),
            Self::Full(list) => list.len(),
        }
    }

    #[inline]
    pub(super) fn node(&self, position: usize) -> Option<NodeId> {
        match self {
            Self::Compact(list) => list[position].node,
            Self::Full(list) => list[position].node,
        }
    }

    #[inline]
    pub(super) fn free(&self, position: usize) -> Resources {
        match self {
            Self::Compact(list) => Resources::from_common(list[position].free),
            Self::Full(list) => list[position].room.free,
        }
    }

    /// The node, if a container with this need fits on it.
    #[inline]
    pub(super) fn node_with_room(&self, position: usize, need: &Need) -> Option<NodeId> {
        match self {
            Self::Compact(list) => list[position].node.filter(|_| fits_common(need, list[position].free)),
            Self::Full(list) => list[position].node.filter(|_| fits(need, &list[position].room)),
        }
    }

    /// The share of the node's capacity that is in use.
    #[inline]
    pub(super) fn used_share(&self, position: usize) -> u64 {
        match self {
            Self::Compact(list) => common_used_share(list[position].free, list[position].capacity),
            Self::Full(list) => used_share(&list[position].room.free, &list[position].capacity),
        }
    }

    /// Adds the resources of an ended container.
    #[inline]
    pub(super) fn add_freed(&mut self, position: usize, freed: &Resources) {
        if let (Self::Compact(list), Some([first, second])) = (&mut *self, freed.to_common()) {
            let free = &mut list[position].free;
            (free[0], free[1]) = (free[0] + first, free[1] + second);
            return;
        }
        let mut candidate = self.at(position);
        candidate.room.free += *freed;
        self.set(position, &candidate);
    }

    /// Subtracts what a container needs. A container with devices fits on no candidate of a compact list.
    #[inline]
    pub(super) fn debit(&mut self, position: usize, need: &Need) {
        if let (Self::Compact(list), Some([first, second])) = (&mut *self, need.resources.to_common()) {
            let free = &mut list[position].free;
            (free[0], free[1]) = (free[0] - first, free[1] - second);
            return;
        }
        let mut candidate = self.at(position);
        candidate.room.take(need);
        self.set(position, &candidate);
    }

    #[inline]
    pub(super) fn at(&self, position: usize) -> Candidate {
        match self {
            Self::Compact(list) => Candidate::of_compact(&list[position]),
            Self::Full(list) => list[position],
        }
    }

    #[inline]
    pub(super) fn set(&mut self, position: usize, candidate: &Candidate) {
        if let Self::Compact(list) = self {
            if let Some(compact) = candidate.to_compact() {
                list[position] = compact;
                return;
            }
            *self = Self::Full(list.iter().map(Candidate::of_compact).collect());
        }
        if let Self::Full(list) = self {
            list[position] = *candidate;
        }
    }
}

impl Candidate {
    #[inline]
    fn of_compact(compact: &CompactCandidate) -> Self {
        let CompactCandidate { node, capacity, free } = *compact;
        let room = Room { free: Resources::from_common(free), ..Room::default() };
        Self { node, capacity: Resources::from_common(capacity), room }
    }

    #[inline]
    fn to_compact(self) -> Option<CompactCandidate> {
        let (capacity, free) = (self.capacity.to_common()?, self.room.free.to_common()?);
        (self.room.devices.count() == 0).then_some(CompactCandidate { node: self.node, capacity, free })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::SlotId;
    use crate::resource::{DeviceNeed, Devices};

    #[derive(Clone, Debug)]
    enum Step {
        Set(Candidate),
        AddFreed(Resources),
        Debit(Need),
    }

    /// Amounts of two types, seldom of three.
    fn amounts() -> impl Strategy<Value = Resources> {
        let amounts = prop::collection::vec(0..4i64, 2..=2);
        (amounts, prop::option::weighted(0.1, 0..4i64)).prop_map(|(mut amounts, third)| {
            amounts.extend(third);
            Resources::new(&amounts)
        })
    }

    fn devices() -> impl Strategy<Value = u8> {
        prop_oneof![9 => Just(0), 1 => 1..3u8]
    }

    fn step() -> impl Strategy<Value = Step> {
        let candidate = (prop::option::of(0..9u32), amounts(), amounts(), devices()).prop_map(
            |(node, capacity, free, devices)| Candidate {
                node: node.map(|number| NodeId::new(number, 0)),
                capacity,
                room: Room { free, devices: Devices::new(devices) },
            },
        );
        let need = (amounts(), devices()).prop_map(|(resources, count)| Need {
            resources,
            devices: (count > 0).then_some(DeviceNeed { count, milli: 400 }),
        });
        prop_oneof![
            candidate.prop_map(Step::Set),
            amounts().prop_map(Step::AddFreed),
            need.prop_map(Step::Debit),
        ]
    }

    proptest! {
        /// The form of the list shows nowhere.
        #[test]
        fn a_list_equals_plain_candidates(steps in prop::collection::vec((0..4usize, step()), 0..40)) {
            let (mut list, mut model) = (CandidateList::new(4), [Candidate::default(); 4]);
            for (position, step) in steps {
                let candidate = &mut model[position];
                match step {
                    Step::Set(new) => {
                        list.set(position, &new);
                        *candidate = new;
                    }
                    Step::AddFreed(freed) => {
                        list.add_freed(position, &freed);
                        candidate.room.free += freed;
                    }
                    Step::Debit(need) => {
                        let with_room = candidate.node.filter(|_| fits(&need, &candidate.room));
                        prop_assert_eq!(list.node_with_room(position, &need), with_room);
                        list.debit(position, &need);
                        candidate.room.take(&need);
                    }
                }
                prop_assert_eq!(list.at(position), *candidate);
                prop_assert_eq!(list.node(position), candidate.node);
                prop_assert_eq!(list.free(position), candidate.room.free);
                prop_assert_eq!(list.used_share(position), used_share(&candidate.room.free, &candidate.capacity));
            }
        }
    }

    #[test]
    fn a_compact_candidate_takes_one_cache_line() {
        assert_eq!(size_of::<CompactCandidate>(), 64);
    }
}
