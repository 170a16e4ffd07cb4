//! Saves histories on a thread; the newest snapshot wins.

use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::HistoryFile;
use super::purge::keep_last_with;
use super::save::{SaveError, save_now};
use super::saver_state::{SaverError, SaverState, SaverStats, Snapshot, Task};
use super::store::HistoryStore;

/// Saves the histories that it is offered on its own thread, and keeps the newest few files. While a save
/// runs, only the newest offer waits, so a slow store makes saves rarer but blocks no caller. Dropping the
/// saver ends the thread after a last attempt to save the waiting offer.
pub struct HistorySaver {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    store: Arc<dyn HistoryStore>,
    keep: NonZeroUsize,
    state: Mutex<SaverState>,
    /// Signals work for the thread.
    offered: Condvar,
    /// Signals the end of an attempt or of the thread.
    ended: Condvar,
}

impl HistorySaver {
    /// The default number of files to keep: enough to fall back on if the last ones are broken.
    pub const KEEP: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4);

    /// The default delay before a failed save is retried.
    pub const RETRY_AFTER: Duration = Duration::from_secs(5);

    /// Starts a saver for this store that keeps this many files.
    ///
    /// # Errors
    /// If the operating system provides no thread.
    pub fn start(store: Arc<dyn HistoryStore>, keep: NonZeroUsize) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            store,
            keep,
            state: Mutex::new(SaverState::new(Self::RETRY_AFTER)),
            offered: Condvar::new(),
            ended: Condvar::new(),
        });
        let body = Arc::clone(&shared);
        let thread = thread::Builder::new().name("history-saver".to_owned()).spawn(move || body.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Sets the delay before a failed save is retried, from the next failure on.
    #[must_use]
    pub fn with_retry_after(self, retry_after: Duration) -> Self {
        self.shared.state.lock().retry_after = retry_after;
        self
    }

    /// Offers a history to save; replaces an unsaved earlier offer. Touches no file and never waits.
    pub fn offer(&self, history: HistoryFile) {
        let replaced = self.shared.state.lock().offer(history);
        self.shared.offered.notify_one();
        // Dropping a large history takes time, so it happens without the lock.
        drop(replaced);
    }

    /// Returns whether a history offered now would be saved at once. Callers can delay their snapshot until
    /// then.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.shared.state.lock().is_ready()
    }

    /// Waits until every earlier offer is durable in the store or replaced there by a newer one. Retries a
    /// failed save.
    ///
    /// # Errors
    /// If a save fails meanwhile. The history is kept, and retried by the next flush or offer, or after
    /// [`RETRY_AFTER`](Self::RETRY_AFTER).
    pub fn flush(&self) -> Result<(), SaverError> {
        let mut state = self.shared.state.lock();
        let awaited = state.ask_for_flush();
        self.shared.offered.notify_one();
        loop {
            if let Some(outcome) = state.flushed(awaited) {
                return outcome;
            }
            self.shared.ended.wait(&mut state);
        }
    }

    /// Returns its store.
    pub(crate) fn store(&self) -> &dyn HistoryStore {
        self.shared.store.as_ref()
    }

    /// Returns the counters of the saver's work.
    #[must_use]
    pub fn stats(&self) -> SaverStats {
        self.shared.state.lock().stats
    }

    /// Returns the error of the last failed save; a later save may have succeeded.
    #[must_use]
    pub fn last_error(&self) -> Option<Arc<SaveError>> {
        self.shared.state.lock().last_error.clone()
    }

    /// Saves the waiting offer and ends the thread.
    ///
    /// # Errors
    /// If the save fails. The offer is then lost; earlier files remain.
    pub fn stop(mut self) -> Result<SaverStats, SaverError> {
        self.join();
        let state = self.shared.state.lock();
        state.outcome()?;
        Ok(state.stats)
    }

    fn join(&mut self) {
        self.shared.state.lock().ask_for_stop();
        self.shared.offered.notify_one();
        if let Some(thread) = self.thread.take() {
            // The state records a panic of the thread.
            let _ = thread.join();
        }
    }
}

impl Drop for HistorySaver {
    fn drop(&mut self) {
        self.join();
    }
}

impl fmt::Debug for HistorySaver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HistorySaver").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl Shared {
    fn run(&self) {
        let _ends = EndsOnDrop(self);
        let mut state = self.state.lock();
        loop {
            match state.next_task() {
                Task::End => return,
                Task::Wait => self.offered.wait(&mut state),
                Task::WaitToRetry(after) => {
                    if self.offered.wait_for(&mut state, after).timed_out() {
                        state.retry();
                    }
                }
                Task::Save(snapshot) => {
                    drop(state);
                    self.save(snapshot);
                    state = self.state.lock();
                }
            }
        }
    }

    fn save(&self, snapshot: Snapshot) {
        let outcome = save_now(self.store.as_ref(), &snapshot.history);
        let replaced = match outcome {
            Ok(saved) => {
                self.purge(&saved.name);
                self.state.lock().saved(&snapshot);
                Some(snapshot)
            }
            Err(error) => self.state.lock().failed(snapshot, error),
        };
        self.ended.notify_all();
        drop(replaced);
    }

    /// Deletes old files. Files that cannot be deleted do no harm.
    fn purge(&self, saved: &str) {
        let purged = keep_last_with(self.store.as_ref(), self.keep, Some(saved));
        let (deleted, failed) = purged.map_or((0, 1), |report| (report.deleted.len(), report.failed.len()));
        let stats = &mut self.state.lock().stats;
        stats.purged += deleted as u64;
        stats.purge_failures += failed as u64;
    }
}

/// Wakes all waiters even if a store's panic ends the thread.
struct EndsOnDrop<'a>(&'a Shared);

impl Drop for EndsOnDrop<'_> {
    fn drop(&mut self) {
        self.0.state.lock().end();
        self.0.ended.notify_all();
    }
}
