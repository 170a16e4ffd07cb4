//! Limits of users and groups, and user shares of a leaf: a container for one user moves the shares of all.

use super::level::Level;
use super::queue_walk::QueueWalk;
use super::scratch::Threshold;
use crate::backlog::{Lane, WaitKey};
use crate::facts::{Application, LeafUse};
use crate::ids::{LeafUserId, LimitUsageId, QueueId};
use crate::request::ResourceAllocationCommitRequest;
use crate::resource::{RESOURCE_TYPES_MAX, Resources, UNLIMITED};

impl QueueWalk<'_> {
    /// The limit of the user or of its groups that one more container of this size would exceed.
    pub(super) fn user_blocked_at(
        &mut self,
        leaf: QueueId,
        user: LeafUserId,
        size: &Resources,
    ) -> Option<WaitKey> {
        let facts = &self.state.facts;
        if let Some(limit_usage) = facts
            .tree
            .exhausted_limit_usage(user, size, |limit_usage| *self.limit_usage_level(limit_usage).now())
        {
            return Some(WaitKey::LimitUsage(limit_usage));
        }
        let used = *self.user_level(user).now();
        let leaf_use = || self.leaf_use(leaf);
        let may_grow = self.state.facts.tree.user_may_grow(user, self.share, &used, size, leaf_use);
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
        let in_flight = self.state.in_flight.users.load(user, self.share.partition);
        let used = self.state.facts.user(user).used[self.share.partition.index()];
        scratch.level.begin(stamp, used + in_flight);
        scratch.given_units = 0;
    }

    /// Charges a pick to the user and the limit usages to which it counts.
    pub(super) fn charge_user(&mut self, user: LeafUserId, size: &Resources) {
        if self.user_level(user).charge(size) {
            self.scratch.touched_users.push(user);
        }
        for limit_usage in &self.state.facts.user(user).limit_usages {
            if self.limit_usage_level(*limit_usage).charge(size) {
                self.scratch.touched_limit_usages.push(*limit_usage);
            }
        }
    }

    fn limit_usage_level(&mut self, limit_usage: LimitUsageId) -> &mut Level {
        let (stamp, level) = (self.scratch.stamp, &mut self.scratch.limit_usages[limit_usage.index()]);
        if !level.is_begun(stamp) {
            let in_flight = self.state.in_flight.limit_usages.load(limit_usage, self.share.partition);
            let used = self.state.facts.tree.limit_usage(limit_usage).used[self.share.partition.index()];
            level.begin(stamp, used + in_flight);
        }
        level
    }

    /// The leaf's use. Amounts in flight count as use by active users, because they are for pending asks. A user whose
    /// pending units all got containers in this pass is no longer active.
    pub(super) fn leaf_use(&self, leaf: QueueId) -> LeafUse {
        let queue = self.state.facts.queue(leaf);
        let quota = queue.quota(self.share.partition);
        let scratch = &self.scratch.queues[leaf.index()];
        let satisfied = &scratch.leaf.satisfied;
        LeafUse {
            all: *scratch.level.now(),
            active: *scratch.level.now() - quota.used + quota.used_by_active - satisfied.used,
            active_weight_milli: queue.active.weight_milli - satisfied.weight_milli,
        }
    }

    /// Counts the containers for reservations. They are charged already, but their units were outstanding until now.
    pub(super) fn count_fulfilled(&mut self, requests: &[ResourceAllocationCommitRequest]) {
        for proposal in requests.iter().flat_map(|request| &request.allocate) {
            let ask = self.state.facts.asks.at(proposal.ask);
            let Application { leaf, user, .. } = *self.state.facts.applications.at(ask.application);
            // Visited now, so that the walk does not reset the leaf's counts when it comes to it.
            self.visit(leaf);
            self.user_level(user);
            self.count_unit(leaf, user);
        }
    }

    /// Counts one unit of the user as given. After its last unit the user is no longer active, unless it also waits for
    /// an application to be activated.
    pub(super) fn count_unit(&mut self, leaf: QueueId, user: LeafUserId) {
        if !self.state.facts.queue(leaf).shares_among_users() {
            return;
        }
        let scratch = &mut self.scratch.users[user.index()];
        scratch.given_units += 1;
        let facts = self.state.facts.user(user);
        if !facts.is_active_without(scratch.given_units) {
            let satisfied = &mut self.scratch.queues[leaf.index()].leaf.satisfied;
            satisfied.weight_milli += facts.weight.milli();
            satisfied.used += *scratch.level.now();
            self.scratch.queues[leaf.index()].leaf.release_all_held();
        }
    }

    /// The use of the leaf at which a lane's user, now above its share, may be within it. The result is never too late,
    /// and too early by less than one container of the lane. Shares rise with the leaf's use as long as the same users
    /// are active.
    pub(super) fn share_suffices_at(&mut self, lane: &Lane) -> Threshold {
        let (facts, size) = (&self.state.facts, self.size_of(lane.shape));
        let wanted = *self.user_level(lane.user).now() + *size;
        let now = self.leaf_use(lane.leaf);
        let limit_after = |more: Resources| {
            let then = || LeafUse { all: now.all + more, active: now.active + more, ..now };
            facts.tree.user_limit(lane.user, self.share, size, then)
        };
        let limit = limit_after(Resources::ZERO);
        let is_above = |i: &usize| size[*i] > 0 && wanted[*i] > limit[*i];
        let resource = (0..RESOURCE_TYPES_MAX).find(is_above).expect("some type is above the share");
        let is_short = |more: i64| {
            let mut given = Resources::ZERO;
            given.set(resource, more);
            limit_after(given)[resource] < wanted[resource]
        };
        // No share exceeds the leaf's maximum, so the search ends there.
        let most = facts.queue(lane.leaf).quota(self.share.partition).maximum[resource].min(UNLIMITED >> 2);
        let (mut short, mut step) = (0, size[resource]);
        while short < most && is_short(short + step) {
            (short, step) = (short + step, step * 2);
        }
        while step > size[resource] {
            step /= 2;
            short += if is_short(short + step) { step } else { 0 };
        }
        Threshold { resource, level: now.all[resource] + short + 1 }
    }
}
