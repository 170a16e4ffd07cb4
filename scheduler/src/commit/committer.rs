//! The committer: the only writer of the facts.

use super::accept::{accept, is_within_limits};
use super::admit::admit;
use super::apply::{Applier, Effects};
use super::limits::needs_limits;
use crate::change::Change;
use crate::event::Refusal;
use crate::ids::{AskId, SetId};
use crate::log::{LogBuffer, Logged};
use crate::propose::{Amount, Amounts, ProposalBatch, Work, propose_for_starved};
use crate::request::{CommitOutcome, CommitSeq, RejectReason, ResourceAllocationCommitRequest};
use crate::state::State;
use crate::stats::EngineStats;

/// Commits changes, batches and requests while the write guard is held. Work for later, outside the guard, collects in
/// `effects` and `log`. YARN-5139 calls its interface `ResourceAllocationCommitter`.
pub(crate) struct Committer<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) effects: &'a mut Effects,
    pub(crate) log: &'a mut LogBuffer,
    pub(crate) stats: &'a mut EngineStats,
}

/// Facts about a request that are known from its batch.
#[derive(Debug, Default)]
struct Known {
    is_within_limits: bool,
    /// The set whose view the pass already debited for the request's containers.
    debited_in: Option<SetId>,
}

impl Committer<'_> {
    /// Decides a request by itself: applies the whole of it, or nothing.
    pub(crate) fn commit(&mut self, request: ResourceAllocationCommitRequest) -> CommitOutcome {
        self.state.recompute_limits();
        let outcome = self.decide(&request, &Known::default());
        if let CommitOutcome::Accepted(seq) = outcome {
            self.log.append(seq, Logged::Change(Change::Committed { request }));
        }
        outcome
    }

    /// Whether a change from a caller or a log is valid now.
    pub(crate) fn admit(&mut self, change: &Change) -> Result<(), Refusal> {
        if needs_limits(change) {
            self.state.recompute_limits();
        }
        admit(self.state, change)
    }

    /// Applies and logs an admitted change.
    pub(crate) fn apply(&mut self, change: Change) -> CommitSeq {
        let seq = self.applier().apply(&change);
        self.log.append(seq, Logged::Change(change));
        seq
    }

    /// Applies a request if it is accepted, without logging it.
    fn decide(&mut self, request: &ResourceAllocationCommitRequest, known: &Known) -> CommitOutcome {
        if let Err(reason) = accept(&self.state.facts, request, known.is_within_limits) {
            self.stats.count_rejected(reason);
            self.state.record_rejected(request, reason);
            return CommitOutcome::Rejected(reason);
        }
        self.stats.count_committed(request);
        CommitOutcome::Accepted(self.applier().apply_request(request, known.debited_in))
    }

    /// Decides a batch's requests and records its observations. Afterwards nothing of the batch is in flight. The
    /// caller gives back the lease outside the guard. Returns the number of rejected requests.
    pub(crate) fn commit_batch(&mut self, batch: &mut ProposalBatch) -> usize {
        let ProposalBatch { proposals, work, .. } = batch;
        let set = match work {
            Work::GangLook(look) => return self.commit_gangs(look, &mut proposals.requests),
            Work::Pass(set) => Some(set),
            Work::Unleased | Work::Round(_) => None,
        };
        self.state.resume(&proposals.requests);
        self.state.recompute_limits();
        let have_moved = self.state.has_moved_since(proposals.version);
        let known = Known {
            is_within_limits: !have_moved && is_within_limits(&self.state.facts, &proposals.amounts),
            debited_in: set.as_ref().map(|set| set.id()),
        };
        let mut requests = std::mem::take(&mut proposals.requests);
        let proposed = requests.len();
        requests.retain(|request| self.commit_proposed(request, &known));
        let rejected = proposed - requests.len();
        self.log.append(CommitSeq(self.state.facts.changes), Logged::Requests(requests));
        self.state.take_back_amounts(&proposals.amounts);
        // The containers of an application that was moved meanwhile are charged to other queues than their amounts in
        // flight.
        if rejected > 0 || have_moved {
            self.state.wake_after(&proposals.amounts);
        }
        proposals.amounts.clear();
        if let Some(set) = set {
            if rejected == 0 {
                set.trust_debits();
            }
            self.record(&proposals.observations, set, proposals.version, rejected > 0);
        } else if rejected == 0 {
            // Rejected requests may have blocked parked lanes.
            self.record_without_lease(&proposals.observations);
        }
        self.stats.batches += 1;
        rejected
    }

    /// Decides a request whose units are in flight, and takes them out of flight.
    fn commit_proposed(&mut self, request: &ResourceAllocationCommitRequest, known: &Known) -> bool {
        request.units().for_each(|ask| self.state.take_back_unit(ask));
        let is_accepted = self.decide(request, known).is_accepted();
        for ask in request.units() {
            if is_accepted {
                self.state.backlog.starved.forget(ask);
            } else {
                self.state.return_rejected(ask);
            }
        }
        is_accepted
    }

    /// Places starved asks under the guard, where no other thread can be quicker.
    pub(crate) fn place_starved(&mut self) {
        let due = self.state.backlog.starved.take_due();
        if !due.is_empty() {
            self.state.recompute_limits();
        }
        for ask in due {
            if let Some(request) = propose_for_starved(self.state, ask)
                && self.commit(request).is_accepted()
            {
                self.stats.placed_by_committer += 1;
            }
        }
    }

    pub(super) fn applier(&mut self) -> Applier<'_> {
        Applier { state: self.state, effects: self.effects }
    }
}

impl State {
    /// Counts rejections for `Engine::explain`.
    #[cold]
    fn record_rejected(&mut self, request: &ResourceAllocationCommitRequest, reason: RejectReason) {
        for ask in request.units().filter(|ask| self.facts.asks.get(*ask).is_some()) {
            self.backlog.notes.record_rejected(ask, reason, self.facts.now_ms);
        }
    }

    /// Resumes paused sets: the decided units and amounts may have blocked them.
    fn resume(&mut self, requests: &[ResourceAllocationCommitRequest]) {
        if !requests.is_empty() {
            self.backlog.resume(self.version);
        }
    }

    /// Takes a unit out of flight when it is decided or dropped.
    fn take_back_unit(&mut self, ask: AskId) {
        if self.facts.asks.get(ask).is_some() {
            self.in_flight.give_back_unit(ask);
        }
    }

    /// Returns a rejected unit and counts the rejection. An ask that is gone is not counted.
    fn return_rejected(&mut self, ask: AskId) {
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
    fn take_back_amounts(&mut self, amounts: &Amounts) {
        for Amount { of, partition, resources } in &amounts.queues {
            self.in_flight.queues.give_back(*of, *partition, resources);
        }
        for Amount { of, partition, resources } in &amounts.users {
            self.in_flight.users.give_back(*of, *partition, resources);
        }
        for Amount { of, partition, resources } in &amounts.limit_usages {
            self.in_flight.limit_usages.give_back(*of, *partition, resources);
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
    fn wake_after(&mut self, amounts: &Amounts) {
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
        self.resume(&proposals.requests);
        for ask in proposals.requests.iter().flat_map(ResourceAllocationCommitRequest::units) {
            self.take_back_unit(ask);
            self.return_unit(ask);
        }
        self.take_back_amounts(&proposals.amounts);
        self.wake_after(&proposals.amounts);
        self.wake_without_headroom();
    }
}
