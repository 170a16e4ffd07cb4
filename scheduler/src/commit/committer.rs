//! The committer: the only writer of the facts.

#[cfg(test)]
mod tests;

use super::accept::{accept, accept_plain, is_batch_within_limits};
use super::admit::{admit, needs_limits};
use super::apply::{Applier, Effects};
use super::prefetch::prefetch_proposed;
use crate::change::Change;
use crate::event::Refusal;
use crate::ids::SetId;
use crate::log::{LogBuffer, Logged};
use crate::propose::{ProposalBatch, Work, propose_for_starved};
use crate::request::{CommitOutcome, CommitSeq, ResourceAllocationCommitRequest};
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

/// The results of checks on a whole batch, and the set of its pass.
#[derive(Debug, Default)]
struct BatchChecks {
    is_batch_within_limits: bool,
    /// The set whose view the pass already debited for the request's containers.
    debited_in: Option<SetId>,
    /// Whether there are no gangs, so that plain asks take the short way.
    is_without_gangs: bool,
}

impl Committer<'_> {
    /// Decides a request by itself: applies the whole of it, or nothing.
    pub(crate) fn commit(&mut self, request: ResourceAllocationCommitRequest) -> CommitOutcome {
        self.state.recompute_limits();
        let outcome = self.decide(&request, &BatchChecks::default());
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
    fn decide(&mut self, request: &ResourceAllocationCommitRequest, checks: &BatchChecks) -> CommitOutcome {
        if let Err(reason) = accept(&self.state.facts, request, checks.is_batch_within_limits) {
            self.stats.count_rejected(reason);
            self.state.record_rejected(request, reason);
            return CommitOutcome::Rejected(reason);
        }
        self.stats.count_committed(request);
        CommitOutcome::Accepted(self.applier().apply_request(request, checks.debited_in))
    }

    /// Decides a batch's requests and records its observations. Afterwards nothing of the batch is in flight. The
    /// caller gives back the lease outside the guard. Returns the number of rejected requests.
    pub(crate) fn commit_batch(&mut self, batch: &mut ProposalBatch) -> usize {
        let ProposalBatch { proposals, work, .. } = batch;
        let mut set = match work {
            Work::GangSearch(search) => return self.commit_gangs(search, &mut proposals.requests),
            Work::Pass(set) => Some(&mut **set),
            Work::Unleased | Work::Round(_) => None,
        };
        self.state.resume_sets(&proposals.requests);
        self.state.recompute_limits();
        let have_moved = self.state.have_charges_moved_since(proposals.version);
        let checks = BatchChecks {
            is_batch_within_limits: !have_moved
                && is_batch_within_limits(&self.state.facts, &proposals.amounts),
            debited_in: set.as_ref().map(|set| set.id()),
            is_without_gangs: !self.state.facts.knows_gangs(),
        };
        let mut requests = std::mem::take(&mut proposals.requests);
        prefetch_proposed(&self.state.facts, &requests);
        let proposed = requests.len();
        requests.retain(|request| self.commit_proposed(request, &checks));
        let rejected = proposed - requests.len();
        self.log.append(CommitSeq(self.state.facts.changes), Logged::Requests(requests));
        self.state.take_back_amounts(&proposals.amounts);
        // The containers of an application that was moved meanwhile are charged to other queues than their amounts in
        // flight.
        if rejected > 0 || have_moved {
            self.state.wake_after(&proposals.amounts);
        }
        proposals.amounts.clear();
        if let Some(set) = set.as_mut().filter(|_| rejected == 0) {
            set.trust_debits();
        }
        self.record_observations(set.as_deref(), proposals, rejected);
        self.stats.batches += 1;
        rejected
    }

    /// Decides a request whose units are in flight, and takes them out of flight.
    fn commit_proposed(&mut self, request: &ResourceAllocationCommitRequest, checks: &BatchChecks) -> bool {
        if self.commit_plain(request, checks) {
            return true;
        }
        request.units().for_each(|ask| self.state.take_back_unit(ask));
        let is_accepted = self.decide(request, checks).is_accepted();
        for ask in request.units() {
            if is_accepted {
                self.state.backlog.starved.forget(ask);
            } else {
                self.state.return_rejected(ask);
            }
        }
        is_accepted
    }

    /// Decides a request for a plain ask in one step, and takes its unit out of flight. Nearly every request is of this
    /// kind. Returns false, and changes nothing, if the proposal is of another kind or not acceptable.
    #[inline]
    fn commit_plain(&mut self, request: &ResourceAllocationCommitRequest, checks: &BatchChecks) -> bool {
        let facts = &self.state.facts;
        let Some(proposal) = request.as_single().filter(|_| checks.is_without_gangs) else { return false };
        if !accept_plain(facts, proposal, checks.is_batch_within_limits) {
            return false;
        }
        debug_assert_eq!(accept(facts, request, checks.is_batch_within_limits), Ok(()));
        self.stats.count_committed(request);
        self.state.in_flight.give_back_unit(proposal.ask);
        self.applier().apply_plain(proposal, checks.debited_in);
        true
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
