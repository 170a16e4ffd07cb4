//! Random clusters and operations, each against the sequential model.

use std::sync::Arc;

use apportion::Mode;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::generate::{EVERYTHING, Variety, WITH_REQUESTS, plan};
use crate::play::play;
use crate::{check, schedules};

/// The number of plans. Each runs under an equal part of the schedules.
const PLANS: usize = 50;

fn check_plans(variety: Variety, mode: Mode) {
    let mut runner = TestRunner::deterministic();
    for _ in 0..PLANS {
        let plan = Arc::new(plan(variety).new_tree(&mut runner).unwrap().current());
        check(
            move || {
                play(&plan, mode);
            },
            schedules().div_ceil(PLANS),
        );
    }
}

#[test]
fn what_is_committed_is_legal_and_nothing_is_left_undone() {
    check_plans(EVERYTHING, Mode::Parallel { proposers: 3 });
}

#[test]
fn requests_made_by_hand_race_with_proposers() {
    check_plans(WITH_REQUESTS, Mode::Parallel { proposers: 3 });
}

#[test]
fn the_background_thread_races_with_requests_made_by_hand() {
    check_plans(WITH_REQUESTS, Mode::Background);
}
