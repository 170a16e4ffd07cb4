//! Faults: stalls, failures and lost batches.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use apportion::engine::Proposer;
use apportion::log::{LogEnd, LogSink, LoggedGroup, SharedLog};
use apportion::sync::{AtomicU64, Ordering};
use apportion::{Clock, ManualClock, ProposalBatch};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

/// Delays a thread by about this many units; the unit depends on the crowd.
pub type Pause = fn(u32);

/// The clock and the sink stall once in this many calls.
const STALL_EVERY: u64 = 40;

/// A clock that stalls now and then. The committer reads it under the write guard, so the committer stalls too.
#[derive(Debug)]
pub(super) struct TroubledClock {
    clock: ManualClock,
    pause: Pause,
    reads: AtomicU64,
}

impl TroubledClock {
    pub(super) fn new(clock: ManualClock, pause: Pause) -> Self {
        Self { clock, pause, reads: AtomicU64::new(0) }
    }
}

impl Clock for TroubledClock {
    fn now_ms(&self) -> u64 {
        if self.reads.fetch_add(1, Ordering::Relaxed) % STALL_EVERY == STALL_EVERY - 1 {
            (self.pause)(3);
        }
        self.clock.now_ms()
    }
}

/// A log sink that stalls now and then, or fails for good.
pub(super) struct TroubledSink {
    log: SharedLog,
    pause: Pause,
    groups: u64,
    fails_after: Option<u64>,
}

impl TroubledSink {
    pub(super) fn new(log: SharedLog, pause: Pause, fails_after: Option<u64>) -> Self {
        Self { log, pause, groups: 0, fails_after }
    }
}

impl LogSink for TroubledSink {
    fn start(&mut self, header: &[u8]) -> io::Result<()> {
        self.log.start(header)
    }

    fn resume(&mut self, end: LogEnd) -> io::Result<()> {
        self.log.resume(end)
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        self.groups += 1;
        if self.fails_after.is_some_and(|groups| self.groups > groups) {
            return Err(io::Error::other("the disk is full"));
        }
        if self.groups % STALL_EVERY == STALL_EVERY / 2 {
            (self.pause)(3);
        }
        self.log.append(group)
    }
}

/// The body of a proposing thread. An even number runs the engine's own loop, which a build with faults lets panic
/// repeatedly. An odd number loses batches and delays them.
pub(super) fn propose_with_trouble(mut proposer: Proposer, number: usize, seed: u64, pause: Pause) {
    if number.is_multiple_of(2) {
        #[cfg(all(apportion_faults, not(apportion_shuttle)))]
        apportion::sync::fault::ask_for_panics(seed, 400);
        proposer.run();
        #[cfg(all(apportion_faults, not(apportion_shuttle)))]
        apportion::sync::fault::withdraw();
        return;
    }
    let mut random = Pcg32::seed_from_u64(seed);
    while let Some(batch) = proposer.next_batch() {
        match random.random_range(0..10u32) {
            0 => drop(batch),
            1 => lose(batch),
            roll => {
                if roll == 2 {
                    pause(1);
                }
                if proposer.send(batch).is_err() {
                    return;
                }
            }
        }
    }
}

/// Unwinds while it holds the batch. Under shuttle it only drops the batch, since shuttle's locks do not survive an
/// unwind.
fn lose(batch: Box<ProposalBatch>) {
    if cfg!(apportion_shuttle) {
        return;
    }
    let unwind = move || {
        let _batch = batch;
        // Not `panic!`, which would print a message.
        std::panic::resume_unwind(Box::new("lost"));
    };
    drop(catch_unwind(AssertUnwindSafe(unwind)));
}
