//! The proposing half: computes rounds of preemption, looks for gangs and runs passes under the read guard, and sends the
//! results.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::gangs::look_for_gang;
use super::rounds::compute_round;
use super::shared::{Message, Shared};
use super::trace;
use crate::place::{Checkout, PlacementSet};
use crate::propose::{BatchOwner, ProposalBatch, Scratch, Work, run_pass};
use crate::state::State;

/// A proposer that panics this often without sending a batch in between is not restarted.
const PANICS_MAX: u32 = 100;

/// The proposing half of an engine, for callers that supply the thread.
///
/// [`run`](Self::run) proposes until shutdown. Callers that act between the steps use
/// [`next_batch`](Self::next_batch), or the non-blocking [`propose`](Self::propose), and then [`send`](Self::send).
pub struct Proposer {
    pub(super) shared: Arc<Shared>,
    pub(super) scratch: Scratch,
    /// Where the search for a set starts. Proposers start apart; each goes on after the set it had last.
    start: u32,
    /// Panics since the last batch.
    panics: u32,
    /// Whether its last batch was a look for gangs.
    looked_last: bool,
}

impl Proposer {
    pub(super) fn new(shared: &Arc<Shared>, start: u32) -> Self {
        shared.report_progress(|progress| progress.proposers += 1);
        Self { shared: Arc::clone(shared), scratch: Scratch::default(), start, panics: 0, looked_last: false }
    }

    /// Proposes until the engine is shut down. A panic is counted and the proposer goes on: unwinding gave the
    /// batch back.
    pub fn run(mut self) {
        while !self.has_given_up() {
            if catch_unwind(AssertUnwindSafe(|| self.propose_until_closed())).is_ok() {
                return;
            }
            self.recover();
        }
    }

    fn propose_until_closed(&mut self) {
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

    /// Makes one batch, if the engine runs and has work: a round of preemption, a look for gangs, or a pass over a
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
        // A look and a pass take turns, so that neither keeps ordinary asks or gangs waiting.
        let may_look = !std::mem::take(&mut self.looked_last);
        if may_look && let Some(batch) = look_for_gang(&self.shared) {
            self.looked_last = true;
            return Some(batch);
        }
        let set = match self.shared.leases.take_wanted(start) {
            Checkout::Taken(set) => set,
            Checkout::Nothing if may_look => return None,
            Checkout::Nothing => return look_for_gang(&self.shared),
            Checkout::InVain => {
                self.shared.outbox.offer(Message::LookAgain);
                return None;
            }
        };
        self.start = set.id().index() as u32 + 1;
        Some(propose(&self.shared, set, &mut self.scratch))
    }

    /// As [`propose`](Self::propose), for the thread that also commits. A panic is counted; it leaves a message, so
    /// that the thread commits a group before it tries again.
    pub(super) fn propose_or_recover(&mut self) -> Option<Box<ProposalBatch>> {
        let Ok(batch) = catch_unwind(AssertUnwindSafe(|| self.propose())) else {
            self.recover();
            self.shared.outbox.offer(Message::LookAgain);
            return None;
        };
        self.panics = if batch.is_some() { 0 } else { self.panics };
        batch
    }

    /// Whether the proposer panicked so often without a batch in between that it proposes nothing more.
    pub(super) fn has_given_up(&self) -> bool {
        self.panics >= PANICS_MAX
    }

    /// Counts a panic. Unwinding has given the batch back.
    fn recover(&mut self) {
        self.panics += 1;
        self.scratch = Scratch::default();
        self.shared.proposer_panics.count();
        trace::proposer_panicked(self.panics, self.has_given_up());
        if self.has_given_up() {
            self.shared.proposers_given_up.count();
        }
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
            _ => unreachable!("what was sent comes back"),
        })
    }
}

/// Asks the committer to look again if a look for a set ends in a panic. The look counts a set as out for a moment,
/// in which the committer may have taken the engine for busy.
struct LookAgainIfPanicking<'a>(&'a Shared);

impl Drop for LookAgainIfPanicking<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.outbox.offer(Message::LookAgain);
        }
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

/// Deregisters the proposer, so that `run_until_quiet` does not wait for it.
impl Drop for Proposer {
    fn drop(&mut self) {
        let mut is_gone = false;
        let mut leave = || {
            self.shared.report_progress(|progress| {
                // Only once, although the report may be tried several times.
                progress.proposers -= u32::from(!std::mem::replace(&mut is_gone, true));
            });
        };
        // The report itself may panic.
        let _ = (0..PANICS_MAX).any(|_| catch_unwind(AssertUnwindSafe(&mut leave)).is_ok());
    }
}

impl fmt::Debug for Proposer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proposer").field("start", &self.start).finish_non_exhaustive()
    }
}
