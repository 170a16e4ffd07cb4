//! The candidates of a placement set as a list that stays in few cache lines.

use crate::ids::NodeId;
use crate::resource::{
    CommonAmounts, Need, Resources, Room, common_fits, common_used_share, fits, used_share,
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
pub(super) struct CommonCandidate {
    node: Option<NodeId>,
    capacity: CommonAmounts,
    free: CommonAmounts,
}

/// The candidates by position.
#[derive(Debug)]
pub(super) enum CandidateList {
    /// As long as no candidate has devices or amounts of rare types.
    Common(Vec<CommonCandidate>),
    /// From then on.
    All(Vec<Candidate>),
}

impl CandidateList {
    /// Positions without candidates.
    pub(super) fn new(positions: usize) -> Self {
        Self::Common(vec![CommonCandidate::default(); positions])
    }

    /// The number of positions.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Common(list) => list.len(),
            Self::All(list) => list.len(),
        }
    }

    #[inline]
    pub(super) fn node(&self, position: usize) -> Option<NodeId> {
        match self {
            Self::Common(list) => list[position].node,
            Self::All(list) => list[position].node,
        }
    }

    #[inline]
    pub(super) fn free(&self, position: usize) -> Resources {
        match self {
            Self::Common(list) => Resources::of_common(list[position].free),
            Self::All(list) => list[position].room.free,
        }
    }

    /// The node, if a container with this need fits on it.
    #[inline]
    pub(super) fn node_with_room(&self, position: usize, need: &Need) -> Option<NodeId> {
        match self {
            Self::Common(list) => list[position].node.filter(|_| common_fits(need, list[position].free)),
            Self::All(list) => list[position].node.filter(|_| fits(need, &list[position].room)),
        }
    }

    /// The share of the node's capacity that is in use.
    #[inline]
    pub(super) fn used_share(&self, position: usize) -> u64 {
        match self {
            Self::Common(list) => common_used_share(list[position].free, list[position].capacity),
            Self::All(list) => used_share(&list[position].room.free, &list[position].capacity),
        }
    }

    /// Adds the resources of an ended container.
    #[inline]
    pub(super) fn add_freed(&mut self, position: usize, freed: &Resources) {
        if let (Self::Common(list), Some([first, second])) = (&mut *self, freed.to_common()) {
            let free = &mut list[position].free;
            (free[0], free[1]) = (free[0] + first, free[1] + second);
            return;
        }
        let mut candidate = self.at(position);
        candidate.room.free += *freed;
        self.set(position, &candidate);
    }

    /// Subtracts the resources of a container.
    #[inline]
    pub(super) fn debit(&mut self, position: usize, need: &Need) {
        if let (Self::Common(list), Some([first, second])) = (&mut *self, need.resources.to_common()) {
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
            Self::Common(list) => Candidate::of_common(&list[position]),
            Self::All(list) => list[position],
        }
    }

    #[inline]
    pub(super) fn set(&mut self, position: usize, candidate: &Candidate) {
        if let Self::Common(list) = self {
            if let Some(common) = candidate.to_common() {
                list[position] = common;
                return;
            }
            *self = Self::All(list.iter().map(Candidate::of_common).collect());
        }
        if let Self::All(list) = self {
            list[position] = *candidate;
        }
    }
}

impl Candidate {
    #[inline]
    fn of_common(common: &CommonCandidate) -> Self {
        let CommonCandidate { node, capacity, free } = *common;
        let room = Room { free: Resources::of_common(free), ..Room::default() };
        Self { node, capacity: Resources::of_common(capacity), room }
    }

    #[inline]
    fn to_common(self) -> Option<CommonCandidate> {
        let (capacity, free) = (self.capacity.to_common()?, self.room.free.to_common()?);
        (self.room.devices.count() == 0).then_some(CommonCandidate { node: self.node, capacity, free })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SlotId;
    use crate::resource::Devices;

    #[test]
    fn a_candidate_stays_as_it_was_set() {
        let candidate = |number: i64, amounts: &[i64], devices: u8| Candidate {
            node: Some(NodeId::new(number as u32, 0)),
            capacity: Resources::new(amounts),
            room: Room { free: Resources::new(&[-number, number]), devices: Devices::new(devices) },
        };
        let all = [
            candidate(1, &[1, 2], 0),
            candidate(2, &[3, 4, 5], 0),
            Candidate::default(),
            candidate(3, &[6, 7], 4),
        ];
        for first in 0..all.len() {
            let mut list = CandidateList::new(all.len());
            for position in (0..all.len()).cycle().skip(first).take(all.len()) {
                list.set(position, &all[position]);
            }
            assert_eq!((list.len(), [0, 1, 2, 3].map(|position| list.at(position))), (all.len(), all));
        }
        assert_eq!(size_of::<CommonCandidate>(), 64);
    }
}
