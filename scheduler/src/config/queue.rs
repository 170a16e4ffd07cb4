//! The queue tree as configured.

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
    /// A root with these queues below it.
    #[must_use]
    pub fn root(children: impl IntoIterator<Item = QueueConfig>) -> Self {
        Self::leaf("root", Capacity::Percent(Percent::ALL)).with_children(children)
    }

    /// A root with the single leaf `root.default`, which may use everything.
    #[must_use]
    pub fn single_leaf() -> Self {
        Self::root([Self::leaf("default", Capacity::Percent(Percent::ALL))])
    }

    /// A leaf with this guarantee, no maximum below its parent's, first-in-first-out order, and a user limit of its
    /// guarantee.
    #[must_use]
    pub fn leaf(name: impl Into<String>, capacity: Capacity) -> Self {
        Self {
            name: name.into(),
            capacity,
            maximum: Maximum::Percent(Percent::ALL),
            partitions: BTreeMap::new(),
            accessible_partitions: None,
            default_partition: None,
            ordering: ApplicationOrdering::Fifo,
            child_ordering: QueueOrdering::Utilization,
            priority: 0,
            priority_offset: 0,
            priority_fence: false,
            user_limit_factor: Some(Factor::ONE),
            user_limit_minimum: Percent::ALL,
            user_weights: BTreeMap::new(),
            state: QueueState::Running,
            applications: ApplicationLimits::default(),
            auto_creation: None,
            submitters: None,
            administrators: None,
            parallel: ParallelLimits::default(),
            master_share: None,
            default_application_priority: 0,
            lifetimes: Lifetimes::default(),
            limits: Vec::new(),
            children: Vec::new(),
        }
    }

    /// The same queue with these children.
    #[must_use]
    pub fn with_children(mut self, children: impl IntoIterator<Item = QueueConfig>) -> Self {
        self.children.extend(children);
        self
    }

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

    /// The same queue with this maximum.
    #[must_use]
    pub fn with_maximum(mut self, maximum: Maximum) -> Self {
        self.maximum = maximum;
        self
    }

    /// The same queue with this guarantee and maximum in the partition.
    #[must_use]
    pub fn with_partition(mut self, name: impl Into<String>, capacity: PartitionCapacity) -> Self {
        self.partitions.insert(name.into(), capacity);
        self
    }

    /// The same queue with access to these partitions and the default one.
    #[must_use]
    pub fn with_access(mut self, access: PartitionAccess) -> Self {
        self.accessible_partitions = Some(access);
        self
    }

    /// The same queue with this partition for asks that name none.
    #[must_use]
    pub fn with_default_partition(mut self, name: impl Into<String>) -> Self {
        self.default_partition = Some(name.into());
        self
    }

    /// The same queue with this order of applications.
    #[must_use]
    pub fn with_ordering(mut self, ordering: ApplicationOrdering) -> Self {
        self.ordering = ordering;
        self
    }

    /// The same queue with this order of its children.
    #[must_use]
    pub fn with_child_ordering(mut self, ordering: QueueOrdering) -> Self {
        self.child_ordering = ordering;
        self
    }

    /// The same queue with this priority among its siblings.
    #[must_use]
    pub fn with_priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// The same queue with this priority offset. It is added to the priorities below.
    #[must_use]
    pub fn with_priority_offset(mut self, offset: i32) -> Self {
        (self.priority_offset, self.priority_fence) = (offset, false);
        self
    }

    /// The same queue with this priority offset. It replaces the priorities below.
    #[must_use]
    pub fn with_priority_fence(mut self, offset: i32) -> Self {
        (self.priority_offset, self.priority_fence) = (offset, true);
        self
    }

    /// The same queue with this user limit minimum.
    #[must_use]
    pub fn with_user_limit_minimum(mut self, minimum: Percent) -> Self {
        self.user_limit_minimum = minimum;
        self
    }

    /// The same queue with this weight for the user.
    #[must_use]
    pub fn with_user_weight(mut self, user: impl Into<String>, weight: Factor) -> Self {
        self.user_weights.insert(user.into(), weight);
        self
    }

    /// The same queue in this state.
    #[must_use]
    pub fn with_state(mut self, state: QueueState) -> Self {
        self.state = state;
        self
    }

    /// The same queue with these limits on the number of applications.
    #[must_use]
    pub fn with_applications(mut self, limits: ApplicationLimits) -> Self {
        self.applications = limits;
        self
    }

    /// The same queue, below which applications may name queues that do not exist yet.
    #[must_use]
    pub fn with_auto_creation(mut self, creation: AutoCreation) -> Self {
        self.auto_creation = Some(Box::new(creation));
        self
    }

    /// The same queue with this list of submitters.
    #[must_use]
    pub fn with_submitters(mut self, submitters: AccessList) -> Self {
        self.submitters = Some(submitters);
        self
    }

    /// The same queue with this list of administrators.
    #[must_use]
    pub fn with_administrators(mut self, administrators: AccessList) -> Self {
        self.administrators = Some(administrators);
        self
    }

    /// The same queue with these limits on active applications.
    #[must_use]
    pub fn with_parallel(mut self, limits: ParallelLimits) -> Self {
        self.parallel = limits;
        self
    }

    /// The same queue with this limit for the masters of active applications.
    #[must_use]
    pub fn with_master_share(mut self, share: Option<Percent>) -> Self {
        self.master_share = share;
        self
    }

    /// The same leaf with this priority for applications that name none.
    #[must_use]
    pub fn with_default_application_priority(mut self, priority: u32) -> Self {
        self.default_application_priority = priority;
        self
    }

    /// The same queue with these lifetimes of applications.
    #[must_use]
    pub fn with_lifetimes(mut self, lifetimes: Lifetimes) -> Self {
        self.lifetimes = lifetimes;
        self
    }

    /// The same queue with these additional limits of users and groups.
    #[must_use]
    pub fn with_limits(mut self, limits: impl IntoIterator<Item = HolderLimit>) -> Self {
        self.limits.extend(limits);
        self
    }

    /// The same queue with this user limit factor.
    #[must_use]
    pub fn with_user_limit_factor(mut self, factor: Option<Factor>) -> Self {
        self.user_limit_factor = factor;
        self
    }
}
