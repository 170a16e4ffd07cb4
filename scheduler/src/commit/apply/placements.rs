//! Carries out accepted requests, and ends containers and reservations.

use super::Applier;
use crate::event::EventKind;
use crate::facts::EndCause;
use crate::ids::{AskId, ContainerId, NodeId, ReservationId, SetId};
use crate::request::{AllocationProposal, ResourceAllocationCommitRequest};
use crate::state::State;
use crate::timers::Timer;

impl Applier<'_> {
    /// Carries out an accepted request. The view of the set `debited_in`, if any, is already debited for its
    /// containers.
    pub(super) fn carry_out(&mut self, request: &ResourceAllocationCommitRequest, debited_in: Option<SetId>) {
        for &container in &request.release {
            let cause = self.cause_of_end(container, request);
            self.end_container(container, cause);
        }
        for &reservation in &request.unreserve {
            self.drop_reservation(reservation);
        }
        let has_gangs = !self.state.facts.gangs.is_empty();
        let started = if has_gangs { self.begin_gangs(request) } else { Vec::new() };
        for proposal in &request.allocate {
            self.allocate(proposal, debited_in);
        }
        for proposal in &request.allocate {
            self.drop_surplus(proposal.ask);
            self.wake_if_more_reservations(proposal.ask);
        }
        if has_gangs {
            started.into_iter().for_each(|gang| self.start_gang(gang));
        }
        for proposal in &request.reserve {
            self.reserve(proposal.ask, proposal.node);
        }
    }

    /// The cause of a release. If the request also allocates for the same application, it released the container
    /// itself.
    fn cause_of_end(&self, container: ContainerId, request: &ResourceAllocationCommitRequest) -> EndCause {
        let facts = &self.state.facts;
        let owner = facts.containers.at(container).application;
        let is_own = |proposal: &AllocationProposal| facts.asks.at(proposal.ask).application == owner;
        if request.allocate.iter().any(is_own) { EndCause::Released } else { EndCause::Preempted }
    }

    fn allocate(&mut self, proposal: &AllocationProposal, debited_in: Option<SetId>) {
        if let Some(reservation) = proposal.from_reservation {
            self.end_reservation(reservation);
        }
        let State { facts, node_shards, backlog, version, .. } = &mut *self.state;
        let node = facts.nodes.at(proposal.node);
        let ask = facts.asks.at(proposal.ask);
        let locality = ask.preference.locality_of(proposal.node, node.rack);
        let allocation_request_id = ask.allocation_request_id;
        if Some(node_shards.place_of(proposal.node, node.partition).0) != debited_in {
            node_shards.record_change(proposal.node, node.partition);
        }
        if facts.counts_opportunities() {
            facts.take_opportunity(proposal.ask, locality, proposal.from_reservation.is_some());
        }
        let (container, charged) = facts.transition_allocate(proposal.ask, proposal.node);
        if facts.placeholders.are_asked_for() {
            facts.transition_place_placeholder(proposal.ask, container);
        }
        backlog.rekey(facts, charged.leaf, charged.application);
        backlog.leaf_changed(charged.leaf, *version);
        self.state.tags_placed(&charged);
        let AllocationProposal { ask, node, .. } = *proposal;
        let kind = EventKind::Allocated { ask, container, node, locality, allocation_request_id };
        self.tell(charged.application, kind);
    }

    pub(super) fn end_container(&mut self, container: ContainerId, cause: EndCause) {
        let (ended, charged) = self.state.facts.transition_end_container(container);
        self.use_fell(&charged);
        self.state.node_freed(charged.node, &charged.resources);
        self.state.tags_ended(&charged);
        let allocation_request_id = ended.allocation_request_id;
        self.tell(charged.application, EventKind::ContainerEnded { container, cause, allocation_request_id });
        self.finish_if_awaited(charged.application);
    }

    fn reserve(&mut self, ask: AskId, node: NodeId) {
        let state = &mut *self.state;
        let (reservation, charged) = state.facts.transition_reserve(ask, node);
        state.node_shards.record_change(node, charged.partition);
        state.backlog.add_reservation(&state.facts, reservation, state.facts.asks.at(ask));
        state.backlog.rekey(&state.facts, charged.leaf, charged.application);
        state.backlog.leaf_changed(charged.leaf, state.version);
        let age_limit_ms = state.facts.config.reservations.age_limit_ms;
        state.timers.add(state.facts.now_ms.saturating_add(age_limit_ms), Timer::ReservationAge(reservation));
        state.review_reservation(node);
        self.tell(charged.application, EventKind::Reserved { ask, node });
    }

    /// Counts a re-reservation: a node that the ask has reserved is still too full.
    pub(super) fn reserve_again(&mut self, id: AskId) {
        self.state.facts.reserve_again(id);
        self.wake_if_more_reservations(id);
    }

    /// Wakes an ask that may now reserve another node. Passes skip an ask whose units are all reserved or in flight.
    fn wake_if_more_reservations(&mut self, id: AskId) {
        let state = &mut *self.state;
        if !state.facts.counts_re_reservations() {
            return;
        }
        let Some(ask) = state.facts.asks.get(id).filter(|ask| ask.re_reservations > 0) else { return };
        let (user, shape) = (state.facts.applications.at(ask.application).user, ask.shape);
        if state.facts.may_reserve_more(ask) {
            state.backlog.units_returned(user, shape, state.version);
            state.backlog.demand_mut(shape).reserve_tried = 0;
            state.seek_reservation(shape);
        }
    }

    /// Ends a reservation that was not used.
    pub(super) fn drop_reservation(&mut self, id: ReservationId) {
        let reservation = self.state.facts.reservations.at(id);
        let (ask, node) = (reservation.ask, reservation.node);
        let application = self.state.facts.asks.at(ask).application;
        self.end_reservation(id);
        self.tell(application, EventKind::Unreserved { ask, node });
    }

    fn end_reservation(&mut self, id: ReservationId) {
        let (reservation, charged) = self.state.facts.transition_end_reservation(id);
        let state = &mut *self.state;
        let (set, _) = state.node_shards.place_of(reservation.node, charged.partition);
        if state.node_shards.remove_ready_reservation(set, id) {
            state.backlog.remove_ready_reservation(set);
        }
        state.backlog.remove_reservation(id, charged.shape);
        state.backlog.units_returned(charged.user, charged.shape, state.version);
        self.use_fell(&charged);
        self.state.node_gained(reservation.node);
        self.state.reconsider_reservations(charged.partition);
    }
}
