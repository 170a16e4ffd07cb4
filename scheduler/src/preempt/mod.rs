//! Plans of preemption: who loses which containers, for whom, and who is owed but cannot be helped.
//!
//! [`View::preemption_plan`](crate::view::View::preemption_plan) computes the fair amounts of all queues as YARN does
//! (`ideal`): guarantees first, then the rest for queues that want more. Leaves that use more than their fair amount
//! may lose containers (`amounts`). The plan chooses the victims for one unit of a beneficiary's ask at a time, on one
//! node. [`Preemption::request`] is the commit request that ends the victims and starts the beneficiary's container in
//! one step. The plan changes nothing. An embedder may commit it, and `round` turns a plan into the steps of a running
//! engine.
//!
//! The preemptions of a plan hold in their order: each counts on the room and the limits that the preemptions before
//! it leave (`planned_use`, `planned_nodes`). A later change of the state may make a preemption stale. Then the
//! committer rejects its request, and no container ends.
//!
//! Gangs that wait come first (`gangs`): one gets room for its whole minimum in one commit request, or nothing. For a
//! gang, leaves may lose more than the part of a round: all that they owe. As long as the plan has taken nothing from
//! a partition, so may they for one container.
//!
//! With [`WithinQueuePolicy`], applications of one leaf may take from each other after that (`within`): those of
//! higher priority, or of users within their user limits. The victims are chosen by the same rules.
//!
//! On each node, the plan takes candidates in their order until the unit fits, and drops those that it does not need.
//! The order is by class: announced victims first, then placeholders, opportunistic containers and borrowed ones
//! (`candidates`). Then the plan picks the node with the fewest masters, then the fewest victims, the lowest
//! [`PreemptionCost`] and the least amount to spare. A container whose cost is `Never` counts as exempt.
//!
//! A [`DisruptionBudget`] bounds how many containers of an application a plan takes (`budgets`). The victims of all
//! partitions and announced victims count.
//!
//! The committer checks budgets, costs and guarantees again before it carries out a step of a round (`recheck`). If the
//! room has become free meanwhile, the container starts, and no victim ends.
//!
//! A gang that has started loses members one by one down to the minimum of each role. The others end together in one
//! commit, if nothing else helps and the leaf owes all of their room (`whole_gangs`). Such a loss may exceed what a
//! round takes. Within a leaf, no gang ends as a whole.
//!
//! Two plans in turn do not go in circles. A beneficiary gets no more than its fair amount. A leaf loses nothing below
//! its guarantee, type by type, but a type that is below already may fall with the others. Neither does a queue above
//! the leaf, unless it is above the beneficiary, too: then it keeps the room.
//!
//! # What is not there
//!
//! * Unlike YARN, a round cancels no reservations of a leaf that owes. They still count against the maxima, and nothing
//!   on their nodes is taken for other beneficiaries.
//! * While a unit waits for a container that is being stopped on a node, further units get no victims in its room.
//!   They wait for the stop, too.
//! * No container ends because it has a tag that keeps the beneficiary off its node.

mod amounts;
mod beneficiaries;
mod budgets;
mod candidates;
mod cost;
mod exempt;
mod gangs;
mod ideal;
mod outcome;
mod plan;
mod planned_nodes;
mod planned_use;
mod planner;
mod recheck;
mod round;
mod suitable_nodes;
mod text;
mod tree;
mod victims;
mod whole_gangs;
mod within;

use serde::{Deserialize, Serialize};
use thin_vec::ThinVec;

pub use crate::config::{PreemptionPolicy, WithinQueueOrder, WithinQueuePolicy};
pub use crate::explain::UnhelpedReason;
pub use crate::facts::{
    DisruptionBudget, DisruptionLimit, InvalidBudget, PreemptionCost, PreemptionNotice, PreemptionRule,
};
use crate::ids::{ApplicationId, AskId, ContainerId, GangId, NodeId, ReservationId};
use crate::request::{AllocationProposal, CommitSeq, ResourceAllocationCommitRequest};
use crate::resource::Amounts;
pub(crate) use plan::plan;
pub(crate) use recheck::Recheck;
pub(crate) use round::round;

/// What one round of preemption would do. [`Display`](std::fmt::Display) writes it as sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreemptionPlan {
    /// The last change applied at that moment.
    pub seq: CommitSeq,
    /// The engine's time at that moment.
    pub now_ms: u64,
    /// The amounts of all queues, by partition.
    pub partitions: Vec<PartitionAmounts>,
    /// The gangs that would start in place of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gangs: Vec<GangPreemption>,
    /// The containers that would be started in place of others. Commit [all requests](Self::requests) in their order
    /// and at once. A pass between two of them may use room that the second counts on, and the second is
    /// then rejected.
    pub preemptions: Vec<Preemption>,
    /// The asks of queues that are owed more, but would get nothing more, in the order in which they are due.
    pub unhelped: Vec<Unhelped>,
    /// The exempt paths of the policy that no queue has.
    #[serde(default)]
    pub unknown_exempt: Vec<UnknownQueue>,
}

impl PreemptionPlan {
    /// The commit requests that carry out the plan, in the order in which to commit them: gangs come first.
    pub fn requests(&self) -> impl Iterator<Item = ResourceAllocationCommitRequest> + '_ {
        let gangs = self.gangs.iter().map(GangPreemption::request);
        gangs.chain(self.preemptions.iter().map(Preemption::request))
    }
}

/// A path in the policy that no queue has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownQueue {
    /// The path.
    pub path: String,
    /// The path of a queue that is spelled almost like it.
    pub nearest: Option<String>,
}

/// The amounts of all queues in a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionAmounts {
    /// The partition's name; empty for the default one.
    pub partition: String,
    /// The queues, parents before their children.
    pub queues: Vec<QueueAmounts>,
}

/// The amounts of a queue in a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueAmounts {
    /// The queue's path.
    pub path: String,
    /// Its guarantee.
    pub guaranteed: Amounts,
    /// Use by its containers, without those that are being stopped. Reservations and room held for gangs do not count.
    pub used: Amounts,
    /// The amount of its pending asks, those of waiting gangs included, within the limits of their users.
    pub pending: Amounts,
    /// Its fair amount. A parent's may be more than the sum of its children's.
    pub ideal: Amounts,
    /// The amount that this round may take from it; nothing for parents.
    pub to_take: Amounts,
}

/// One container of a beneficiary that would be started in place of others on the same node. Only a gang that ends as
/// a whole has victims on other nodes, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preemption {
    /// The ask of the beneficiary.
    pub ask: AskId,
    /// The beneficiary.
    pub application: ApplicationId,
    /// The path of the beneficiary's leaf.
    pub queue: String,
    /// The node.
    pub node: NodeId,
    /// The ask's reservation on the node, which the container fulfils.
    pub reservation: Option<ReservationId>,
    /// The containers that would end.
    pub victims: Vec<Victim>,
    /// Why the beneficiary may have their room.
    pub rule: PreemptionRule,
}

impl Preemption {
    /// The commit request that ends the victims and starts the container, or does nothing.
    #[must_use]
    pub fn request(&self) -> ResourceAllocationCommitRequest {
        let proposal =
            AllocationProposal { ask: self.ask, node: self.node, from_reservation: self.reservation };
        ResourceAllocationCommitRequest {
            allocate: [proposal].into_iter().collect(),
            release: self.victims.iter().map(|victim| victim.container).collect::<ThinVec<_>>(),
            ..ResourceAllocationCommitRequest::default()
        }
    }
}

/// The minimum of a gang that would be started in place of others: all of it or nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangPreemption {
    /// The gang.
    pub gang: GangId,
    /// Its application.
    pub application: ApplicationId,
    /// The path of its leaf.
    pub queue: String,
    /// Its containers, in the order of its roles: at least one.
    pub members: Vec<PlannedMember>,
    /// The containers that would end.
    pub victims: Vec<Victim>,
    /// Why the gang may have their room.
    pub rule: PreemptionRule,
}

/// A container of a gang that would be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedMember {
    /// The ask of its role.
    pub ask: AskId,
    /// The node.
    pub node: NodeId,
}

impl GangPreemption {
    /// The commit request that ends the victims and starts the gang, or does nothing.
    #[must_use]
    pub fn request(&self) -> ResourceAllocationCommitRequest {
        let allocate = |member: &PlannedMember| AllocationProposal {
            ask: member.ask,
            node: member.node,
            from_reservation: None,
        };
        ResourceAllocationCommitRequest {
            allocate: self.members.iter().map(allocate).collect(),
            release: self.victims.iter().map(|victim| victim.container).collect::<ThinVec<_>>(),
            ..ResourceAllocationCommitRequest::default()
        }
    }
}

/// A container that would end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Victim {
    /// The container.
    pub container: ContainerId,
    /// Its application.
    pub application: ApplicationId,
    /// The path of its leaf.
    pub queue: String,
    /// Its size.
    pub size: Amounts,
}

/// An ask whose queue is owed more, but for which this round does nothing. What applications of one leaf take from each
/// other is not owed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unhelped {
    /// The ask.
    pub ask: AskId,
    /// The path of its leaf.
    pub queue: String,
    /// Its containers that the leaf is owed and that get no node.
    pub units: u32,
    /// Why this round does nothing.
    pub reason: UnhelpedReason,
}
