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
    /// By queue and share; empty for parents.
    lanes: Vec<LaneHeap>,
    /// By queue and share: the runnable lanes of a leaf, or for a parent, its children that have one below.
    below: Vec<u32>,
    /// Two for each partition. The partitions of an engine are fixed.
    shares_per_queue: usize,
    positions: Positions,
}

impl RunnableLanes {
    pub(super) fn add_queues(&mut self, facts: &Facts) {
        self.shares_per_queue = facts.tree.partitions.len() * 2;
        self.lanes.resize_with(facts.tree.queues.len() * self.shares_per_queue, LaneHeap::default);
        self.below.resize(self.lanes.len(), 0);
    }

    fn index_of(&self, queue: QueueId, share: PartitionShare) -> usize {
        queue.index() * self.shares_per_queue + share.index()
    }

    /// Makes room for a lane, which is not runnable.
    pub(super) fn add_lane(&mut self, lane: LaneId) {
        self.positions.add_lane(lane);
    }

    /// The leaf's lanes on a share.
    pub(super) fn of(&self, leaf: QueueId, share: PartitionShare) -> &LaneHeap {
        &self.lanes[self.index_of(leaf, share)]
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
        self.below[self.index_of(queue, share)] > 0
    }

    /// Lists the lane under this key, or removes it if there is none. Returns the change of the number of lanes, if it
    /// changes.
    pub(super) fn list(&mut self, id: LaneId, lane: &Lane, key: Option<OrderKey>) -> Option<Count> {
        let index = self.index_of(lane.leaf, lane.share);
        let (lanes, positions) = (&mut self.lanes[index], &mut self.positions);
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
            let index = self.index_of(id, share);
            let below = &mut self.below[index];
            let before = *below;
            count.add_to(below);
            queue = parents[id.index()].filter(|_| before == 0 || *below == 0);
        }
    }

    /// The number of lanes listed.
    pub(super) fn count_listed(&self) -> usize {
        self.lanes.iter().map(LaneHeap::len).sum()
    }

    /// What is wrong with the heaps.
    pub(super) fn mistakes(&self) -> impl Iterator<Item = String> {
        self.lanes.iter().filter_map(|lanes| lanes.mistake(&self.positions))
    }

    /// The counts by share of lanes below a queue.
    pub(super) fn below(&self, queue: usize) -> &[u32] {
        &self.below[queue * self.shares_per_queue..][..self.shares_per_queue]
    }
}
