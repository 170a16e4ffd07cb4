//! Detects an engine that loops without becoming quiet.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use apportion::{Clock, Engine, ManualClock};

/// An engine reads its clock once for each group of commits. No test makes it commit this many groups between two
/// quiet moments.
const READS_MAX: u64 = 20_000;

/// Virtual time that panics after too many reads without a quiet moment. In serial mode the reader is the thread that
/// waits for the engine. In parallel mode it is the committer; its panic would go unnoticed, so the whole process
/// aborts.
#[derive(Clone, Debug, Default)]
pub(super) struct WatchedClock {
    clock: ManualClock,
    reads: Arc<AtomicU64>,
    is_parallel: bool,
}

impl WatchedClock {
    pub(super) fn new(is_parallel: bool) -> Self {
        Self { is_parallel, ..Self::default() }
    }

    /// The same clock for an engine in another mode.
    pub(super) fn shared_with(&self, is_parallel: bool) -> Self {
        Self { is_parallel, ..self.clone() }
    }

    pub(super) fn set(&self, now_ms: u64) {
        self.clock.set(now_ms);
    }

    /// Runs the engine until it is quiet.
    pub(super) fn run_until_quiet(&self, engine: &Arc<Engine>) {
        let leak = LeakIfStuck(engine);
        engine.run_until_quiet();
        drop(leak);
        self.reads.store(0, Ordering::Relaxed);
    }
}

impl Clock for WatchedClock {
    fn now_ms(&self) -> u64 {
        let reads = self.reads.fetch_add(1, Ordering::Relaxed);
        if reads == READS_MAX && self.is_parallel {
            // Written directly, since the captured output of a test is lost on abort.
            let _ = writeln!(std::io::stderr(), "the engine does not become quiet");
            std::process::abort();
        }
        assert!(reads != READS_MAX, "the engine does not become quiet");
        self.clock.now_ms()
    }
}

/// Leaks a stuck engine: its shutdown would wait until it is quiet.
struct LeakIfStuck<'a>(&'a Arc<Engine>);

impl Drop for LeakIfStuck<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::mem::forget(Arc::clone(self.0));
        }
    }
}
