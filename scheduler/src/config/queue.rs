//! The queue tree as configured.

mod build;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    AccessList, AutoCreation, Capacity, Factor, HolderLimit, Maximum, PartitionAccess, PartitionCapacity,
    Percent,
};

/// The order in which a leaf serves its applications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ApplicationOrdering {
    /// Higher priority first, then the earlier submission.
    #[default]
    Fifo,
    /// Smallest dominant share of the cluster first, then higher priority, then the application served longest ago.
    /// Applications that were never served come first, in the order of submission.
    Fair,
    /// As `Fair`, but the share is divided by the binary logarithm of the application's running and pending
    /// resources, so that larger applications get more.
    FairBySize,
}

impl ApplicationOrdering {
    /// Whether the order depends on the use of applications.
    pub(crate) fn is_fair(self) -> bool {
        self != Self::Fifo
    }
}

/// The order in which a parent serves its children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum QueueOrdering {
    /// Queues with a guarantee first, then the smallest share of it in use, then the queue served longest ago, then the
    /// first configured.
    #[default]
    Utilization,
    /// Queues that use less than their guarantee first, then higher priority, then as `Utilization`. So priority
    /// decides only between two queues below their guarantees, or between two at or above.
    PriorityUtilization,
    /// The queue with the most urgent demand first, then as `Utilization`. The demand of a queue is the highest
    /// priority of an application with pending asks, adjusted by [`priority_offset`](QueueConfig::priority_offset)
    /// and [`priority_fence`](QueueConfig::priority_fence) on the way up.
    DemandPriority,
    /// As `Utilization`; between equal shares, the queue with the more urgent demand first, as in `DemandPriority`.
    /// This is YuniKorn's order: fairness, then priority.
    UtilizationThenDemand,
}

/// Whether a queue takes new applications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum QueueState {
    /// The queue takes applications if the queues above do.
    #[default]
    Running,
    /// Neither the queue nor any queue below takes new applications. Existing applications go on.
    Stopped,
}

/// The most applications a queue holds; `None`: no limit. The engine refuses an application above the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationLimits {
    /// In this queue and those below it.
    pub total: Option<u32>,
    /// For one user; leaves only.
    pub per_user: Option<u32>,
}

/// The most active applications at a time; `None`: no limit. An application above the limit waits until another one
/// ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParallelLimits {
    /// In this queue and those below it.
    pub total: Option<u32>,
    /// For one user, in this queue and those below it.
    pub per_user: Option<u32>,
    /// Per-user limits by name; they replace `per_user` for those users.
    pub by_user: BTreeMap<String, u32>,
}

impl ParallelLimits {
    /// The limit of this user.
    pub(crate) fn of_user(&self, user: &str) -> Option<u32> {
        self.by_user.get(user).copied().or(self.per_user)
    }

    /// Whether any single user has a limit.
    pub(crate) fn limits_users(&self) -> bool {
        self.per_user.is_some() || !self.by_user.is_empty()
    }
}

/// How long applications may live, counted from submission. A queue's lifetimes apply below it too; the nearest
/// queue with a setting decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetimes {
    /// The lifetime of an application that names none.
    pub default_ms: Option<u64>,
    /// The longest lifetime that an application may have.
    pub maximum_ms: Option<u64>,
}

/// One queue. A queue with children or with `auto_creation` is a parent and distributes. Any other queue is a leaf
/// and takes applications.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueConfig {
    /// Short name, without dots.
    pub name: String,
    /// Guaranteed capacity. The root's is ignored: it has the whole cluster.
    pub capacity: Capacity,
    /// Maximum capacity. The root's is ignored.
    pub maximum: Maximum,
    /// Guarantees and maxima that differ in single partitions, by name. Empty for the root.
    pub partitions: BTreeMap<String, PartitionCapacity>,
    /// The partitions that the queue may use. `None`: those of the queue above; the root may use all.
    pub accessible_partitions: Option<PartitionAccess>,
    /// The partition of asks that name none; the empty name is the default partition. `None`: the setting of the
    /// queue above if this queue may use that partition, else the default partition.
    pub default_partition: Option<String>,
    /// Order of applications; leaves only.
    pub ordering: ApplicationOrdering,
    /// Order of the queues below; parents only.
    pub child_ordering: QueueOrdering,
    /// Position among siblings, highest first, if the parent's order uses priority.
    pub priority: i32,
    /// Added to the priority of pending asks in this queue and below, as the queues above see it.
    pub priority_offset: i32,
    /// Whether the queues above see the offset alone, without the priorities below.
    pub priority_fence: bool,
    /// One user's limit as a multiple of the leaf's guarantee; `None`: up to the leaf's maximum. For a type without a
    /// guarantee the limit is the leaf's maximum.
    pub user_limit_factor: Option<Factor>,
    /// The limit of each user with pending asks while there are several such users, as a part of the leaf's
    /// guarantee or use. It is at most this part of the leaf's maximum, or an equal share of the active users' use
    /// if that is more. The default, 100 %, turns shares off.
    pub user_limit_minimum: Percent,
    /// Weights of users, which multiply their limits and shares; users not named have weight 1. A queue's weights
    /// apply below it too.
    pub user_weights: BTreeMap<String, Factor>,
    /// Whether the queue takes new applications.
    pub state: QueueState,
    /// The most applications in the queue.
    pub applications: ApplicationLimits,
    /// Makes queues below this one when applications name them.
    pub auto_creation: Option<Box<AutoCreation>>,
    /// Users who may submit applications here and below, in addition to those permitted above and the
    /// administrators. `None` here and above: every user.
    pub submitters: Option<AccessList>,
    /// Users who may administer this queue and those below, in addition to those permitted above. `None` here and
    /// above: every user.
    pub administrators: Option<AccessList>,
    /// The most active applications at a time.
    pub parallel: ParallelLimits,
    /// The part of the leaf that the masters of active applications may use; `None`: no limit.
    pub master_share: Option<Percent>,
    /// The priority of applications that name none; leaves only.
    pub default_application_priority: u32,
    /// How long applications may live.
    pub lifetimes: Lifetimes,
    /// Limits of users and groups here and below, in amounts.
    pub limits: Vec<HolderLimit>,
    /// The queues below.
    pub children: Vec<QueueConfig>,
}

impl QueueConfig {
    /// The queue's own settings, without its children.
    pub(crate) fn without_children(&self) -> Self {
        Self {
            name: self.name.clone(),
            partitions: self.partitions.clone(),
            accessible_partitions: self.accessible_partitions.clone(),
            default_partition: self.default_partition.clone(),
            user_weights: self.user_weights.clone(),
            submitters: self.submitters.clone(),
            administrators: self.administrators.clone(),
            auto_creation: self.auto_creation.clone(),
            parallel: self.parallel.clone(),
            limits: self.limits.clone(),
            children: Vec::new(),
            ..*self
        }
    }

    /// Whether the queue takes applications.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.children.is_empty() && self.auto_creation.is_none()
    }
}
