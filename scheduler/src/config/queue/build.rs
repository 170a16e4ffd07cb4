//! Building the description of a queue, setting by setting.

use std::collections::BTreeMap;

use super::{
    AccessList, ApplicationLimits, ApplicationOrdering, AutoCreation, Capacity, Factor, HolderLimit,
    Lifetimes, Maximum, ParallelLimits, PartitionAccess, PartitionCapacity, Percent, QueueConfig,
    QueueOrdering, QueueState,
};

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
