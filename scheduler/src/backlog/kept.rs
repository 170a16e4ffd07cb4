//! Room kept for blocked lanes: what a queue has left, but not enough of, is not for queues that come later.
//!
//! Source: `capacity-scheduler.md` 2.5, YARN-8804. There a queue keeps all that it might use; here one container for each
//! of its blocked lanes, and only in queues whose limits are in their way.

use super::parking::Blocked;
use super::{Backlog, ParkReason};
use crate::ids::{LaneId, PartitionId, QueueId};
use crate::resource::Resources;

/// What is kept, and who is kept out by that.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// Lanes parked because the room left is kept for others.
    blocked: Blocked,
    /// Lanes for which something is kept.
    lanes: u32,
    /// What is kept may be less, or for others, since those that were kept out were last told.
    has_moved: bool,
}

impl Kept {
    pub(super) fn blocked(&mut self) -> &mut Blocked {
        &mut self.blocked
    }

    pub(super) fn kept_out(&self) -> &[LaneId] {
        &self.blocked.lanes
    }

    /// For how many lanes something is kept.
    pub(super) fn count(&self) -> usize {
        self.lanes as usize
    }

    /// Use or what is kept has changed, and with it who comes before whom.
    pub(super) fn note_move(&mut self) {
        self.has_moved = true;
    }
}

impl Backlog {
    /// What queues that come after `queue` leave alone because lanes at or below it wait for it, at limits above it.
    pub(crate) fn awaited(&self, queue: QueueId, partition: PartitionId) -> &Resources {
        &self.queues[queue.index()].awaited[partition.index()]
    }

    /// Whether anything is kept for lanes at or below `queue`, at limits above it.
    pub(crate) fn is_awaiting(&self, queue: QueueId, partition: PartitionId) -> bool {
        self.kept.lanes > 0 && !self.awaited(queue, partition).is_zero()
    }

    /// Lets those go on who were kept out, if anything has changed that they were kept out by.
    pub(crate) fn relieve_kept_out(&mut self, version: u64) {
        if !std::mem::take(&mut self.kept.has_moved) {
            return;
        }
        self.kept.blocked.relieved_at = version;
        for lane in std::mem::take(&mut self.kept.blocked.lanes) {
            self.set_state(lane, super::LaneState::Runnable);
        }
    }

    pub(super) fn begin_keeping(&mut self, lane: LaneId, reason: ParkReason, keeps: &Resources) {
        let ParkReason::QueueLimit(limited) = reason else { return };
        if !keeps.is_zero() {
            self.lanes[lane.index()].keeps = *keeps;
            self.kept.lanes += 1;
            self.for_each_awaiting(lane, limited, |awaited| *awaited += *keeps);
        }
    }

    pub(super) fn end_keeping(&mut self, lane: LaneId, reason: ParkReason) {
        let ParkReason::QueueLimit(limited) = reason else { return };
        let keeps = std::mem::take(&mut self.lanes[lane.index()].keeps);
        if !keeps.is_zero() {
            self.kept.lanes -= 1;
            self.kept.note_move();
            self.for_each_awaiting(lane, limited, |awaited| *awaited -= keeps);
        }
    }

    /// From the lane's leaf up to below the queue at whose limit it is.
    fn for_each_awaiting(&mut self, lane: LaneId, limited: QueueId, change: impl Fn(&mut Resources)) {
        let lane = &self.lanes[lane.index()];
        let (partition, mut queue) = (lane.footing.partition.index(), lane.leaf);
        while queue != limited {
            let backlog = &mut self.queues[queue.index()];
            change(&mut backlog.awaited[partition]);
            let Some(parent) = backlog.parent else { return };
            queue = parent;
        }
    }
}
