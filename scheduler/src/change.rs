//! Changes of the state, as values.
//!
//! Callers send changes, the committer applies them one after another, and the log holds them. A replay applies the
//! same changes to the same effect.

mod application_spec;
mod ask;
mod ask_kind;
mod gang;
mod label;
mod node_spec;
mod running;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use application_spec::ApplicationSpec;
pub use ask::AskSpec;
pub use ask_kind::AskOfKind;
pub(crate) use ask_kind::SubmittedAsk;
pub use gang::{GangRole, GangSpec, InvalidGang};
pub use node_spec::NodeSpec;
pub use running::RunningContainer;

use crate::config::{EngineConfig, QueueUpdate, Reconfiguration};
use crate::facts::{
    ApplicationEnd, BlacklistUpdate, DisruptionBudget, EndCause, ExecutionType, GangEnd, NodeAttributes,
    NodeState, PreemptionCost, PreemptionNotice,
};
use crate::ids::{
    ApplicationId, AskId, ContainerId, GangId, NodeId, PartitionId, QueueId, RackId, ReservationId,
};
use crate::request::ResourceAllocationCommitRequest;
use crate::resource::Resources;

/// One change of the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// The engine starts with this configuration. Always the first change, and never a later one.
    Configured {
        /// The whole configuration.
        config: Arc<EngineConfig>,
    },
    /// The clock moved forward.
    TimeAdvanced {
        /// The new time.
        now_ms: u64,
    },
    /// A node registered.
    NodeAdded {
        /// Its identifier.
        node: NodeId,
        /// The number of the rack that `spec` names.
        rack: RackId,
        /// The description of the node.
        spec: Box<NodeSpec>,
    },
    /// A node reported another capacity or other attributes.
    NodeUpdated {
        /// The node.
        node: NodeId,
        /// Its new capacity. Its devices and the amount of the device type stay.
        capacity: Resources,
        /// Its new attributes.
        attributes: NodeAttributes,
    },
    /// A node moved to another partition, with its containers.
    NodePartitionSet {
        /// The node.
        node: NodeId,
        /// Its new partition.
        partition: PartitionId,
    },
    /// A node was set active or draining.
    NodeStateSet {
        /// The node.
        node: NodeId,
        /// Its new state.
        state: NodeState,
    },
    /// A node has been silent for too long, or sent a heartbeat again.
    NodeSilenceSet {
        /// The node.
        node: NodeId,
        /// Whether it is silent.
        stale: bool,
    },
    /// A node was removed, and its containers ended.
    NodeRemoved {
        /// The node.
        node: NodeId,
    },
    /// Nodes reported that they are alive.
    Heartbeats {
        /// The nodes.
        nodes: Vec<NodeId>,
    },
    /// An application was submitted.
    ApplicationSubmitted {
        /// Its identifier.
        application: ApplicationId,
        /// The description of the application.
        spec: Box<ApplicationSpec>,
    },
    /// An application ended: its asks are cancelled and its containers end.
    ApplicationEnded {
        /// The application.
        application: ApplicationId,
        /// How it ended.
        end: ApplicationEnd,
    },
    /// An application's blacklist changed.
    BlacklistUpdated {
        /// The application.
        application: ApplicationId,
        /// The update.
        update: Box<BlacklistUpdate>,
    },
    /// An application moved to another leaf, with its asks, reservations and containers.
    ApplicationMoved {
        /// The application.
        application: ApplicationId,
        /// The new leaf.
        queue: QueueId,
    },
    /// An application got another priority.
    ApplicationPrioritySet {
        /// The application.
        application: ApplicationId,
        /// Its new priority; the configuration's maximum applies.
        priority: u32,
    },
    /// An application submitted an ask for containers.
    AskSubmitted {
        /// The ask's identifier.
        ask: AskId,
        /// The application that asks.
        application: ApplicationId,
        /// The description of the ask.
        spec: AskSpec,
    },
    /// An application cancelled units of an ask.
    AskCancelled {
        /// The ask.
        ask: AskId,
        /// The number of cancelled units; a number above the outstanding units means all.
        units: u32,
    },
    /// A node reported a running container, as it registered or to be reconciled.
    ContainerRecovered {
        /// The ask under which the container is listed. It was made for the container, and has ended.
        ask: AskId,
        /// The node on which it runs.
        node: NodeId,
        /// The running container.
        container: Box<RunningContainer>,
    },
    /// A container changed its size.
    ContainerResized {
        /// The container.
        container: ContainerId,
        /// Its new size. The amount of the device type stays.
        size: Resources,
    },
    /// A container was demoted to opportunistic, or promoted to guaranteed.
    ExecutionTypeSet {
        /// The container.
        container: ContainerId,
        /// Its new execution type.
        execution_type: ExecutionType,
    },
    /// An ask that waits for other nodes missed opportunities. Only where opportunities count.
    OpportunitiesMissed {
        /// The ask.
        ask: AskId,
        /// The number of additional offered nodes.
        count: u32,
    },
    /// A pass over a node that an ask has reserved found it still too full. Only where re-reservations count.
    ReservedAgain {
        /// The ask.
        ask: AskId,
        /// The node.
        node: NodeId,
    },
    /// A container is being stopped: it stays on its node and charged until its end is confirmed or the
    /// [timeout](EngineConfig::stop_timeout_ms) passes.
    ContainerStopping {
        /// The container.
        container: ContainerId,
        /// The cause of its later end.
        cause: EndCause,
    },
    /// A container ended.
    ContainerEnded {
        /// The container.
        container: ContainerId,
        /// The cause.
        cause: EndCause,
    },
    /// A queue got other limits.
    QueueUpdated {
        /// The queue.
        queue: QueueId,
        /// The update.
        update: Box<QueueUpdate>,
    },
    /// The queue tree or the queues' configuration changed.
    Reconfigured {
        /// The new configuration.
        configuration: Box<Reconfiguration>,
    },
    /// An auto-created queue was removed some time after its last use.
    QueueExpired {
        /// The queue.
        queue: QueueId,
    },
    /// A reservation on a node was dropped because it was too old.
    ReservationExpired {
        /// The reservation.
        reservation: ReservationId,
    },
    /// A commit request was accepted.
    Committed {
        /// The applied request.
        request: ResourceAllocationCommitRequest,
    },
    /// A caller named a rack that no node is on yet.
    RackNamed {
        /// The number of the rack.
        rack: RackId,
        /// Its name.
        name: Box<str>,
    },
    /// A container was announced as a victim of preemption.
    PreemptionAnnounced {
        /// The container.
        container: ContainerId,
        /// When it may end, for whom and why.
        notice: PreemptionNotice,
    },
    /// The announcement of a victim was taken back.
    PreemptionWithdrawn {
        /// The container.
        container: ContainerId,
    },
    /// An application submitted a gang. The gang has the numbers of its first ask.
    GangSubmitted {
        /// The identifiers of its asks, in the order of the roles.
        asks: Vec<AskId>,
        /// The description of the gang.
        spec: Box<GangSpec>,
    },
    /// A gang ended that has not started.
    GangEnded {
        /// The gang.
        gang: GangId,
        /// How it ended.
        end: GangEnd,
    },
    /// A container got another cost as a victim of preemption.
    PreemptionCostSet {
        /// The container.
        container: ContainerId,
        /// Its cost.
        cost: PreemptionCost,
    },
    /// An announced victim may end at once.
    PreemptionConfirmed {
        /// The container.
        container: ContainerId,
    },
    /// An application got other disruption budgets.
    DisruptionBudgetsSet {
        /// The application.
        application: ApplicationId,
        /// All of its budgets.
        budgets: Vec<DisruptionBudget>,
    },
    /// An application submitted an ask for real containers of a task group.
    TaskGroupAskSubmitted {
        /// The ask's identifier.
        ask: AskId,
        /// The application that asks.
        application: ApplicationId,
        /// The name of the task group.
        group: String,
        /// The description of the ask.
        spec: Box<AskSpec>,
    },
    /// Placeholders of a gang were not replaced in time.
    PlaceholdersTimedOut {
        /// The gang.
        gang: GangId,
    },
    /// An application wants an opportunistic container promoted as soon as there is room.
    PromotionRequested {
        /// The container.
        container: ContainerId,
    },
    /// A waiting gang holds room for a member: all that it needs, or the part that is free on the node.
    RoomHeld {
        /// The role's ask.
        ask: AskId,
        /// The node.
        node: NodeId,
    },
    /// A waiting gang gave back all room that it held in a partition.
    RoomGivenBack {
        /// The gang.
        gang: GangId,
        /// The partition.
        partition: PartitionId,
    },
    /// A gang's room did not grow: it gave the room back and went behind the other gangs that wait.
    GangTurnEnded {
        /// The gang.
        gang: GangId,
    },
}
