//! The walk from the root to the most deserving leaf.

use super::batch::Proposals;
use super::pass::PassLimits;
use super::scratch::Scratch;
use crate::backlog::{PendingAsk, WaitKey};
use crate::facts::{PartitionShare, QueueKey};
use crate::ids::{LeafUserId, QueueId, SetId, ShapeId};
use crate::resource::Resources;
use crate::state::State;

/// The next ask in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct NextAsk {
    pub(super) leaf: QueueId,
    pub(super) user: LeafUserId,
    /// Slot of the application.
    pub(super) slot: u32,
    pub(super) shape: ShapeId,
    pub(super) pending: PendingAsk,
}

/// Walks queues, user limits, applications and asks in order. Counts use, amounts in flight and the amounts that this
/// pass gave.
pub(super) struct QueueWalk<'a> {
    pub(super) state: &'a State,
    pub(super) scratch: &'a mut Scratch,
    pub(super) set: SetId,
    /// The asks that the walk serves: those for the partition, or those of the default partition that borrow its nodes.
    pub(super) share: PartitionShare,
    pub(super) limits: &'a PassLimits,
    /// Whether each pick is put in flight at once rather than at the end of the pass. If priorities order the queues,
    /// a pass that does not see the others' picks serves the wrong queue. Later picks do not make up for that.
    pub(super) puts_each_pick_in_flight: bool,
    /// No node of the asks' partition is reserved, so no ask has a reserved unit.
    pub(super) is_unreserved: bool,
}

/// The serve numbers of this pass begin here. They are above those of all commits, so that among equal shares the
/// queues that this pass served come last.
const FIRST_SERVE_NUMBER: u64 = 1 << 62;

impl<'a> QueueWalk<'a> {
    /// Starts the walk of a pass over the asks for the set's partition.
    pub(super) fn start(
        state: &'a State,
        scratch: &'a mut Scratch,
        set: SetId,
        limits: &'a PassLimits,
    ) -> Self {
        scratch.start(&state.facts);
        scratch.open_shapes = state.backlog.count_wanted(set);
        let partition = set.partition();
        Self {
            state,
            scratch,
            set,
            share: PartitionShare::own(partition),
            limits,
            puts_each_pick_in_flight: state.facts.tree.orders_by_priority,
            is_unreserved: state.facts.tree.partitions[partition.index()].reserved_nodes == 0,
        }
    }

    /// Returns the most deserving remaining ask, or `None` if the set can serve none.
    pub(super) fn next(&mut self, proposals: &mut Proposals) -> Option<NextAsk> {
        let mut queue = QueueId::ROOT;
        // Without open shapes no leaf has an ask that may fit.
        while self.scratch.open_shapes > 0 {
            self.visit(queue);
            // Most queues on the way have children. A leaf has none.
            if let Some(child) = self.top_of(queue) {
                queue = child;
                continue;
            }
            if self.state.facts.queue(queue).is_leaf
                && let Some(next) = self.next_in_leaf(queue, proposals)
            {
                return Some(next);
            }
            // The walk came here over the tops of the heaps, so the queue is its parent's top.
            let parent = self.state.facts.queue(queue).parent?;
            self.block_headroom_for_siblings(parent, queue);
            self.scratch.queues[parent.index()].children.pop();
            queue = QueueId::ROOT;
        }
        None
    }

    /// The child that the walk enters next.
    fn top_of(&mut self, parent: QueueId) -> Option<QueueId> {
        if self.puts_each_pick_in_flight {
            return self.newest_top(parent);
        }
        self.scratch.queues[parent.index()].children.top().map(|key| key.queue)
    }

    /// Prepares a queue's working memory when the pass first comes to it.
    #[inline]
    pub(super) fn visit(&mut self, id: QueueId) {
        if !self.scratch.queues[id.index()].level.is_begun(self.scratch.stamp) {
            self.begin_visit(id);
        }
    }

    #[inline(never)]
    fn begin_visit(&mut self, id: QueueId) {
        let level = self.level_of(id);
        self.scratch.queues[id.index()].begin(self.scratch.stamp, level);
        let queue = self.state.facts.queue(id);
        if queue.is_leaf {
            self.open_leaf(id);
            return;
        }
        let mut children = std::mem::take(&mut self.scratch.queues[id.index()].children);
        for &child in &queue.children {
            let has_runnable = self.state.backlog.has_runnable(child, self.share);
            if (has_runnable || self.has_blocked_headroom(child)) && self.leads_on(child) {
                let last_served = self.state.facts.queue(child).quota(self.share.partition).last_served;
                children.push(self.key(child, &self.level_of(child), last_served));
            }
        }
        self.scratch.queues[id.index()].children = children;
    }

    /// Use and amounts in flight.
    pub(super) fn level_of(&self, id: QueueId) -> Resources {
        let in_flight = self.state.in_flight.queues.load(id, self.share.partition);
        self.state.facts.queue(id).quota(self.share.partition).used + in_flight
    }

    pub(super) fn key(&self, id: QueueId, level: &Resources, last_served: u64) -> QueueKey {
        self.state
            .facts
            .tree
            .queue_key(id, self.share.partition, level, last_served, || self.demand_priority(id))
    }

    /// Returns the limit that blocks one more container of this size. Checks the queues from the leaf up, then the
    /// user, then blocked headroom. If two queues are full, the lane waits for the lower one first and blocks no
    /// headroom of the upper one.
    pub(super) fn blocked_at(
        &mut self,
        leaf: QueueId,
        user: LeafUserId,
        size: &Resources,
    ) -> Option<WaitKey> {
        for &queue in self.state.facts.queue(leaf).chain.iter().rev() {
            let level = self.scratch.queues[queue.index()].level.now();
            if !self.state.facts.tree.queue_admits(queue, self.share, level, size) {
                return Some(WaitKey::QueueLimit(queue));
            }
        }
        let of_user = self.user_blocked_at(leaf, user, size);
        of_user.or_else(|| self.lacks_headroom(leaf, size).then_some(WaitKey::BlockedHeadroom))
    }

    /// Charges a pick to the queues above and the user, and puts the queues in order again. The caller has moved the
    /// leaf on, because a lane that waited for its user's share may now be on top.
    pub(super) fn charge(&mut self, next: &NextAsk, size: &Resources) {
        self.charge_user(next.user, size);
        self.scratch.picks += 1;
        let serve_number = FIRST_SERVE_NUMBER + self.scratch.picks;
        let mut parent = None;
        for &queue in &self.state.facts.queue(next.leaf).chain {
            if self.scratch.queues[queue.index()].level.charge(size) {
                self.scratch.touched_queues.push(queue);
            }
            if let Some(parent) = parent {
                self.rekey_top(parent, queue, serve_number);
            }
            parent = Some(queue);
        }
        let leaf = &mut self.scratch.queues[next.leaf.index()];
        leaf.leaf.release_held(leaf.level.now());
        if self.state.facts.queue(next.leaf).config.ordering.is_fair() {
            let given = self.scratch.given.entry(next.slot).or_default();
            (given.resources, given.last_served) = (given.resources + *size, serve_number);
        }
    }

    /// Moves the top child of a queue, which was just served, to its new place in the heap.
    fn rekey_top(&mut self, parent: QueueId, child: QueueId, serve_number: u64) {
        let level = self.scratch.queues[child.index()].level.now();
        let is_top = |top: &QueueKey| top.queue == child;
        debug_assert!(
            self.scratch.queues[parent.index()].children.top().is_none_or(is_top),
            "the walk came over tops"
        );
        if self.puts_each_pick_in_flight {
            let key = self.key(child, level, serve_number);
            return self.scratch.queues[parent.index()].children.change_top(|top| *top = key);
        }
        let share = self.state.facts.tree.dominant_share_of(child, self.share.partition, level);
        self.scratch.queues[parent.index()].children.change_top(|top| top.record_pick(share, serve_number));
    }
}
