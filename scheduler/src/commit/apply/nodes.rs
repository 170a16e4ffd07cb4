//! Applies changes of nodes.

use super::Applier;
use crate::change::NodeSpec;
use crate::facts::{EndCause, Node, NodeAttributes, NodeState};
use crate::ids::{NodeId, PartitionId, RackId};
use crate::resource::{Resources, Room};
use crate::state::State;
use crate::timers::Timer;

impl Applier<'_> {
    pub(super) fn add_node(&mut self, id: NodeId, rack: RackId, spec: &NodeSpec) {
        let facts = &mut self.state.facts;
        let node = Node {
            id,
            name: spec.name.as_str().into(),
            rack,
            partition: spec.partition,
            attributes: spec.attributes.clone(),
            state: NodeState::Active,
            stale: false,
            last_heartbeat_ms: facts.now_ms,
            capacity: spec.capacity,
            room: Room::empty_node(spec.capacity, spec.devices),
            containers: Vec::new(),
            reservation: None,
            overcommitted: false,
        };
        facts.name_rack(rack, &spec.rack);
        facts.transition_add_node(id, node);
        self.state.nodes_version += 1;
        self.state.in_flight.reset_node(id);
        self.state.node_shards.add(id, self.state.facts.nodes.at(id));
        self.state.mark_limits_stale();
        self.state.facts.node_loads.look_for_nodes();
        self.state.node_gained(id);
        self.watch_silence(id);
    }

    pub(super) fn update_node(&mut self, id: NodeId, capacity: Resources, attributes: &NodeAttributes) {
        let mut capacity = capacity;
        if let Some(device_type) = self.state.facts.config.resources.device_type() {
            capacity.set(device_type, self.state.facts.nodes.at(id).capacity[device_type]);
        }
        let node = self.state.facts.nodes.at(id);
        if (node.capacity, &node.attributes) != (capacity, attributes) {
            self.give_back_on_changed(id);
        }
        self.state.facts.transition_resize_node(id, capacity);
        attributes.clone_into(&mut self.state.facts.nodes.at_mut(id).attributes);
        self.state.facts.node_loads.look_for_nodes();
        self.state.nodes_version += 1;
        self.state.mark_limits_stale();
        self.drop_reservation_that_is_in_vain(id);
        self.wake_with_fewer_offers(id);
        self.state.node_gained(id);
        self.state.reconsider_reservations(self.state.facts.nodes.at(id).partition);
    }

    /// Fewer nodes than before may be offered to asks that wait for their hosts: some of the asks may look further.
    fn wake_with_fewer_offers(&mut self, id: NodeId) {
        let State { facts, backlog, version, .. } = &mut *self.state;
        backlog.wake_with_fewer_offers(facts, facts.nodes.at(id).partition, *version);
    }

    /// Ends the reservation of a node that could not serve the ask even if it were empty.
    fn drop_reservation_that_is_in_vain(&mut self, id: NodeId) {
        let facts = &self.state.facts;
        let node = facts.nodes.at(id);
        let Some(reservation) = node.reservation else { return };
        let shape = facts.shapes.at(facts.asks.at(facts.reservations.at(reservation).ask).shape);
        if !facts.could_hold(shape, node) {
            self.drop_reservation(reservation);
        }
    }

    /// Moves a node to another partition. Its containers keep running and are charged there, even above limits: new
    /// containers come only when the limits have room. Its reservation was made for the old partition, and ends.
    pub(super) fn set_node_partition(&mut self, id: NodeId, partition: PartitionId) {
        let node = self.state.facts.nodes.at(id);
        let (old, reservation) = (node.partition, node.reservation);
        if old == partition {
            return;
        }
        reservation.into_iter().for_each(|reservation| self.drop_reservation(reservation));
        self.give_back_on_changed(id);
        let State { facts, node_shards, .. } = &mut *self.state;
        node_shards.remove(id, facts.nodes.at(id));
        facts.transition_set_node_partition(id, partition);
        node_shards.add(id, facts.nodes.at(id));
        self.state.nodes_version += 1;
        for container in self.state.facts.nodes.at(id).containers.clone() {
            let facts = &self.state.facts;
            let shape = facts.shapes.at(facts.containers.at(container).shape);
            // Borrowed containers, or containers that would be borrowed here, keep running as the partition's own.
            let shape = shape.staying_in(partition);
            self.reshape_container(container, &shape);
        }
        // Amounts in flight for the node may be in another partition than the resulting containers.
        self.state.record_move();
        let State { facts, backlog, version, .. } = &mut *self.state;
        backlog.wake_with_fewer_offers(facts, old, *version);
        self.state.mark_limits_stale();
        self.state.facts.node_loads.look_for_nodes();
        self.state.node_gained(id);
        self.state.reconsider_reservations(partition);
    }

    pub(super) fn set_node_state(&mut self, id: NodeId, state: NodeState) {
        self.state.facts.nodes.at_mut(id).state = state;
        self.node_availability_changed(id);
    }

    pub(super) fn set_node_silence(&mut self, id: NodeId, stale: bool) {
        self.state.facts.nodes.at_mut(id).stale = stale;
        self.node_availability_changed(id);
    }

    pub(super) fn record_heartbeats(&mut self, nodes: &[NodeId]) {
        let now_ms = self.state.facts.now_ms;
        for &id in nodes {
            let Some(node) = self.state.facts.nodes.get_mut(id) else { continue };
            node.last_heartbeat_ms = now_ms;
            if node.stale {
                self.set_node_silence(id, false);
                self.watch_silence(id);
            }
        }
    }

    pub(super) fn remove_node(&mut self, id: NodeId) {
        // The node is not a candidate from here on, so the room that its containers free wakes no ask.
        self.state.facts.nodes.at_mut(id).state = NodeState::Draining;
        let node = self.state.facts.nodes.at(id);
        if let Some(reservation) = node.reservation {
            self.drop_reservation(reservation);
        }
        self.give_back_on_changed(id);
        for container in self.state.facts.nodes.at(id).containers.clone() {
            self.end_container(container, EndCause::NodeLost);
        }
        let node = self.state.facts.transition_remove_node(id);
        self.state.nodes_version += 1;
        self.state.node_shards.remove(id, &node);
        let State { facts, backlog, version, .. } = &mut *self.state;
        backlog.wake_with_fewer_offers(facts, node.partition, *version);
        self.state.in_flight.reset_node(id);
        self.state.mark_limits_stale();
        self.effects.vacated_nodes.push((id, node.name));
    }

    fn node_availability_changed(&mut self, id: NodeId) {
        self.state.nodes_version += 1;
        self.state.facts.node_loads.look_for_nodes();
        if !self.state.facts.nodes.at(id).is_candidate()
            && let Some(reservation) = self.state.facts.nodes.at(id).reservation
        {
            self.drop_reservation(reservation);
        }
        if !self.state.facts.nodes.at(id).is_candidate() {
            self.give_back_on_changed(id);
        }
        self.wake_with_fewer_offers(id);
        self.state.node_gained(id);
        self.state.reconsider_reservations(self.state.facts.nodes.at(id).partition);
    }

    fn watch_silence(&mut self, id: NodeId) {
        if let Some(policy) = self.state.facts.config.heartbeat {
            let last_heartbeat_ms = self.state.facts.nodes.at(id).last_heartbeat_ms;
            self.state.timers.add(policy.silent_from_ms(last_heartbeat_ms), Timer::Silence(id));
        }
    }
}
