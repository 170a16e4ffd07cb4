//! What is measured around a stretch of work.

use std::time::{Duration, Instant};

use apportion::{Engine, EngineStats, EngineTiming};
use hdrhistogram::Histogram;

use super::cpu::process_cpu_ns;

/// What one stretch of work came to.
#[derive(Clone, Debug)]
pub struct Record {
    /// Containers placed.
    pub placed: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// Processor time of all threads meanwhile, if the system says.
    pub cpu_ns: Option<u64>,
    /// Commit requests accepted and rejected meanwhile, and the batches that they came in.
    pub committed: u64,
    /// See `committed`.
    pub rejected: u64,
    /// See `committed`.
    pub batches: u64,
    /// How long the engine's parts took.
    pub timing: EngineTiming,
    /// From ask to commit, in nanoseconds, where asks come at a rate.
    pub latency_ns: Option<Histogram<u64>>,
    /// Everything that the engine has counted since it was started.
    pub stats: EngineStats,
}

/// Begun before the work.
pub(super) struct Meter {
    begun: Instant,
    cpu_ns: Option<u64>,
    stats: EngineStats,
}

impl Meter {
    pub(super) fn start(engine: &Engine) -> Self {
        drop(engine.take_timing());
        Self { stats: engine.stats(), cpu_ns: process_cpu_ns(), begun: Instant::now() }
    }

    /// Ended as soon as `placed` containers were placed.
    pub(super) fn stop(self, engine: &Engine, placed: u64) -> Record {
        let elapsed = self.begun.elapsed();
        let cpu_ns = process_cpu_ns().zip(self.cpu_ns).map(|(after, before)| after.saturating_sub(before));
        let stats = engine.stats();
        Record {
            placed,
            elapsed,
            cpu_ns,
            committed: stats.committed - self.stats.committed,
            rejected: stats.rejected_total() - self.stats.rejected_total(),
            batches: stats.batches - self.stats.batches,
            timing: engine.take_timing(),
            latency_ns: None,
            stats,
        }
    }
}

impl Record {
    /// Containers placed per second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.placed as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}
