//! Read-only views of the state.

mod application;
mod ask;
mod gang;
mod placements;
mod queue;
mod row;
mod task_groups;
mod text;

pub use application::ApplicationView;
pub use ask::AskView;
pub use gang::{GangAsks, GangRoleView, GangView};
pub use placements::{ContainerView, ReservationView};

use crate::config::{PreemptionRounds, QueueConfig, QueueMapping};
use crate::explain::{Explanation, explain};
use crate::facts::{DisruptionBudget, Node, NodeAttributes, NodeState};
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId, PartitionId, QueueId, ReservationId};
use crate::preempt::{PreemptionPlan, PreemptionPolicy, plan};
use crate::request::CommitSeq;
use crate::resource::{Devices, ResourceTypes, Resources};
use crate::state::State;

pub use queue::{PendingWithinLimits, QueueStatus, QueueView};
pub use task_groups::TaskGroupView;

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
        self.state.facts.tree.partitions[partition.index()].capacity
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
        let (state, id) = (self.state, self.state.facts.tree.queue_named(path)?);
        Some(QueueView { id, queue: state.facts.queue(id), state })
    }

    /// The present mapping rules.
    #[must_use]
    pub fn queue_mapping(&self) -> &'a QueueMapping {
        &self.state.facts.queue_mapping
    }

    /// The present configuration of all queues.
    #[must_use]
    pub fn queue_tree(&self) -> QueueConfig {
        self.state.facts.tree.configuration()
    }

    /// All queues, parents before their children.
    pub fn queues(&self) -> impl Iterator<Item = QueueView<'a>> + use<'a> {
        let state = self.state;
        let all = state.facts.tree.queues.iter().enumerate();
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
        let view = move |(id, application)| (id, ApplicationView { id, application, state });
        state.facts.applications.iter().map(view)
    }

    /// An application that has not ended.
    #[must_use]
    pub fn application(&self, id: ApplicationId) -> Option<ApplicationView<'a>> {
        let application = self.state.facts.applications.get(id)?;
        Some(ApplicationView { id, application, state: self.state })
    }

    /// An ask with outstanding units.
    #[must_use]
    pub fn ask(&self, id: AskId) -> Option<AskView<'a>> {
        AskView::new(self.state, id)
    }

    /// Whether an ask is satisfied or cancelled. An ask that the engine has not seen yet is not over.
    #[must_use]
    pub fn is_ask_over(&self, id: AskId) -> bool {
        self.state.facts.asks.was_removed(id)
    }

    /// Explains why an ask is pending, or how it ended. Looks at the nodes of its partition, so do not call it for
    /// every ask all the time. [`Engine::explain`](crate::Engine::explain) also has the outcome of the last round of
    /// preemption.
    #[must_use]
    pub fn explain(&self, id: AskId) -> Explanation {
        explain(self.state, id)
    }

    /// A copy of the whole state.
    pub(crate) fn copy_of_state(&self) -> State {
        self.state.clone()
    }

    /// The ask that stands for this one in plans of preemption: for a gang, the ask of its first role.
    pub(crate) fn beneficiary(&self, ask: AskId) -> AskId {
        self.state.facts.beneficiary(ask)
    }

    /// The rounds of preemption that the configuration sets; `None` if the engine makes none.
    #[must_use]
    pub fn preemption_rounds(&self) -> Option<&'a PreemptionRounds> {
        self.state.facts.config.preemption.as_ref()
    }

    /// The plan of one round of preemption by this policy. Looks at all nodes, asks and containers, and the engine
    /// waits meanwhile. [`Engine::preemption_plan`](crate::Engine::preemption_plan) plans on a copy of the state
    /// instead.
    #[must_use]
    pub fn preemption_plan(&self, policy: &PreemptionPolicy) -> PreemptionPlan {
        plan(self.state, policy)
    }

    /// The disruption budgets of an application; none if it is unknown.
    #[must_use]
    pub fn disruption_budgets(&self, application: ApplicationId) -> &'a [DisruptionBudget] {
        self.state.facts.disruption.budgets_of(application)
    }

    /// All asks with outstanding units, by identifier; opportunistic asks come last.
    pub fn asks(&self) -> impl Iterator<Item = AskView<'a>> + use<'a> {
        AskView::all(self.state)
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

    /// The total size of the opportunistic containers that run on it. Only their devices are charged to the node.
    #[must_use]
    pub fn opportunistic(&self) -> Resources {
        let facts = &self.state.facts;
        let running = self.node.containers.iter().filter(|id| !facts.is_waiting(**id));
        running.filter_map(|id| facts.opportunistic.get(id).copied()).sum()
    }

    /// The opportunistic containers that wait in its queue, in the order in which they start.
    pub fn queue(&self) -> impl Iterator<Item = ContainerId> + use<'a> {
        let queue = self.state.facts.queue_at(self.id);
        queue.into_iter().flat_map(|queue| queue.waiting.iter().copied())
    }

    /// The opportunistic containers that run on it, in the order in which they started. Only in an engine that
    /// [queues](crate::config::EngineConfig::opportunistic) opportunistic containers. When guaranteed containers need
    /// the room, the last of them ends first.
    pub fn running_opportunistic(&self) -> impl Iterator<Item = ContainerId> + use<'a> {
        let queue = self.state.facts.queue_at(self.id);
        queue.into_iter().flat_map(|queue| queue.running.iter().copied())
    }

    /// The amount that neither guaranteed containers nor running opportunistic ones use. Containers in the queue start
    /// in it.
    #[must_use]
    pub fn leftover(&self) -> Resources {
        self.state.facts.leftover(self.node).free
    }

    /// Its containers, in no particular order. Those in its [queue](Self::queue) are among them.
    #[must_use]
    pub fn containers(&self) -> &'a [ContainerId] {
        &self.node.containers
    }
}
