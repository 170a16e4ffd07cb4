//! Queues: their place in the tree, their limits and what they use.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::config::{
    ApplicationLimits, ApplicationOrdering, Capacity, Factor, Maximum, Percent, QueueConfig, QueueOrdering,
    QueueState, Semantics,
};
use crate::ids::{LeafUserId, PartitionId, QueueId};
use crate::resource::Resources;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Queue {
    pub(crate) path: Arc<str>,
    pub(crate) parent: Option<QueueId>,
    pub(crate) children: Vec<QueueId>,
    /// Root first, this queue last.
    pub(crate) chain: SmallVec<[QueueId; 6]>,
    pub(crate) capacity: Capacity,
    pub(crate) maximum: Maximum,
    pub(crate) ordering: ApplicationOrdering,
    /// Whether priority decides between it and its siblings.
    pub(crate) is_ranked: bool,
    pub(crate) priority: i32,
    pub(crate) user_limit_factor: Option<Factor>,
    pub(crate) user_limit_minimum: Percent,
    pub(crate) user_weights: BTreeMap<String, Factor>,
    pub(crate) semantics: Semantics,
    /// Leaves only.
    pub(crate) active: ActiveUsers,
    /// By partition.
    pub(crate) quota: Vec<Quota>,
    /// By name; leaves only.
    pub(crate) users: BTreeMap<Arc<str>, LeafUserId>,
    /// As it is configured; it takes applications if the queues above are running, too.
    pub(crate) state: QueueState,
    pub(crate) application_limits: ApplicationLimits,
    /// Applications in it and below.
    pub(crate) applications: u32,
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
    /// What its containers and reservations hold.
    pub used: Resources,
    /// The part of `used` that is reserved and not yet running.
    pub reserved: Resources,
    /// What its outstanding asks would need (leaves; sums for parents are made when read).
    pub pending: Resources,
    /// The part of `used` that belongs to users with something pending, in leaves that hold their users to shares.
    pub used_by_active: Resources,
    /// Running containers.
    pub containers: u64,
}

impl Quota {
    /// Whether the queue's maximum lets this much be added to what counts as its use.
    pub(crate) fn admits(&self, level: &Resources, more: &Resources) -> bool {
        level.can_grow(more, &self.maximum)
    }
}

/// The users of a leaf that have something pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ActiveUsers {
    pub(crate) users: u32,
    /// The sum of their weights.
    pub(crate) weight_milli: u64,
}

impl Queue {
    pub(crate) fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }

    pub(crate) fn quota(&self, partition: PartitionId) -> &Quota {
        &self.quota[partition.index()]
    }
}

/// The queues of a configuration in depth-first order; the root is number 0.
pub(crate) fn build_queues(root: &QueueConfig, partitions: usize) -> Vec<Queue> {
    let mut queues = Vec::new();
    add_queue(&mut queues, root, None, false, partitions);
    queues
}

fn add_queue(
    queues: &mut Vec<Queue>,
    config: &QueueConfig,
    parent: Option<QueueId>,
    is_ranked: bool,
    partitions: usize,
) -> QueueId {
    let id = QueueId(queues.len() as u32);
    let above = parent.map(|parent| &queues[parent.index()]);
    let path = above.map_or_else(|| config.name.clone(), |above| format!("{}.{}", above.path, config.name));
    let mut chain = above.map_or_else(SmallVec::new, |above| above.chain.clone());
    chain.push(id);
    queues.push(Queue {
        path: path.into(),
        parent,
        children: Vec::new(),
        chain,
        capacity: config.capacity,
        maximum: config.maximum,
        ordering: config.ordering,
        is_ranked,
        priority: config.priority,
        user_limit_factor: config.user_limit_factor,
        user_limit_minimum: config.user_limit_minimum,
        user_weights: config.user_weights.clone(),
        semantics: Semantics::Strict,
        active: ActiveUsers::default(),
        quota: vec![Quota::default(); partitions],
        users: BTreeMap::new(),
        state: config.state,
        application_limits: config.applications,
        applications: 0,
    });
    for child in &config.children {
        let is_ranked = config.child_ordering == QueueOrdering::PriorityUtilization;
        let child = add_queue(queues, child, Some(id), is_ranked, partitions);
        queues[id.index()].children.push(child);
    }
    id
}
