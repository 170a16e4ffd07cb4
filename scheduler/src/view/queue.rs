//! Views of queues.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::QueueState;
use crate::facts::{Queue, Quota};
use crate::ids::{LeafUserId, PartitionId, QueueId};
use crate::resource::Resources;
use crate::state::State;

/// Whether a queue takes applications, and whether it still has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueStatus {
    /// The queue takes applications.
    Running,
    /// The queue takes no applications and waits for its last ones to end.
    Draining,
    /// The queue takes no applications and has none.
    Stopped,
}

/// The pending amounts of users within their limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingWithinLimits {
    /// All pending amounts.
    pub all: Resources,
    /// Pending amounts without units that have reserved nodes.
    pub unreserved: Resources,
}

/// A queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueView<'a> {
    pub(super) id: QueueId,
    pub(super) queue: &'a Queue,
    pub(super) state: &'a State,
}

impl<'a> QueueView<'a> {
    /// Its identifier.
    #[must_use]
    pub fn id(&self) -> QueueId {
        self.id
    }

    /// Its full path.
    #[must_use]
    pub fn path(&self) -> &'a str {
        &self.queue.path
    }

    /// Whether it takes applications.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.queue.is_leaf
    }

    /// Whether the engine made it because an application named it.
    #[must_use]
    pub fn is_auto_created(&self) -> bool {
        self.queue.is_auto_created
    }

    /// Whether it takes applications, and if not, whether it still has some.
    #[must_use]
    pub fn status(&self) -> QueueStatus {
        let is_running = |id: &QueueId| self.state.facts.queue(*id).config.state == QueueState::Running;
        match (self.queue.chain.iter().all(is_running), self.queue.applications) {
            (true, _) => QueueStatus::Running,
            (false, 0) => QueueStatus::Stopped,
            (false, _) => QueueStatus::Draining,
        }
    }

    /// Whether a user in these groups may submit applications to it.
    #[must_use]
    pub fn may_submit(&self, user: &str, groups: &[String]) -> bool {
        self.state.facts.tree.may_submit(self.id, user, groups)
    }

    /// Whether a user in these groups may administer it. The engine does not know the user behind a call, so the
    /// caller has to ask before it acts for a user.
    #[must_use]
    pub fn may_administer(&self, user: &str, groups: &[String]) -> bool {
        self.state.facts.tree.may_administer(self.id, user, groups)
    }

    /// The number of applications in it and below.
    #[must_use]
    pub fn application_count(&self) -> u32 {
        self.queue.applications
    }

    /// The number of applications in it and below that wait for activation.
    #[must_use]
    pub fn inactive_application_count(&self) -> u32 {
        self.queue.inactive
    }

    /// The number of its users with pending asks or with applications that wait for activation (leaves).
    #[must_use]
    pub fn active_user_count(&self) -> u32 {
        self.queue.active.users
    }

    /// The number of its users whose applications are all inactive (leaves).
    #[must_use]
    pub fn held_back_user_count(&self) -> u32 {
        let users = self.queue.users.values().map(|user| self.state.facts.user(*user));
        users.filter(|user| user.inactive > 0 && user.inactive == user.applications).count() as u32
    }

    /// The urgency of its demand: the highest priority of applications with pending asks in it and below, offsets and
    /// fences applied on the way up. `i32::MIN` if nothing is pending.
    #[must_use]
    pub fn demand_priority(&self) -> i32 {
        self.state.facts.tree.demand_priority(self.id)
    }

    /// The amount used by masters of its active applications in a partition (leaves).
    #[must_use]
    pub fn masters(&self, partition: PartitionId) -> Resources {
        self.queue.masters[partition.index()]
    }

    /// The limit for masters of its active applications in a partition (leaves); `None`: no limit.
    #[must_use]
    pub fn master_limit(&self, partition: PartitionId) -> Option<Resources> {
        let is_limited = self.queue.config.master_share.is_some();
        is_limited.then(|| self.state.facts.tree.master_limit(self.id, partition))
    }

    /// Its limits and use in a partition. `pending` covers everything below it.
    #[must_use]
    pub fn quota(&self, partition: PartitionId) -> Quota {
        let below = |id: &QueueId| {
            QueueView { id: *id, queue: self.state.facts.queue(*id), state: self.state }
                .quota(partition)
                .pending
        };
        let mut quota = *self.queue.quota(partition);
        quota.pending += self.queue.children.iter().map(below).sum();
        quota
    }

    /// The pending amounts in it and below in a partition, capped at the headroom of each user. Computed on each
    /// call, from every ask of the engine.
    #[must_use]
    pub fn pending_within_limits(&self, partition: PartitionId) -> PendingWithinLimits {
        let facts = &self.state.facts;
        let mut pending: BTreeMap<LeafUserId, PendingWithinLimits> = BTreeMap::new();
        for (_, ask) in facts.asks.iter() {
            let (application, shape) = (facts.applications.at(ask.application), facts.shapes.at(ask.shape));
            if shape.partition == partition && facts.queue(application.leaf).chain.contains(&self.id) {
                let (outstanding, reserved) = (i64::from(ask.outstanding()), ask.reservations().len() as i64);
                let of_user = pending.entry(application.user).or_default();
                of_user.all += shape.need.resources.times(outstanding);
                of_user.unreserved += shape.need.resources.times((outstanding - reserved).max(0));
            }
        }
        let mut within = PendingWithinLimits::default();
        for (user, pending) in pending {
            let headroom = facts.tree.user_headroom(user, partition).max(&Resources::ZERO);
            within.all += pending.all.min(&headroom);
            within.unreserved += pending.unreserved.min(&headroom);
        }
        within
    }

    /// The use of one of its users in a partition (leaves).
    #[must_use]
    pub fn used_by(&self, user: &str, partition: PartitionId) -> Resources {
        let user = self.queue.users.get(user).map(|user| self.state.facts.user(*user));
        user.map_or(Resources::ZERO, |user| user.used[partition.index()])
    }
}
