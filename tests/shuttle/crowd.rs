//! Many threads that call one engine at the same time.

use apportion_tests::support::crowd::Crowd;
use shuttle::rand::Rng;
use shuttle::scheduler::RandomScheduler;

use crate::{check, schedules};

/// Yields this many times.
fn pause(units: u32) {
    (0..units).for_each(|_| shuttle::thread::yield_now());
}

/// Seeds of shuttle that once failed: a set was still leased right after the engine had said that it was quiet.
const ONCE_FAILED: [u64; 1] = [17_506_797_836_731_818_113];

fn crowd_with(proposers: usize) {
    let seed = shuttle::rand::thread_rng().r#gen();
    Crowd { seed, callers: 6, proposers, steps: 4, pause, sink_fails_after: None, crashes: 0 }.run(|_| {});
}

fn crowd() {
    crowd_with(3);
}

/// 6 callers, an operator, 3 proposers, a committer and the waiting thread: 12 threads.
#[test]
fn callers_nodes_and_limits_at_a_time() {
    check(crowd, schedules());
}

/// The same beside the one thread of background mode.
#[test]
fn callers_nodes_and_limits_in_background_mode() {
    check(|| crowd_with(0), schedules());
}

#[test]
fn schedules_that_failed_once() {
    for seed in ONCE_FAILED {
        crate::run(RandomScheduler::new_from_seed(seed, 20), crowd);
    }
}
