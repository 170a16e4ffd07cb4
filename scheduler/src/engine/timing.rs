//! Times of the engine's parts, by the driver's [measuring clock](crate::Clock::measured_ns).

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::group::GroupCommitter;

/// Times recorded since they were last taken; see [`Engine::take_timing`](crate::Engine::take_timing).
#[derive(Clone, Debug)]
pub struct EngineTiming {
    /// Total time from when groups asked for the write guard until they had it: mostly, other threads held a guard.
    pub lock_awaited: Duration,
    /// Total time that groups held the write guard.
    pub lock_held: Duration,
    /// Time under the write guard per container, in nanoseconds, for each group that placed any.
    pub lock_held_ns_per_allocation: Histogram<u64>,
    /// Total time that proposers held the read guard.
    pub proposing: Duration,
    /// Time from the start of a pass to the verdict on its batch, in nanoseconds.
    pub proposal_age_ns: Histogram<u64>,
}

/// Writes durations in nanoseconds, and of each histogram `count`, `mean`, `p50`, `p99`, `p999` and `max`.
impl Serialize for EngineTiming {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut timing = serializer.serialize_struct("EngineTiming", 5)?;
        timing.serialize_field("lock_awaited_ns", &nanos(self.lock_awaited))?;
        timing.serialize_field("lock_held_ns", &nanos(self.lock_held))?;
        let per_allocation = Summary::of(&self.lock_held_ns_per_allocation);
        timing.serialize_field("lock_held_ns_per_allocation", &per_allocation)?;
        timing.serialize_field("proposing_ns", &nanos(self.proposing))?;
        timing.serialize_field("proposal_age_ns", &Summary::of(&self.proposal_age_ns))?;
        timing.end()
    }
}

#[derive(Serialize)]
struct Summary {
    count: u64,
    mean: f64,
    p50: u64,
    p99: u64,
    p999: u64,
    max: u64,
}

impl Summary {
    fn of(histogram: &Histogram<u64>) -> Self {
        Self {
            count: histogram.len(),
            mean: histogram.mean(),
            p50: histogram.value_at_quantile(0.5),
            p99: histogram.value_at_quantile(0.99),
            p999: histogram.value_at_quantile(0.999),
            max: histogram.max(),
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Longer times are recorded as this one.
const LONGEST_NS: u64 = 60_000_000_000;

impl Default for EngineTiming {
    fn default() -> Self {
        let histogram = || Histogram::new_with_max(LONGEST_NS, 2).expect("these bounds are possible");
        Self {
            lock_awaited: Duration::ZERO,
            lock_held: Duration::ZERO,
            lock_held_ns_per_allocation: histogram(),
            proposing: Duration::ZERO,
            proposal_age_ns: histogram(),
        }
    }
}

impl EngineTiming {
    /// Records a group that placed `allocated` containers.
    fn record_group(&mut self, awaited_ns: u64, held_ns: u64, allocated: u64) {
        self.lock_awaited += Duration::from_nanos(awaited_ns);
        self.lock_held += Duration::from_nanos(held_ns);
        if let Some(ns) = held_ns.checked_div(allocated) {
            self.lock_held_ns_per_allocation.saturating_record(ns);
        }
    }

    /// Records a batch: the time of its pass, and the time from the start of the pass to the verdict.
    fn record_batch(&mut self, proposing_ns: u64, age_ns: u64) {
        self.proposing += Duration::from_nanos(proposing_ns);
        self.proposal_age_ns.saturating_record(age_ns);
    }
}

/// When a group began to wait for the guard and when it took it, and the number of containers placed before.
#[derive(Clone, Copy)]
pub(super) struct GroupStart {
    awaited_from_ns: u64,
    locked_ns: u64,
    allocated: u64,
}

impl GroupCommitter {
    /// Begins to measure a group that has taken the guard, after it began to wait at `awaited_from_ns`.
    pub(super) fn begin_timing(&self, awaited_from_ns: u64) -> GroupStart {
        let locked_ns = self.shared.clock.measured_ns();
        GroupStart { awaited_from_ns, locked_ns, allocated: self.stats.allocated }
    }

    /// Records how long the group waited for the guard and held it, and the ages of its batches.
    pub(super) fn record_timing(&self, start: GroupStart) {
        let now_ns = self.shared.clock.measured_ns();
        if now_ns == 0 {
            return;
        }
        self.shared.timing.record(|timing| {
            let allocated = self.stats.allocated - start.allocated;
            let awaited_ns = start.locked_ns.saturating_sub(start.awaited_from_ns);
            timing.record_group(awaited_ns, now_ns.saturating_sub(start.locked_ns), allocated);
            for batch in &self.publisher.decided {
                timing.record_batch(batch.proposing_ns, now_ns.saturating_sub(batch.begun_ns));
            }
        });
    }
}
