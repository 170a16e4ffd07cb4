//! Measurements around a piece of work.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use apportion::engine::EngineTiming;
use apportion::{Engine, EngineStats};
use hdrhistogram::Histogram;

use crate::memory::Memory;
use crate::process;

/// The measurements of one piece of work.
#[derive(Clone, Debug)]
pub struct Record {
    /// Containers placed.
    pub placed: u64,
    /// Its duration.
    pub elapsed: Duration,
    /// Processor time of all threads during it, if the system reports it.
    pub cpu_ns: Option<u64>,
    /// Accepted commit requests.
    pub committed: u64,
    /// Rejected commit requests, by reason.
    pub rejected: BTreeMap<&'static str, u64>,
    /// Number of batches with these requests.
    pub batches: u64,
    /// Times of the engine's parts.
    pub timing: EngineTiming,
    /// Latency from ask to commit, in nanoseconds, where asks come at a rate.
    pub latency_ns: Option<Histogram<u64>>,
    /// The used part of the capacity that asks can get, for the resource type that runs out first. It is measured at
    /// the end, before the last completions arrived.
    pub used_part: f64,
    /// Requested containers that were not placed at the end.
    pub pending: u64,
    /// Memory of the cluster.
    pub memory: Memory,
}

/// The readings at the start of the work.
pub(crate) struct Meter {
    begun: Instant,
    cpu_ns: Option<u64>,
    stats: EngineStats,
}

impl Meter {
    pub(crate) fn start(engine: &Engine) -> Self {
        drop(engine.take_timing());
        Self { stats: engine.stats(), cpu_ns: process::cpu_ns(), begun: Instant::now() }
    }

    /// Ends the measurement, as soon as `placed` containers were placed.
    pub(crate) fn stop(self, engine: &Engine, placed: u64) -> Record {
        let elapsed = self.begun.elapsed();
        let cpu_ns = process::cpu_ns().zip(self.cpu_ns).map(|(after, before)| after.saturating_sub(before));
        let stats = engine.stats();
        let before = |reason: &str| self.stats.rejected.get(reason).copied().unwrap_or(0);
        Record {
            placed,
            elapsed,
            cpu_ns,
            committed: stats.committed - self.stats.committed,
            rejected: stats
                .rejected
                .iter()
                .map(|(reason, count)| (*reason, count - before(reason)))
                .collect(),
            batches: stats.batches - self.stats.batches,
            timing: engine.take_timing(),
            latency_ns: None,
            used_part: 0.0,
            pending: 0,
            memory: Memory::default(),
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
