//! How long the engine's parts take, by the driver's [measuring clock](crate::Clock::measured_ns).

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
    pub(super) fn record_group(&mut self, held_ns: u64, allocated: u64) {
        self.lock_held += Duration::from_nanos(held_ns);
        if let Some(ns) = held_ns.checked_div(allocated) {
            self.lock_held_ns_per_allocation.saturating_record(ns);
        }
    }

    /// A batch that a proposer took so long for, and that was decided so long after the proposer had begun.
    pub(super) fn record_batch(&mut self, proposing_ns: u64, age_ns: u64) {
        self.proposing += Duration::from_nanos(proposing_ns);
        self.proposal_age_ns.saturating_record(age_ns);
    }
}
