//! The runnable lanes of each queue.

use super::demand::Count;
use super::lane::Lane;
use super::lane_heap::{LaneHeap, ListedLane, Positions};
use super::order::OrderKey;
use crate::facts::{Facts, PartitionShare};
use crate::ids::{LaneId, QueueId};

/// The runnable lanes of each leaf in the order of their first applications, and the queues above that have any.
#[derive(Clone, Debug, Default)]
pub(super) struct RunnableLanes {
    queues: Vec<QueueLanes>,
    positions: Positions,
}

#[derive(Clone, Debug)]
struct QueueLanes {
    /// By share; leaves only.
    lanes: Vec<LaneHeap>,
    /// By share: the runnable lanes of a leaf, or the children of a parent with a runnable lane in their subtree.
    below: Vec<u32>,
}

impl RunnableLanes {
    pub(super) fn add_queues(&mut self, facts: &Facts) {
        let partition_shares = facts.tree.partitions.len() * 2;
        self.queues.resize_with(facts.tree.queues.len(), || QueueLanes {
            lanes: vec![LaneHeap::default(); partition_shares],
            below: vec![0; partition_shares],
        });
    }

    /// Makes room for a lane, which is not runnable.
    pub(super) fn add_lane(&mut self, lane: LaneId) {
        self.positions.add_lane(lane);
    }

    /// The leaf's lanes on a share.
    pub(super) fn of(&self, leaf: QueueId, share: PartitionShare) -> &LaneHeap {
        &self.queues[leaf.index()].lanes[share.index()]
    }

    /// Whether the lane is runnable: exactly the runnable lanes are listed.
    pub(super) fn contains(&self, id: LaneId) -> bool {
        self.positions.get(id).is_some()
    }

    /// The key under which its leaf lists the lane.
    pub(super) fn key_of(&self, id: LaneId, lane: &Lane) -> Option<OrderKey> {
        let listed = self.of(lane.leaf, lane.share).get(self.positions.get(id)?);
        listed.filter(|listed| listed.lane == id).map(|listed| listed.key)
    }

    /// Whether any leaf at or below `queue` has a runnable lane on this share.
    pub(super) fn is_any_below(&self, queue: QueueId, share: PartitionShare) -> bool {
        self.queues[queue.index()].below[share.index()] > 0
    }

    /// Lists the lane under this key, or removes it if there is none. Returns the change of the number of lanes, if it
    /// changes.
    pub(super) fn list(&mut self, id: LaneId, lane: &Lane, key: Option<OrderKey>) -> Option<Count> {
        let Self { queues, positions } = self;
        let lanes = &mut queues[lane.leaf.index()].lanes[lane.share.index()];
        match (positions.get(id), key) {
            (None, Some(key)) => {
                lanes.insert(ListedLane { key, lane: id }, positions);
                Some(Count::OneMore)
            }
            (Some(position), None) => {
                lanes.remove(position, positions);
                Some(Count::OneLess)
            }
            (Some(position), Some(key)) => {
                if lanes.get(position).is_some_and(|listed| listed.key != key) {
                    lanes.rekey(position, key, positions);
                }
                None
            }
            (None, None) => None,
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
        self.queues.iter().flat_map(|queue| &queue.lanes).map(LaneHeap::len).sum()
    }

    /// What is wrong with the heaps.
    pub(super) fn mistakes(&self) -> impl Iterator<Item = String> {
        self.queues.iter().flat_map(|queue| &queue.lanes).filter_map(|lanes| lanes.mistake(&self.positions))
    }

    /// The counts by share of lanes below a queue.
    pub(super) fn below(&self, queue: usize) -> &[u32] {
        &self.queues[queue].below
    }
}
