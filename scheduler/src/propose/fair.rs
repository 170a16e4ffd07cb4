//! Fair leaves in a pass: each container that an application gets may move it behind others.

use super::queue_walk::QueueWalk;
use super::scratch::Head;
use crate::backlog::OrderKey;
use crate::ids::QueueId;

impl QueueWalk<'_> {
    /// Adds the lane's next application to the heads, since the top one may fall behind it. In FIFO order it does not,
    /// and the next one comes once the top one has no further ask in the lane.
    pub(super) fn open_next_if_fair(&mut self, leaf: QueueId) {
        let heads = &mut self.scratch.queues[leaf.index()].leaf.heads;
        let Some(lane) = heads.top().filter(|top| top.next_is_unopened).map(|top| top.lane) else { return };
        if self.state.facts.queue(leaf).config.ordering.is_fair() {
            heads.change_top(|top| top.next_is_unopened = false);
            self.push_next_application(leaf, lane as usize);
        }
    }

    /// Lists the top head under its new key, after its application got a container in this pass.
    pub(super) fn rekey(&mut self, leaf: QueueId, head: Head, key: OrderKey) {
        let heads = &mut self.scratch.queues[leaf.index()].leaf.heads;
        heads.change_top(|top| {
            debug_assert_eq!(
                (top.slot, top.lane),
                (head.slot, head.lane),
                "nothing comes before the smallest"
            );
            top.key = key;
        });
    }

    /// The application's key, including containers of this pass.
    pub(super) fn key_of(&self, slot: u32, leaf: QueueId, frozen: OrderKey) -> OrderKey {
        if !self.state.facts.queue(leaf).config.ordering.is_fair() {
            return frozen;
        }
        match self.scratch.given.get(&slot) {
            None => frozen,
            Some(given) => self.state.backlog.key_with(&self.state.facts, slot, given),
        }
    }
}
