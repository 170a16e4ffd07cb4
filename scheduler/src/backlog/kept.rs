//! Room kept for blocked lanes: what a queue has left, but not enough of, is not for queues that come later.
//!
//! Source: `capacity-scheduler.md` 2.5, YARN-8804. There a queue keeps all that it might use; here one container for each
//! of its blocked lanes, and only in queues whose limits are in their way.
//!
//! In prose this room is *blocked headroom*. Each child that a pass leaves behind adds what waits below it to its
//! parent's blocked headroom (`kept`): `awaited` of parked lanes, and `awaits` found in the pass. Later asks have
//! to fit beside it. It is a matter of order: commits do not look at it. A lane that it keeps out is parked until
//! use or the headroom changes.

use std::collections::BTreeSet;

use super::parking::Blocked;
use super::{Backlog, LaneState, ParkReason};
use crate::ids::{LaneId, PartitionId, QueueId};
use crate::resource::Resources;

/// What is kept, and who is kept out by that.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// Lanes parked because the room left is kept for others.
    blocked: Blocked,
    /// Lanes for which something is kept.
    keepers: BTreeSet<LaneId>,
    /// Use or what is kept has changed since those that are kept out were last told.
    has_moved: bool,
    /// Something else may be in the way of those for whom room is kept since they were last looked at.
    are_keepers_stale: bool,
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
        self.keepers.len()
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
        !self.kept.keepers.is_empty() && !self.awaited(queue, partition).is_zero()
    }

    /// Lets those go on who are kept out, if anything has changed that they were kept out by. Then those for whom room is
    /// kept are looked at again, too, which nobody needs before: it may be that they could not have it any more.
    pub(crate) fn relieve_kept_out(&mut self, version: u64) {
        let kept = &mut self.kept;
        if std::mem::take(&mut kept.has_moved) {
            kept.blocked.relieved_at = version;
            kept.are_keepers_stale = true;
        }
        if !kept.are_keepers_stale || kept.blocked.lanes.is_empty() {
            return;
        }
        kept.are_keepers_stale = false;
        // A pass that saw what was kept until now cannot say who is kept out.
        kept.blocked.relieved_at = version;
        let kept_out = std::mem::take(&mut kept.blocked.lanes);
        self.unpark(kept_out, ParkReason::RoomKept);
        self.look_again_at_keepers();
        // What was kept is not given up: it is only to be found anew.
        self.kept.has_moved = false;
    }

    /// Lets those go on for whom something is kept. One walk over each list of lanes: each by itself would be searched for.
    fn look_again_at_keepers(&mut self) {
        let limited: BTreeSet<QueueId> =
            self.kept.keepers.iter().filter_map(|lane| self.limited_at(*lane)).collect();
        for queue in limited {
            let lanes = std::mem::take(&mut self.queues[queue.index()].blocked.lanes);
            let (keepers, others) = lanes.into_iter().partition(|lane| self.kept.keepers.contains(lane));
            self.unpark(keepers, ParkReason::QueueLimit(queue));
            self.queues[queue.index()].blocked.lanes = others;
        }
    }

    /// The queue at whose limit the lane is parked: every keeper is.
    fn limited_at(&self, lane: LaneId) -> Option<QueueId> {
        match self.lanes[lane.index()].state {
            LaneState::Parked(ParkReason::QueueLimit(queue)) => Some(queue),
            _ => None,
        }
    }

    pub(super) fn begin_keeping(&mut self, lane: LaneId, reason: ParkReason, keeps: &Resources) {
        let ParkReason::QueueLimit(limited) = reason else { return };
        if !keeps.is_zero() {
            self.lanes[lane.index()].keeps = *keeps;
            self.kept.keepers.insert(lane);
            self.for_each_awaiting(lane, limited, |awaited| *awaited += *keeps);
        }
    }

    pub(super) fn end_keeping(&mut self, lane: LaneId, reason: ParkReason) {
        let ParkReason::QueueLimit(limited) = reason else { return };
        let keeps = std::mem::take(&mut self.lanes[lane.index()].keeps);
        if !keeps.is_zero() {
            self.kept.keepers.remove(&lane);
            self.kept.note_move();
            self.for_each_awaiting(lane, limited, |awaited| *awaited -= keeps);
        }
    }

    /// From the lane's leaf up to below the queue at whose limit it is.
    fn for_each_awaiting(&mut self, lane: LaneId, limited: QueueId, change: impl Fn(&mut Resources)) {
        let lane = &self.lanes[lane.index()];
        let (partition, mut queue) = (lane.share.partition.index(), lane.leaf);
        while queue != limited {
            let backlog = &mut self.queues[queue.index()];
            change(&mut backlog.awaited[partition]);
            let Some(parent) = backlog.parent else { return };
            queue = parent;
        }
    }
}
