//! Parking and waking of lanes.
//!
//! A pass reports what it finds blocked, and the committer records it. The first two rows and the last park no lane:
//!
//! | found | recorded as | undone by |
//! |---|---|---|
//! | no node of the set fits the shape | shape closed in that set | a node of the set gains room that fits, may be reserved, or its rack falls below a tag's cap; the partition is resharded |
//! | named hosts full | ask waits, out of its lane | a host or rack gains room; its locality delay passes; where nodes count, one more node with room, or one node less |
//! | queue limit, user limit | lane parked at that queue or user | use or amounts in flight at that queue or user fall; limits change |
//! | blocked headroom of earlier queues | lane parked, among all lanes without headroom | use, priorities or blocked headroom change anywhere; limits change |
//! | limit of a user or group at a queue | lane parked at that limit usage | its use or amounts in flight fall; a user comes with other groups; limits change |
//! | a user's share of the leaf | lane parked at the leaf's shares | a unit is placed, reserved, asked for, cancelled or given back in the leaf; limits change |
//! | all units in flight or reserved | lane parked | a unit comes back; a new ask; the ask may reserve one more node than it has outstanding units |
//! | only amounts in flight are in the way | set paused | anything in flight is decided or given back |
//!
//! `waits.rs` knows which lane is parked at which limit. This file updates the lists and counts that follow: runnable
//! lanes, the headroom that parked lanes block, and the borrowed lanes that are due.

use super::{Backlog, Count, WaitKey};
use crate::ids::{LaneId, LeafUserId, LimitUsageId, QueueId, ShapeId};
use crate::resource::Resources;

impl Backlog {
    /// Parks a lane that a pass at state version `seen` found blocked, unless something that could help has
    /// happened since. At a queue's limit it blocks this much headroom.
    pub(crate) fn park(&mut self, lane: LaneId, key: WaitKey, blocks: &Resources, seen: u64) {
        if !self.runnable.contains(lane) || !self.waits.park(lane, key, seen) {
            return;
        }
        if let WaitKey::QueueLimit(limited) = key {
            self.begin_blocking(lane, limited, blocks);
        }
        self.count_ahead_of(lane, key, Count::OneMore);
        self.update_runnable(lane);
    }

    /// Wakes the lanes parked at the key after its amount has fallen.
    #[inline]
    pub(super) fn wake(&mut self, key: WaitKey, version: u64) {
        if self.waits.stamp(key, version) {
            self.unpark_all(key);
        }
    }

    #[inline(never)]
    fn unpark_all(&mut self, key: WaitKey) {
        while let Some(lane) = self.waits.pop(key) {
            self.unparked(lane, key);
        }
    }

    /// Updates lists and counts after the lane stopped waiting for the key.
    fn unparked(&mut self, lane: LaneId, key: WaitKey) {
        if let WaitKey::QueueLimit(limited) = key {
            self.end_blocking(lane, limited);
        }
        self.count_ahead_of(lane, key, Count::OneLess);
        self.update_runnable(lane);
    }

    /// Removes a lane from the list of its limit, if it is parked.
    pub(super) fn unpark(&mut self, lane: LaneId) {
        match self.waits.withdraw(lane) {
            Some(key) => self.unparked(lane, key),
            None => self.update_runnable(lane),
        }
    }

    /// Wakes a lane whose units were all in flight, after a new ask came or units came back.
    pub(crate) fn units_arrived(&mut self, lane: LaneId, version: u64) {
        if self.waits.renew(lane, version) {
            self.update_runnable(lane);
        }
    }

    /// As [`units_arrived`](Self::units_arrived), for the user's lanes of this shape and of its borrowed variants.
    pub(crate) fn units_returned(&mut self, user: LeafUserId, shape: ShapeId, version: u64) {
        if let Some(lane) = self.lanes.of(user, shape) {
            self.units_arrived(lane, version);
        }
        self.for_each_variant(shape, |backlog, variant| backlog.units_returned(user, variant, version));
    }

    /// Wakes lanes after use fell for the user, its limit usages and the queues above.
    pub(crate) fn use_fell(
        &mut self,
        leaf: QueueId,
        user: LeafUserId,
        limit_usages: &[LimitUsageId],
        version: u64,
    ) {
        // Nothing is parked again in the version that woke it: no pass has seen that version yet.
        if !self.waits.is_stamped(WaitKey::UserLimit(user), version) {
            let mut queue = Some(leaf);
            while let Some(id) = queue {
                self.wake(WaitKey::QueueLimit(id), version);
                queue = self.parents[id.index()];
            }
            self.wake(WaitKey::UserLimit(user), version);
        }
        for limit_usage in limit_usages {
            self.wake(WaitKey::LimitUsage(*limit_usage), version);
        }
        self.leaf_changed(leaf, version);
    }

    /// Wakes lanes after the limit usage of a user or group fell.
    pub(crate) fn limit_usage_fell(&mut self, limit_usage: LimitUsageId, version: u64) {
        self.wake(WaitKey::LimitUsage(limit_usage), version);
    }

    /// Wakes lanes after the leaf's use or pending units changed. The shares of its users and the order may have
    /// changed, too.
    #[inline]
    pub(crate) fn leaf_changed(&mut self, leaf: QueueId, version: u64) {
        self.headroom.record_move();
        self.wake(WaitKey::UserShare(leaf), version);
    }

    /// Wakes lanes after any limit may have changed. Stamps limits at which no lane was ever parked, too.
    pub(crate) fn wake_all(&mut self, version: u64) {
        self.headroom.record_move();
        let keys = self.waits.stamp_all(version);
        keys.into_iter().for_each(|key| self.unpark_all(key));
    }
}
