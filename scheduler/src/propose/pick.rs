//! Picks a node for the next ask.

use super::batch::{Observation, Proposals};
use super::pass::PassScope;
use super::queue_walk::NextAsk;
use super::reserve::give_up;
use super::scratch::{Scratch, ShapeStatus};
use crate::backlog::PendingAsk;
use crate::config::LocalityDelay;
use crate::facts::{Ask, Borrowing, Locality, Node, Opportunities, Reservation, Shape};
use crate::ids::{AskId, NodeId};
use crate::place::{Found, PlacementSet};
use crate::request::ResourceAllocationCommitRequest;
use crate::resource::fits;
use crate::state::State;

/// The outcome for a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// A container is proposed.
    Placed,
    /// A reservation is proposed.
    Reserved,
    /// Nothing for this ask in this pass: it waits for the hosts or racks that it names.
    Waits,
    /// Nothing for this ask in this pass: another pass took its last unit.
    InFlight,
    /// Nothing for this ask, nor for lower keys of its application, in this pass.
    HoldsBack,
    /// Nothing for this shape in this pass.
    NoRoom,
    /// The same, but only because the nodes reached their maximum for this pass. Another pass follows.
    NextPass,
}

/// One unit of an ask, with the ask's number of outstanding units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) ask: AskId,
    outstanding: u32,
}

/// Chooses nodes: first hosts and racks that the ask names, in any set, then the pass's own set.
pub(super) struct Picker<'a> {
    pub(super) state: &'a State,
    pub(super) set: &'a mut PlacementSet,
    /// How many nodes this pass has looked at.
    pub(super) visits: usize,
    /// Reservations proposed in this pass.
    pub(super) reservations: usize,
    /// Whether the pass skipped an ask or a node only because of units and amounts in flight.
    pub(super) in_use: bool,
    /// Whether the configuration limits off-switch containers per node and pass.
    counts_off_switch: bool,
    pub(super) scope: PassScope,
}

impl<'a> Picker<'a> {
    pub(super) fn new(state: &'a State, set: &'a mut PlacementSet, scope: PassScope) -> Self {
        let counts_off_switch = state.facts.config.limits.off_switch_per_pass.is_some();
        Self { state, set, visits: 0, reservations: 0, in_use: false, counts_off_switch, scope }
    }

    pub(super) fn pick(&mut self, next: &NextAsk, scratch: &mut Scratch, proposals: &mut Proposals) -> Pick {
        let shape = self.state.facts.shapes.at(next.shape);
        let unit = self.unit_of(&next.pending);
        if scratch.shape_status(next.shape) == ShapeStatus::MayReserve {
            return self.reserve(next, shape, scratch, proposals);
        }
        if shape.has_locality {
            let ask = self.state.facts.asks.at(unit.ask);
            let now = self.opportunities(unit.ask, ask, proposals);
            let allowed = self.state.backlog.locality.allowed_with(&self.state.facts, unit.ask, ask, now);
            if let Some(node) = self.preferred_node(ask, shape, allowed) {
                return self.place_on(unit, node, shape, proposals);
            }
            if allowed < Locality::OffSwitch {
                let offered = self.offer(unit.ask, ask, shape, allowed);
                let holds_back = self.holds_back(ask, &offered);
                proposals.observations.push(Observation::Waits { ask: unit.ask, allowed, offered });
                return if holds_back { Pick::HoldsBack } else { Pick::Waits };
            }
        }
        match self.set.search(self.state.nodes(), shape, &mut self.visits) {
            Found::At(position) => self.place_at(unit, position, shape, proposals),
            // Another pass is certain, because this pass proposes containers on these nodes.
            Found::NextPass => {
                give_up(next, scratch);
                Pick::NextPass
            }
            Found::Nothing => {
                proposals.observations.push(Observation::NoRoom { shape: next.shape });
                if shape.borrowing == Borrowing::Borrowed {
                    return give_up(next, scratch);
                }
                self.reserve(next, shape, scratch, proposals)
            }
        }
    }

    /// Proposes a container at a position of the pass's own set.
    pub(super) fn place_at(
        &mut self,
        unit: Unit,
        position: usize,
        shape: &Shape,
        proposals: &mut Proposals,
    ) -> Pick {
        let node = self.set.node(position);
        if !self.take(unit) {
            return Pick::InFlight;
        }
        let pick = propose(unit.ask, node, proposals);
        self.set.debit(position, &shape.need);
        self.give_tags(unit.ask, node, shape);
        if self.counts_off_switch {
            self.count_off_switch(unit.ask, node, position);
        }
        pick
    }

    fn count_off_switch(&mut self, ask: AskId, node: NodeId, position: usize) {
        let facts = &self.state.facts;
        let locality = facts.asks.at(ask).preference.locality_of(node, facts.nodes.at(node).rack);
        if locality == Locality::OffSwitch {
            self.set.give_off_switch(position);
        }
    }

    /// Proposes a container on a preferred node, which may be in another set. The node's amount in flight tells other
    /// passes, since many asks often prefer the same node.
    pub(super) fn place_on(
        &mut self,
        unit: Unit,
        node: NodeId,
        shape: &Shape,
        proposals: &mut Proposals,
    ) -> Pick {
        if !self.take(unit) {
            return Pick::InFlight;
        }
        let (pick, resources) = (propose(unit.ask, node, proposals), shape.need.resources);
        self.state.in_flight.add_pick(node, &resources);
        proposals.amounts.nodes.push((node, resources));
        let (set, position) = self.state.node_shards.place_of(node, shape.partition);
        if set == self.set.id() {
            self.set.debit(position, &shape.need);
        }
        self.give_tags(unit.ask, node, shape);
        pick
    }

    /// Counts the tags of a proposed container.
    pub(super) fn give_tags(&mut self, ask: AskId, node: NodeId, shape: &Shape) {
        if !shape.tags().is_empty() {
            let facts = &self.state.facts;
            self.set.give_tags(shape, facts.nodes.at(node), facts.asks.at(ask).application);
        }
    }

    /// Returns the first node with room: first of the named hosts, then on the named racks if `allowed` covers them.
    pub(super) fn preferred_node(&mut self, ask: &Ask, shape: &Shape, allowed: Locality) -> Option<NodeId> {
        let (state, set) = (self.state, &*self.set);
        let (mut visits, mut in_use) = (0, false);
        let found = state.node_shards.preferred_nodes(&ask.preference, allowed).find(|&id| {
            visits += 1;
            let has_room = has_room(state, set, id, shape);
            in_use |=
                !has_room && state.facts.nodes.get(id).is_some_and(|node| state.facts.can_take(shape, node));
            has_room
        });
        self.visits += visits;
        self.in_use |= in_use;
        found
    }

    /// Returns nodes with room that the ask does not name and was not offered before, at most as many as count. If
    /// scheduling opportunities count, a pass over one node always counts that node, until the pass reserves it.
    fn offer(&mut self, id: AskId, ask: &Ask, shape: &Shape, allowed: Locality) -> Vec<NodeId> {
        let (state, set) = (self.state, &*self.set);
        let LocalityDelay::Nodes { rack, any, .. } = state.facts.config.locality_delay else {
            return Vec::new();
        };
        if allowed == ask.preference.loosest() {
            return Vec::new();
        }
        let counts_all = state.facts.counts_opportunities();
        if let Some(node) = self.scope.node.filter(|_| counts_all) {
            if self.reservations > 0 {
                return Vec::new();
            }
            // As in YARN, a reserved or blacklisted node does not count.
            let may_take = |node: &Node| {
                node.is_open() && state.facts.breach_with(shape, node, Some(set.given_tags())).is_none()
            };
            return Vec::from_iter(state.facts.nodes.get(node).is_some_and(may_take).then_some(node));
        }
        let most = if counts_all { usize::MAX } else { any.unwrap_or(rack) as usize };
        let known = state.backlog.locality.offered(id);
        let mut visits = 0;
        let offered = state
            .node_shards
            .nodes_of(shape.partition)
            .filter(|node| {
                visits += 1;
                known.binary_search(node).is_err() && has_room(state, set, *node, shape)
            })
            .take(most.saturating_sub(known.len()))
            .collect();
        self.visits += visits;
        offered
    }

    /// The ask's missed scheduling opportunities. A pass over one node takes its own proposals into account; a pass
    /// over several nodes uses the count from before it.
    fn opportunities(&self, id: AskId, ask: &Ask, proposals: &Proposals) -> Opportunities {
        let (facts, before) = (&self.state.facts, Opportunities::of(ask));
        let LocalityDelay::Nodes { full_reset, .. } = facts.config.locality_delay else { return before };
        if !self.is_confined() || !facts.counts_opportunities() {
            return before;
        }
        let given =
            proposals.requests.iter().flat_map(|request| &request.allocate).filter(|unit| unit.ask == id);
        given.fold(before, |now, unit| {
            let locality = ask.preference.locality_of(unit.node, facts.nodes.at(unit.node).rack);
            now.after(locality, unit.from_reservation.is_some(), full_reset)
        })
    }

    /// As in YARN, an ask that misses an opportunity in a pass over one node leaves that node to other applications.
    /// An ask that accepts only its hosts or racks does not hold back lower keys.
    fn holds_back(&self, ask: &Ask, offered: &[NodeId]) -> bool {
        !offered.is_empty()
            && self.is_confined()
            && self.state.facts.counts_opportunities()
            && ask.preference.loosest() == Locality::OffSwitch
    }

    /// Whether the pass may serve the ask of this reservation.
    pub(super) fn may_fulfil(&self, reservation: &Reservation) -> bool {
        let ask = self.state.facts.asks.at(reservation.ask);
        let leaf = self.state.facts.applications.at(ask.application).leaf;
        self.scope.leaf.is_none_or(|only| only == leaf)
    }

    /// The same, on the reserved node.
    pub(super) fn may_fulfil_on_its_node(&self, reservation: &Reservation) -> bool {
        self.may_fulfil(reservation) && self.scope.node.is_none_or(|only| only == reservation.node)
    }

    /// Whether a node that the pass does not look at has room for the shape.
    pub(super) fn fits_out_of_scope(&self, shape: &Shape) -> bool {
        let has_room = |id: NodeId| self.state.facts.can_take(shape, self.state.facts.nodes.at(id));
        self.is_confined() && self.state.node_shards.nodes_of(shape.partition).any(has_room)
    }

    /// Whether the pass looks at one node alone.
    pub(super) fn is_confined(&self) -> bool {
        self.scope.node.is_some()
    }

    /// A unit of a listed ask. The ask itself is not read if it is for a single container: the committer has just
    /// written it, on another processor.
    pub(super) fn unit_of(&self, pending: &PendingAsk) -> Unit {
        if pending.is_single { Unit { ask: pending.ask, outstanding: 1 } } else { self.unit(pending.ask) }
    }

    /// A unit of an ask.
    pub(super) fn unit(&self, ask: AskId) -> Unit {
        Unit { ask, outstanding: self.state.facts.asks.at(ask).outstanding() }
    }

    /// Puts one more unit in flight. Returns false if all outstanding units are in flight.
    pub(super) fn take(&self, unit: Unit) -> bool {
        self.state.in_flight.of_ask(unit.ask).try_add(unit.outstanding)
    }
}

fn propose(ask: AskId, node: NodeId, proposals: &mut Proposals) -> Pick {
    proposals.requests.push(ResourceAllocationCommitRequest::allocate(ask, node));
    Pick::Placed
}

/// Whether a container of the shape fits in the node's room after picks in flight. A node of the pass's own set must
/// also have room in the view, which includes this pass's other picks.
fn has_room(state: &State, set: &PlacementSet, id: NodeId, shape: &Shape) -> bool {
    let Some(node) = state.facts.nodes.get(id) else { return false };
    if node.partition != shape.partition || !node.is_open() {
        return false;
    }
    let (own, position) = state.node_shards.place_of(id, shape.partition);
    if own == set.id() && !set.fits_at(state.nodes(), position, shape) {
        return false;
    }
    fits(&shape.need, &state.nodes().room_left(id, node))
        && state.facts.breach_with(shape, node, Some(set.given_tags())).is_none()
}
