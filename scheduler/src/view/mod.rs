//! Read-only views of the state.

mod application;
mod gang;
mod placements;
mod queue;
mod row;
mod text;

pub use application::ApplicationView;
pub use gang::{GangRoleView, GangView};
pub use placements::{ContainerView, ReservationView};

use crate::config::{QueueConfig, QueueMapping};
use crate::explain::{Explanation, PendingReason, explain, pending_reason};
use crate::facts::{Ask, Node, NodeAttributes, NodeState};
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId, PartitionId, QueueId, ReservationId};
use crate::preempt::{PreemptionPlan, PreemptionPolicy, plan};
use crate::request::CommitSeq;
use crate::resource::{Devices, ResourceTypes, Resources};
use crate::state::State;

pub use queue::{PendingWithinLimits, QueueStatus, QueueView};

/// A read-only view of the state at one moment.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    state: &'a State,
}

/// A node.
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'a> {
    id: NodeId,
    node: &'a Node,
    state: &'a State,
}

/// An ask with outstanding units.
#[derive(Clone, Copy, Debug)]
pub struct AskView<'a> {
    id: AskId,
    ask: &'a Ask,
    state: &'a State,
}

impl<'a> View<'a> {
    pub(crate) fn new(state: &'a State) -> Self {
        Self { state }
    }

    /// The last change applied.
    #[must_use]
    pub fn seq(&self) -> CommitSeq {
        CommitSeq(self.state.facts.changes)
    }

    /// The engine's time.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.state.facts.now_ms
    }

    /// The resource types.
    #[must_use]
    pub fn resource_types(&self) -> &'a ResourceTypes {
        &self.state.facts.config.resources
    }

    /// All partitions, the default one first.
    pub fn partition_ids(&self) -> impl Iterator<Item = PartitionId> + use<> {
        self.state.partitions()
    }

    /// The partition's name; empty for the default one.
    #[must_use]
    pub fn partition_name(&self, partition: PartitionId) -> &'a str {
        self.state.partition_name(partition)
    }

    /// The total capacity of a partition's nodes.
    #[must_use]
    pub fn capacity(&self, partition: PartitionId) -> Resources {
        self.state.facts.partitions[partition.index()].capacity
    }

    /// A number that changes whenever a node is added, removed, or changed in capacity, attributes, partition,
    /// state or silence. Containers do not change it. While it stays the same, a caller that has read all nodes
    /// need only read free amounts again.
    #[must_use]
    pub fn nodes_version(&self) -> u64 {
        self.state.nodes_version
    }

    /// The number of nodes.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.state.facts.nodes.len()
    }

    /// The number of running containers.
    #[must_use]
    pub fn container_count(&self) -> usize {
        self.state.facts.containers.len()
    }

    /// The queue with this full path.
    #[must_use]
    pub fn queue(&self, path: &str) -> Option<QueueView<'a>> {
        let (state, id) = (self.state, self.state.facts.queue_named(path)?);
        Some(QueueView { id, queue: state.facts.queue(id), state })
    }

    /// The present placement rules.
    #[must_use]
    pub fn queue_mapping(&self) -> &'a QueueMapping {
        &self.state.facts.queue_mapping
    }

    /// The present configuration of all queues.
    #[must_use]
    pub fn queue_tree(&self) -> QueueConfig {
        self.state.facts.queue_tree()
    }

    /// All queues, parents before their children.
    pub fn queues(&self) -> impl Iterator<Item = QueueView<'a>> + use<'a> {
        let state = self.state;
        let all = state.facts.queues.iter().enumerate();
        let present = all.filter(|(_, queue)| queue.is_present);
        present.map(move |(index, queue)| QueueView { id: QueueId(index as u32), queue, state })
    }

    /// A node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<NodeView<'a>> {
        Some(NodeView { id, node: self.state.facts.nodes.get(id)?, state: self.state })
    }

    /// All nodes, by identifier.
    pub fn nodes(&self) -> impl Iterator<Item = NodeView<'a>> + use<'a> {
        let state = self.state;
        state.facts.nodes.iter().map(move |(id, node)| NodeView { id, node, state })
    }

    /// All applications that have not ended, by identifier.
    pub fn applications(&self) -> impl Iterator<Item = (ApplicationId, ApplicationView<'a>)> + use<'a> {
        let state = self.state;
        let view = move |(id, application)| (id, ApplicationView { application, state });
        state.facts.applications.iter().map(view)
    }

    /// An application that has not ended.
    #[must_use]
    pub fn application(&self, id: ApplicationId) -> Option<ApplicationView<'a>> {
        Some(ApplicationView { application: self.state.facts.applications.get(id)?, state: self.state })
    }

    /// An ask with outstanding units.
    #[must_use]
    pub fn ask(&self, id: AskId) -> Option<AskView<'a>> {
        Some(AskView { id, ask: self.state.facts.asks.get(id)?, state: self.state })
    }

    /// Whether an ask is satisfied or cancelled. An ask that the engine has not seen yet is not over.
    #[must_use]
    pub fn is_ask_over(&self, id: AskId) -> bool {
        self.state.facts.asks.was_removed(id)
    }

    /// Explains why an ask is pending, or how it ended. Looks at the nodes of its partition, so do not call it for
    /// every ask all the time.
    #[must_use]
    pub fn explain(&self, id: AskId) -> Explanation {
        explain(self.state, id)
    }

    /// What one round of preemption would do. Looks at all nodes, asks and containers.
    #[must_use]
    pub fn preemption_plan(&self, policy: &PreemptionPolicy) -> PreemptionPlan {
        plan(self.state, policy)
    }

    /// All asks with outstanding units, by identifier.
    pub fn asks(&self) -> impl Iterator<Item = AskView<'a>> + use<'a> {
        let state = self.state;
        state.facts.asks.iter().map(move |(id, ask)| AskView { id, ask, state })
    }
}

impl<'a> NodeView<'a> {
    /// Its identifier.
    #[must_use]
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Its host name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.node.name
    }

    /// The name of its rack.
    #[must_use]
    pub fn rack(&self) -> &'a str {
        &self.state.facts.racks[self.node.rack.index()]
    }

    /// Its partition.
    #[must_use]
    pub fn partition(&self) -> PartitionId {
        self.node.partition
    }

    /// Whether an operator lets it take new containers.
    #[must_use]
    pub fn state(&self) -> NodeState {
        self.node.state
    }

    /// Whether it has been silent for too long.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.node.stale
    }

    /// Whether it has a reservation.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        self.node.reservation.is_some()
    }

    /// The reservation on it, if any.
    #[must_use]
    pub fn reservation(&self) -> Option<ReservationId> {
        self.node.reservation
    }

    /// Its capacity.
    #[must_use]
    pub fn capacity(&self) -> Resources {
        self.node.capacity
    }

    /// The amount that its containers hold.
    #[must_use]
    pub fn allocated(&self) -> Resources {
        self.node.taken() - self.held()
    }

    /// Its free amount; negative if the node shrank below its use.
    #[must_use]
    pub fn free(&self) -> Resources {
        self.node.room.free
    }

    /// Its devices.
    #[must_use]
    pub fn devices(&self) -> &'a Devices {
        &self.node.room.devices
    }

    /// Its attributes.
    #[must_use]
    pub fn attributes(&self) -> &'a NodeAttributes {
        &self.node.attributes
    }

    /// The total size of its opportunistic containers, of which only the devices are charged to it.
    #[must_use]
    pub fn opportunistic(&self) -> Resources {
        let sizes = &self.state.facts.opportunistic;
        self.node.containers.iter().filter_map(|id| sizes.get(id).copied()).sum()
    }

    /// Its containers, in no particular order.
    #[must_use]
    pub fn containers(&self) -> &'a [ContainerId] {
        &self.node.containers
    }
}

impl AskView<'_> {
    /// Its identifier.
    #[must_use]
    pub fn id(&self) -> AskId {
        self.id
    }

    /// The application that asks.
    #[must_use]
    pub fn application(&self) -> ApplicationId {
        self.ask.application
    }

    /// The size of one container.
    #[must_use]
    pub fn size(&self) -> Resources {
        self.state.facts.shapes.at(self.ask.shape).need.resources
    }

    /// Units neither placed nor cancelled.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.ask.outstanding()
    }

    /// The nodes offered in vain since its last container on a named host or rack, in the mode that counts missed
    /// opportunities.
    #[must_use]
    pub fn missed_opportunities(&self) -> u32 {
        self.ask.missed
    }

    /// The passes in vain over its reserved nodes since its last reservation was made or ended, in the mode that
    /// counts re-reservations.
    #[must_use]
    pub fn re_reservations(&self) -> u32 {
        self.ask.re_reservations
    }

    /// The number of nodes reserved for it.
    #[must_use]
    pub fn reserved(&self) -> u32 {
        self.ask.reservations.len() as u32
    }

    /// The time of submission.
    #[must_use]
    pub fn pending_since_ms(&self) -> u64 {
        self.ask.pending_since_ms
    }

    /// Why it is pending. Looks at the partition's nodes, so do not call it for every ask all the time.
    #[must_use]
    pub fn pending_reason(&self) -> PendingReason {
        pending_reason(self.state, self.id, self.ask)
    }
}
