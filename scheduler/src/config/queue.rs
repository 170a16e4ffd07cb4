//! The queue tree as it is configured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Factor, Percent};
use crate::resource::Resources;

/// What a queue is guaranteed of what its parent is guaranteed, in each partition.
///
/// Among the children of one parent, absolute amounts are taken out first, percentages apply to what those
/// leave over, and weights share the rest (`capacity-scheduler.md` section 6, case 23).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Capacity {
    /// A percentage; those of siblings sum to at most 100.
    Percent(Percent),
    /// These amounts; where siblings' amounts exceed what the parent has, all shrink alike.
    Absolute(Resources),
    /// A share of what other siblings leave over, in proportion to the weights.
    Weight(Factor),
}

/// What a queue may use at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Maximum {
    /// A percentage of the parent's maximum.
    Percent(Percent),
    /// These amounts; `None` stands for a type without a limit of its own.
    Absolute([Option<i64>; crate::resource::RESOURCE_TYPES_MAX]),
}

/// In which order a leaf serves its applications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ApplicationOrdering {
    /// Higher priority first, then the one submitted first.
    #[default]
    Fifo,
    /// Smallest dominant share of the cluster first, then higher priority, then the one submitted first.
    Fair,
}

/// In which order a parent serves its children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum QueueOrdering {
    /// Those with a guarantee first, then the smallest share of it in use, then the first configured.
    #[default]
    Utilization,
    /// Those that use less than their guarantee first, then higher priority, then as `Utilization`. So priority decides
    /// between two queues below their guarantees, or two at or above, and never between one of each
    /// (`capacity-scheduler.md` 2.5).
    PriorityUtilization,
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

/// One queue. With children it is a parent and distributes; without it is a leaf and takes applications.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueConfig {
    /// Short name, without dots.
    pub name: String,
    /// Guaranteed capacity. The root's is ignored: it has the whole cluster.
    pub capacity: Capacity,
    /// Maximum capacity. The root's is ignored.
    pub maximum: Maximum,
    /// Order of applications; leaves only.
    pub ordering: ApplicationOrdering,
    /// Order of the queues below; parents only.
    pub child_ordering: QueueOrdering,
    /// Higher is first among siblings, where their parent's order asks for it.
    pub priority: i32,
    /// One user's limit as a multiple of the leaf's guarantee; `None`: up to the leaf's maximum. Of a type of
    /// which the leaf is guaranteed nothing a user may have what the leaf may have.
    pub user_limit_factor: Option<Factor>,
    /// What each user with something pending may have while there are others: this part of what the leaf may use now,
    /// or an equal share of what they all use if that is more. All of it (the default): users are not held to shares.
    pub user_limit_minimum: Percent,
    /// By how much a user's limit and share count; of users not named, once. Those of a queue hold below it.
    pub user_weights: BTreeMap<String, Factor>,
    /// Whether it takes new applications.
    pub state: QueueState,
    /// How many applications it takes.
    pub applications: ApplicationLimits,
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
            ordering: ApplicationOrdering::Fifo,
            child_ordering: QueueOrdering::Utilization,
            priority: 0,
            user_limit_factor: Some(Factor::ONE),
            user_limit_minimum: Percent::ALL,
            user_weights: BTreeMap::new(),
            state: QueueState::Running,
            applications: ApplicationLimits::default(),
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

    /// The same queue with this user limit factor.
    #[must_use]
    pub fn with_user_limit_factor(mut self, factor: Option<Factor>) -> Self {
        self.user_limit_factor = factor;
        self
    }
}

impl Maximum {
    /// A maximum in absolute amounts of the first types; further types have no limit of their own.
    #[must_use]
    pub fn absolute(amounts: &[i64]) -> Self {
        let mut all = [None; crate::resource::RESOURCE_TYPES_MAX];
        for (slot, amount) in all.iter_mut().zip(amounts) {
            *slot = Some(*amount);
        }
        Self::Absolute(all)
    }
}

/// A change of one queue while the engine runs; `None` leaves a limit as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueUpdate {
    /// New guarantee.
    pub capacity: Option<Capacity>,
    /// New maximum.
    pub maximum: Option<Maximum>,
    /// New user limit factor (`Some(None)`: up to the leaf's maximum).
    pub user_limit_factor: Option<Option<Factor>>,
    /// New part of the leaf that each of several users may have.
    pub user_limit_minimum: Option<Percent>,
    /// New priority among its siblings.
    pub priority: Option<i32>,
    /// Whether it takes new applications from now on.
    pub state: Option<QueueState>,
    /// New limits on the number of applications. Those that are there stay.
    pub applications: Option<ApplicationLimits>,
}
