//! Properties: the engine against the sequential model, on random clusters.
//!
//! `PROPTEST_CASES` in the environment overrides the numbers of cases given here.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod bursts;
mod decisions;
mod edits;
mod explain;
mod fairness;
mod generate;
mod generate_queues;
mod log;
mod parallel;
mod placement;
mod plan;
mod play;
mod queues;
#[path = "../recorded/mod.rs"]
mod recorded;
mod recovery;
mod reservations;
mod serial;
mod store;
mod user_limits;

use apportion::Mode;
use proptest::prelude::*;

/// Every mode, the parallel one with up to two proposers.
fn mode() -> impl Strategy<Value = Mode> {
    let parallel = (1..=2usize).prop_map(|proposers| Mode::Parallel { proposers });
    prop_oneof![Just(Mode::Serial), Just(Mode::Background), parallel]
}
