//! Blocked headroom in a pass: later queues do not use it.

use super::batch::{Observation, Proposals};
use super::queue_walk::QueueWalk;
use crate::backlog::WaitKey;
use crate::ids::{LaneId, QueueId};
use crate::resource::Resources;

impl QueueWalk<'_> {
    /// Reports a lane that no set can help, and the headroom that it blocks at a queue's limit.
    pub(super) fn report_blocked(
        proposals: &mut Proposals,
        lane: LaneId,
        reason: WaitKey,
        blocks: Resources,
    ) {
        proposals.observations.push(Observation::Blocked { lane, reason, blocks });
    }

    /// Blocks headroom for a lane at the limit of a queue, and returns its amount. It also counts in this pass.
    pub(super) fn block_headroom(&mut self, leaf: QueueId, lane: LaneId, limited: QueueId) -> Resources {
        let lane = self.state.backlog.lane(lane);
        let (facts, size) = (&self.state.facts, self.size_of(lane.shape));
        // Borrowed containers neither block headroom nor lack it. A lane that could not run with the headroom blocks
        // none.
        if !self.share.is_limited_by_queues()
            || self.user_blocked_at(leaf, lane.user, size).is_some()
            || !self.state.some_node_could_hold(facts.shapes.at(lane.shape))
        {
            return Resources::ZERO;
        }
        for queue in facts.queue(leaf).chain.iter().rev().take_while(|queue| **queue != limited) {
            *self.scratch.blocks.entry(*queue).or_default() += *size;
        }
        *size
    }

    /// Keeps the headroom that a queue blocks from later siblings. The pass is about to leave the queue.
    pub(super) fn block_headroom_for_siblings(&mut self, parent: QueueId, queue: QueueId) {
        if !self.share.is_limited_by_queues() {
            return;
        }
        let parked = self.state.backlog.blocked_headroom(queue, self.share.partition).copied();
        let found = self.scratch.blocks.get(&queue).copied();
        for blocks in parked.into_iter().chain(found) {
            *self.scratch.blocked_headroom.entry(parent).or_default() += blocks;
        }
    }

    /// Whether the walk has to visit the queue for the headroom that its parked lanes block.
    pub(super) fn has_blocked_headroom(&self, queue: QueueId) -> bool {
        self.share.is_limited_by_queues()
            && self.state.backlog.blocked_headroom(queue, self.share.partition).is_some()
    }

    /// Whether a queue above the leaf lacks room only because earlier queues block its headroom.
    pub(super) fn lacks_headroom(&self, leaf: QueueId, size: &Resources) -> bool {
        if self.scratch.blocked_headroom.is_empty() {
            return false;
        }
        let facts = &self.state.facts;
        let mut blocked = Resources::ZERO;
        for queue in facts.queue(leaf).chain.iter().rev() {
            // Headroom blocked in a lower queue counts here too, unless the limit is in a lower queue anyway.
            blocked += self.scratch.blocked_headroom.get(queue).copied().unwrap_or_default();
            let level = *self.scratch.queues[queue.index()].level.now() + blocked;
            if !facts.queue(*queue).quota(self.share.partition).admits(&level, size) {
                return true;
            }
        }
        false
    }
}
