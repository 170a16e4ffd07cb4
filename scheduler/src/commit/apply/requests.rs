//! Carries out accepted requests of any kind: several containers, reservations, releases. Forgets their asks.
//!
//! A replay carries out every request here, and a pass's requests for plain asks take the shorter way of
//! `placements.rs`. Both change the same: `one_step_equals_the_general_path` compares them.

use super::Applier;
use crate::event::EventKind;
use crate::facts::EndCause;
use crate::ids::{AskId, ContainerId, SetId};
use crate::request::{AllocationProposal, ResourceAllocationCommitRequest};
use crate::state::State;

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

    /// One unit of an ask becomes a container, and its application is told.
    pub(super) fn allocate(&mut self, proposal: &AllocationProposal, debited_in: Option<SetId>) {
        if let Some(reservation) = proposal.from_reservation {
            self.end_reservation(reservation);
        }
        let State { facts, node_shards, backlog, version, .. } = &mut *self.state;
        let node = facts.nodes.at(proposal.node);
        let ask = facts.asks.at(proposal.ask);
        let locality = ask.preference().locality_of(proposal.node, node.rack);
        let allocation_request_id = ask.allocation_request_id;
        if Some(node_shards.place_of(proposal.node, node.partition).0) != debited_in {
            node_shards.record_change(proposal.node, node.partition);
        }
        if facts.counts_opportunities() {
            facts.take_opportunity(proposal.ask, locality, proposal.from_reservation);
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

    /// Drops the surplus reservations of an ask, and the ask itself if it has no outstanding units.
    pub(super) fn drop_surplus(&mut self, id: AskId) {
        let Some(ask) = self.state.facts.asks.get(id) else { return };
        let outstanding = ask.outstanding();
        if !ask.reservations().is_empty() {
            self.drop_surplus_reservations(id);
        }
        if outstanding == 0 {
            if !self.state.facts.held_asks.is_empty() {
                self.state.facts.transition_drop_role(id);
            }
            let state = &mut *self.state;
            let ask = state.facts.transition_forget_ask(id);
            state.backlog.remove_ask(id, &ask);
            state.backlog.starved.forget(id);
            state.in_flight.reset_ask(id);
            state.backlog.notes.record_end(id, ask.extras().cancelled, ask.allocated);
            self.effects.vacated_asks.push(id);
        }
    }
}
