//! Room kept for blocked asks: what queues that come later in the pass leave alone.

use super::queue_walk::QueueWalk;
use crate::ids::{LaneId, QueueId};
use crate::resource::Resources;

impl QueueWalk<'_> {
    /// What is kept for a lane that is blocked at the limit of a queue; from now on also in this pass.
    pub(super) fn keep_room(&mut self, leaf: QueueId, lane: LaneId, limited: QueueId) -> Resources {
        let lane = self.state.backlog.lane(lane);
        let (facts, size) = (&self.state.facts, self.size_of(lane.shape));
        // No room is kept for borrowed containers, nor from them, nor for what could not run with it.
        if self.share.is_borrowed
            || self.user_blocked_at(leaf, lane.user, &size).is_some()
            || !self.state.some_node_could_hold(facts.shapes.at(lane.shape))
        {
            return Resources::ZERO;
        }
        for queue in facts.queue(leaf).chain.iter().rev().take_while(|queue| **queue != limited) {
            self.scratch.queues[queue.index()].awaits += size;
        }
        size
    }

    /// Leaves a queue for the rest of the pass. Those that come after it leave alone what it waits for.
    pub(super) fn leave_queue(&mut self, parent: QueueId, queue: QueueId) {
        let awaits =
            self.scratch.queues[queue.index()].awaits + *self.state.backlog.awaited(queue, self.partition);
        let parent = &mut self.scratch.queues[parent.index()];
        parent.children.pop();
        if !awaits.is_zero() && !self.share.is_borrowed {
            parent.kept += awaits;
            self.scratch.keeps_room = true;
        }
    }

    /// Whether a queue above the leaf would have room, if it were not kept for queues that came before.
    pub(super) fn is_kept_out(&self, leaf: QueueId, size: &Resources) -> bool {
        if !self.scratch.keeps_room {
            return false;
        }
        let facts = &self.state.facts;
        let mut kept = Resources::ZERO;
        for queue in facts.queue(leaf).chain.iter().rev() {
            let scratch = &self.scratch.queues[queue.index()];
            // What is kept further down is waited for in this queue, too, or further down is the limit anyway.
            kept += scratch.kept;
            if !facts.queue(*queue).quota(self.partition).admits(&(scratch.level + kept), size) {
                return true;
            }
        }
        false
    }
}
