//! Transitions of containers between their start and their end.

use super::{Charged, Use};
use crate::facts::{Container, Facts};
use crate::ids::{ContainerId, ShapeId};
use crate::resource::Resources;

impl Facts {
    /// Charges a running container with this shape, of which it is already a user. If the node has too little room, it
    /// is overcommitted.
    pub(crate) fn transition_recover(&mut self, container: Container) -> (ContainerId, Charged) {
        let Container { application, ask, node, shape, .. } = container;
        let charged = self.charge(application, shape, node, Use::Running, 1);
        self.count_tags(&charged, 1);
        self.applications.at_mut(application).demand += charged.resources;
        self.asks.leave_trace(ask);
        let id = self.start(container);
        let node = self.nodes.at_mut(node);
        node.overcommitted = !Resources::ZERO.within(&node.room.free);
        (id, charged)
    }

    /// Charges a container with another shape, of which it is already a user, after its size or its node's partition
    /// changed. Its tags and devices stay.
    pub(crate) fn transition_reshape_container(&mut self, id: ContainerId, shape: ShapeId) -> Charged {
        let container = self.containers.at_mut(id);
        let (application, node) = (container.application, container.node);
        let old = std::mem::replace(&mut container.shape, shape);
        let given_back = self.charge(application, old, node, Use::Running, -1);
        let taken = self.charge(application, shape, node, Use::Running, 1);
        self.applications.at_mut(application).demand += taken.resources - given_back.resources;
        let node = self.nodes.at_mut(node);
        node.room.free += given_back.resources - taken.resources;
        node.overcommitted = !Resources::ZERO.within(&node.room.free);
        self.shapes.remove_user(old);
        self.node_loads.touch(taken.node);
        taken
    }

    /// Makes a container opportunistic: stores its size, and charges it with this shape.
    pub(crate) fn transition_demote(&mut self, id: ContainerId, shape: ShapeId) -> Charged {
        let size = self.shapes.at(self.containers.at(id).shape).need.resources;
        self.opportunistic.insert(id, size);
        self.list_running(id);
        self.transition_reshape_container(id, shape)
    }

    /// Makes a container guaranteed again, with the stored size, which this shape has.
    pub(crate) fn transition_promote(&mut self, id: ContainerId, shape: ShapeId) -> Charged {
        self.end_opportunistic(id, self.containers.at(id).node);
        self.transition_reshape_container(id, shape)
    }

    /// Ends a container and frees everything that it held.
    pub(crate) fn transition_end_container(&mut self, id: ContainerId) -> (Container, Charged) {
        let container = self.containers.remove(id).expect("the caller checked that it is alive");
        self.container_ids.give_back(id);
        if !self.opportunistic.is_empty() {
            self.end_opportunistic(id, container.node);
        }
        if !self.stopping.is_empty() {
            self.stopping.remove(&id);
        }
        if !self.notices.is_empty() {
            self.notices.remove(&id);
        }
        if self.disruption.knows_containers() {
            self.disruption.forget(id);
        }
        if self.placeholders.any_run() {
            self.transition_end_placeholder(id);
        }
        self.unlist(id, &container);
        let charged = self.charge(container.application, container.shape, container.node, Use::Running, -1);
        self.applications.at_mut(container.application).demand -= charged.resources;
        self.count_tags(&charged, -1);
        let node = self.nodes.at_mut(container.node);
        node.room.free += charged.resources;
        if let Some(need) = self.shapes.at(container.shape).need.devices {
            node.room.devices.give(container.devices, need.milli);
        }
        if node.overcommitted {
            node.overcommitted = !Resources::ZERO.within(&node.room.free);
        }
        self.shapes.remove_user(container.shape);
        self.node_loads.touch(container.node);
        (container, charged)
    }

    fn unlist(&mut self, id: ContainerId, container: &Container) {
        let on_node = &mut self.nodes.at_mut(container.node).containers;
        let place = on_node.iter().position(|listed| *listed == id).expect("its node lists it");
        on_node.swap_remove(place);
        self.applications.at_mut(container.application).containers.record_end(&self.containers);
    }
}
