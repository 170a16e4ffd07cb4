//! Rounds of preemption that are lost, panic, or meet another state than they saw.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::hand::Hand;
use super::{config, leaf, memory};
use crate::change::AskSpec;
use crate::clock::ManualClock;
use crate::config::{Percent, PreemptionPolicy, PreemptionRounds, QueueConfig};
use crate::engine::Engine;
use crate::propose::Work;
use crate::request::ResourceAllocationCommitRequest;
use crate::sync::fault;

/// An engine that makes a round each millisecond, with one node of this size.
fn preempting(node: i64) -> (Hand, Arc<ManualClock>) {
    preempting_between([leaf("a"), leaf("b")], node)
}

/// The same with these queues.
pub(super) fn preempting_between(
    queues: impl IntoIterator<Item = QueueConfig>,
    node: i64,
) -> (Hand, Arc<ManualClock>) {
    preempting_by(queues, node, |_| ())
}

/// The same with a changed policy.
pub(super) fn preempting_by(
    queues: impl IntoIterator<Item = QueueConfig>,
    node: i64,
    change: impl FnOnce(&mut PreemptionPolicy),
) -> (Hand, Arc<ManualClock>) {
    let mut config = config(queues);
    let policy = PreemptionPolicy { natural_termination: Percent::ALL, ..PreemptionPolicy::default() };
    let mut policy = PreemptionPolicy { per_round: Percent::ALL, ..policy };
    change(&mut policy);
    let rounds = PreemptionRounds { policy, interval_ms: 1, ..PreemptionRounds::default() };
    config.preemption = Some(PreemptionRounds { max_wait_before_kill_ms: 0, ..rounds });
    let clock = Arc::new(ManualClock::new());
    let (engine, parts) = Engine::assemble(config, 2, Arc::clone(&clock) as _, None).unwrap();
    let hand = Hand { events: engine.handle().event_stream(1 << 10), engine, parts };
    hand.node("n0", node);
    (hand, clock)
}

/// Leaf `a` has the only node, and `b` waits for its half. A round is wanted that ends two containers of `a`.
pub(super) fn owed() -> (Hand, Arc<ManualClock>) {
    owed_between([leaf("a"), leaf("b")])
}

/// The same with other guarantees.
pub(super) fn owed_between(queues: [QueueConfig; 2]) -> (Hand, Arc<ManualClock>) {
    let (mut hand, clock) = preempting_between(queues, 4);
    for (queue, count) in [("root.a", 4), ("root.b", 2)] {
        let application = hand.application_in(queue);
        hand.ask(application, AskSpec::new(memory(1), count));
        hand.run_until_idle();
    }
    clock.set(1);
    hand.commit();
    assert!(hand.engine.shared.round.is_wanted());
    (hand, clock)
}

impl Hand {
    pub(super) fn expect_preempted(&mut self, containers: u64) {
        self.expect_idle(4);
        assert!(self.engine.shared.round.is_idle());
        let stats = self.engine.stats();
        assert_eq!((stats.preemption_rounds, stats.preempted), (1, containers));
    }
}

/// `run_until_quiet` waits for the round, so a watchdog has to see it.
#[test]
fn a_round_is_work_until_it_is_carried_out() {
    let (mut hand, _) = owed();
    assert!(hand.engine.health().has_work(), "no proposer has taken it");
    let batch = hand.parts.proposers[0].propose().unwrap();
    assert!(matches!(batch.work, Work::Round(_)) && hand.engine.health().has_work());
    hand.parts.proposers[0].send(batch).unwrap();
    assert!(hand.engine.health().has_work(), "it is not carried out");
    hand.expect_preempted(2);
}

#[test]
fn a_round_may_panic_at_any_step() {
    for steps in 0.. {
        let (mut hand, clock) = owed();
        fault::ask_for_panic(steps);
        let proposer = &mut hand.parts.proposers[0];
        let round = catch_unwind(AssertUnwindSafe(|| {
            let batch = proposer.propose().expect("a round is wanted");
            proposer.send(batch).expect("the committer lives");
        }));
        let has_come_through = fault::withdraw();
        assert_eq!(round.is_ok(), has_come_through, "step {steps}");
        // After a panic the next round comes an interval later, so that passes have their turn. The first two steps
        // come before the round is taken.
        hand.run_until_idle();
        let is_put_off = hand.engine.stats().preemption_rounds == 0;
        assert_eq!(is_put_off, !has_come_through && steps >= 2, "step {steps}");
        clock.set(2);
        hand.expect_preempted(2);
        if has_come_through {
            assert!(steps > 3, "a round takes more than {steps} steps");
            return;
        }
    }
}

#[test]
fn a_round_that_is_dropped_is_computed_again() {
    let (mut hand, _) = owed();
    drop(hand.parts.proposers[0].propose().unwrap());
    assert!(hand.engine.shared.round.is_wanted());
    hand.expect_preempted(2);
}

/// The only unit of an ask is in flight when the round looks, so it does nothing for it. Its rejection changes
/// nothing in the facts, and is yet a reason for another round.
#[test]
fn a_unit_that_is_rejected_after_a_round_gets_another() {
    let (mut hand, clock) = preempting(4);
    let [a, b] = ["root.a", "root.b"].map(|queue| hand.application_in(queue));
    let of_a = hand.ask(a, AskSpec::new(memory(1), 3));
    hand.run_until_idle();
    let last = hand.ask(a, AskSpec::new(memory(1), 1).with_priority(9));
    hand.ask(b, AskSpec::new(memory(1), 1));
    hand.commit();
    let late = hand.parts.proposers[0].propose().unwrap();
    assert!(late.requests().iter().all(|request| request.allocate[0].ask != of_a));
    let others: Vec<_> =
        [last].into_iter().filter(|ask| late.requests()[0].allocate[0].ask != *ask).collect();
    let node = hand.engine.handle().node("n0").unwrap();
    let taken = ResourceAllocationCommitRequest::allocate(others[0], node);
    drop(hand.engine.handle().commit(taken).unwrap());
    clock.set(1);
    hand.commit();
    let round = hand.parts.proposers[1].propose().unwrap();
    assert!(matches!(&round.work, Work::Round(steps) if steps.is_empty()), "the only unit is in flight");
    hand.parts.proposers[1].send(round).unwrap();
    hand.commit();
    hand.parts.proposers[0].send(late).unwrap();
    hand.run_until_idle();
    clock.set(2);
    hand.run_until_idle();
    assert_eq!(hand.engine.stats().preempted, 1);
}

/// Containers end between the plan and its commit. The leaf keeps its guarantee.
#[test]
fn a_stale_round_takes_no_leaf_below_its_guarantee() {
    let (mut hand, _) = owed();
    let running = hand.engine.read(|view| view.containers().map(|(id, _)| id).collect::<Vec<_>>());
    // On its way, but not seen by the round. Its end is not confirmed, so its room does not become free.
    hand.engine.handle().stop_container(running[0]).unwrap();
    let batch = hand.parts.proposers[0].propose().unwrap();
    hand.parts.proposers[0].send(batch).unwrap();
    hand.expect_preempted(1);
}
