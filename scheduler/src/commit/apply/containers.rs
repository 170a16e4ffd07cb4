//! Containers that change, and those that ran before the engine did.

use super::Applier;
use crate::change::RunningContainer;
use crate::commit::resizing::resized;
use crate::event::EventKind;
use crate::facts::{Charged, Lodging, Rule, Shape};
use crate::ids::{AskId, ContainerId, NodeId};
use crate::resource::{Need, Resources};
use crate::state::State;

impl Applier<'_> {
    /// The container is charged as another shape says from now on.
    pub(super) fn reshape_container(&mut self, container: ContainerId, shape: &Shape) -> Charged {
        let shape = self.intern(shape);
        self.state.facts.transition_reshape_container(container, shape)
    }

    pub(super) fn resize_container(&mut self, container: ContainerId, size: Resources) {
        let facts = &self.state.facts;
        let old = facts.shapes.at(facts.containers.at(container).shape).need.resources;
        let shape = resized(facts, container, size);
        let charged = self.reshape_container(container, &shape);
        if old.within(&charged.resources) {
            let State { facts, roster, backlog, version, .. } = &mut *self.state;
            roster.note_change(charged.node, charged.partition);
            backlog.rekey(facts, charged.application);
            backlog.leaf_changed(charged.leaf, *version);
        } else {
            self.relieve(&charged);
            self.state.node_gained(charged.node);
        }
        self.tell(charged.application, EventKind::ContainerResized { container });
    }

    /// It runs, so it is charged to whoever it belongs to, above limits and room if need be.
    pub(super) fn recover_container(&mut self, ask: AskId, node: NodeId, running: &RunningContainer) {
        let shape = Shape {
            need: Need { resources: running.size, devices: running.devices },
            partition: self.state.facts.nodes.at(node).partition,
            rule: Rule::of_tags(&running.tags).boxed(),
            located: false,
            lodging: Lodging::Own,
        };
        let shape = self.intern(&shape);
        let State { facts, roster, backlog, version, .. } = &mut *self.state;
        let (container, charged) = facts.transition_recover(ask, running.application, node, shape);
        roster.note_change(node, charged.partition);
        backlog.rekey(facts, charged.application);
        backlog.leaf_changed(charged.leaf, *version);
        self.state.note_tags(&charged, true);
        self.state.review_claim(node);
        self.tell(charged.application, EventKind::ContainerRecovered { ask, container, node });
        self.effects.vacated_asks.push(ask);
    }
}
