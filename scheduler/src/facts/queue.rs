//! Queues: their place in the tree, their limits and what they use.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::PendingPriorities;
use crate::config::{QueueConfig, QueueOrdering, Semantics};
use crate::ids::{LeafUserId, PartitionId, QueueId};
use crate::resource::Resources;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Queue {
    pub(crate) path: Arc<str>,
    pub(crate) parent: Option<QueueId>,
    pub(crate) children: Vec<QueueId>,
    /// Root first, this queue last.
    pub(crate) chain: SmallVec<[QueueId; 6]>,
    /// Not removed. A removed queue keeps its place, for it may come back.
    pub(crate) is_present: bool,
    /// It takes applications.
    pub(crate) is_leaf: bool,
    /// It was made when an application named it.
    pub(crate) is_auto_created: bool,
    /// Since when it has had no application and no queue below it, if it has none.
    pub(crate) idle_since_ms: u64,
    /// Its place among its siblings.
    pub(crate) position: u32,
    /// As it is configured now, without the queues below. It takes applications if those above are running, too.
    pub(crate) config: QueueConfig,
    /// Those it may use, a bit for each by number.
    pub(crate) partitions: u64,
    /// The one that asks are for which name none.
    pub(crate) default_partition: PartitionId,
    /// How its parent orders it and its siblings.
    pub(crate) ranked_by: QueueOrdering,
    /// What is pending in it, by priority; leaves only.
    #[serde(skip)]
    pub(crate) demand: PendingPriorities,
    /// How urgent what is pending in it and below makes it.
    #[serde(skip)]
    pub(crate) demand_priority: i32,
    pub(crate) semantics: Semantics,
    /// Leaves only.
    pub(crate) active: ActiveUsers,
    /// By partition.
    pub(crate) quota: Vec<Quota>,
    /// By name; leaves only.
    pub(crate) users: BTreeMap<Arc<str>, LeafUserId>,
    /// Applications in it and below.
    pub(crate) applications: u32,
    /// Of these, those that wait for activation.
    pub(crate) inactive: u32,
    /// Active applications in it and below, by user; counted only where a user's are limited. They follow from the
    /// applications.
    #[serde(skip)]
    pub(crate) active_by_user: FxHashMap<Arc<str>, u32>,
    /// What the masters of active applications need, by partition; leaves only.
    pub(crate) masters: Vec<Resources>,
}

/// What a queue may use and does use in one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// What it is promised.
    pub guaranteed: Resources,
    /// What it may use at most.
    pub maximum: Resources,
    /// What one user may use at most (leaves), times the user's weight; where users are held to shares it can be less.
    pub user_limit: Resources,
    /// What use is divided by when queues are ordered: the guarantee, and for types of which nothing is
    /// guaranteed the partition's total.
    pub share_base: Resources,
    /// Use by its containers and reservations.
    pub used: Resources,
    /// The part of `used` that is reserved and not yet running.
    pub reserved: Resources,
    /// The amount of its outstanding asks (leaves; sums for parents are made when read).
    pub pending: Resources,
    /// The part of `used` that belongs to users with something pending, in leaves that hold their users to shares.
    pub used_by_active: Resources,
    /// Running containers.
    pub containers: u64,
    /// The number of the last container or reservation that it was given, counted over the engine's life, 0 if there
    /// was none: of queues with equal shares the one that has waited longest comes first.
    pub last_served: u64,
}

impl Quota {
    /// Whether the queue's maximum lets this much be added to what counts as its use.
    pub(crate) fn admits(&self, level: &Resources, more: &Resources) -> bool {
        level.can_grow(more, &self.maximum)
    }
}

/// The users of a leaf that want something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ActiveUsers {
    pub(crate) users: u32,
    /// The sum of their weights.
    pub(crate) weight_milli: u64,
}

/// The purpose of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueRole {
    /// It takes applications.
    Leaf,
    /// It has others below it.
    Parent,
    /// A parent below which applications may name queues that are not there.
    Maker,
}

impl Queue {
    pub(crate) fn role(&self) -> QueueRole {
        match (self.is_leaf, &self.config.auto_creation) {
            (true, _) => QueueRole::Leaf,
            (false, None) => QueueRole::Parent,
            (false, Some(_)) => QueueRole::Maker,
        }
    }

    /// Active applications in it and below.
    pub(crate) fn active_applications(&self) -> u32 {
        self.applications - self.inactive
    }

    /// Whether it orders its children by their pending demand.
    pub(crate) fn orders_by_demand(&self) -> bool {
        matches!(
            self.config.child_ordering,
            QueueOrdering::DemandPriority | QueueOrdering::UtilizationThenDemand
        )
    }

    /// Whether it orders its children by more than their use.
    pub(crate) fn orders_by_priority(&self) -> bool {
        self.config.child_ordering != QueueOrdering::Utilization
    }

    pub(crate) fn may_use(&self, partition: PartitionId) -> bool {
        self.partitions >> partition.index() & 1 == 1
    }

    pub(crate) fn quota(&self, partition: PartitionId) -> &Quota {
        &self.quota[partition.index()]
    }
}
