//! What a batch had in flight comes back once it is decided or dropped, and wakes what it blocked.

use crate::ids::AskId;
use crate::propose::{Amount, Amounts, ProposalBatch};
use crate::request::{RejectReason, ResourceAllocationCommitRequest};
use crate::state::State;

impl State {
    /// Counts rejections for `Engine::explain`.
    #[cold]
    pub(super) fn record_rejected(
        &mut self,
        request: &ResourceAllocationCommitRequest,
        reason: RejectReason,
    ) {
        for ask in request.units().filter(|ask| self.facts.asks.get(*ask).is_some()) {
            self.backlog.notes.record_rejected(ask, reason, self.facts.now_ms);
        }
    }

    /// Resumes paused sets: the decided units and amounts may have blocked them.
    pub(super) fn resume_sets(&mut self, requests: &[ResourceAllocationCommitRequest]) {
        if !requests.is_empty() {
            self.backlog.resume_sets(self.version);
        }
    }

    /// Takes a unit out of flight when it is decided or dropped.
    pub(super) fn take_back_unit(&mut self, ask: AskId) {
        if self.facts.asks.get(ask).is_some() {
            self.in_flight.give_back_unit(ask);
        }
    }

    /// Returns a rejected unit and counts the rejection. An ask that is gone is not counted.
    pub(super) fn return_rejected(&mut self, ask: AskId) {
        if self.facts.asks.get(ask).is_some() {
            self.backlog.starved.record_rejected(ask);
        }
        self.return_unit(ask);
    }

    /// Makes the lane runnable for a unit that was in flight and is pending again.
    fn return_unit(&mut self, id: AskId) {
        if let Some(ask) = self.facts.asks.get(id) {
            let user = self.facts.applications.at(ask.application).user;
            self.backlog.units_returned(user, ask.shape, self.version);
        }
    }

    /// Takes amounts out of flight.
    pub(super) fn take_back_amounts(&mut self, amounts: &Amounts) {
        for Amount { of, share, resources } in &amounts.queues {
            self.in_flight.queues.give_back(*of, share.partition, resources);
        }
        for Amount { of, share, resources } in &amounts.users {
            self.in_flight.users.give_back(*of, share.partition, resources);
        }
        for Amount { of, share, resources } in &amounts.limit_usages {
            self.in_flight.limit_usages.give_back(*of, share.partition, resources);
        }
        for (node, resources) in &amounts.nodes {
            if self.facts.nodes.get(*node).is_some() {
                self.in_flight.give_back_pick(*node, resources);
            } else {
                self.in_flight.give_back_pick_of_gone_node();
            }
        }
        if !amounts.units.is_empty() {
            self.in_flight.give_back_given(&amounts.units);
        }
    }

    /// Wakes what the amounts blocked while they were in flight. Needed if not all of them became use.
    pub(super) fn wake_after(&mut self, amounts: &Amounts) {
        for Amount { of: user, .. } in &amounts.users {
            let leaf = self.facts.user(*user).leaf;
            self.backlog.use_fell(leaf, *user, &[], self.version);
        }
        for Amount { of: limit_usage, .. } in &amounts.limit_usages {
            self.backlog.limit_usage_fell(*limit_usage, self.version);
        }
        for (node, _) in &amounts.nodes {
            if self.facts.nodes.get(*node).is_some() {
                self.node_gained(*node);
            }
        }
    }

    /// Takes an undecided batch back.
    pub(crate) fn undo(&mut self, batch: &mut ProposalBatch) {
        self.version += 1;
        let proposals = std::mem::take(&mut batch.proposals);
        self.resume_sets(&proposals.requests);
        for ask in proposals.requests.iter().flat_map(ResourceAllocationCommitRequest::units) {
            self.take_back_unit(ask);
            self.return_unit(ask);
        }
        self.take_back_amounts(&proposals.amounts);
        self.wake_after(&proposals.amounts);
        self.wake_without_headroom();
    }
}
