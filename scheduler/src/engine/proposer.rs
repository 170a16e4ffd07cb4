//! The proposing half: makes batches under the read guard, and sends them to the committer.

use std::fmt;
use std::sync::Arc;

use super::gangs::search_for_gang;
use super::message::Message;
use super::proposer_panics::LookAgainIfPanicking;
use super::rounds::compute_round;
use super::shared::Shared;
use super::trace;
use crate::place::{Checkout, PlacementSet};
use crate::propose::{BatchOwner, ProposalBatch, Scratch, Work, run_pass};
use crate::state::State;

/// The proposing half of an engine, for callers that supply the thread.
///
/// [`run`](Self::run) proposes until shutdown. Callers that act between the steps use
/// [`next_batch`](Self::next_batch), or the non-blocking [`propose`](Self::propose), and then [`send`](Self::send).
pub struct Proposer {
    pub(super) shared: Arc<Shared>,
    pub(super) scratch: Scratch,
    /// Where the search for a set starts. Proposers start apart; each goes on after the set it had last, at the end of
    /// that set's turn.
    start: u32,
    /// The most batches in a set's turn. A turn ends earlier, after a batch that is not full.
    pub(super) batches_per_turn_max: u32,
    /// Batches in the present turn, which goes on after idle time; 0 between turns.
    batches_in_turn: u32,
    /// Panics since the last batch.
    pub(super) panics: u32,
    /// Whether its last batch was a search for gangs.
    searched: bool,
}

impl Proposer {
    pub(super) fn new(shared: &Arc<Shared>, start: u32) -> Self {
        shared.report_progress(|progress| progress.proposers += 1);
        let shared = Arc::clone(shared);
        let scratch = Scratch::default();
        Self {
            shared,
            scratch,
            start,
            batches_per_turn_max: 1,
            batches_in_turn: 0,
            panics: 0,
            searched: false,
        }
    }

    /// Proposes until the engine is shut down. [`run`](Self::run) does so again after a panic.
    pub(super) fn propose_until_closed(&mut self) {
        while let Some(batch) = self.next_batch() {
            // Without a committer, `send` returns the batch, and dropping it gives everything back.
            if self.send(batch).is_err() {
                return;
            }
            self.panics = 0;
        }
    }

    /// As [`propose`](Self::propose), but waits for work. `None` once the engine is shut down.
    pub fn next_batch(&mut self) -> Option<Box<ProposalBatch>> {
        loop {
            let seen = self.shared.work.observe()?;
            if let Some(batch) = self.propose_from(self.start) {
                return Some(batch);
            }
            self.shared.work.wait(seen);
        }
    }

    /// Makes one batch, if the engine runs and has work: a round of preemption, a search for gangs, or a pass over a
    /// wanted set. The proposals of a pass are in flight until the batch is decided or dropped.
    pub fn propose(&mut self) -> Option<Box<ProposalBatch>> {
        self.shared.work.observe()?;
        self.propose_from(self.start)
    }

    pub(super) fn propose_from(&mut self, start: u32) -> Option<Box<ProposalBatch>> {
        let _look_again = LookAgainIfPanicking(&self.shared);
        if let Some(batch) = compute_round(&self.shared) {
            return Some(batch);
        }
        // Searches and passes alternate, so that neither keeps ordinary asks or gangs waiting.
        let may_search = !std::mem::take(&mut self.searched);
        if may_search && let Some(batch) = search_for_gang(&self.shared) {
            self.searched = true;
            return Some(batch);
        }
        let set = match self.shared.leases.take_wanted(start) {
            Checkout::Taken(set) => set,
            Checkout::Nothing if may_search => return None,
            Checkout::Nothing => return search_for_gang(&self.shared),
            Checkout::Undone => {
                self.shared.outbox.offer(Message::LookAgain);
                return None;
            }
        };
        let number = set.id().index() as u32;
        let batches = if number == self.start { self.batches_in_turn + 1 } else { 1 };
        // Before the pass: a set whose pass panics loses its turn.
        (self.start, self.batches_in_turn) = (number + 1, 0);
        let batch = propose(&self.shared, set, &mut self.scratch);
        let is_full = batch.requests().len() >= self.shared.pass_limits.requests;
        if is_full && batches < self.batches_per_turn_max {
            (self.start, self.batches_in_turn) = (number, batches);
        }
        Some(batch)
    }

    /// Sends a batch to the committer; blocks while the inbox is full.
    ///
    /// # Errors
    /// The batch comes back if the committer has ended, or if the batch belongs to another engine.
    pub fn send(&self, batch: Box<ProposalBatch>) -> Result<(), Box<ProposalBatch>> {
        if !batch.is_for(&*self.shared) {
            return Err(batch);
        }
        self.shared.outbox.send(Message::Batch(batch)).map_err(|message| match message {
            Message::Batch(batch) => batch,
            _ => unreachable!("the sent message comes back"),
        })
    }
}

/// Runs one pass under the read guard. The batch owns the lease from here on.
pub(super) fn propose(
    shared: &Arc<Shared>,
    set: Box<PlacementSet>,
    scratch: &mut Scratch,
) -> Box<ProposalBatch> {
    let _span = trace::pass(set.id());
    let (batch, ()) = propose_under_guard(shared, Work::Pass(set), |state, batch| {
        if let Work::Pass(set) = &mut batch.work {
            run_pass(state, set, scratch, &shared.pass_limits, &mut batch.proposals);
        }
    });
    batch
}

/// Makes a batch, and calls `propose` with it and the state under the read guard.
pub(super) fn propose_under_guard<T>(
    shared: &Arc<Shared>,
    work: Work,
    propose: impl FnOnce(&State, &mut ProposalBatch) -> T,
) -> (Box<ProposalBatch>, T) {
    // Declared before the guard, so that unwinding drops the guard first.
    let mut batch = Box::new(ProposalBatch::new(work, Arc::clone(shared) as Arc<dyn BatchOwner>));
    let state = shared.state.read();
    batch.begun_ns = shared.clock.measured_ns();
    let proposed = propose(&state, &mut batch);
    drop(state);
    batch.proposing_ns = shared.clock.measured_ns().saturating_sub(batch.begun_ns);
    (batch, proposed)
}

impl fmt::Debug for Proposer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proposer").field("start", &self.start).finish_non_exhaustive()
    }
}
