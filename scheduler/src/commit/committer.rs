//! The committer: the only writer of the facts.

use smallvec::SmallVec;

use super::accept::accept;
use super::apply::{Applier, Effects};
use super::outcome::{CommitOutcome, CommitSeq};
use super::request::ResourceAllocationCommitRequest;
use crate::change::Change;
use crate::ids::AskId;
use crate::log::LogBuffer;
use crate::propose::{Amounts, ProposalBatch, propose_rescue};
use crate::state::State;
use crate::stats::EngineStats;

/// Decides commit requests one by one: YARN-5139's interface of the same name.
pub trait ResourceAllocationCommitter {
    /// Applies all of the request, or nothing of it.
    fn commit(&mut self, request: ResourceAllocationCommitRequest) -> CommitOutcome;
}

/// Commits changes, batches and requests while the write guard is held; what has to be done outside collects
/// in `effects` and `log`.
pub(crate) struct Committer<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) effects: &'a mut Effects,
    pub(crate) log: &'a mut LogBuffer,
    pub(crate) stats: &'a mut EngineStats,
}

impl ResourceAllocationCommitter for Committer<'_> {
    fn commit(&mut self, request: ResourceAllocationCommitRequest) -> CommitOutcome {
        self.state.settle_limits();
        if let Err(reason) = accept(&self.state.facts, &request) {
            self.stats.count_rejected(reason);
            return CommitOutcome::Rejected(reason);
        }
        self.stats.count_committed(&request);
        CommitOutcome::Accepted(self.apply(Change::Committed { request }))
    }
}

impl Committer<'_> {
    /// Applies and logs a change that is known to make sense.
    pub(crate) fn apply(&mut self, change: Change) -> CommitSeq {
        let seq = self.applier().apply(&change);
        self.log.append(seq, change);
        seq
    }

    /// Decides a batch's requests and records what it saw. Afterwards nothing of it is in flight; only the
    /// lease is left to be brought home, outside the guard. Returns how many were rejected.
    pub(crate) fn commit_batch(&mut self, batch: &mut ProposalBatch) -> usize {
        let ProposalBatch { proposals, set, .. } = batch;
        self.state.resume(&proposals.requests);
        let mut rejected = 0;
        for request in proposals.requests.drain(..) {
            let units: SmallVec<[AskId; 1]> = request.units().collect();
            self.state.take_back_units(&units);
            let is_accepted = self.commit(request).is_accepted();
            self.state.note_luck(&units, is_accepted);
            if !is_accepted {
                rejected += 1;
                self.state.return_units(&units);
            }
        }
        self.state.take_back_amounts(&proposals.amounts, rejected > 0);
        proposals.amounts.clear();
        if let Some(set) = set {
            if rejected == 0 {
                set.trust_debits();
            }
            self.record(&proposals.observations, set, proposals.version, rejected > 0);
        }
        self.stats.batches += 1;
        rejected
    }

    /// Places asks that were unlucky too often: the last step of the ladder, on which nobody can be quicker.
    pub(crate) fn rescue(&mut self) {
        for ask in self.state.backlog.unlucky.take_due() {
            if let Some(request) = propose_rescue(self.state, ask)
                && self.commit(request).is_accepted()
            {
                self.stats.rescued += 1;
            }
        }
    }

    fn applier(&mut self) -> Applier<'_> {
        Applier { state: self.state, effects: self.effects }
    }
}

impl State {
    /// What is decided now, others may have waited for.
    fn resume(&mut self, requests: &[ResourceAllocationCommitRequest]) {
        if !requests.is_empty() {
            self.backlog.resume(self.version);
        }
    }

    /// Units are decided, one way or the other, and no longer in flight.
    fn take_back_units(&mut self, asks: &[AskId]) {
        for &ask in asks {
            if self.facts.asks.get(ask).is_some() {
                self.in_flight.of_ask(ask).give_back(1);
            }
        }
    }

    /// Rejections in a row count; an ask that is gone has none.
    fn note_luck(&mut self, asks: &[AskId], is_accepted: bool) {
        for &ask in asks {
            if is_accepted {
                self.backlog.unlucky.forget(ask);
            } else if self.facts.asks.get(ask).is_some() {
                self.backlog.unlucky.note_rejected(ask);
            }
        }
    }

    /// Units that were in flight are pending again: their lanes are worth a look.
    fn return_units(&mut self, asks: &[AskId]) {
        for &id in asks {
            if let Some(ask) = self.facts.asks.get(id) {
                let user = self.facts.applications.at(ask.application).user;
                self.backlog.units_returned(user, ask.shape, self.version);
            }
        }
    }

    /// Resources are no longer in flight. If not all of them became use, somebody may be relieved.
    fn take_back_amounts(&mut self, amounts: &Amounts, is_relief: bool) {
        for (leaf, partition, resources) in &amounts.leaves {
            for &queue in &self.facts.queue(*leaf).chain {
                self.in_flight.of_queue(queue, *partition).give_back(resources);
            }
        }
        for (user, partition, resources) in &amounts.users {
            self.in_flight.of_user(*user, *partition).give_back(resources);
            if is_relief {
                self.backlog.relieve(self.facts.user(*user).leaf, *user, self.version);
            }
        }
        for (node, resources) in &amounts.nodes {
            if self.facts.nodes.get(*node).is_some() {
                self.in_flight.of_node(*node).give_back(resources);
                if is_relief {
                    self.node_gained(*node);
                }
            }
        }
    }

    /// Takes a batch back that nobody decided.
    pub(crate) fn undo(&mut self, batch: &mut ProposalBatch) {
        self.version += 1;
        let proposals = std::mem::take(&mut batch.proposals);
        self.resume(&proposals.requests);
        for request in &proposals.requests {
            let units: SmallVec<[AskId; 1]> = request.units().collect();
            self.take_back_units(&units);
            self.return_units(&units);
        }
        self.take_back_amounts(&proposals.amounts, true);
    }
}
