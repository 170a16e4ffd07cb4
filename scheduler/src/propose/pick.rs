//! Picks a node for the next ask.

use std::iter;

use super::batch::{Observation, Proposals};
use super::queue_walk::NextAsk;
use super::reserve::close_shape;
use super::scope::PassScope;
use super::scratch::{Scratch, ShapeStatus};
use crate::backlog::PendingAsk;
use crate::facts::Shape;
use crate::ids::{AskId, NodeId};
use crate::place::{Found, PlacementSet};
use crate::request::ResourceAllocationCommitRequest;
use crate::state::State;

/// What became of the next ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// A container is proposed.
    Proposed,
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
    /// The same, but only because the nodes reached their maximum of off-switch containers in this pass. Another
    /// follows.
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
    pub(super) scope: PassScope,
}

impl<'a> Picker<'a> {
    pub(super) fn new(state: &'a State, set: &'a mut PlacementSet, scope: PassScope) -> Self {
        Self { state, set, visits: 0, reservations: 0, in_use: false, scope }
    }

    /// Proposes one unit on the first node of the set with room. An ask that names hosts or racks looks there first. If
    /// no node has room, the pass reports that, and reserves a node or leaves the shape for the rest of the pass.
    pub(super) fn pick(&mut self, next: &NextAsk, scratch: &mut Scratch, proposals: &mut Proposals) -> Pick {
        let shape = self.state.facts.shapes.at(next.shape);
        let unit = self.unit_of(&next.pending);
        if scratch.shape_status(next.shape) == ShapeStatus::MayReserve {
            return self.reserve(next, shape, scratch, proposals);
        }
        if shape.has_locality
            && let Some(pick) = self.pick_preferred(unit, shape, proposals)
        {
            return pick;
        }
        match self.set.search(self.state.nodes(), shape, &mut self.visits) {
            Found::At(position) => self.place_at(unit, position, shape, proposals),
            // Another pass is certain, because this pass proposes containers on these nodes.
            Found::NextPass => {
                close_shape(next, scratch);
                Pick::NextPass
            }
            Found::Nothing => {
                proposals.observations.push(Observation::NoRoom { shape: next.shape });
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
        self.give_off_switch(unit.ask, node, position);
        pick
    }

    /// Counts the tags of a proposed container.
    pub(super) fn give_tags(&mut self, ask: AskId, node: NodeId, shape: &Shape) {
        if !shape.tags().is_empty() {
            let facts = &self.state.facts;
            self.set.give_tags(shape, facts.nodes.at(node), facts.asks.at(ask).application);
        }
    }

    /// A unit of a listed ask. The record of an ask for a single container is not read. The committer has just written
    /// it on another processor, whose cache the read would wait for.
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

pub(super) fn propose(ask: AskId, node: NodeId, proposals: &mut Proposals) -> Pick {
    // Unlike `push`, `extend` builds the request in its slot (see `facts/table.rs`).
    proposals.requests.extend(iter::once_with(|| ResourceAllocationCommitRequest::allocate(ask, node)));
    Pick::Proposed
}
