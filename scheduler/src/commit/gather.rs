//! Holds room for gangs that wait, gives it back, and starts a gang once all of its members have room.
//!
//! A search for gangs names nodes. From then on the committer holds each further amount that becomes free there, in the
//! group that made it free. So no pass sees that amount, and no other ask can be quicker.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::committer::Committer;
use super::gangs::admit_change_of_gang;
use crate::change::Change;
use crate::facts::{Facts, HeldRole, HeldRoom, RoomGain, WaitingGang};
use crate::ids::{AskId, GangId, NodeId};
use crate::place::Restart;
use crate::propose::{Gathering, TurnEnd, plan_places};
use crate::request::{AllocationProposal, CommitOutcome, ResourceAllocationCommitRequest};

impl Committer<'_> {
    /// Offers the nodes that gained room to the gangs that hold room.
    #[cold]
    pub(crate) fn gather(&mut self) {
        let mut nodes = std::mem::take(&mut self.state.gang_waits.gained_nodes);
        self.state.recompute_limits();
        self.give_back_in_vain();
        if std::mem::take(&mut self.state.gang_waits.room_is_limited) {
            let held = self.state.facts.held_rooms.values();
            nodes.extend(held.flat_map(|held| held.nodes.keys().copied()));
        }
        while let Some(node) = nodes.pop_first() {
            self.offer(node);
            nodes.append(&mut self.state.gang_waits.gained_nodes);
        }
        for gang in gathering_gangs(&self.state.facts) {
            self.start_if_complete(gang);
        }
        self.state.gang_waits.gained_nodes.clear();
    }

    /// Gives back the room of gangs that may not gather any more.
    fn give_back_in_vain(&mut self) {
        for gang in gathering_gangs(&self.state.facts) {
            let facts = &self.state.facts;
            if !facts.gangs.get(&gang).is_some_and(|waiting| facts.maxima_admit(waiting)) {
                self.give_room_back(gang);
            }
        }
    }

    fn give_room_back(&mut self, gang: GangId) {
        for partition in self.state.facts.partitions_held_by(gang) {
            self.apply(Change::RoomGivenBack { gang, partition });
        }
    }

    /// Holds room on the node for as many members as gain by it. Parts that are there already come first.
    fn offer(&mut self, node: NodeId) {
        while let Some(ask) = next_gain(&self.state.facts, node) {
            self.apply(Change::RoomHeld { ask, node });
        }
        self.state.gang_waits.room_is_limited |= has_room_for_parts(&self.state.facts, node);
    }

    /// Holds room at the places that a search found. Gangs that come later in order give theirs back.
    /// Returns whether the search is still good for the gang.
    pub(super) fn hold_places(&mut self, gathering: &Gathering) -> bool {
        let gang = gathering.gang;
        if !self.state.facts.gangs.contains_key(&gang) || self.is_before_unseen(gathering) {
            return false;
        }
        let has_changed = self.state.facts.changes > gathering.changes;
        self.state.recompute_limits();
        if gathering.begins_anew {
            self.give_room_back(gang);
        }
        let mut missed = 0;
        for &(ask, node) in &gathering.places {
            self.displace(gang, node);
            if self.room_gain(gang, ask, node).is_some() {
                self.apply(Change::RoomHeld { ask, node });
                self.state.gang_waits.room_is_limited |= has_room_for_parts(&self.state.facts, node);
            } else {
                missed += 1;
            }
        }
        if missed > 0 && has_changed {
            // Other changes took the planned room. Otherwise another search would find the same.
            self.state.record_room_gain();
        }
        self.start_if_complete(gang);
        true
    }

    /// Whether a gang that comes first was submitted since the search. It must not have to wait for this one's turn:
    /// the next search sees both.
    fn is_before_unseen(&self, gathering: &Gathering) -> bool {
        let facts = &self.state.facts;
        let own = facts.gang_key(&facts.gangs[&gathering.gang]);
        facts.rivals_since(gathering.gang, gathering.asks).any(|(_, rival)| facts.gang_key(rival) < own)
    }

    /// Ends the turn, unless the held room has grown since the search, and lets the successors gather. Gangs that were
    /// submitted since have their place among them. If a successor is gone, another search names those behind it.
    pub(super) fn end_turn(&mut self, end: &TurnEnd, asks: u64) {
        if end.successors.iter().any(|gang| !self.state.facts.gangs.contains_key(gang)) {
            self.state.gang_waits.overdue_turns.insert(end.gang);
            return;
        }
        let change = Change::GangTurnEnded { gang: end.gang };
        if admit_change_of_gang(self.state, &change).is_err() {
            return;
        }
        self.apply(change);
        let mut taken = Vec::new();
        for gang in self.successors(end, asks) {
            self.state.recompute_limits();
            let facts = &self.state.facts;
            let unavailable: Vec<_> =
                facts.partitions_held_before(gang).chain(taken.iter().copied()).collect();
            let Some(gathering) = plan_places(self.state, gang, &unavailable, Restart::Allowed) else {
                continue;
            };
            self.hold_places(&gathering);
            // Unless it has started.
            if let Some(waiting) = self.state.facts.gangs.get(&gang) {
                taken.extend(self.state.facts.partitions_to_gather(gang, waiting));
            }
        }
    }

    /// The gangs that may gather next, in their order. The gang whose turn has ended is one of them, and comes last
    /// now.
    fn successors(&self, end: &TurnEnd, asks: u64) -> Vec<GangId> {
        let facts = &self.state.facts;
        let seen: Vec<GangId> = end.successors.iter().copied().chain([end.gang]).collect();
        let unseen = seen.iter().flat_map(|gang| facts.rivals_since(*gang, asks));
        let mut successors: Vec<GangId> = unseen.map(|(gang, _)| gang).chain(seen.iter().copied()).collect();
        successors.sort_by_key(|gang| facts.gangs.get(gang).map(|waiting| facts.gang_key(waiting)));
        successors.dedup();
        successors
    }

    fn room_gain(&self, gang: GangId, ask: AskId, node: NodeId) -> Option<RoomGain> {
        let facts = &self.state.facts;
        (facts.gang_of(ask) == Some(gang)).then(|| facts.room_gain(gang, ask, node)).flatten()
    }

    /// A later gang gives back its room in the node's partition.
    fn displace(&mut self, gang: GangId, node: NodeId) {
        let facts = &self.state.facts;
        let Some(partition) = facts.nodes.get(node).map(|node| node.partition) else { return };
        let Some(other) = facts.held_rooms.get(&partition).map(|held| held.gang) else { return };
        if other != gang && facts.may_interrupt(&facts.gangs[&gang], &facts.gangs[&other]) {
            self.apply(Change::RoomGivenBack { gang: other, partition });
        }
    }

    /// Starts the gang if all room for its minimum is held. If its members may not be there any more, it gives all
    /// back.
    fn start_if_complete(&mut self, gang: GangId) {
        let facts = &self.state.facts;
        let Some(waiting) = facts.gangs.get(&gang).filter(|waiting| has_all(facts, gang, waiting)) else {
            return;
        };
        debug_assert!(waiting.gathers, "{gang} holds room");
        let proposal = |(_, node, place): (_, NodeId, &crate::facts::HeldPlace)| AllocationProposal {
            ask: place.ask,
            node,
            from_reservation: None,
        };
        let allocate = facts.places_of(gang).map(proposal).collect();
        let mut request = ResourceAllocationCommitRequest { allocate, ..Default::default() };
        // Devices are chosen again. Small needs first could break up what a large one needs.
        request.allocate.sort_by_key(|proposal| Reverse(device_need(facts, proposal.ask)));
        if let CommitOutcome::Rejected(_) = self.commit(request) {
            self.state.record_failed_start(gang);
            self.give_room_back(gang);
        }
    }
}

/// Whether the node has room to enlarge a part.
fn has_room_for_parts(facts: &Facts, node: NodeId) -> bool {
    let Some(node) = facts.nodes.get(node) else { return false };
    facts
        .places_on(node.id, node.partition)
        .iter()
        .any(|place| !place.is_whole && facts.place_with_more_room(place, node).amount != place.amount)
}

/// The thousandths of each device, and the number of devices.
fn device_need(facts: &Facts, ask: AskId) -> (u16, u8) {
    let need = facts.shapes.at(facts.asks.at(ask).shape).need;
    need.devices.map_or((0, 0), |devices| (devices.milli, devices.count))
}

/// The gangs that hold room.
fn gathering_gangs(facts: &Facts) -> BTreeSet<GangId> {
    facts.held_rooms.values().map(|held| held.gang).collect()
}

/// Whether the gang holds all room for its minimum.
fn has_all(facts: &Facts, gang: GangId, waiting: &WaitingGang) -> bool {
    waiting
        .roles
        .iter()
        .all(|role| role.minimum == 0 || facts.place_count(gang, role.ask).whole >= role.minimum)
}

/// The next ask that gains by room on the node, of the gang that holds room in its partition. Asks with a part there
/// come first, then the ask with the largest members. Only a search gives a role places on further nodes, so that all
/// members find one. A second member of a role on a node gets its place once the first has all of its room.
fn next_gain(facts: &Facts, node: NodeId) -> Option<AskId> {
    let known = facts.nodes.get(node)?;
    let HeldRoom { gang, nodes, .. } = facts.held_rooms.get(&known.partition)?;
    let places = || nodes.get(&node).into_iter().flatten();
    let gains = |ask: &AskId| facts.room_gain(*gang, *ask, node).is_some();
    let is_expected = |role: &&HeldRole| {
        facts.place_count(*gang, role.ask).all() >= role.minimum
            || places().any(|place| place.ask == role.ask && place.is_whole)
    };
    let roles = facts.gangs.get(gang)?.roles.iter().filter(|role| role.minimum > 0);
    let expected = roles.filter(is_expected).map(|role| role.ask);
    let mut parts = places().filter(|place| !place.is_whole).map(|place| place.ask);
    parts.find(gains).or_else(|| expected.filter(gains).max_by_key(|ask| facts.part_of_partition(*ask)))
}
