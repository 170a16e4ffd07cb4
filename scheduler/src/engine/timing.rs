//! How long the engine's parts take, in real time. Nothing is decided by it.

use std::time::Duration;

use hdrhistogram::Histogram;

/// What was timed since it was last taken, see [`Engine::take_timing`](crate::Engine::take_timing).
#[derive(Clone, Debug)]
pub struct EngineTiming {
    /// How long the write guard was held by groups, all together.
    pub lock_held: Duration,
    /// The same, in nanoseconds per container of each group that placed any.
    pub lock_held_ns_per_allocation: Histogram<u64>,
    /// How long proposers held the read guard, all together.
    pub proposing: Duration,
    /// From a proposer's look at the state to the verdict, in nanoseconds, of batches.
    pub proposal_age_ns: Histogram<u64>,
}

/// Longer times are counted as this one.
const LONGEST_NS: u64 = 60_000_000_000;

impl Default for EngineTiming {
    fn default() -> Self {
        let histogram = || Histogram::new_with_max(LONGEST_NS, 2).expect("these bounds are possible");
        Self {
            lock_held: Duration::ZERO,
            lock_held_ns_per_allocation: histogram(),
            proposing: Duration::ZERO,
            proposal_age_ns: histogram(),
        }
    }
}

impl EngineTiming {
    /// A group that placed so many containers.
    pub(super) fn note_group(&mut self, lock_held: Duration, allocated: u64) {
        self.lock_held += lock_held;
        if let Some(ns) = nanoseconds(lock_held).checked_div(allocated) {
            self.lock_held_ns_per_allocation.saturating_record(ns);
        }
    }

    /// A batch that a proposer took so long for, and that was decided so long after the proposer had begun.
    pub(super) fn note_batch(&mut self, proposing: Duration, age: Duration) {
        self.proposing += proposing;
        self.proposal_age_ns.saturating_record(nanoseconds(age));
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    duration.as_nanos().try_into().unwrap_or(u64::MAX)
}
