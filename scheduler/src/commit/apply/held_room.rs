//! Applies changes of the room that gangs hold.

use super::Applier;
use crate::facts::Charged;
use crate::ids::{ApplicationId, AskId, GangId, NodeId, PartitionId};
use crate::state::State;
use crate::timers::Timer;

impl Applier<'_> {
    /// A member of a gang gets a place, or more room at its place. If each member has one already, the ask's first part
    /// ends.
    pub(super) fn hold_room(&mut self, ask: AskId, node: NodeId) {
        let facts = &self.state.facts;
        let Some(gang) = facts.gang_of(ask) else { return };
        let Some(gain) = facts.room_gain(gang, ask, node) else { return };
        if gain.is_in_place_of_part {
            let partition = facts.nodes.at(node).partition;
            let part = facts.held_rooms.get(&partition).and_then(|held| held.first_part(ask));
            if let Some(part) = part
                && let Some(charged) = self.state.facts.transition_drop_part(partition, part, ask)
            {
                self.given_back(&charged);
            }
        }
        let State { facts, node_shards, backlog, timers, version, .. } = &mut *self.state;
        let has_timer = facts.turn_until_ms(gang).is_some_and(|until_ms| until_ms > facts.now_ms);
        let charged = facts.transition_hold_room(gang, ask, node);
        if !has_timer && let Some(at_ms) = facts.turn_until_ms(gang) {
            timers.add(at_ms.max(facts.now_ms), Timer::Turn(gang));
        }
        node_shards.record_change(node, charged.partition);
        backlog.rekey(facts, charged.leaf, charged.application);
        backlog.leaf_changed(charged.leaf, *version);
    }

    /// The gang gives back its room in the partition.
    pub(super) fn give_room_back(&mut self, gang: GangId, partition: PartitionId) {
        let Some(held) = self.state.facts.held_rooms.get(&partition).filter(|held| held.gang == gang) else {
            return;
        };
        for node in held.nodes.keys().copied().collect::<Vec<_>>() {
            self.give_back_on(node, partition);
        }
    }

    /// The gang gives back all of its room. Out of line, because nearly always no gang holds room.
    #[cold]
    pub(super) fn give_all_room_back(&mut self, gang: GangId) {
        for partition in self.state.facts.partitions_held_by(gang) {
            self.give_room_back(gang, partition);
        }
    }

    /// The gangs of the application give back all of their room.
    #[cold]
    pub(super) fn give_back_of(&mut self, application: ApplicationId) {
        for gang in self.state.facts.gangs_of(application) {
            self.give_all_room_back(gang);
        }
    }

    /// The gang that holds room on the node gives it back, because the node changes.
    #[cold]
    pub(super) fn give_back_on_changed(&mut self, node: NodeId) {
        self.give_back_on(node, self.state.facts.nodes.at(node).partition);
    }

    fn give_back_on(&mut self, node: NodeId, partition: PartitionId) {
        for charged in self.state.facts.transition_give_back_room(partition, node) {
            self.given_back(&charged);
        }
        self.review_turns();
    }

    fn given_back(&mut self, charged: &Charged) {
        self.use_fell(charged);
        self.state.node_gained(charged.node);
    }
}
