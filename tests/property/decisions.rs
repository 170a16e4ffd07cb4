//! Serial mode decides as recorded, with every feature of queues, nodes and asks.

use apportion::Mode;

use crate::generate::{WITH_REQUESTS, plan};
use crate::play::play;
use crate::recorded::assert_decides_as_recorded;

#[test]
fn plans_are_decided_as_recorded() {
    assert_decides_as_recorded("plans", plan(WITH_REQUESTS), 200, |plan| play(plan, Mode::Serial).log());
}
