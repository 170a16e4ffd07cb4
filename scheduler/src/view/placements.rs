//! Views of containers and reservations.

use serde::{Deserialize, Serialize};

use super::View;
use crate::facts::{ExecutionType, Placeholder, PreemptionCost, PreemptionNotice, Stopping};
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId, ReservationId};
use crate::resource::Resources;

/// A container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerView {
    /// The application it belongs to.
    pub application: ApplicationId,
    /// The node it runs on.
    pub node: NodeId,
    /// The priority of the ask that it was placed for.
    pub priority: u32,
    /// The [number](crate::AskSpec::allocation_request_id) that the caller gave that ask.
    pub allocation_request_id: u64,
    /// Its size. An opportunistic container is charged only for its devices, and nothing while it waits.
    pub size: Resources,
    /// Whether its size is guaranteed or opportunistic.
    pub execution_type: ExecutionType,
    /// Whether it waits in the queue of its node; only opportunistic containers do.
    #[serde(default)]
    pub is_waiting: bool,
    /// Whether its ask is for the default partition and another partition lends its node.
    pub is_borrowed: bool,
    /// Set while the container is being stopped.
    pub stopping: Option<Stopping>,
    /// Whether it was announced as a victim of preemption.
    pub preemption: Option<PreemptionNotice>,
    /// The cost of its loss to preemption.
    #[serde(default)]
    pub preemption_cost: PreemptionCost,
    /// Whether preemption treats it as the master: its application has one, and it is the earliest of the application's
    /// containers that is not a placeholder.
    #[serde(default)]
    pub is_master: bool,
    /// Whether it only keeps room for a real container of its task group.
    pub placeholder: Option<Placeholder>,
}

/// A reservation on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservationView {
    /// The ask it is for.
    pub ask: AskId,
    /// The reserved node.
    pub node: NodeId,
    /// The time at which it was made.
    pub created_ms: u64,
}

impl<'a> View<'a> {
    /// A running container.
    #[must_use]
    pub fn container(&self, id: ContainerId) -> Option<ContainerView> {
        let container = self.state.facts.containers.get(id)?;
        let shape = self.state.facts.shapes.at(container.shape);
        let put_aside = self.state.facts.opportunistic.get(&id);
        let is_guaranteed = put_aside.is_none();
        Some(ContainerView {
            application: container.application,
            node: container.node,
            priority: container.priority,
            allocation_request_id: container.allocation_request_id,
            size: *put_aside.unwrap_or(&shape.need.resources),
            execution_type: if is_guaranteed {
                ExecutionType::Guaranteed
            } else {
                ExecutionType::Opportunistic
            },
            is_waiting: self.state.facts.is_waiting(id),
            is_borrowed: shape.share().is_borrowed,
            stopping: self.state.facts.stopping.get(&id).copied(),
            preemption: self.state.facts.notices.get(&id).copied(),
            preemption_cost: self.state.facts.disruption.cost_of(id),
            is_master: self
                .state
                .facts
                .master_container(self.state.facts.applications.at(container.application))
                == Some(id),
            placeholder: self.state.facts.placeholders.of(id),
        })
    }

    /// All running containers, by identifier.
    pub fn containers(&self) -> impl Iterator<Item = (ContainerId, ContainerView)> + use<'a> {
        let view = *self;
        let all = view.state.facts.containers.iter();
        all.filter_map(move |(id, _)| Some((id, view.container(id)?)))
    }

    /// All reservations, by identifier.
    pub fn reservations(&self) -> impl Iterator<Item = (ReservationId, ReservationView)> + use<'a> {
        self.state.facts.reservations.iter().map(|(id, reservation)| {
            let created_ms = reservation.created_ms;
            (id, ReservationView { ask: reservation.ask, node: reservation.node, created_ms })
        })
    }
}
