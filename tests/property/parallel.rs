//! In every mode each commit is legal, and nothing is left undone.

use apportion::Mode;
use proptest::prelude::*;

use crate::generate::{EVERYTHING, WITH_REQUESTS, plan};
use crate::play::play;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn serial_is_legal_and_complete(plan in plan(EVERYTHING)) {
        play(&plan, Mode::Serial);
    }

    #[test]
    fn requests_made_by_hand_get_the_right_verdict(plan in plan(WITH_REQUESTS)) {
        play(&plan, Mode::Serial);
    }

    /// The order is serial mode's at every position of the log.
    #[test]
    fn background_is_legal_and_complete(plan in plan(EVERYTHING)) {
        for _ in 0..repeats() {
            play(&plan, Mode::Background);
        }
    }

    #[test]
    fn requests_made_by_hand_race_with_the_background(plan in plan(WITH_REQUESTS)) {
        for _ in 0..repeats() {
            play(&plan, Mode::Background);
        }
    }

    #[test]
    fn parallel_is_legal_and_complete(plan in plan(EVERYTHING), proposers in 1..=4usize) {
        for _ in 0..repeats() {
            play(&plan, Mode::Parallel { proposers });
        }
    }

    #[test]
    fn requests_made_by_hand_race_with_proposers(plan in plan(WITH_REQUESTS), proposers in 1..=4usize) {
        for _ in 0..repeats() {
            play(&plan, Mode::Parallel { proposers });
        }
    }
}

/// How often each plan is played in parallel, by `APPORTION_REPEATS`, by default once. Thread order differs each
/// time, and a plan shrinks only as far as it fails again.
fn repeats() -> u32 {
    let repeats = std::env::var("APPORTION_REPEATS").ok();
    repeats.map_or(1, |repeats| repeats.parse().unwrap())
}
