//! Parking and unparking of lanes.
//!
//! A pass that ends because nothing is left reports all that it found blocked. The committer records it:
//!
//! | found | recorded as | undone by |
//! |---|---|---|
//! | no node of the set fits the shape | shape closed in that set | a node of the set gains room that fits, or its rack falls below a cap on a tag |
//! | queue limit, user limit | lane parked at that queue or user | use or flight at that queue or user goes down; limits change |
//! | blocked headroom of earlier queues | lane parked, among all lanes without headroom | use, priorities or blocked headroom change anywhere; limits change |
//! | limit of a user or group at a queue | lane parked at that limit usage | use or flight of it goes down; a user comes with other groups; limits change |
//! | a user's share of the leaf | lane parked at the leaf's shares | a unit is placed, reserved, asked for, cancelled or given back in the leaf; limits change |
//! | all units in flight | lane parked | a unit comes back; a new ask; the ask may reserve one node more than it wants |
//! | named hosts full | ask waits, out of its lane | a host or rack gains room; its locality delay passes; where nodes count, one more node with room, or one node less |
//! | only amounts in flight are in the way | set paused | anything in flight is decided or given back |

use super::{Backlog, LaneState, ParkReason};
use crate::ids::{LaneId, LeafUserId, LimitUsageId, QueueId, ShapeId};
use crate::resource::Resources;

/// Lanes parked at one limit.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocked {
    pub(super) lanes: Vec<LaneId>,
    /// The state version in which the limit last gave way. A pass that saw an older one cannot park here.
    pub(super) woken_at: u64,
}

/// The entry at the place, made if there is none yet.
fn entry(all: &mut Vec<Blocked>, index: usize) -> &mut Blocked {
    if all.len() <= index {
        all.resize_with(index + 1, Blocked::default);
    }
    &mut all[index]
}

impl Backlog {
    /// Parks a lane that a pass at state version `seen` found blocked, unless something that could help has
    /// happened since. At a queue's limit it blocks this much headroom.
    pub(crate) fn park(&mut self, lane_id: LaneId, reason: ParkReason, blocks: &Resources, seen: u64) {
        let lane = &self.lanes[lane_id.index()];
        if lane.state != LaneState::Runnable || lane.woken_at > seen {
            return;
        }
        let (user, all_woken_at) = (lane.user, self.all_woken_at);
        if self.blocked_at(reason, user).is_some_and(|at| at.woken_at.max(all_woken_at) > seen) {
            return;
        }
        self.set_state(lane_id, LaneState::Parked(reason));
        if let Some(blocked) = self.blocked_at(reason, user) {
            blocked.lanes.push(lane_id);
        }
        self.begin_blocking(lane_id, reason, blocks);
    }

    /// The list of lanes parked for this reason.
    fn blocked_at(&mut self, reason: ParkReason, user: LeafUserId) -> Option<&mut Blocked> {
        match reason {
            ParkReason::AllInFlight => None,
            ParkReason::QueueLimit(queue) => Some(&mut self.queues[queue.index()].blocked),
            ParkReason::BlockedHeadroom => Some(self.headroom.blocked()),
            ParkReason::HolderLimit(limit_usage) => Some(entry(&mut self.limit_usages, limit_usage.index())),
            ParkReason::UserLimit => Some(entry(&mut self.users, user.index())),
            ParkReason::UserShare(leaf) => Some(&mut self.queues[leaf.index()].at_shares),
        }
    }

    /// All lanes parked at limits.
    pub(super) fn blocked(&self) -> impl Iterator<Item = (ParkReason, LaneId)> {
        let at_queues = self.queues.iter().enumerate().flat_map(|(index, queue)| {
            let id = QueueId(index as u32);
            let at_limit = queue.blocked.lanes.iter().map(move |lane| (ParkReason::QueueLimit(id), *lane));
            at_limit.chain(queue.at_shares.lanes.iter().map(move |lane| (ParkReason::UserShare(id), *lane)))
        });
        let at_users = self.users.iter().flat_map(|user| &user.lanes);
        let at_limit_usages = self.limit_usages.iter().enumerate().flat_map(|(index, limit_usage)| {
            let reason = ParkReason::HolderLimit(LimitUsageId(index as u32));
            limit_usage.lanes.iter().map(move |lane| (reason, *lane))
        });
        let at_users = at_users.map(|lane| (ParkReason::UserLimit, *lane));
        let without_headroom =
            self.headroom.without_headroom().iter().map(|lane| (ParkReason::BlockedHeadroom, *lane));
        at_queues.chain(at_users).chain(at_limit_usages).chain(without_headroom)
    }

    /// A new ask came, or units that were in flight came back.
    pub(crate) fn units_arrived(&mut self, lane_id: LaneId, version: u64) {
        let lane = &mut self.lanes[lane_id.index()];
        lane.woken_at = version;
        // All asks of a lane may be waiting for hosts; then there is nothing to run.
        let may_run = matches!(lane.state, LaneState::Empty | LaneState::Parked(ParkReason::AllInFlight));
        if may_run && !lane.order.is_empty() {
            self.set_state(lane_id, LaneState::Runnable);
        }
    }

    /// As [`units_arrived`](Self::units_arrived), for the user's lanes of this shape and of its borrowed variants.
    pub(crate) fn units_returned(&mut self, user: LeafUserId, shape: ShapeId, version: u64) {
        if let Some(&lane) = self.lane_of.get(&(user, shape)) {
            self.units_arrived(lane, version);
        }
        for variant in self.variants_of(shape) {
            self.units_returned(user, variant, version);
        }
    }

    /// Use fell for the user, its limit usages and the queues above.
    pub(crate) fn use_fell(
        &mut self,
        leaf: QueueId,
        user: LeafUserId,
        limit_usages: &[LimitUsageId],
        version: u64,
    ) {
        let mut queue = Some(leaf);
        while let Some(id) = queue {
            self.wake_queue(id, version);
            queue = self.queues[id.index()].parent;
        }
        self.wake_user(user, version);
        for limit_usage in limit_usages {
            self.wake_limit_usage(*limit_usage, version);
        }
        self.leaf_changed(leaf, version);
    }

    /// Every limit may have changed, also those at which nothing has been parked yet.
    pub(crate) fn wake_all(&mut self, version: u64) {
        self.all_woken_at = version;
        for queue in 0..self.queues.len() {
            self.wake_queue(QueueId(queue as u32), version);
            self.leaf_changed(QueueId(queue as u32), version);
        }
        for user in 0..self.users.len() {
            self.wake_user(LeafUserId(user as u32), version);
        }
        for limit_usage in 0..self.limit_usages.len() {
            self.wake_limit_usage(LimitUsageId(limit_usage as u32), version);
        }
    }

    /// The leaf's use or pending units changed: with them the shares of its users and the order may have changed.
    pub(crate) fn leaf_changed(&mut self, leaf: QueueId, version: u64) {
        self.headroom.record_move();
        let at_shares = &mut self.queues[leaf.index()].at_shares;
        at_shares.woken_at = version;
        if !at_shares.lanes.is_empty() {
            let lanes = std::mem::take(&mut at_shares.lanes);
            self.unpark(lanes, ParkReason::UserShare(leaf));
        }
    }

    fn wake_queue(&mut self, queue: QueueId, version: u64) {
        let blocked = &mut self.queues[queue.index()].blocked;
        blocked.woken_at = version;
        if !blocked.lanes.is_empty() {
            let lanes = std::mem::take(&mut blocked.lanes);
            self.unpark(lanes, ParkReason::QueueLimit(queue));
        }
    }

    fn wake_user(&mut self, user: LeafUserId, version: u64) {
        let blocked = entry(&mut self.users, user.index());
        blocked.woken_at = version;
        if !blocked.lanes.is_empty() {
            let lanes = std::mem::take(&mut blocked.lanes);
            self.unpark(lanes, ParkReason::UserLimit);
        }
    }

    /// The limit usage fell.
    pub(crate) fn wake_limit_usage(&mut self, limit_usage: LimitUsageId, version: u64) {
        let blocked = entry(&mut self.limit_usages, limit_usage.index());
        blocked.woken_at = version;
        if !blocked.lanes.is_empty() {
            let lanes = std::mem::take(&mut blocked.lanes);
            self.unpark(lanes, ParkReason::HolderLimit(limit_usage));
        }
    }

    pub(super) fn unpark(&mut self, lanes: Vec<LaneId>, reason: ParkReason) {
        for lane in lanes {
            debug_assert_eq!(self.lanes[lane.index()].state, LaneState::Parked(reason));
            self.set_state(lane, LaneState::Runnable);
        }
    }

    /// A parked lane leaves the list of its limit.
    fn unlist(&mut self, lane: LaneId, reason: ParkReason) {
        self.end_blocking(lane, reason);
        let user = self.lanes[lane.index()].user;
        if let Some(blocked) = self.blocked_at(reason, user) {
            blocked.lanes.retain(|listed| *listed != lane);
        }
    }

    /// Lists a lane under its first application while it is runnable.
    pub(super) fn relist(&mut self, lane_id: LaneId) {
        let lane = &mut self.lanes[lane_id.index()];
        let now = lane.order.first().filter(|_| lane.state == LaneState::Runnable);
        if now == lane.listed {
            return;
        }
        let before = std::mem::replace(&mut lane.listed, now);
        let runnable = &mut self.queues[lane.leaf.index()].runnable[lane.share.index()];
        if let Some(place) = before {
            runnable.remove(&(place, lane_id));
        }
        if let Some(place) = now {
            runnable.insert((place, lane_id));
        }
    }

    /// The one place where a lane's state changes, and with it every count of runnable lanes.
    pub(super) fn set_state(&mut self, lane_id: LaneId, state: LaneState) {
        if let LaneState::Parked(reason) = self.lanes[lane_id.index()].state {
            self.unlist(lane_id, reason);
        }
        let lane = &mut self.lanes[lane_id.index()];
        let before = std::mem::replace(&mut lane.state, state);
        let (leaf, share, user, shape) = (lane.leaf, lane.share, lane.user, lane.shape);
        if before.is_at_limit() != state.is_at_limit() {
            self.tell_borrowed_lanes(user, shape, state.is_at_limit());
        }
        let (was, is) = (before == LaneState::Runnable, state == LaneState::Runnable);
        if was == is {
            return;
        }
        self.relist(lane_id);
        let mut queue = Some(leaf);
        while let Some(id) = queue {
            let backlog = &mut self.queues[id.index()];
            let count = &mut backlog.runnable_below[share.index()];
            *count = if is { *count + 1 } else { *count - 1 };
            queue = backlog.parent;
        }
        self.count_runnable(shape, is);
        if share.is_borrowed && self.is_own_at_limit(user, shape) {
            self.count_ahead(shape, is);
        }
    }
}
