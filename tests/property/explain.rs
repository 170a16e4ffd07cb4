//! Explanations agree with the model.

use apportion_tests::support::check::compare_explanations;
use proptest::prelude::*;

use crate::generate::{EVERYTHING, plan};
use crate::mode;
use crate::play::play;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The checker tests at every quiet point that counts add up and every pending ask has a reason. This property
    /// also compares every node with the model's verdict.
    #[test]
    fn explanations_agree_with_the_model(plan in plan(EVERYTHING), mode in mode()) {
        let cluster = play(&plan, mode);
        compare_explanations(&cluster.engine, &cluster.checker.oracle);
    }
}
