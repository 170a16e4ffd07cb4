//! The walk from the root to the most deserving leaf.

use std::cmp::Reverse;

use super::batch::{Amount, Observation, Proposals};
use super::level::Level;
use super::pass::PassLimits;
use super::scratch::Scratch;
use crate::backlog::{PendingAsk, WaitKey};
use crate::facts::{PartitionShare, QueueKey};
use crate::ids::{LaneId, LeafUserId, LimitUsageId, PartitionId, QueueId, SetId, ShapeId};
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
    pub(super) partition: PartitionId,
    /// The asks that the walk serves: those for the partition, or those of the default partition that borrow its nodes.
    pub(super) share: PartitionShare,
    pub(super) is_single_step: bool,
    /// The only leaf to walk to, or `None` for all leaves.
    only_leaf: Option<QueueId>,
    /// Whether passes see each other's picks: if queues are ordered by more than their use, later picks do not correct
    /// earlier ones.
    pub(super) is_at_once: bool,
    /// No node of the asks' partition is reserved, so no ask has a reserved unit.
    pub(super) is_unreserved: bool,
}

/// Numbers the serves of this pass after all earlier serves. No log gets this long.
const IN_THIS_PASS: u64 = 1 << 62;

impl<'a> QueueWalk<'a> {
    pub(super) fn start(
        state: &'a State,
        scratch: &'a mut Scratch,
        set: SetId,
        is_borrowed: bool,
        limits: &PassLimits,
    ) -> Self {
        let facts = &state.facts;
        scratch.start(
            facts.queues.len(),
            facts.users.len(),
            facts.limit_usages().len(),
            facts.shapes.slots(),
        );
        // The counts of wanted shapes depend on observations of passes, on which single steps do not rely.
        let ignores_wanted_counts = is_borrowed && limits.is_single_step;
        scratch.open_shapes = if ignores_wanted_counts { u32::MAX } else { state.backlog.count_wanted(set) };
        let partition = set.partition();
        let wanted_in = if is_borrowed { PartitionId::DEFAULT } else { partition };
        let is_unreserved = facts.partitions[wanted_in.index()].reserved_nodes == 0;
        let share = PartitionShare { partition, is_borrowed };
        Self {
            state,
            scratch,
            set,
            partition,
            share,
            is_single_step: limits.is_single_step,
            only_leaf: limits.scope.leaf,
            is_at_once: facts.orders_by_priority,
            is_unreserved,
        }
    }

    /// Returns the most deserving remaining ask, or `None` if the set can serve none.
    pub(super) fn next(&mut self, proposals: &mut Proposals) -> Option<NextAsk> {
        let mut queue = QueueId::ROOT;
        // Without open shapes no leaf has an ask that may fit.
        while self.scratch.open_shapes > 0 {
            self.visit(queue);
            let next = if self.state.facts.queue(queue).is_leaf {
                if let Some(next) = self.next_in_leaf(queue, proposals) {
                    return Some(next);
                }
                None
            } else {
                self.top_of(queue)
            };
            queue = match next {
                Some(child) => child,
                None => {
                    // The walk came here over the tops of the heaps, so the queue is its parent's top.
                    let parent = self.state.facts.queue(queue).parent?;
                    self.leave_queue(parent, queue);
                    QueueId::ROOT
                }
            };
        }
        None
    }

    /// The child that the walk enters next.
    fn top_of(&mut self, parent: QueueId) -> Option<QueueId> {
        if self.is_at_once {
            return self.newest_top(parent);
        }
        self.scratch.queues[parent.index()].children.peek().map(|Reverse(key)| key.queue)
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
        self.take_stock(id);
        let queue = self.state.facts.queue(id);
        if queue.is_leaf {
            self.open_leaf(id);
            return;
        }
        let mut children = std::mem::take(&mut self.scratch.queues[id.index()].children);
        children.clear();
        for &child in &queue.children {
            let backlog = &self.state.backlog;
            let has_blocked_headroom =
                || !self.share.is_borrowed && backlog.has_blocked_headroom(child, self.partition);
            if (backlog.has_runnable(child, self.share) || has_blocked_headroom()) && self.leads_on(child) {
                let level = self.level_of(child);
                let last_served = self.state.facts.queue(child).quota(self.partition).last_served;
                children.push(Reverse(self.key(child, &level, last_served)));
            }
        }
        self.scratch.queues[id.index()].children = children;
    }

    /// Whether the walk may enter the queue.
    fn leads_on(&self, queue: QueueId) -> bool {
        self.only_leaf.is_none_or(|leaf| self.state.facts.queue(leaf).chain.contains(&queue))
    }

    fn take_stock(&mut self, id: QueueId) {
        let level = self.level_of(id);
        let scratch = &mut self.scratch.queues[id.index()];
        scratch.level.begin(self.scratch.stamp, level);
        (scratch.blocked_headroom, scratch.blocks) = (Resources::ZERO, Resources::ZERO);
        scratch.leaf.clear();
    }

    pub(super) fn level_of(&self, id: QueueId) -> Resources {
        let in_flight = self.state.in_flight.queues.of(id, self.partition).load();
        self.state.facts.queue(id).quota(self.partition).used + in_flight
    }

    pub(super) fn key(&self, id: QueueId, level: &Resources, last_served: u64) -> QueueKey {
        self.state.facts.queue_key(id, self.partition, level, last_served, || self.demand_priority(id))
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
            if !self.state.facts.queue_admits(queue, self.share, level, size) {
                return Some(WaitKey::QueueLimit(queue));
            }
        }
        let of_user = self.user_blocked_at(leaf, user, size);
        of_user.or_else(|| self.lacks_headroom(leaf, size).then_some(WaitKey::BlockedHeadroom))
    }

    /// The limit of the user or of its groups that one more container of this size would exceed.
    pub(super) fn user_blocked_at(
        &mut self,
        leaf: QueueId,
        user: LeafUserId,
        size: &Resources,
    ) -> Option<WaitKey> {
        let facts = &self.state.facts;
        if let Some(limit_usage) =
            facts.exhausted_limit_usage(user, size, |limit_usage| *self.limit_usage_level(limit_usage).now())
        {
            return Some(WaitKey::HolderLimit(limit_usage));
        }
        let used = *self.user_level(user).now();
        let leaf_use = || self.leaf_use(leaf);
        let may_grow = self.state.facts.user_may_grow(user, self.share, &used, size, leaf_use);
        let is_share = || self.state.facts.queue(leaf).shares_among_users();
        (!may_grow).then(|| if is_share() { WaitKey::UserShare(leaf) } else { WaitKey::UserLimit(user) })
    }

    #[inline]
    pub(super) fn user_level(&mut self, user: LeafUserId) -> &mut Level {
        if !self.scratch.users[user.index()].level.is_begun(self.scratch.stamp) {
            self.begin_user(user);
        }
        &mut self.scratch.users[user.index()].level
    }

    #[inline(never)]
    fn begin_user(&mut self, user: LeafUserId) {
        let (stamp, scratch) = (self.scratch.stamp, &mut self.scratch.users[user.index()]);
        let in_flight = self.state.in_flight.users.of(user, self.partition).load();
        let used = self.state.facts.user(user).used[self.partition.index()];
        scratch.level.begin(stamp, used + in_flight);
        scratch.given_units = 0;
    }

    fn limit_usage_level(&mut self, limit_usage: LimitUsageId) -> &mut Level {
        let (stamp, level) = (self.scratch.stamp, &mut self.scratch.limit_usages[limit_usage.index()]);
        if !level.is_begun(stamp) {
            let in_flight = self.state.in_flight.limit_usages.of(limit_usage, self.partition).load();
            let used = self.state.facts.limit_usage(limit_usage).used[self.partition.index()];
            level.begin(stamp, used + in_flight);
        }
        level
    }

    /// Charges a pick to the queues above and the user, and puts the queues in order again. The caller has moved the
    /// leaf on, because a lane that waited for its user's share may now be on top.
    pub(super) fn charge(&mut self, next: &NextAsk, size: &Resources) {
        if self.user_level(next.user).charge(size) {
            self.scratch.touched_users.push(next.user);
        }
        for limit_usage in &self.state.facts.user(next.user).limit_usages {
            if self.limit_usage_level(*limit_usage).charge(size) {
                self.scratch.touched_limit_usages.push(*limit_usage);
            }
        }
        self.scratch.picks += 1;
        let now = IN_THIS_PASS + self.scratch.picks;
        let mut parent = None;
        for &queue in &self.state.facts.queue(next.leaf).chain {
            if self.scratch.queues[queue.index()].level.charge(size) {
                self.scratch.touched_queues.push(queue);
            }
            if let Some(parent) = parent {
                self.rekey_top(parent, queue, now);
            }
            parent = Some(queue);
        }
        let leaf = &mut self.scratch.queues[next.leaf.index()];
        leaf.leaf.release_held(leaf.level.now());
        if self.state.facts.queue(next.leaf).config.ordering.is_fair() {
            let given = self.scratch.given.entry(next.slot).or_default();
            (given.resources, given.last_served) = (given.resources + *size, now);
        }
    }

    /// Puts the top child of a queue, which was served now, in its place by its new level.
    fn rekey_top(&mut self, parent: QueueId, child: QueueId, now: u64) {
        let level = *self.scratch.queues[child.index()].level.now();
        let full = self.is_at_once.then(|| self.key(child, &level, now));
        let Some(mut top) = self.scratch.queues[parent.index()].children.peek_mut() else { return };
        debug_assert_eq!(top.0.queue, child, "the walk came here over the tops");
        // Where use alone orders the queues, nothing else of the key has changed.
        top.0 = full.unwrap_or_else(|| self.state.facts.key_when_served(&top.0, self.partition, &level, now));
    }

    /// Reports a lane that no set can help.
    pub(super) fn report_blocked(
        proposals: &mut Proposals,
        lane: LaneId,
        reason: WaitKey,
        blocks: Resources,
    ) {
        proposals.observations.push(Observation::Blocked { lane, reason, blocks });
    }

    /// Adds the pass's amounts to the amounts in flight, which other passes read, and to the batch, which gives them
    /// back.
    pub(super) fn publish_amounts(self, proposals: &mut Proposals) {
        let Self { state, scratch, partition, share, .. } = self;
        proposals.amounts.is_of_borrowed = share.is_borrowed;
        let left = if self.is_at_once { &[][..] } else { &scratch.touched_queues };
        for &id in left {
            let resources = scratch.queues[id.index()].level.given();
            state.in_flight.queues.of(id, partition).add(&resources);
            proposals.amounts.queues.push(Amount { of: id, partition, resources });
        }
        for &id in &scratch.touched_users {
            let resources = scratch.users[id.index()].level.given();
            state.in_flight.users.of(id, partition).add(&resources);
            proposals.amounts.users.push(Amount { of: id, partition, resources });
        }
        for &id in &scratch.touched_limit_usages {
            let resources = scratch.limit_usages[id.index()].given();
            state.in_flight.limit_usages.of(id, partition).add(&resources);
            proposals.amounts.limit_usages.push(Amount { of: id, partition, resources });
        }
    }
}
