//! Registrations of nodes, and the engine's answers to them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::change::{NodeSpec, RunningContainer};
use crate::engine::{Handle, Reconciliation, Recovery, SubmitError};
use crate::event::Refusal;
use crate::ids::{ContainerId, NodeId};
use crate::sync::Ticket;

/// An agent's registration of its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRegistration {
    /// The node. If it is registered already, only capacity and attributes count; the devices stay.
    pub spec: NodeSpec,
    /// The containers that run on it. The descriptions count only for containers that may be
    /// [adopted](UnknownContainers::Adopt).
    pub running: BTreeMap<ContainerId, RunningContainer>,
    /// The containers that have ended and that the agent has not reported yet.
    pub completed: Vec<ContainerId>,
}

impl NodeRegistration {
    /// A node without containers.
    #[must_use]
    pub fn new(spec: NodeSpec) -> Self {
        Self { spec, running: BTreeMap::new(), completed: Vec::new() }
    }

    /// The same registration with one more running container.
    #[must_use]
    pub fn with_running(mut self, container: ContainerId, running: RunningContainer) -> Self {
        self.running.insert(container, running);
        self
    }

    /// The containers that run, without those that have ended.
    pub(super) fn running_ids(&self) -> BTreeSet<ContainerId> {
        self.running.keys().copied().filter(|id| !self.completed.contains(id)).collect()
    }
}

/// The fate of containers that a node reports and that the engine does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownContainers {
    /// The node stops them. For an engine whose log loses nothing: such a container has ended there.
    #[default]
    Stop,
    /// The engine adopts them, if their applications are known. For an engine without a log, or whose log can lose the
    /// last changes. If the tracker knows that the engine has ended a container, the node stops it.
    Adopt,
}

/// A registration that the engine has not answered yet.
#[derive(Debug)]
pub(super) enum Pending {
    Reconciliation(Ticket<Result<Reconciliation, Refusal>>),
    /// The reported identifiers come in the order of the answers.
    Recovery(Vec<ContainerId>, Ticket<Vec<Result<ContainerId, Refusal>>>),
}

impl Pending {
    /// The result if it is there. A refusal means that the node is gone.
    pub(super) fn try_take(&self) -> Option<Result<Reconciliation, Refusal>> {
        match self {
            Self::Reconciliation(ticket) => ticket.try_take(),
            Self::Recovery(reported, ticket) => {
                let mut result = Reconciliation::default();
                for (&container, outcome) in reported.iter().zip(ticket.try_take()?) {
                    match outcome {
                        Ok(adopted) => drop(result.adopted.insert(container, adopted)),
                        Err(refusal) => drop(result.refused.insert(container, refusal)),
                    }
                }
                Some(Ok(result))
            }
        }
    }
}

/// Registers a node that the engine does not know, with the containers to adopt.
pub(super) fn add(
    handle: &Handle,
    spec: NodeSpec,
    running: BTreeMap<ContainerId, RunningContainer>,
) -> Result<(NodeId, Option<Pending>), SubmitError> {
    if running.is_empty() {
        return Ok((handle.add_node(spec)?, None));
    }
    let (reported, running) = running.into_iter().unzip();
    let Recovery { node, containers, .. } = handle.recover_node(spec, running)?;
    Ok((node, Some(Pending::Recovery(reported, containers))))
}

/// Gives a node that is registered the capacity and the attributes of another registration.
pub(super) fn update(handle: &Handle, node: NodeId, spec: NodeSpec) -> Result<(), SubmitError> {
    // A node whose registration is still on its way is not in the view.
    let is_same = handle.read(|view| {
        view.node(node).is_some_and(|known| {
            let mut capacity = spec.capacity;
            let devices = view.resource_types().device_type();
            devices.into_iter().for_each(|devices| capacity.set(devices, known.capacity()[devices]));
            (known.capacity(), known.attributes()) == (capacity, &spec.attributes)
        })
    });
    if is_same { Ok(()) } else { handle.update_node(node, spec.capacity, spec.attributes) }
}
