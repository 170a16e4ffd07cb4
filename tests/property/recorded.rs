//! Serial mode decides as recorded, with every feature of queues, nodes and asks.

use apportion::Mode;
use apportion_tests::support::recorded::{assert_decides_as_recorded, draw};

use crate::generate::{WITH_REQUESTS, plan};
use crate::play::play;

#[test]
fn plans_are_decided_as_recorded() {
    let logs = draw(plan(WITH_REQUESTS), 200).map(|plan| play(&plan, Mode::Serial).log());
    assert_decides_as_recorded("plans", logs);
}
