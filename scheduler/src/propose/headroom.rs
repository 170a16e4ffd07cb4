//! Blocked headroom in a pass: later queues do not use it.

use super::queue_walk::QueueWalk;
use crate::ids::{LaneId, QueueId};
use crate::resource::Resources;

impl QueueWalk<'_> {
    /// Blocks headroom for a lane at the limit of a queue, and returns its amount. It also counts in this pass.
    pub(super) fn block_headroom(&mut self, leaf: QueueId, lane: LaneId, limited: QueueId) -> Resources {
        let lane = self.state.backlog.lane(lane);
        let (facts, size) = (&self.state.facts, self.size_of(lane.shape));
        // Borrowed containers neither block headroom nor lack it. A lane that could not run with the headroom blocks
        // none.
        if self.share.is_borrowed
            || self.user_blocked_at(leaf, lane.user, size).is_some()
            || !self.state.some_node_could_hold(facts.shapes.at(lane.shape))
        {
            return Resources::ZERO;
        }
        for queue in facts.queue(leaf).chain.iter().rev().take_while(|queue| **queue != limited) {
            self.scratch.queues[queue.index()].blocks += *size;
        }
        *size
    }

    /// Leaves a queue for the rest of the pass. Later siblings do not get the headroom that it blocks.
    pub(super) fn leave_queue(&mut self, parent: QueueId, queue: QueueId) {
        let blocks = self.scratch.queues[queue.index()].blocks
            + *self.state.backlog.blocked_headroom(queue, self.partition);
        let parent = &mut self.scratch.queues[parent.index()];
        parent.children.pop();
        if !blocks.is_zero() && !self.share.is_borrowed {
            parent.blocked_headroom += blocks;
            self.scratch.blocks_headroom = true;
        }
    }

    /// Whether a queue above the leaf lacks room only because earlier queues block its headroom.
    pub(super) fn lacks_headroom(&self, leaf: QueueId, size: &Resources) -> bool {
        if !self.scratch.blocks_headroom {
            return false;
        }
        let facts = &self.state.facts;
        let mut kept = Resources::ZERO;
        for queue in facts.queue(leaf).chain.iter().rev() {
            let scratch = &self.scratch.queues[queue.index()];
            // Headroom blocked further down is awaited in this queue, too, unless the limit is further down anyway.
            kept += scratch.blocked_headroom;
            if !facts.queue(*queue).quota(self.partition).admits(&(*scratch.level.now() + kept), size) {
                return true;
            }
        }
        false
    }
}
