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
use proptest::test_runner::Config;

/// Every mode, the parallel one with up to two proposers.
fn mode() -> impl Strategy<Value = Mode> {
    let parallel = (1..=2usize).prop_map(|proposers| Mode::Parallel { proposers });
    prop_oneof![Just(Mode::Serial), Just(Mode::Background), parallel]
}

/// A configuration with this many cases, unless the environment sets another number.
fn cases(cases: u32) -> Config {
    let from_environment = std::env::var_os("PROPTEST_CASES").is_some();
    let default = Config::default();
    Config { cases: if from_environment { default.cases } else { cases }, ..default }
}
