//! Explanations say what the model would say.

use apportion::Mode;
use apportion_tests::support::check::compare_explanations;
use proptest::prelude::*;

use crate::cases;
use crate::generate::{EVERYTHING, plan};
use crate::play::play;

proptest! {
    #![proptest_config(cases(300))]

    /// That counts add up and nothing pending is unexplained is checked wherever an engine is quiet. Here every node is
    /// judged by the model too.
    #[test]
    fn explanations_agree_with_the_model(plan in plan(EVERYTHING), proposers in 0..=2usize) {
        let mode = if proposers == 0 { Mode::Serial } else { Mode::Parallel { proposers } };
        let cluster = play(&plan, mode);
        compare_explanations(&cluster.engine, &cluster.checker.oracle);
    }
}
