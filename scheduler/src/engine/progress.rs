//! The progress of an engine, and the wait for quiet.

use super::group::GroupCommitter;
use super::shared::Shared;
use super::trace;
use crate::stats::EngineStats;

/// The progress that waiting callers read: the committer's, published after each group, and the number of
/// proposers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// Existing proposers, whether they run or not.
    pub(crate) proposers: u32,
    /// Processed messages, of those that the gate counts.
    pub(crate) processed: u64,
    /// Whether nothing is in flight, queued or due.
    pub(crate) quiet: bool,
    /// Whether the committer has ended, so that the state no longer changes.
    pub(crate) ended: bool,
    pub(crate) stats: EngineStats,
    pub(crate) log_error: Option<String>,
    /// The engine's time at the end of the last group, and at the last accepted request.
    pub(crate) last_group_ms: u64,
    pub(crate) last_commit_ms: u64,
}

impl Shared {
    pub(crate) fn progress(&self) -> Progress {
        self.progress.lock().clone()
    }

    /// Updates the progress and wakes the threads that wait for it.
    pub(crate) fn report_progress(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.progress.lock());
        self.progressed.notify_all();
    }

    /// Waits until everything sent before this call is processed and no work is left, or no proposer is left to do
    /// it.
    pub(crate) fn wait_until_quiet(&self) {
        let sent = self.sent();
        let mut progress = self.progress.lock();
        let is_quiet = |progress: &Progress| progress.quiet || self.is_stalled(progress);
        while !(progress.ended || progress.processed >= sent && is_quiet(&progress)) {
            progress = self.progressed.wait(progress);
        }
    }

    /// Whether no proposer is left and every proposal is decided.
    pub(crate) fn is_stalled(&self, progress: &Progress) -> bool {
        progress.proposers == 0 && self.leases.count_checked_out() == 0 && !self.round.is_under_way()
    }
}

impl GroupCommitter {
    /// Reports progress and wakes the threads that wait for it.
    pub(super) fn report(&mut self) {
        let quiet = self.shared.leases.is_idle()
            && self.shared.round.is_idle()
            && self.inbox.is_empty()
            && !self.is_due();
        if self.shared.has_work_for_proposers() {
            self.shared.work.raise(self.shared.workers_wanted());
        }
        trace::group_committed(self.processed, &self.stats);
        let (processed, stats, now_ms) = (self.processed, self.stats.clone(), self.now_ms);
        let log_error = self.publisher.log_error().map(str::to_owned);
        self.shared.report_progress(|progress| {
            if stats.committed > progress.stats.committed {
                progress.last_commit_ms = now_ms;
            }
            (progress.processed, progress.quiet, progress.last_group_ms) = (processed, quiet, now_ms);
            (progress.stats, progress.log_error) = (stats, log_error);
        });
    }
}
