//! The queue tree as it is configured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    AccessList, AutoCreation, Capacity, Factor, HolderLimit, Maximum, PartitionAccess, PartitionCapacity,
    Percent,
};

/// In which order a leaf serves its applications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ApplicationOrdering {
    /// Higher priority first, then the one submitted first.
    #[default]
    Fifo,
    /// Smallest dominant share of the cluster first, then higher priority, then the application served longest ago.
    /// Applications that were never served come first, in the order of submission.
    Fair,
    /// As `Fair`, but the share is divided by the binary logarithm of the application's running and pending resources,
    /// so that larger ones get more (`capacity-scheduler.md` 1.4, fair, size-based weight).
    FairBySize,
}

impl ApplicationOrdering {
    /// Whether it depends on the use of applications.
    pub(crate) fn is_fair(self) -> bool {
        self != Self::Fifo
    }
}

/// In which order a parent serves its children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum QueueOrdering {
    /// Queues with a guarantee first, then the smallest share of it in use, then the queue served longest ago, then the
    /// first configured.
    #[default]
    Utilization,
    /// Those that use less than their guarantee first, then higher priority, then as `Utilization`. So priority decides
    /// between two queues below their guarantees, or two at or above, and never between one of each
    /// (`capacity-scheduler.md` 2.5).
    PriorityUtilization,
    /// Those in which something more urgent is pending first, then as `Utilization`: by the greatest priority of an
    /// application with something pending, with [`priority_offset`](QueueConfig::priority_offset) and
    /// [`priority_fence`](QueueConfig::priority_fence) on the way (`peers.md` 1.1, priority).
    DemandPriority,
    /// As `Utilization`, and of equal shares the queue with the more urgent demand first, measured as for
    /// `DemandPriority`: YuniKorn's order of fairness, then priority (`peers.md` 1.1, queue order).
    UtilizationThenDemand,
}

/// Whether a queue takes new applications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum QueueState {
    /// It does, if the queues above do.
    #[default]
    Running,
    /// Neither it nor any queue below does. The applications that are there go on.
    Stopped,
}

/// How many applications a queue takes; `None`: any number. An application too many is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationLimits {
    /// In this queue and those below it.
    pub total: Option<u32>,
    /// Of one user; leaves only.
    pub per_user: Option<u32>,
}

/// How many applications may be active at a time; `None`: any number. One more waits until another one ends
/// (`capacity-scheduler.md` 1.2, parallel applications).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParallelLimits {
    /// In this queue and those below it.
    pub total: Option<u32>,
    /// Of one user, in this queue and those below it.
    pub per_user: Option<u32>,
    /// The same of those users that are named here, instead.
    pub by_user: BTreeMap<String, u32>,
}

impl ParallelLimits {
    /// How many of this user's.
    pub(crate) fn of_user(&self, user: &str) -> Option<u32> {
        self.by_user.get(user).copied().or(self.per_user)
    }

    /// Whether the number of any single user's is limited.
    pub(crate) fn limits_users(&self) -> bool {
        self.per_user.is_some() || !self.by_user.is_empty()
    }
}

/// How long applications may be there, from their submission on. Those of a queue hold below it too; of several on the
/// way up the nearest counts (`capacity-scheduler.md` 1.2, application lifetime).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetimes {
    /// The lifetime of an application that names none.
    pub default_ms: Option<u64>,
    /// The longest lifetime that an application may have.
    pub maximum_ms: Option<u64>,
}

/// One queue. With children, or where queues are made on demand, it is a parent and distributes; otherwise it is a leaf
/// and takes applications.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueConfig {
    /// Short name, without dots.
    pub name: String,
    /// Guaranteed capacity. The root's is ignored: it has the whole cluster.
    pub capacity: Capacity,
    /// Maximum capacity. The root's is ignored.
    pub maximum: Maximum,
    /// Other guarantees and maxima in single partitions, by name. The root's is empty.
    pub partitions: BTreeMap<String, PartitionCapacity>,
    /// Which partitions it may use; `None`: those that the queue above may use, and for the root all.
    pub accessible_partitions: Option<PartitionAccess>,
    /// The partition that asks are for which name none; the empty name is the default partition's. `None`: as for the
    /// queue above, if this one may use that, and else the default partition.
    pub default_partition: Option<String>,
    /// Order of applications; leaves only.
    pub ordering: ApplicationOrdering,
    /// Order of the queues below; parents only.
    pub child_ordering: QueueOrdering,
    /// Higher is first among siblings, where their parent's order asks for it.
    pub priority: i32,
    /// Added to the priority of pending asks in it and below, as the queues above see it.
    pub priority_offset: i32,
    /// The queues above see the offset alone, not the priorities below.
    pub priority_fence: bool,
    /// One user's limit as a multiple of the leaf's guarantee; `None`: up to the leaf's maximum. For a type without a
    /// guarantee the limit is the leaf's maximum.
    pub user_limit_factor: Option<Factor>,
    /// The limit of each user with pending asks while there are several: this part of the leaf's guarantee or use, at
    /// most of its maximum, or an equal share of the active users' use if that is more. All of it (the default): users
    /// are not held to shares.
    pub user_limit_minimum: Percent,
    /// By how much a user's limit and share count; of users not named, once. Those of a queue hold below it.
    pub user_weights: BTreeMap<String, Factor>,
    /// Whether it takes new applications.
    pub state: QueueState,
    /// How many applications it takes.
    pub applications: ApplicationLimits,
    /// Whether queues are made below it when applications name them.
    pub auto_creation: Option<Box<AutoCreation>>,
    /// Users who may submit applications to it and to the queues below, beside those permitted above and the
    /// administrators. `None` here and above: every user.
    pub submitters: Option<AccessList>,
    /// Users who may administer it and the queues below, beside those permitted above. `None` here and above: every
    /// user.
    pub administrators: Option<AccessList>,
    /// How many applications may be active at a time.
    pub parallel: ParallelLimits,
    /// The part of the leaf that the masters of active applications may need (`capacity-scheduler.md` 2.9); `None`:
    /// any.
    pub master_share: Option<Percent>,
    /// The priority of applications that say none; leaves only.
    pub default_application_priority: u32,
    /// When applications are ended.
    pub lifetimes: Lifetimes,
    /// Limits of users and groups in it and below, in amounts.
    pub limits: Vec<HolderLimit>,
    /// The queues below.
    pub children: Vec<QueueConfig>,
}

impl QueueConfig {
    /// The root with these queues below it.
    #[must_use]
    pub fn root(children: impl IntoIterator<Item = QueueConfig>) -> Self {
        Self::leaf("root", Capacity::Percent(Percent::ALL)).with_children(children)
    }

    /// A root with the single leaf `root.default`, which may use everything.
    #[must_use]
    pub fn single_leaf() -> Self {
        Self::root([Self::leaf("default", Capacity::Percent(Percent::ALL))])
    }

    /// A leaf with this guarantee, no maximum below its parent's, first-in-first-out order, and a user limit
    /// of its guarantee.
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

    /// Its own settings, without its children.
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

    /// Whether it takes applications.
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

    /// The same queue, which is guaranteed and may use this in the partition.
    #[must_use]
    pub fn with_partition(mut self, name: impl Into<String>, capacity: PartitionCapacity) -> Self {
        self.partitions.insert(name.into(), capacity);
        self
    }

    /// The same queue, which may use these partitions beside the default one.
    #[must_use]
    pub fn with_access(mut self, access: PartitionAccess) -> Self {
        self.accessible_partitions = Some(access);
        self
    }

    /// The same queue, whose asks are for this partition where they name none.
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

    /// The same queue, which serves those below it in this order.
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

    /// The same queue, which adds this to the priority of its pending asks, or with `is_fence` replaces that priority.
    #[must_use]
    pub fn with_priority_offset(mut self, offset: i32, is_fence: bool) -> Self {
        (self.priority_offset, self.priority_fence) = (offset, is_fence);
        self
    }

    /// The same queue, of which each of several users may have this part.
    #[must_use]
    pub fn with_user_limit_minimum(mut self, minimum: Percent) -> Self {
        self.user_limit_minimum = minimum;
        self
    }

    /// The same queue, where this user counts that many times.
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

    /// The same queue, taking so many applications.
    #[must_use]
    pub fn with_applications(mut self, limits: ApplicationLimits) -> Self {
        self.applications = limits;
        self
    }

    /// The same queue, below which applications may name queues that are not there.
    #[must_use]
    pub fn with_auto_creation(mut self, creation: AutoCreation) -> Self {
        self.auto_creation = Some(Box::new(creation));
        self
    }

    /// The same queue, to which these may submit applications.
    #[must_use]
    pub fn with_submitters(mut self, submitters: AccessList) -> Self {
        self.submitters = Some(submitters);
        self
    }

    /// The same queue, which these may administer.
    #[must_use]
    pub fn with_administrators(mut self, administrators: AccessList) -> Self {
        self.administrators = Some(administrators);
        self
    }

    /// The same queue with so many applications active at a time.
    #[must_use]
    pub fn with_parallel(mut self, limits: ParallelLimits) -> Self {
        self.parallel = limits;
        self
    }

    /// The same queue, of which the masters of active applications may need this part.
    #[must_use]
    pub fn with_master_share(mut self, share: Option<Percent>) -> Self {
        self.master_share = share;
        self
    }

    /// The same leaf, with this priority for applications that say none.
    #[must_use]
    pub fn with_default_application_priority(mut self, priority: u32) -> Self {
        self.default_application_priority = priority;
        self
    }

    /// The same queue, which ends its applications after some time.
    #[must_use]
    pub fn with_lifetimes(mut self, lifetimes: Lifetimes) -> Self {
        self.lifetimes = lifetimes;
        self
    }

    /// The same queue, in which users and groups have these limits.
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
