//! Settling claims: a claimed unit becomes a container, on its node or on any other that has room first.
//!
//! Claims were charged to queue and user when they were made, so a pass settles them before it gives anything
//! that has to be charged.

use smallvec::SmallVec;

use super::batch::{Observation, Proposals};
use super::pick::{Pick, Picker};
use crate::commit::{AllocationProposal, ResourceAllocationCommitRequest};
use crate::facts::{Locality, Reservation};
use crate::ids::{ReservationId, ShapeId};
use crate::place::Found;

impl Picker<'_> {
    /// Proposes a container for every claim that the pass's set can serve, up to `requests_max` in all.
    pub(super) fn settle_claims(&mut self, requests_max: usize, proposals: &mut Proposals) {
        self.note_reserved_again(proposals);
        self.fulfil_claims(requests_max, proposals);
        let state = self.state;
        for &shape in state.backlog.claimed_shapes(self.set.id().partition()) {
            if state.backlog.is_open(shape, self.set.id()) {
                self.swap_claims(shape, requests_max, proposals);
            }
        }
    }

    /// As YARN does, a pass over one node alone that is claimed and still too full reserves it over again, which counts.
    fn note_reserved_again(&self, proposals: &mut Proposals) {
        let facts = &self.state.facts;
        let claim = self.scope.node.and_then(|node| facts.nodes.get(node)?.reservation);
        let Some(reservation) = claim.map(|claim| facts.reservations.at(claim)) else { return };
        let Reservation { ask, node, .. } = *reservation;
        if self.state.is_claimed_in_vain(ask, node) && self.may_settle(reservation, true) {
            proposals.observations.push(Observation::ReservedAgain { ask, node });
        }
    }

    /// Containers for claims on nodes of the set that have room now.
    fn fulfil_claims(&mut self, requests_max: usize, proposals: &mut Proposals) {
        for &claim in self.state.roster.ready_claims(self.set.id()) {
            let Some(reservation) = self.state.facts.reservations.get(claim) else { continue };
            if proposals.requests.len() >= requests_max {
                return;
            }
            if !self.may_settle(reservation, true) {
                continue;
            }
            let facts = &self.state.facts;
            let shape = facts.shapes.at(facts.asks.at(reservation.ask).shape);
            let breach = facts.breach_with(shape, facts.nodes.at(reservation.node), self.set.given_tags());
            if breach.is_some() {
                // Another container of this pass takes its place on the rack.
                continue;
            }
            if self.take(self.unit(reservation.ask)) {
                self.give_tags(reservation.ask, reservation.node, shape);
                let proposal = AllocationProposal {
                    ask: reservation.ask,
                    node: reservation.node,
                    from_reservation: Some(claim),
                };
                let allocate = SmallVec::from_iter([proposal]);
                proposals.requests.push(ResourceAllocationCommitRequest { allocate, ..Default::default() });
            } else {
                self.in_use = true;
            }
        }
    }

    /// Containers elsewhere in the set for claims of one shape, until there is no room.
    fn swap_claims(&mut self, shape: ShapeId, requests_max: usize, proposals: &mut Proposals) {
        let ready = self.state.roster.ready_claims(self.set.id());
        for &claim in self.state.backlog.claims_for(shape) {
            if proposals.requests.len() >= requests_max {
                return;
            }
            if ready.contains(&claim) || !self.may_settle(self.state.facts.reservations.at(claim), false) {
                continue;
            }
            if self.is_in_use(claim) {
                self.in_use = true;
                continue;
            }
            match self.swap_claim(claim, shape, proposals) {
                Pick::Placed | Pick::Claimed => {}
                Pick::Skipped | Pick::HoldsBack => self.in_use = true,
                Pick::NextPass => return,
                Pick::NoRoom => {
                    proposals.observations.push(Observation::NoRoom { shape });
                    return;
                }
            }
        }
    }

    /// Whether somebody else is likely to be settling the claim: an ask's claims are used in order, so its first
    /// ones belong to its units in flight.
    fn is_in_use(&self, claim: ReservationId) -> bool {
        let ask = self.state.facts.reservations.at(claim).ask;
        let in_flight = self.state.in_flight.of_ask(ask).load() as usize;
        self.state.facts.asks.at(ask).reservations.iter().take(in_flight).any(|first| *first == claim)
    }

    /// A container elsewhere for one claim, which ends in the same request. A unit for which a node was claimed
    /// has waited long enough to go anywhere.
    fn swap_claim(&mut self, claim: ReservationId, shape: ShapeId, proposals: &mut Proposals) -> Pick {
        let id = self.state.facts.reservations.at(claim).ask;
        let (ask, shape) = (self.state.facts.asks.at(id), self.state.facts.shapes.at(shape));
        let wished = if shape.located { self.wished_for(ask, shape, Locality::OffSwitch) } else { None };
        let pick = match wished {
            Some(node) => self.place_on(self.unit(id), node, shape, proposals),
            None => match self.set.search(self.state.nodes(), shape, &mut self.visits) {
                Found::At(position) => self.place_at(self.unit(id), position, shape, proposals),
                Found::NextPass => return Pick::NextPass,
                Found::Nothing => return Pick::NoRoom,
            },
        };
        if pick == Pick::Placed
            && let Some(request) = proposals.requests.last_mut()
        {
            request.unreserve.push(claim);
        }
        pick
    }
}
