//! The queues of one partition as plain numbers.

use std::collections::BTreeMap;

use super::PreemptionPolicy;
use super::exempt::{Exemptions, is_below};
use crate::config::QueueOrdering;
use crate::facts::{Ask, Facts};
use crate::ids::{AskId, LeafUserId, PartitionId, QueueId};
use crate::resource::Resources;

/// A queue in one partition, for the computation of fair amounts.
#[derive(Clone, Debug, Default)]
pub(super) struct Branch {
    pub(super) children: Vec<QueueId>,
    pub(super) guaranteed: Resources,
    pub(super) maximum: Resources,
    /// Use by containers, without those that are being stopped, and without reservations.
    pub(super) used: Resources,
    /// The amount of its pending asks, within the limits of their users.
    pub(super) pending: Resources,
    /// Use above its guarantee that no other queue may take.
    pub(super) untouchable: Resources,
    /// Its fair amount.
    pub(super) ideal: Resources,
    /// Whether it or a queue above it is exempt from preemption.
    pub(super) is_exempt: bool,
    /// Its priority among its siblings, if their order uses it.
    pub(super) priority: i32,
}

impl Branch {
    pub(super) fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }

    /// Use and pending amount.
    pub(super) fn demand(&self) -> Resources {
        self.used + self.pending
    }

    pub(super) fn above_guarantee(&self) -> Resources {
        self.used.saturating_sub(&self.guaranteed)
    }

    /// The amount that it may keep: its fair amount, or its guarantee up to its demand if that is more.
    pub(super) fn kept(&self) -> Resources {
        self.ideal.max(&self.demand().min(&self.guaranteed))
    }
}

/// The queues of a partition, by number.
pub(super) fn branches(facts: &Facts, partition: PartitionId, policy: &PreemptionPolicy) -> Vec<Branch> {
    let mut pending = vec![Resources::ZERO; facts.tree.queues.len()];
    add_pending(facts, partition, &mut pending);
    let stopping = stopping(facts, partition);
    let exempt_use = Exemptions::new(facts, policy).exempt_use(partition);
    let queues = facts.tree.queues.iter().zip(pending).zip(stopping).zip(exempt_use);
    let mut branches: Vec<Branch> = queues
        .map(|(((queue, pending), stopping), exempt_use)| {
            let quota = queue.quota(partition);
            let uses_priority = queue.ranked_by == QueueOrdering::PriorityUtilization;
            Branch {
                children: queue.children.clone(),
                guaranteed: quota.guaranteed,
                maximum: quota.maximum,
                used: quota.used.saturating_sub(&(quota.reserved + stopping)),
                pending,
                untouchable: exempt_use.saturating_sub(&quota.guaranteed),
                is_exempt: is_below(facts, queue, &policy.exempt),
                priority: if uses_priority { queue.config.priority } else { 0 },
                ..Branch::default()
            }
        })
        .collect();
    add_up(&mut branches, facts);
    branches
}

/// Adds the pending and untouchable amounts of each queue to its parent, which has a smaller number.
fn add_up(branches: &mut [Branch], facts: &Facts) {
    for (index, queue) in facts.tree.queues.iter().enumerate().rev() {
        let branch = &mut branches[index];
        let extra = branch.above_guarantee();
        branch.untouchable = match (branch.is_leaf(), branch.is_exempt) {
            (true, true) => extra,
            _ => branch.untouchable.min(&extra),
        };
        let (pending, untouchable) = (branch.pending, branch.untouchable);
        if let Some(parent) = queue.parent.filter(|_| queue.is_present) {
            branches[parent.index()].pending += pending;
            branches[parent.index()].untouchable += untouchable;
        }
    }
}

/// The amounts of containers that are being stopped, in each queue and below.
pub(super) fn stopping(facts: &Facts, partition: PartitionId) -> Vec<Resources> {
    let mut stopping = vec![Resources::ZERO; facts.tree.queues.len()];
    for container in facts.stopping.keys().filter_map(|id| facts.containers.get(*id)) {
        let shape = facts.shapes.at(container.shape);
        if shape.partition == partition {
            let leaf = facts.applications.at(container.application).leaf;
            facts.queue(leaf).chain.iter().for_each(|above| stopping[above.index()] += shape.need.resources);
        }
    }
    stopping
}

/// The units of the ask that preemption may start: the minimum of a waiting gang's role, otherwise all outstanding.
fn wanted(facts: &Facts, id: AskId, ask: &Ask) -> i64 {
    facts.held_role(id).map_or(ask.outstanding().into(), |(_, role)| role.minimum.into())
}

/// Adds the pending amounts to each leaf. A user's amount is at most the user's headroom. Reserved units are
/// charged already. As in YARN they count twice: often the cluster has the room in total, but not on one node.
fn add_pending(facts: &Facts, partition: PartitionId, pending: &mut [Resources]) {
    let mut by_user: BTreeMap<LeafUserId, Resources> = BTreeMap::new();
    for (id, ask) in facts.asks.iter() {
        let (application, shape) = (facts.applications.at(ask.application), facts.shapes.at(ask.shape));
        if shape.partition != partition || !application.is_active {
            continue;
        }
        let wanted = wanted(facts, id, ask);
        let reserved = wanted.min(ask.reservations().len() as i64);
        let unreserved = wanted - reserved;
        pending[application.leaf.index()] += shape.need.resources.times(2 * reserved);
        *by_user.entry(application.user).or_default() += shape.need.resources.times(unreserved);
    }
    for (user, wanted) in by_user {
        let headroom = facts.tree.user_headroom(user, partition).max(&Resources::ZERO);
        pending[facts.user(user).leaf.index()] += wanted.min(&headroom);
    }
}
