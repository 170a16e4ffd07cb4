//! Proposers that panic: they are restarted, until they panic too often.
//!
//! Unwinding drops the batch, which gives back lease, units and amounts.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::message::Message;
use super::proposer::Proposer;
use super::shared::Shared;
use super::trace;
use crate::propose::{ProposalBatch, Scratch};

/// A proposer that panics this often without sending a batch in between is not restarted.
const PANICS_MAX: u32 = 100;

impl Proposer {
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
}

/// Asks the committer to look again if a look for a set ends in a panic. The look counts a set as out for a moment,
/// in which the committer may have taken the engine for busy.
pub(super) struct LookAgainIfPanicking<'a>(pub(super) &'a Shared);

impl Drop for LookAgainIfPanicking<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.outbox.offer(Message::LookAgain);
        }
    }
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
