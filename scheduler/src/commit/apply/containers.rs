//! Applies changes of running containers, and recovers containers that ran before the engine did.
//!
//! A container is charged as its shape. So a node that changes its partition and a container that changes its size both
//! come down to one ledger move (`transition_reshape_container`). It gives back the old shape's amounts and takes the
//! new shape's, on the same node, queues and user. When the container ends later, it gives back the shape that it has
//! then.
//!
//! A node changes its partition regardless of limits; that counts as a move of the amounts in flight. Growth is decided
//! at once, by the checks of `accept` on the difference (`commit/resizing.rs`). Requests to grow never wait, so none
//! has to be woken. A recovered node registers together with its containers, under one guard, so that no pass sees it
//! empty.

use super::Applier;
use crate::change::RunningContainer;
use crate::commit::resizing::resized;
use crate::event::EventKind;
use crate::facts::{Charged, Container, EndCause, ExecutionType, Rule, Shape, Stopping};
use crate::ids::{AskId, ContainerId, NodeId};
use crate::resource::{DeviceMask, Need, Resources};
use crate::state::State;
use crate::timers::Timer;

impl Applier<'_> {
    /// Charges the container as another shape from now on.
    pub(super) fn reshape_container(&mut self, container: ContainerId, shape: &Shape) -> Charged {
        let shape = self.intern(shape);
        self.state.facts.transition_reshape_container(container, shape)
    }

    pub(super) fn resize_container(&mut self, container: ContainerId, size: Resources) {
        let old = self.charged_for(container);
        let shape = resized(&self.state.facts, container, size);
        let charged = self.reshape_container(container, &shape);
        self.record_recharged(&old, &charged);
        self.tell(charged.application, EventKind::ContainerResized { container });
    }

    pub(super) fn set_execution_type(&mut self, container: ContainerId, execution_type: ExecutionType) {
        if self.state.facts.is_waiting(container) {
            // It takes its devices now.
            self.start_waiting(container);
        }
        let old = self.charged_for(container);
        let size = self.state.facts.opportunistic.get(&container).copied();
        let shape = resized(&self.state.facts, container, size.unwrap_or(Resources::ZERO));
        let shape = self.intern(&shape);
        let facts = &mut self.state.facts;
        let charged = match execution_type {
            ExecutionType::Guaranteed => facts.transition_promote(container, shape),
            ExecutionType::Opportunistic => facts.transition_demote(container, shape),
        };
        self.record_recharged(&old, &charged);
        self.tell(charged.application, EventKind::ExecutionTypeChanged { container, execution_type });
    }

    /// Stops a container. It keeps everything that it holds until its end is confirmed.
    pub(super) fn stop_container(&mut self, container: ContainerId, cause: EndCause) {
        if self.state.facts.is_waiting(container) {
            // Nothing of it runs.
            return self.end_container(container, cause);
        }
        let State { facts, timers, .. } = &mut *self.state;
        let until_ms = facts.now_ms.saturating_add(facts.config.stop_timeout_ms);
        facts.stopping.insert(container, Stopping { cause, until_ms });
        timers.add(until_ms, Timer::Stop(container));
        let Container { application, node, .. } = *facts.containers.at(container);
        self.tell(application, EventKind::ContainerStopping { container, node, until_ms, cause });
    }

    /// The cause of a container's end. If a node or application confirms a stop, it is the cause of the stop.
    pub(super) fn confirmed_cause(&self, container: ContainerId, cause: EndCause) -> EndCause {
        let is_confirmation = matches!(cause, EndCause::Completed | EndCause::Released);
        let stopping = self.state.facts.stopping.get(&container).filter(|_| is_confirmation);
        stopping.map_or(cause, |stopping| stopping.cause)
    }

    /// The amounts charged for a container.
    pub(super) fn charged_for(&self, container: ContainerId) -> Resources {
        let facts = &self.state.facts;
        facts.shapes.at(facts.containers.at(container).shape).need.resources
    }

    /// Updates the derived state after a container's charge changed. A smaller charge wakes blocked lanes.
    pub(super) fn record_recharged(&mut self, old: &Resources, charged: &Charged) {
        if old.within(&charged.resources) {
            let State { facts, node_shards, backlog, version, .. } = &mut *self.state;
            node_shards.record_change(charged.node, charged.partition);
            backlog.rekey(facts, charged.leaf, charged.application);
            backlog.leaf_changed(charged.leaf, *version);
        } else {
            self.use_fell(charged);
            self.state.node_gained(charged.node);
        }
    }

    /// Charges a running container to its application, even above limits and room.
    pub(super) fn recover_container(&mut self, ask: AskId, node: NodeId, running: &RunningContainer) {
        let need = Need { resources: running.size, devices: running.devices };
        let partition = self.state.facts.nodes.at(node).partition;
        let shape = self.intern(&Shape::own(need, partition, Rule::of_tags(&running.tags).boxed()));
        self.give_back_on_changed(node);
        let State { facts, node_shards, backlog, version, .. } = &mut *self.state;
        let (container, charged) = facts.transition_recover(Container {
            application: running.application,
            ask,
            node,
            shape,
            devices: DeviceMask::default(),
            priority: running.priority,
            allocation_request_id: running.allocation_request_id,
            is_recovered: true,
        });
        node_shards.record_change(node, charged.partition);
        backlog.rekey(facts, charged.leaf, charged.application);
        backlog.leaf_changed(charged.leaf, *version);
        self.state.tags_placed(&charged);
        self.state.review_reservation(node);
        let allocation_request_id = running.allocation_request_id;
        self.tell(
            charged.application,
            EventKind::ContainerRecovered { ask, container, node, allocation_request_id },
        );
        self.effects.vacated_asks.push(ask);
    }
}
