//! Transitions of the room that gangs hold.

use super::Charged;
use crate::facts::{Facts, HeldPlace, HeldRoom, Load};
use crate::ids::{AskId, GangId, NodeId, PartitionId};

impl Facts {
    /// A member of the gang gets a place on the node, or more room at its place there. It takes all that it needs, or
    /// the part that is free.
    pub(crate) fn transition_hold_room(&mut self, gang: GangId, ask: AskId, node: NodeId) -> Charged {
        let partition = self.nodes.at(node).partition;
        if !self.held_rooms.contains_key(&partition) {
            self.end_turns_without_room(gang);
        }
        let places = self.places_on(node, partition);
        if let Some(part) = places.iter().position(|place| place.ask == ask && !place.is_whole) {
            self.end_place(partition, node, part);
        }
        self.node_loads.touch(node);
        let device_type = self.config.resources.device_type();
        let need = self.shapes.at(self.asks.at(ask).shape).need;
        let room = &mut self.nodes.at_mut(node).room;
        let place = HeldPlace::in_room(ask, &need, room, device_type);
        room.free -= place.amount;
        if let Some(need) = need.devices {
            room.devices.take(place.devices, need.milli);
        }
        let held = self.held_rooms.entry(partition).or_insert_with(|| HeldRoom::new(gang));
        debug_assert_eq!(held.gang, gang, "{} holds room in {partition}", held.gang);
        held.nodes.entry(node).or_default().push(place);
        held.count_place(&place, 1);
        self.record_growth(gang);
        self.charge_place(partition, node, &place, 1)
    }

    /// The ask's part on the node ends.
    pub(crate) fn transition_drop_part(
        &mut self,
        partition: PartitionId,
        node: NodeId,
        ask: AskId,
    ) -> Option<Charged> {
        let places = self.places_on(node, partition);
        let part = places.iter().position(|place| place.ask == ask && !place.is_whole)?;
        Some(self.end_place(partition, node, part))
    }

    /// The places on the node end. There is one charge for each.
    pub(crate) fn transition_give_back_room(&mut self, partition: PartitionId, node: NodeId) -> Vec<Charged> {
        let gang = self.held_rooms.get(&partition).map(|held| held.gang);
        let places = self.places_on(node, partition).len();
        let charges = (0..places).map(|_| self.end_place(partition, node, 0)).collect();
        if let Some(gang) = gang.filter(|_| !self.held_rooms.contains_key(&partition)) {
            self.restart_turns(partition, gang);
        }
        charges
    }

    /// Ends one place.
    fn end_place(&mut self, partition: PartitionId, node: NodeId, number: usize) -> Charged {
        let held = self.held_rooms.get_mut(&partition).expect("the caller saw the place");
        let places = held.nodes.get_mut(&node).expect("the caller saw the place");
        let place = places.remove(number);
        if places.is_empty() {
            held.nodes.remove(&node);
        }
        held.count_place(&place, -1);
        if held.nodes.is_empty() {
            self.held_rooms.remove(&partition);
        }
        self.node_loads.touch(node);
        let mut room = self.nodes.at(node).room;
        self.give(&mut room, &place);
        self.nodes.at_mut(node).room = room;
        self.charge_place(partition, node, &place, -1)
    }

    /// Charges a place to the application, its queues and its user, as a reservation is charged.
    fn charge_place(
        &mut self,
        partition: PartitionId,
        node: NodeId,
        place: &HeldPlace,
        sign: i64,
    ) -> Charged {
        let (application, shape) = (self.asks.at(place.ask).application, self.asks.at(place.ask).shape);
        let resources = place.amount;
        let owner = self.applications.at_mut(application);
        owner.used += resources.times(sign);
        let (leaf, user) = (owner.leaf, owner.user);
        let load = Load { used: resources, reserved: resources, ..Load::default() };
        self.tree.shift(leaf, user, partition, &load, sign);
        Charged { application, leaf, user, partition, node, shape, resources, is_tagged: false }
    }
}
