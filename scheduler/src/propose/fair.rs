//! Fair leaves in a pass: each container that an application gets may move it behind others.

use std::cmp::Reverse;

use super::queue_walk::QueueWalk;
use super::scratch::Head;
use crate::backlog::OrderKey;
use crate::ids::QueueId;

impl QueueWalk<'_> {
    /// Adds the lane's next application to the heads, since the top one may fall behind it. In FIFO order it does not,
    /// and the next one comes once the top one has no further ask in the lane.
    pub(super) fn open_next_application(&mut self, leaf: QueueId) {
        let heads = &mut self.scratch.queues[leaf.index()].leaf.heads;
        // Mutable access only if the top changes, because it costs a new order of the heap.
        if heads.peek().is_none_or(|top| !top.0.next_is_unopened)
            || !self.state.facts.queue(leaf).config.ordering.is_fair()
        {
            return;
        }
        let Some(mut top) = heads.peek_mut() else { return };
        top.0.next_is_unopened = false;
        let place = top.0.lane as usize;
        drop(top);
        self.push_next_application(leaf, place);
    }

    /// Lists the top head under its new key, after its application got a container in this pass.
    pub(super) fn rekey(&mut self, leaf: QueueId, head: Head, key: OrderKey) {
        let heads = &mut self.scratch.queues[leaf.index()].leaf.heads;
        let Some(Reverse(top)) = heads.pop() else { return };
        debug_assert_eq!((top.slot, top.lane), (head.slot, head.lane), "nothing comes before the smallest");
        heads.push(Reverse(Head { key, ..top }));
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
