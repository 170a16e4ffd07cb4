//! User shares of a leaf: a container for one user moves the shares of all.

use super::queue_walk::QueueWalk;
use super::scratch::Threshold;
use crate::backlog::Lane;
use crate::facts::{ActiveUsers, Application, LeafUse};
use crate::ids::{LeafUserId, QueueId};
use crate::request::ResourceAllocationCommitRequest;
use crate::resource::{RESOURCE_TYPES_MAX, Resources, UNLIMITED};

impl QueueWalk<'_> {
    /// The leaf's use. Amounts in flight count as use by active users, because they are for pending asks. A user whose
    /// pending units all got containers in this pass is no longer active.
    pub(super) fn leaf_use(&self, leaf: QueueId) -> LeafUse {
        let queue = self.state.facts.queue(leaf);
        let quota = queue.quota(self.partition);
        let scratch = &self.scratch.queues[leaf.index()];
        let satisfied = &scratch.leaf.satisfied;
        LeafUse {
            all: *scratch.level.now(),
            active: *scratch.level.now() - quota.used + quota.used_by_active - satisfied.used,
            active_users: ActiveUsers {
                users: queue.active.users - satisfied.users.users,
                weight_milli: queue.active.weight_milli - satisfied.users.weight_milli,
            },
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
            satisfied.users.users += 1;
            satisfied.users.weight_milli += facts.weight.milli();
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
            facts.user_limit(lane.user, self.share, size, then)
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
        let most = facts.queue(lane.leaf).quota(self.partition).maximum[resource].min(UNLIMITED >> 2);
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
