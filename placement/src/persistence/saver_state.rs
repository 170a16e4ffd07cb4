//! The state that a saver's callers share with its thread.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use super::HistoryFile;
use super::save::SaveError;

/// Counters of a saver since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaverStats {
    /// Histories offered.
    pub offered: u64,
    /// Histories not saved because a newer one replaced them.
    pub replaced: u64,
    /// Files written.
    pub saved: u64,
    /// Failed saves.
    pub failed: u64,
    /// Old files deleted.
    pub purged: u64,
    /// Old files that could not be deleted, and failed searches for old files.
    pub purge_failures: u64,
}

/// Why an offered history is not in the store.
#[derive(Clone, Debug, Error)]
pub enum SaverError {
    /// The save failed. The history is kept and retried, at the latest after the retry delay.
    #[error("the history was not saved: {0}")]
    Save(#[source] Arc<SaveError>),
    /// The saver's thread has ended, because its store panicked.
    #[error("the history was not saved: the saver's store panicked")]
    Gone,
}

/// The state behind the saver's lock, which is never held during file operations.
#[derive(Default)]
pub(super) struct SaverState {
    pub(super) stats: SaverStats,
    pub(super) last_error: Option<Arc<SaveError>>,
    /// The delay before a failed save is retried if there is no new offer.
    pub(super) retry_after: Duration,
    /// The last unsaved offer, unless the thread is saving it.
    pending: Option<Snapshot>,
    /// Whether the thread has to look at `pending`.
    is_awake: bool,
    is_saving: bool,
    is_stopping: bool,
    is_gone: bool,
    /// The number of the last offer that is saved, or replaced by a later saved one.
    durable: u64,
    attempts: u64,
    /// The number of the last failed attempt; 0 for none.
    failed_attempt: u64,
}

/// A history and the number of its offer.
pub(super) struct Snapshot {
    pub(super) history: HistoryFile,
    offer: u64,
}

/// The next task of the thread.
pub(super) enum Task {
    Save(Snapshot),
    /// Wait for an offer.
    Wait,
    /// Wait for an offer or for this long: a save failed, and no caller may come to retry it.
    WaitToRetry(Duration),
    End,
}

/// The offer that a flush waits for, and the attempts before it.
#[derive(Clone, Copy)]
pub(super) struct Awaited {
    offer: u64,
    attempts: u64,
}

impl SaverState {
    pub(super) fn new(retry_after: Duration) -> Self {
        Self { retry_after, ..Self::default() }
    }

    /// Stores an offer. Returns the replaced one, to be dropped outside the lock.
    pub(super) fn offer(&mut self, history: HistoryFile) -> Option<Snapshot> {
        self.stats.offered += 1;
        self.is_awake = true;
        let replaced = self.pending.replace(Snapshot { history, offer: self.stats.offered });
        self.stats.replaced += u64::from(replaced.is_some());
        replaced
    }

    pub(super) fn is_ready(&self) -> bool {
        let is_next = self.is_awake && self.pending.is_some();
        !self.is_saving && !is_next && !self.is_stopping && !self.is_gone
    }

    pub(super) fn ask_for_flush(&mut self) -> Awaited {
        self.is_awake = true;
        Awaited { offer: self.stats.offered, attempts: self.attempts }
    }

    /// Returns the result of a flush; `None` while it waits. An attempt that ran when the flush began does
    /// not count if it fails, because another one follows.
    pub(super) fn flushed(&self, awaited: Awaited) -> Option<Result<(), SaverError>> {
        if self.durable >= awaited.offer {
            return Some(Ok(()));
        }
        if self.failed_attempt > awaited.attempts {
            let error = self.last_error.as_ref().map(Arc::clone);
            return Some(Err(error.map_or(SaverError::Gone, SaverError::Save)));
        }
        self.is_gone.then_some(Err(SaverError::Gone))
    }

    pub(super) fn ask_for_stop(&mut self) {
        self.is_stopping = true;
        self.is_awake = true;
    }

    pub(super) fn next_task(&mut self) -> Task {
        if !self.is_awake {
            return match (self.is_stopping, &self.pending) {
                (true, _) => Task::End,
                (false, None) => Task::Wait,
                (false, Some(_)) => Task::WaitToRetry(self.retry_after),
            };
        }
        self.is_awake = false;
        let Some(snapshot) = self.pending.take() else {
            return if self.is_stopping { Task::End } else { Task::Wait };
        };
        self.is_saving = true;
        self.attempts += 1;
        Task::Save(snapshot)
    }

    /// Lets the thread retry a failed save.
    pub(super) fn retry(&mut self) {
        self.is_awake = true;
    }

    pub(super) fn saved(&mut self, snapshot: &Snapshot) {
        self.is_saving = false;
        self.stats.saved += 1;
        self.durable = snapshot.offer;
    }

    /// Keeps the history for the next attempt. Returns it if a newer offer replaces it.
    pub(super) fn failed(&mut self, snapshot: Snapshot, error: SaveError) -> Option<Snapshot> {
        self.is_saving = false;
        self.stats.failed += 1;
        self.failed_attempt = self.attempts;
        self.last_error = Some(Arc::new(error));
        if self.pending.is_some() {
            self.stats.replaced += 1;
            return Some(snapshot);
        }
        self.pending = Some(snapshot);
        None
    }

    /// Records the end of the thread, for whatever reason.
    pub(super) fn end(&mut self) {
        self.is_gone = true;
        self.is_saving = false;
    }

    /// Returns an error unless all offers are saved.
    pub(super) fn outcome(&self) -> Result<(), SaverError> {
        if self.durable == self.stats.offered {
            return Ok(());
        }
        let is_failed = self.failed_attempt > 0 && self.failed_attempt == self.attempts;
        let error = self.last_error.as_ref().filter(|_| is_failed).map(Arc::clone);
        Err(error.map_or(SaverError::Gone, SaverError::Save))
    }
}
