//! Noticing that an engine goes round in circles.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use apportion::{Clock, Engine, ManualClock};

/// An engine reads its clock once for each group of commits. No test makes it commit this many between two
/// moments of quiet.
const READS_MAX: u64 = 20_000;

/// Virtual time that panics in the reader if it is read again and again without anybody being quiet between.
/// In serial mode the reader is whoever waits for the engine. In parallel mode it is the committer, whose end
/// nobody would notice, so the whole process ends there.
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

    pub(super) fn set(&self, now_ms: u64) {
        self.clock.set(now_ms);
    }

    /// Lets the engine work until it is quiet.
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
            // Past the capture of a test's output, which would be lost.
            let _ = writeln!(std::io::stderr(), "the engine does not become quiet");
            std::process::abort();
        }
        assert!(reads != READS_MAX, "the engine does not become quiet");
        self.clock.now_ms()
    }
}

/// Shutting down an engine waits until it is quiet as well, so one that never is has to be left alone.
struct LeakIfStuck<'a>(&'a Arc<Engine>);

impl Drop for LeakIfStuck<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::mem::forget(Arc::clone(self.0));
        }
    }
}
