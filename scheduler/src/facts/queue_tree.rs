//! The queue tree: queues, their users, the limits of both, what they use, and the line of inactive applications.
//!
//! It knows no single ask, container or node. The [ledger](super::ledger) moves quantities in it. After a change of
//! configuration, the files here count them anew. A queue's limits are parts of its partitions' capacity, so the sums
//! of the partitions are here.

mod access;
mod activation;
mod auto_creation;
mod defaults;
mod demand_priority;
mod layout;
mod limit_usage;
mod limits;
mod queue;
mod queue_order;
mod user_limit;
mod users;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

pub(crate) use activation::HeldBack;
use activation::Inactive;
pub(crate) use auto_creation::{Destination, NoDestination};
pub(crate) use demand_priority::PendingPriorities;
pub(crate) use limit_usage::Holder;
use limit_usage::LimitUsages;
use queue::ActiveUsers;
pub use queue::Quota;
pub(crate) use queue::{Queue, QueueRole};
pub(crate) use queue_order::QueueKey;
pub(crate) use user_limit::LeafUse;

use super::LeafUser;
use crate::config::EngineConfig;
use crate::ids::{LeafUserId, QueueId};
use crate::resource::Resources;

/// The nodes of one partition, summed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PartitionTotals {
    pub(crate) capacity: Resources,
    pub(crate) nodes: usize,
    pub(crate) reserved_nodes: usize,
}

/// The queues and their users.
#[derive(Clone, Debug)]
pub(crate) struct QueueTree {
    /// The configuration from the engine's start.
    config: Arc<EngineConfig>,
    pub(crate) partitions: Vec<PartitionTotals>,
    /// All queues, including removed ones.
    pub(crate) queues: Vec<Queue>,
    /// By path.
    ids: FxHashMap<Arc<str>, QueueId>,
    /// Whether some parent orders its children by their pending demand.
    pub(crate) looks_at_demand: bool,
    /// Whether some parent orders its children by more than their use.
    pub(crate) orders_by_priority: bool,
    /// The root's guarantees, all partitions together: the whole of which applications of fair leaves have shares.
    pub(crate) guaranteed: Resources,
    pub(crate) users: Vec<LeafUser>,
    /// Limit usages of users and groups with limits. They follow from the other facts.
    pub(crate) limit_usages: LimitUsages,
    /// Applications that wait for activation. They follow from the other facts.
    pub(crate) inactive: Inactive,
}

impl QueueTree {
    /// A tree without any queue.
    pub(super) fn empty(config: &Arc<EngineConfig>) -> Self {
        Self {
            partitions: vec![PartitionTotals::default(); config.partitions.len() + 1],
            queues: Vec::new(),
            ids: FxHashMap::default(),
            looks_at_demand: false,
            orders_by_priority: false,
            guaranteed: Resources::ZERO,
            users: Vec::new(),
            limit_usages: LimitUsages::default(),
            inactive: Inactive::default(),
            config: Arc::clone(config),
        }
    }

    /// Computes what follows from the queues and users of an image. Their demand is counted before, because priorities
    /// follow from it.
    pub(super) fn restore(&mut self) {
        let paths = self.queues.iter().map(|queue| Arc::clone(&queue.path));
        self.ids = paths.zip((0..).map(QueueId)).collect();
        self.recount_limit_usages();
        self.recount_active_by_user();
        self.update_priorities();
    }

    pub(crate) fn queue(&self, id: QueueId) -> &Queue {
        &self.queues[id.index()]
    }

    pub(crate) fn user(&self, id: LeafUserId) -> &LeafUser {
        &self.users[id.index()]
    }
}
