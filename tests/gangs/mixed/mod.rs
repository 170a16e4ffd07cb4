//! Gangs, task groups, opportunistic asks, promotions and rounds of preemption in one random load.
//!
//! Each feature has properties of its own. These look for faults between features: each step of the log is checked, and
//! so is the rest that the engine finds.

mod calls;
mod follow;
mod play;
mod rest;

use apportion::Mode;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::property::mode;
use crate::recorded::assert_decides_as_recorded;
use calls::{Call, call, setting};
use play::Play;

/// The time between two rounds of preemption.
const INTERVAL_MS: u64 = 100;

/// The first two have a common parent.
const LEAVES: [&str; 3] = ["root.p.a", "root.p.b", "root.c"];

#[test]
fn mixed_loads_are_decided_as_recorded() {
    let loads = (setting(), prop::collection::vec(call(), 1..80));
    assert_decides_as_recorded("mixed", loads, 300, |(setting, calls)| {
        let mut play = Play::new(setting, Mode::Serial);
        for call in calls {
            match call {
                Call::Recover(_, from_snapshot) => play.call(&Call::Recover(Mode::Serial, *from_snapshot)),
                call => play.call(call),
            }
        }
        play.rest();
        play.cluster.log.bytes()
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// In every mode, at each position of the log, the audit is clean, and gangs start whole or not at all. Preemption
    /// keeps guarantees, budgets and costs, and opportunistic containers count against nothing. The replay ends as
    /// the live engine, also from a snapshot in the middle. With the same demand, rounds of preemption come to an
    /// end. When the load ends, everything that fits has started, and nothing is held.
    #[test]
    fn features_keep_their_promises_beside_each_other(
        setting in setting(),
        mode in mode(),
        middle in any::<Index>(),
        calls in prop::collection::vec(call(), 1..80),
    ) {
        check(Play::new(&setting, mode), &calls, middle);
    }

    /// The same with committer and proposers on one thread, stepped in an order that the seed gives, also between two
    /// calls.
    #[test]
    fn features_keep_their_promises_in_any_order_of_steps(
        setting in setting(),
        proposers in 1..4usize,
        seed in any::<u64>(),
        middle in any::<Index>(),
        calls in prop::collection::vec(call(), 1..80),
    ) {
        check(Play::stepped(&setting, proposers, seed), &calls, middle);
    }
}

fn check(mut play: Play, calls: &[Call], middle: Index) {
    calls.iter().for_each(|call| play.call(call));
    play.rest();
    play.finish();
    follow::check(&play.cluster, middle);
}
