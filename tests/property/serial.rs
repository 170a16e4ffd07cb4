//! Serial mode places exactly the containers that the model places, in the same order.

use apportion::Mode;
use proptest::prelude::*;

use crate::generate::{PLAIN, plan};
use crate::play::play;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn serial_equals_oracle(plan in plan(PLAIN)) {
        play(&plan, Mode::Serial);
    }
}
