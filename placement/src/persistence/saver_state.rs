//! The state that the callers of a saver share with its thread.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use super::HistoryFile;
use super::save::SaveError;

/// What a saver has done since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaverStats {
    /// Histories that it was offered.
    pub offered: u64,
    /// Those it did not save because a newer one was there.
    pub replaced: u64,
    /// Files that it made.
    pub saved: u64,
    /// Saves that failed.
    pub failed: u64,
    /// Old files that it deleted.
    pub purged: u64,
    /// Old files that it could not delete, and times that it could not look for any.
    pub purge_failures: u64,
}

/// Why what a saver was offered is not in its store.
#[derive(Clone, Debug, Error)]
pub enum SaverError {
    /// The save failed. The history is kept and tried again, at the latest a little later.
    #[error("the history was not saved: {0}")]
    Save(#[source] Arc<SaveError>),
    /// The saver's thread is gone, because its store panicked.
    #[error("the history was not saved: the saver's store panicked")]
    Gone,
}

/// Behind the saver's lock, which is never held while files are touched.
#[derive(Default)]
pub(super) struct SaverState {
    pub(super) stats: SaverStats,
    pub(super) last_error: Option<Arc<SaveError>>,
    /// How long after a save that failed it is tried again, if nothing is offered meanwhile.
    pub(super) retry_after: Duration,
    /// The last offer that is not saved, unless the thread is at it.
    pending: Option<Snapshot>,
    /// Whether the thread has been told to look at it.
    is_awake: bool,
    is_saving: bool,
    is_stopping: bool,
    is_gone: bool,
    /// The number of the last offer that is saved, or that a later saved one replaced.
    durable: u64,
    attempts: u64,
    /// The last attempt that failed; 0 for none.
    failed_attempt: u64,
}

/// A history and the number of its offer.
pub(super) struct Snapshot {
    pub(super) history: HistoryFile,
    offer: u64,
}

/// What the thread is to do next.
pub(super) enum Task {
    Save(Snapshot),
    /// Until something is offered.
    Wait,
    /// Until then or for this long: a save failed, and nobody may come to try again.
    WaitToRetry(Duration),
    End,
}

/// What a flush waits for.
#[derive(Clone, Copy)]
pub(super) struct Awaited {
    offer: u64,
    attempts: u64,
}

impl SaverState {
    pub(super) fn new(retry_after: Duration) -> Self {
        Self { retry_after, ..Self::default() }
    }

    /// Takes a history to be saved, and returns the one it replaces, to be dropped outside of the lock.
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

    /// How the flush ended; `None` if it has not. An attempt that was under way when it began does not count against
    /// it, because another one follows.
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

    /// What failed is tried again.
    pub(super) fn retry(&mut self) {
        self.is_awake = true;
    }

    pub(super) fn saved(&mut self, snapshot: &Snapshot) {
        self.is_saving = false;
        self.stats.saved += 1;
        self.durable = snapshot.offer;
    }

    /// Keeps the history for the next attempt unless a newer one is there, and returns it then.
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

    /// The thread ends, for whatever reason.
    pub(super) fn end(&mut self) {
        self.is_gone = true;
        self.is_saving = false;
    }

    /// Whether all offers are saved.
    pub(super) fn outcome(&self) -> Result<(), SaverError> {
        if self.durable == self.stats.offered {
            return Ok(());
        }
        let is_failed = self.failed_attempt > 0 && self.failed_attempt == self.attempts;
        let error = self.last_error.as_ref().filter(|_| is_failed).map(Arc::clone);
        Err(error.map_or(SaverError::Gone, SaverError::Save))
    }
}
