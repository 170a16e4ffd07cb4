//! The runnable lanes of each queue.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::applications::Place;
use super::demand::Count;
use super::lane::Lane;
use crate::facts::{Facts, PartitionShare};
use crate::ids::{LaneId, QueueId};

/// The runnable lanes of each leaf in the order of their first applications, and the queues above that have any.
#[derive(Clone, Debug, Default)]
pub(super) struct RunnableLanes {
    queues: Vec<QueueLanes>,
}

#[derive(Clone, Debug)]
struct QueueLanes {
    /// By share; leaves only.
    lanes: Vec<BTreeSet<(Place, LaneId)>>,
    /// By share: the runnable lanes of a leaf, or the children of a parent with a runnable lane in their subtree.
    below: Vec<u32>,
}

impl RunnableLanes {
    pub(super) fn add_queues(&mut self, facts: &Facts) {
        let partition_shares = facts.tree.partitions.len() * 2;
        self.queues.resize_with(facts.tree.queues.len(), || QueueLanes {
            lanes: vec![BTreeSet::new(); partition_shares],
            below: vec![0; partition_shares],
        });
    }

    /// The leaf's lanes on a share, each with its first application, in their order behind `last`.
    pub(super) fn after(
        &self,
        leaf: QueueId,
        share: PartitionShare,
        last: Option<(Place, LaneId)>,
    ) -> impl Iterator<Item = (Place, LaneId)> {
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        self.queues[leaf.index()].lanes[share.index()].range((from, Bound::Unbounded)).copied()
    }

    /// Whether any leaf at or below `queue` has a runnable lane on this share.
    pub(super) fn is_any_below(&self, queue: QueueId, share: PartitionShare) -> bool {
        self.queues[queue.index()].below[share.index()] > 0
    }

    /// Lists the lane under another first application: under none if it is no longer runnable.
    pub(super) fn relist(&mut self, id: LaneId, lane: &Lane, before: Option<Place>) {
        let lanes = &mut self.queues[lane.leaf.index()].lanes[lane.share.index()];
        if let Some(place) = before {
            lanes.remove(&(place, id));
        }
        if let Some(place) = lane.listed {
            lanes.insert((place, id));
        }
    }

    /// Counts one more, or one less, lane of the leaf. The queues above count only a leaf's first lane.
    pub(super) fn count(
        &mut self,
        parents: &[Option<QueueId>],
        leaf: QueueId,
        share: PartitionShare,
        count: Count,
    ) {
        let mut queue = Some(leaf);
        while let Some(id) = queue {
            let below = &mut self.queues[id.index()].below[share.index()];
            let before = *below;
            count.add_to(below);
            queue = parents[id.index()].filter(|_| before == 0 || *below == 0);
        }
    }

    /// The number of lanes listed.
    pub(super) fn count_listed(&self) -> usize {
        self.queues.iter().flat_map(|queue| &queue.lanes).map(BTreeSet::len).sum()
    }

    /// The counts by share of lanes below a queue.
    pub(super) fn below(&self, queue: usize) -> &[u32] {
        &self.queues[queue].below
    }
}
