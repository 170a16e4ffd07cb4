//! Calls of a handle that register, change and remove nodes.

use super::answered_call::AnsweredCall;
use super::handle::Handle;
use super::message::Call;
use super::reconciliation::{NodeReport, Reconciliation};
use super::submit_error::SubmitError;
use crate::change::{Change, NodeSpec, RunningContainer};
use crate::event::Refusal;
use crate::facts::{NodeAttributes, NodeState};
use crate::ids::{AskId, ContainerId, NodeId, PartitionId};
use crate::request::CommitSeq;
use crate::resource::{DEVICE_MILLI, DEVICES_MAX, Resources};
use crate::sync::Ticket;

/// The outcome for a node that reports its running containers.
#[derive(Debug)]
pub struct Recovery {
    /// The node.
    pub node: NodeId,
    /// The ask of each reported container. The container's [event](crate::event::EventKind::ContainerRecovered)
    /// names it too.
    pub asks: Vec<AskId>,
    /// The identifier of each reported container, or why it was refused.
    pub containers: Ticket<Vec<Result<ContainerId, Refusal>>>,
}

/// # Nodes
///
/// A [`NodeId`] is unknown once the node is removed, also if another node has its slot. The refusal is
/// [`UnknownNode`](Refusal::UnknownNode).
impl Handle {
    /// The registered node with this name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.shared.names.nodes.get(name)
    }

    /// Registers a node. A node's name is free again once [`remove_node`](Self::remove_node) has returned.
    ///
    /// # Errors
    /// If a node with that name is registered, its amounts are not valid or its partition is unknown.
    pub fn add_node(&self, spec: NodeSpec) -> Result<NodeId, SubmitError> {
        self.register(spec, |_, change| Call::Change(change))
    }

    /// Registers a node together with the containers that have run on it since before the engine started. Their
    /// applications must have been submitted again. The containers are charged to their applications before
    /// anything else is placed on the node, above limits and room if necessary. The ticket refuses each container of
    /// an unknown application; the caller has to end it.
    ///
    /// # Errors
    /// If a node with that name is registered, amounts are not valid or the partition is unknown.
    pub fn recover_node(
        &self,
        spec: NodeSpec,
        mut running: Vec<RunningContainer>,
    ) -> Result<Recovery, SubmitError> {
        running.iter_mut().try_for_each(|container| self.check_running(container))?;
        let mut asks: Vec<AskId> = Vec::new();
        let (answer, containers) = Ticket::new();
        // Takes identifiers only once the node has its own, so that a duplicate node uses up none.
        let call = |node, change| {
            let mut pool = self.shared.ids.asks.lock();
            asks.extend(running.iter().map(|_| pool.take()));
            drop(pool);
            let recovered = |(ask, container)| Change::ContainerRecovered { ask, node, container };
            let containers = asks.iter().copied().zip(running.into_iter().map(Box::new)).map(recovered);
            let changes = std::iter::once(change).chain(containers).collect();
            Call::Recovery { changes, answer }
        };
        let node = self.register(spec, call)?;
        Ok(Recovery { node, asks, containers })
    }

    pub(crate) fn check_running(&self, container: &mut RunningContainer) -> Result<(), SubmitError> {
        self.check_size(&mut container.size, container.devices)?;
        if container.tags.iter().any(String::is_empty) { Err(SubmitError::EmptyTag) } else { Ok(()) }
    }

    /// Registers a node with the call that `call` makes.
    fn register(
        &self,
        mut spec: NodeSpec,
        call: impl FnOnce(NodeId, Change) -> Call,
    ) -> Result<NodeId, SubmitError> {
        let types = &self.shared.config.resources;
        if spec.name.is_empty() || spec.name.contains(char::is_control) {
            return Err(SubmitError::NodeName { name: spec.name });
        }
        if usize::from(spec.devices) > DEVICES_MAX {
            return Err(SubmitError::Devices { count: spec.devices, milli: DEVICE_MILLI });
        }
        let milli = spec.devices_milli();
        types.count_devices(&mut spec.capacity, milli)?;
        types.check(&spec.capacity)?;
        self.check_partition(spec.partition)?;
        let rack = self.shared.names.racks.number(&spec.rack);
        let names = &self.shared.names.nodes;
        let (node, is_new) =
            names.get_or_insert_with(&spec.name, || self.shared.ids.nodes.lock().take(&spec.name));
        if !is_new {
            return Err(SubmitError::DuplicateNode { name: spec.name });
        }
        let (name, rack_name) = (spec.name.clone(), spec.rack.clone());
        let change = Change::NodeAdded { node, rack: rack.number, spec: Box::new(spec) };
        self.send_call(call(node, change)).inspect_err(|_| {
            names.remove(&name, node);
            self.shared.ids.nodes.lock().give_back(node);
        })?;
        rack.publish(&rack_name);
        self.shared.ids.nodes.lock().set_sent(node);
        Ok(node)
    }

    /// Sets a node's capacity and attributes; its devices stay. An unknown node is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the amounts are not valid.
    pub fn update_node(
        &self,
        node: NodeId,
        capacity: Resources,
        attributes: NodeAttributes,
    ) -> Result<(), SubmitError> {
        self.shared.config.resources.check(&capacity)?;
        self.send(Change::NodeUpdated { node, capacity, attributes })
    }

    /// Moves a node to another partition, as relabelling does in YARN. Its containers go on, and their use then
    /// counts there, above limits if necessary. A reservation on the node ends. An unknown node is
    /// [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the partition is unknown.
    pub fn set_node_partition(&self, node: NodeId, partition: PartitionId) -> Result<(), SubmitError> {
        self.check_partition(partition)?;
        self.send(Change::NodePartitionSet { node, partition })
    }

    /// Stops new containers on a node. An unknown node is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn drain_node(&self, node: NodeId) -> Result<(), SubmitError> {
        self.send(Change::NodeStateSet { node, state: NodeState::Draining })
    }

    /// Ends draining. An unknown node is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn activate_node(&self, node: NodeId) -> Result<(), SubmitError> {
        self.send(Change::NodeStateSet { node, state: NodeState::Active })
    }

    /// Removes a node; its containers end as lost. The ticket has the change, or refuses an unknown node.
    ///
    /// The node's name is free when this returns: a node then added with the same name takes it over.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn remove_node(&self, node: NodeId) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        // Before the send: a removal that overtakes the registration of its node is refused, and the node keeps its
        // name.
        let name = self.shared.ids.nodes.lock().sent_name(node);
        let ticket = self.send_answered(Change::NodeRemoved { node })?;
        // After the send: the registration of a successor is behind the removal in the inbox.
        if let Some(name) = name {
            self.shared.names.nodes.remove(&name, node);
        }
        Ok(ticket)
    }

    /// Reports that nodes are alive. Each unknown node is [refused](Self::take_refusals); the others count.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn heartbeat(&self, nodes: &[NodeId]) -> Result<(), SubmitError> {
        self.send(Change::Heartbeats { nodes: nodes.to_vec() })
    }

    /// Reconciles the engine with a node, after an engine [recovered](crate::Engine::recover) or a node came back. A
    /// container that the node does not run has ended, also if another application's container has its identifier now.
    /// A container with an unknown identifier is adopted, above limits and room if necessary, if its application is
    /// known. The node has to stop the others, and those that the engine has on another node. Each end and each
    /// adoption is an event of the application. The ticket refuses an unknown node.
    ///
    /// # Errors
    /// If an amount is not valid, or the engine is shut down.
    pub fn reconcile_node(
        &self,
        node: NodeId,
        mut report: NodeReport,
    ) -> Result<Ticket<Result<Reconciliation, Refusal>>, SubmitError> {
        report.running.values_mut().try_for_each(|container| self.check_running(container))?;
        let report = Box::new(report);
        self.send_for_answer(|answer| AnsweredCall::Reconcile { node, report, answer })
    }
}
