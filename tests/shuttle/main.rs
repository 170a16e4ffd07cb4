//! The whole engine under a randomised scheduler that decides every step of every thread.
//!
//! `cargo shuttle` runs it. A failure prints the schedule; keep it as a regression test (`shuttle::replay`).

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[cfg(not(apportion_shuttle))]
compile_error!("run this with `cargo shuttle`: otherwise the engine uses ordinary threads");

#[path = "../property/edits.rs"]
mod edits;
#[path = "../property/generate.rs"]
#[allow(dead_code, reason = "not every class of plans is played here")]
mod generate;
#[path = "../property/generate_queues.rs"]
mod generate_queues;
#[path = "../property/plan.rs"]
#[allow(dead_code, reason = "not every class of plans is played here")]
mod plan;
#[path = "../property/play.rs"]
mod play;
#[path = "../property/queues.rs"]
mod queues;

mod crowd;
mod plans;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};

/// Runs `body` under this many schedules: half are random, half have few switches that lie far apart.
fn check(body: impl Fn() + Send + Sync + Clone + 'static, schedules: usize) {
    run(RandomScheduler::new(schedules.div_ceil(2)), body.clone());
    run(PctScheduler::new(3, schedules.div_ceil(2)), body);
}

pub(crate) fn run(scheduler: impl Scheduler + 'static, body: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    config.max_steps = shuttle::MaxSteps::FailAfter(10_000_000);
    Runner::new(scheduler, config).run(body);
}

/// How many schedules each test runs (`APPORTION_SCHEDULES`, by default 1,000).
fn schedules() -> usize {
    let Ok(number) = std::env::var("APPORTION_SCHEDULES") else { return 1_000 };
    match number.parse() {
        Ok(schedules @ 1..) => schedules,
        _ => panic!("APPORTION_SCHEDULES is `{number}`; set it to a whole number of at least 1"),
    }
}
