//! Runs a model under shuttle: random orders, each from its own seed.

use std::sync::Arc;

use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use super::Checker;
use super::order::{Order, Place};
use crate::sync::stack_bytes;

pub(super) const CHECKER: Checker = Checker::Shuttle;

/// The number of orders, unless `APPORTION_SCHEDULES` sets another one.
const SCHEDULES: u64 = 1_000;

pub(super) fn explore(_: &Place, body: impl Fn() + Send + Sync + 'static) {
    let body = Arc::new(body);
    (1..=schedules()).for_each(|seed| run(seed, Arc::clone(&body)));
}

pub(super) fn replay(_: &Place, failing: Order, body: impl Fn() + Send + Sync + 'static) {
    run(failing.number, Arc::new(body));
}

fn run(seed: u64, body: Arc<impl Fn() + Send + Sync + 'static>) {
    let mut config = Config::new();
    config.stack_size = stack_bytes();
    config.max_steps = MaxSteps::FailAfter(10_000_000);
    // The number of the order suffices.
    config.failure_persistence = FailurePersistence::None;
    Runner::new(RandomScheduler::new_from_seed(seed, 1), config).run(move || body());
}

fn schedules() -> u64 {
    let Ok(number) = std::env::var("APPORTION_SCHEDULES") else { return SCHEDULES };
    match number.parse() {
        Ok(schedules @ 1..) => schedules,
        _ => panic!("APPORTION_SCHEDULES is `{number}`; set it to a whole number of at least 1"),
    }
}
