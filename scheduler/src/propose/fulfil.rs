//! Fulfilling reservations: a reserved unit becomes a container, on the reserved node or on another node that has room
//! first.
//!
//! A reservation was charged to queue and user when it was made. So a pass fulfils reservations before it places units
//! that are not charged yet.
//!
//! An ask with more outstanding than reserved units keeps its reservations: the walk places the other units. The
//! pass swaps a reservation of such an ask only after the walk, if a limit blocked the other units.

use smallvec::SmallVec;

use super::at_once::list_unit;
use super::batch::{Observation, Proposals};
use super::pick::{Pick, Picker};
use super::scratch::{Scratch, ShapeStatus};
use crate::facts::{Locality, Reservation};
use crate::ids::{AskId, ReservationId, ShapeId};
use crate::place::Found;
use crate::request::{AllocationProposal, ResourceAllocationCommitRequest};
use crate::state::State;

/// When a pass swaps reservations for containers elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SwapTime {
    /// Every outstanding unit of their asks has a node reserved.
    BeforeWalk,
    /// Their asks have further units, which limits kept the walk from placing.
    AfterWalk,
}

impl Picker<'_> {
    /// Proposes a container for every reservation that the pass's set can serve, up to `requests_max` in all.
    pub(super) fn fulfil_or_swap_reservations(&mut self, requests_max: usize, proposals: &mut Proposals) {
        self.record_reserved_again(proposals);
        self.fulfil_reservations(requests_max, proposals);
        let state = self.state;
        for &shape in state.backlog.reserved_shapes(self.set.id().partition()) {
            if state.backlog.is_open(shape, self.set.id()) {
                self.swap_reservations(shape, SwapTime::BeforeWalk, requests_max, proposals);
            }
        }
        list_fulfilled(state, 0, proposals);
    }

    /// Proposes containers instead of reservations for asks whose other units are blocked by a limit. The walk has
    /// ended; the shapes that it closed have no room.
    pub(super) fn swap_reservations_at_limits(
        &mut self,
        scratch: &mut Scratch,
        requests_max: usize,
        proposals: &mut Proposals,
    ) {
        let (state, placed) = (self.state, proposals.requests.len());
        for &shape in state.backlog.reserved_shapes(self.set.id().partition()) {
            let may_fit = scratch.shape_status(shape) == ShapeStatus::Open;
            if may_fit && state.backlog.is_open(shape, self.set.id()) {
                self.swap_reservations(shape, SwapTime::AfterWalk, requests_max, proposals);
            }
        }
        list_fulfilled(state, placed, proposals);
    }

    /// Records a re-reservation, as in YARN, if the pass is confined to one reserved node that is still too full.
    fn record_reserved_again(&self, proposals: &mut Proposals) {
        let facts = &self.state.facts;
        let reservation = self.scope.node.and_then(|node| facts.nodes.get(node)?.reservation);
        let Some(reservation) = reservation.map(|reservation| facts.reservations.at(reservation)) else {
            return;
        };
        let Reservation { ask, node, .. } = *reservation;
        if self.state.is_reserved_in_vain(ask, node) && self.may_fulfil_on_its_node(reservation) {
            proposals.observations.push(Observation::ReservedAgain { ask, node });
        }
    }

    /// Proposes containers on reserved nodes of the set that have room now.
    fn fulfil_reservations(&mut self, requests_max: usize, proposals: &mut Proposals) {
        for &id in self.state.node_shards.ready_reservations(self.set.id()) {
            let Some(reservation) = self.state.facts.reservations.get(id) else { continue };
            if proposals.requests.len() >= requests_max {
                return;
            }
            if !self.may_fulfil_on_its_node(reservation) {
                continue;
            }
            let facts = &self.state.facts;
            let shape = facts.shapes.at(facts.asks.at(reservation.ask).shape);
            let breach =
                facts.breach_with(shape, facts.nodes.at(reservation.node), Some(self.set.given_tags()));
            if breach.is_some() {
                // Another container of this pass takes its place on the rack.
                continue;
            }
            if self.take(self.unit(reservation.ask)) {
                self.give_tags(reservation.ask, reservation.node, shape);
                let proposal = AllocationProposal {
                    ask: reservation.ask,
                    node: reservation.node,
                    from_reservation: Some(id),
                };
                let allocate = SmallVec::from_iter([proposal]);
                proposals.requests.push(ResourceAllocationCommitRequest { allocate, ..Default::default() });
            } else {
                self.in_use = true;
            }
        }
    }

    /// Swaps reservations of one shape for containers elsewhere, until there is no room.
    fn swap_reservations(
        &mut self,
        shape: ShapeId,
        time: SwapTime,
        requests_max: usize,
        proposals: &mut Proposals,
    ) {
        let ready = self.state.node_shards.ready_reservations(self.set.id());
        for &id in self.state.backlog.reservations_for(shape) {
            if proposals.requests.len() >= requests_max {
                return;
            }
            let reservation = self.state.facts.reservations.at(id);
            let is_asked_for = time == self.swap_time(reservation.ask);
            if !is_asked_for || ready.contains(&id) || !self.may_fulfil(reservation) {
                continue;
            }
            if self.is_in_use(id, time) {
                self.in_use = true;
                continue;
            }
            match self.swap_reservation(id, shape, proposals) {
                Pick::Proposed | Pick::Reserved => {}
                Pick::Waits | Pick::InFlight | Pick::HoldsBack => self.in_use = true,
                Pick::NextPass => return,
                Pick::NoRoom => {
                    proposals.observations.push(Observation::NoRoom { shape });
                    return;
                }
            }
        }
    }

    /// When the ask may swap a reservation. Ignores units in flight, because they may come back.
    fn swap_time(&self, ask: AskId) -> SwapTime {
        let facts = &self.state.facts;
        if facts.has_unreserved_unit(facts.asks.at(ask), 0) {
            SwapTime::AfterWalk
        } else {
            SwapTime::BeforeWalk
        }
    }

    /// Whether a container for the reservation's unit is likely to be in flight. An ask uses its reservations in order,
    /// so the first ones belong to its units in flight. After the walk, all do while the ask has no further unit.
    fn is_in_use(&self, reservation: ReservationId, time: SwapTime) -> bool {
        let id = self.state.facts.reservations.at(reservation).ask;
        let ask = self.state.facts.asks.at(id);
        let in_flight = self.state.in_flight.of_ask(id).load();
        match time {
            SwapTime::AfterWalk => !self.state.facts.has_unreserved_unit(ask, in_flight),
            SwapTime::BeforeWalk => {
                ask.reservations().iter().take(in_flight as usize).any(|first| *first == reservation)
            }
        }
    }

    /// Proposes a container elsewhere and ends the reservation in the same request. A reserved unit has waited long
    /// enough to go anywhere.
    fn swap_reservation(
        &mut self,
        reservation: ReservationId,
        shape: ShapeId,
        proposals: &mut Proposals,
    ) -> Pick {
        let id = self.state.facts.reservations.at(reservation).ask;
        let (ask, shape) = (self.state.facts.asks.at(id), self.state.facts.shapes.at(shape));
        let preferred =
            if shape.has_locality { self.preferred_node(ask, shape, Locality::OffSwitch) } else { None };
        let pick = match preferred {
            Some(node) => self.place_on(self.unit(id), node, shape, proposals),
            None => match self.set.search(self.state.nodes(), shape, &mut self.visits) {
                Found::At(position) => self.place_at(self.unit(id), position, shape, proposals),
                Found::NextPass => return Pick::NextPass,
                Found::Nothing => return Pick::NoRoom,
            },
        };
        if pick == Pick::Proposed
            && let Some(request) = proposals.requests.last_mut()
        {
            request.unreserve.push(reservation);
        }
        pick
    }
}

/// Lists the units whose reservations become containers, from the `from`-th request on.
fn list_fulfilled(state: &State, from: usize, proposals: &mut Proposals) {
    let Proposals { requests, amounts, .. } = proposals;
    let units = requests[from..].iter().flat_map(|request| &request.allocate);
    units.for_each(|unit| list_unit(state, unit.ask, amounts));
}
