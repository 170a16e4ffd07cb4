//! Saving histories without waiting for it: one thread, and the newest snapshot wins.

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

/// Saves the histories that it is offered on a thread of its own, and keeps the newest few files. While a save goes on,
/// only the newest offer waits for the next, so a store that is slow makes saves rarer and nobody wait. The thread ends
/// when this is dropped, after a last attempt to save what waits.
pub struct HistorySaver {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    store: Arc<dyn HistoryStore>,
    keep: NonZeroUsize,
    state: Mutex<SaverState>,
    /// There is something for the thread.
    offered: Condvar,
    /// An attempt has ended, or the thread has.
    ended: Condvar,
}

impl HistorySaver {
    /// How many files stay unless someone says otherwise: enough to fall back on when the last ones are broken.
    pub const KEEP: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4);

    /// How long after a save that failed it is tried again, unless someone says otherwise.
    pub const RETRY_AFTER: Duration = Duration::from_secs(5);

    /// A saver to this store that keeps this many files.
    ///
    /// # Errors
    /// If there is no thread to be had.
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

    /// Has a save that fails tried again after this time, from the next failure on.
    #[must_use]
    pub fn with_retry_after(self, retry_after: Duration) -> Self {
        self.shared.state.lock().retry_after = retry_after;
        self
    }

    /// Has this history saved in place of all that were offered before and are not saved yet. Touches no file and waits
    /// for none.
    pub fn offer(&self, history: HistoryFile) {
        let replaced = self.shared.state.lock().offer(history);
        self.shared.offered.notify_one();
        // A large one takes its time, so it goes after the lock.
        drop(replaced);
    }

    /// Whether a history offered now would be saved at once. Whoever has changes to save can wait until then with
    /// taking a snapshot.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.shared.state.lock().is_ready()
    }

    /// Waits until all that was offered before is in the store for good, or replaced there by something newer. Has the
    /// thread try again what failed before.
    ///
    /// # Errors
    /// If a save fails meanwhile. What was to be saved is kept, and tried again with the next flush or offer or when
    /// [`RETRY_AFTER`](Self::RETRY_AFTER) is over.
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

    /// Where it saves to.
    pub(crate) fn store(&self) -> &dyn HistoryStore {
        self.shared.store.as_ref()
    }

    /// Counts of the saver's work so far.
    #[must_use]
    pub fn stats(&self) -> SaverStats {
        self.shared.state.lock().stats
    }

    /// Why the last save that failed did; it may have succeeded since.
    #[must_use]
    pub fn last_error(&self) -> Option<Arc<SaveError>> {
        self.shared.state.lock().last_error.clone()
    }

    /// Saves what waits to be saved and ends the thread.
    ///
    /// # Errors
    /// If it could not be saved. It is lost then; the files before it are there.
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
            // That it panicked is in the state.
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

    /// Files that cannot be deleted are in nobody's way.
    fn purge(&self, saved: &str) {
        let purged = keep_last_with(self.store.as_ref(), self.keep, Some(saved));
        let (deleted, failed) = purged.map_or((0, 1), |report| (report.deleted.len(), report.failed.len()));
        let stats = &mut self.state.lock().stats;
        stats.purged += deleted as u64;
        stats.purge_failures += failed as u64;
    }
}

/// So that nobody waits for a thread that a store's panic ended.
struct EndsOnDrop<'a>(&'a Shared);

impl Drop for EndsOnDrop<'_> {
    fn drop(&mut self) {
        self.0.state.lock().end();
        self.0.ended.notify_all();
    }
}
