//! Blocked headroom: a lane that waits at a queue's limit blocks the queue's remaining headroom for later siblings.
//!
//! Source: YARN-8804. In YARN a queue blocks all headroom that it might use. Here it blocks one container for each
//! of its blocked lanes, and only in queues whose limits block these lanes.
//!
//! Each child that a pass leaves behind adds its blocked headroom to its parent's. That is the headroom of parked
//! lanes, and of lanes which the pass found blocked. Later asks have to fit beside it. Blocked headroom decides only
//! the order: commits do not look at it. A lane without headroom is parked until use or the headroom changes.

use std::collections::BTreeMap;

use super::{Backlog, WaitKey};
use crate::facts::Facts;
use crate::ids::{LaneId, PartitionId, QueueId};
use crate::resource::Resources;

/// The lanes that block headroom.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockedHeadroom {
    /// By queue and partition: the headroom that lanes in the subtree block, parked at the limit of a queue above it.
    pub(super) queues: Vec<Vec<Resources>>,
    /// The headroom that each lane blocks, from its leaf up to below the queue at whose limit it is parked.
    pub(super) owners: BTreeMap<LaneId, Resources>,
    /// Use or blocked headroom has changed since the lanes without headroom were last woken.
    has_moved: bool,
    /// Passes have to look at the lanes that block headroom again: another limit may block them by now.
    are_owners_stale: bool,
}

impl BlockedHeadroom {
    pub(super) fn add_queues(&mut self, facts: &Facts) {
        self.queues.resize(facts.tree.queues.len(), vec![Resources::ZERO; facts.tree.partitions.len()]);
    }

    /// Records that use or blocked headroom, and with it the order of the queues, has changed.
    pub(super) fn record_move(&mut self) {
        self.has_moved = true;
    }
}

impl Backlog {
    /// The headroom that lanes at or below `queue` block, at limits above it, for later queues, if there is any.
    pub(crate) fn blocked_headroom(&self, queue: QueueId, partition: PartitionId) -> Option<&Resources> {
        if self.headroom.owners.is_empty() {
            return None;
        }
        Some(&self.headroom.queues[queue.index()][partition.index()]).filter(|blocked| !blocked.is_zero())
    }

    /// Wakes the lanes without headroom if use or blocked headroom has changed. Then passes look at the owners again,
    /// too: another limit may block them by now. Without waiting lanes this is not needed.
    pub(crate) fn wake_without_headroom(&mut self, version: u64) {
        let key = WaitKey::BlockedHeadroom;
        if std::mem::take(&mut self.headroom.has_moved) {
            self.waits.stamp(key, version);
            self.headroom.are_owners_stale = true;
        }
        if !self.headroom.are_owners_stale || !self.waits.is_any_parked(key) {
            return;
        }
        self.headroom.are_owners_stale = false;
        // A pass that saw the former headroom cannot say which lanes are without it.
        self.wake(key, version);
        let owners: Vec<LaneId> = self.headroom.owners.keys().copied().collect();
        owners.into_iter().for_each(|owner| self.unpark(owner));
        // Unparking the owners set it, but no headroom has changed.
        self.headroom.has_moved = false;
    }

    pub(super) fn begin_blocking(&mut self, lane: LaneId, limited: QueueId, blocks: &Resources) {
        if !blocks.is_zero() {
            self.headroom.owners.insert(lane, *blocks);
            self.for_each_above(lane, limited, |blocked_headroom| *blocked_headroom += *blocks);
        }
    }

    pub(super) fn end_blocking(&mut self, lane: LaneId, limited: QueueId) {
        if let Some(blocks) = self.headroom.owners.remove(&lane) {
            self.headroom.record_move();
            self.for_each_above(lane, limited, |blocked_headroom| *blocked_headroom -= blocks);
        }
    }

    /// Applies `change` to the queues from the lane's leaf up to below the queue at whose limit it is parked.
    fn for_each_above(&mut self, lane: LaneId, limited: QueueId, change: impl Fn(&mut Resources)) {
        let lane = &self.lanes[lane];
        let (partition, mut queue) = (lane.share.partition.index(), lane.leaf);
        while queue != limited {
            change(&mut self.headroom.queues[queue.index()][partition]);
            let Some(parent) = self.parents[queue.index()] else { return };
            queue = parent;
        }
    }
}
