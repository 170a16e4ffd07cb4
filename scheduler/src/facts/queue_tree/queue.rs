//! Queues: their place in the tree, their limits and their use.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::PendingPriorities;
use crate::config::{QueueConfig, QueueOrdering, Semantics};
use crate::ids::{LeafUserId, PartitionId, QueueId};
use crate::resource::Resources;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Queue {
    pub(crate) path: Arc<str>,
    pub(crate) parent: Option<QueueId>,
    pub(crate) children: Vec<QueueId>,
    /// Root first, this queue last.
    pub(crate) chain: SmallVec<[QueueId; 6]>,
    /// False after removal. A removed queue keeps its place, because it may come back.
    pub(crate) is_present: bool,
    /// Whether it takes applications.
    pub(crate) is_leaf: bool,
    /// Whether it was created because an application named it.
    pub(crate) is_auto_created: bool,
    /// Since when it has had no application and no queue below it; meaningful only while it is idle.
    pub(crate) idle_since_ms: u64,
    /// Its place among its siblings.
    pub(crate) position: u32,
    /// Its present configuration, without the queues below. A stopped queue stops all queues below it.
    pub(crate) config: QueueConfig,
    /// The partitions that it may use, one bit each by number.
    pub(crate) partitions: u64,
    /// The partition of asks that name none.
    pub(crate) default_partition: PartitionId,
    /// How its parent orders it and its siblings.
    pub(crate) ranked_by: QueueOrdering,
    /// Its applications with outstanding units, by priority; leaves only.
    #[serde(skip)]
    pub(crate) demand: PendingPriorities,
    /// Its priority by the pending asks in it and below.
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
    /// The part of `applications` that waits for activation.
    pub(crate) inactive: u32,
    /// Active applications in it and below, by user; counted only if it limits them. They follow from the applications.
    #[serde(skip)]
    pub(crate) active_by_user: FxHashMap<Arc<str>, u32>,
    /// The resources of active applications' masters, by partition; leaves only.
    pub(crate) masters: Vec<Resources>,
}

/// The limits and the use of a queue in one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// The guaranteed capacity.
    pub guaranteed: Resources,
    /// The maximum capacity.
    pub maximum: Resources,
    /// The most that one user may use (leaves), before the user's weight; where users have shares, the limit can be
    /// lower.
    pub user_limit: Resources,
    /// The divisor of use when queues are ordered: the guarantee, and for types without guarantee the partition's
    /// total.
    pub share_base: Resources,
    /// Use by its containers and reservations.
    pub used: Resources,
    /// The part of `used` that is reserved and not yet running.
    pub reserved: Resources,
    /// The amount of its outstanding asks (leaves; for parents it is summed when read).
    pub pending: Resources,
    /// The part of `used` that belongs to active users, in leaves whose users have shares.
    pub used_by_active: Resources,
    /// Running containers.
    pub containers: u64,
    /// The number of its last container or reservation, counted over the engine's life, 0 if it got none. Of queues
    /// with equal shares, the queue that has waited longest comes first.
    pub last_served: u64,
}

impl Quota {
    /// Whether the queue's maximum admits `more` on top of the use `level`.
    pub(crate) fn admits(&self, level: &Resources, more: &Resources) -> bool {
        level.can_grow(more, &self.maximum)
    }
}

/// The active users of a leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ActiveUsers {
    pub(crate) users: u32,
    /// The sum of their weights.
    pub(crate) weight_milli: u64,
}

/// The purpose of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueRole {
    /// Takes applications.
    Leaf,
    /// Has queues below it.
    Parent,
    /// A parent below which applications may name queues that do not exist yet.
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
