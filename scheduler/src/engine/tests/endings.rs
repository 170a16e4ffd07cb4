//! Engines that end without a shutdown, and stay ended.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::hand::{Hand, busy};
use super::{config, leaf, memory};
use crate::change::{AskSpec, NodeSpec};
use crate::clock::Clock;
use crate::config::QueueUpdate;
use crate::engine::{Engine, Step, SubmitError};
use crate::sync::{AtomicU64, Ordering};

/// Messages that wait for the committer are dropped with it, although senders still exist.
#[test]
fn no_caller_waits_for_an_answer_of_a_committer_that_is_gone() {
    let (mut hand, _) = busy();
    let handle = hand.engine.handle();
    let queue = handle.queue("root.a").unwrap();
    let ticket = handle.update_queue(queue, QueueUpdate::default()).unwrap();
    let batch = hand.parts.proposers[0].propose().unwrap();
    hand.parts.proposers[0].send(batch).unwrap();
    let late = hand.parts.proposers[1].propose().unwrap();
    drop(hand.parts.committer);
    assert_eq!(ticket.wait(), None);
    assert!(hand.parts.proposers[1].send(late).is_err(), "it comes back and is dropped");
    assert!(hand.engine.shared.leases.all_in_pool());
    assert!(hand.engine.shared_state().in_flight.is_zero());
    hand.engine.run_until_quiet();
}

/// A batch on its way holds the engine, and the engine holds the batch's channel.
#[test]
fn an_engine_with_a_batch_on_its_way_leaves_nothing_behind() {
    let (mut hand, _) = busy();
    let shared = Arc::downgrade(&hand.engine.shared);
    let batch = hand.parts.proposers[0].propose().unwrap();
    hand.parts.proposers[0].send(batch).unwrap();
    drop(hand);
    assert_eq!(shared.strong_count(), 0);
}

#[test]
fn an_engine_that_ended_by_steps_stays_ended() {
    let (mut hand, _) = busy();
    hand.engine.shutdown();
    while hand.parts.committer.step() != Step::Ended {}
    hand.engine.run_until_quiet();
    assert_eq!(hand.events.try_next().map(|event| event.is_some()), Ok(true), "published events stay");
    while let Ok(Some(_)) = hand.events.wait_next() {}
    assert!(hand.parts.proposers[0].propose().is_none());
    assert_eq!(hand.parts.committer.step(), Step::Ended);
    assert!(hand.engine.shared.leases.all_in_pool());
}

/// An identifier of one engine means another object in another engine.
#[test]
fn a_batch_of_another_engine_comes_back() {
    let ((mut one, containers), (mut other, _)) = (busy(), busy());
    let batch = one.parts.proposers[0].propose().unwrap();
    let batch = other.parts.proposers[0].send(batch).unwrap_err();
    drop(batch);
    one.expect_idle(containers);
    other.expect_idle(containers);
}

#[test]
fn a_call_that_a_closed_engine_refuses_leaves_no_trace() {
    let (hand, _) = busy();
    let handle = hand.engine.handle();
    hand.engine.shutdown();
    for _ in 0..2 {
        let refused = handle.add_node(NodeSpec::new("late", memory(1)));
        assert_eq!(refused, Err(SubmitError::Closed));
    }
    assert_eq!(handle.node("late"), None);
}

/// A clock that panics after this many readings.
#[derive(Debug)]
struct Failing(AtomicU64);

impl Clock for Failing {
    fn now_ms(&self) -> u64 {
        assert!(self.0.load(Ordering::Relaxed) > 0, "the clock is gone");
        self.0.fetch_sub(1, Ordering::Relaxed);
        0
    }
}

/// No group may follow a half-done group, even if the embedder catches the panic.
#[test]
fn a_step_that_panics_is_the_last() {
    let clock = Arc::new(Failing(AtomicU64::new(1_000)));
    let (engine, mut parts) = Engine::assemble(config([leaf("a")]), 1, clock.clone(), None).unwrap();
    let ticket =
        engine.handle().update_queue(engine.handle().queue("root.a").unwrap(), QueueUpdate::default());
    clock.0.store(0, Ordering::Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| parts.committer.step())).is_err());
    assert!(!engine.is_running());
    assert_eq!(parts.committer.step(), Step::Ended);
    assert_eq!(ticket.unwrap().wait(), None);
    engine.run_until_quiet();
}

/// A batch after the panicking message takes the guard when it is dropped, so the guard must be dropped first.
#[test]
fn a_group_that_ends_in_the_middle_gives_back_what_it_has_not_come_to() {
    let clock = Arc::new(Failing(AtomicU64::new(1_000)));
    let (engine, parts) = Engine::assemble(config([leaf("a")]), 1, clock.clone(), None).unwrap();
    let mut hand = Hand { events: engine.handle().event_stream(16), engine, parts };
    hand.node("n", 1);
    let application = hand.application();
    hand.ask(application, AskSpec::new(memory(1), 1));
    hand.commit();
    let batch = hand.parts.proposers[0].propose().expect("a set is worth a pass");
    assert_eq!(batch.requests().len(), 1);
    hand.engine.handle().tick().unwrap();
    hand.parts.proposers[0].send(batch).unwrap();
    // One reading for the start of the group; the tick reads the clock again and panics.
    clock.0.store(1, Ordering::Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| hand.parts.committer.step())).is_err());
    assert!(!hand.engine.is_running());
    assert!(hand.engine.shared_state().in_flight.is_zero() && hand.engine.shared.leases.all_in_pool());
}

/// So does the batch being decided: an internal error, here a wrong count, ends the engine. The state stays
/// readable.
#[test]
fn a_group_that_panics_over_a_batch_ends_the_engine() {
    let mut hand = Hand::new(config([leaf("a")]));
    hand.node("n", 1);
    let application = hand.application();
    let ask = hand.ask(application, AskSpec::new(memory(1), 1));
    hand.commit();
    let batch = hand.parts.proposers[0].propose().expect("a set is worth a pass");
    hand.engine.shared.state.write().in_flight.give_back_unit(ask);
    hand.parts.proposers[0].send(batch).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| hand.parts.committer.step())).is_err());
    assert!(!hand.engine.is_running());
    assert_eq!(hand.engine.read(|view| view.container_count()), 0);
}

/// A partition with endless work does not starve another one.
#[test]
fn every_partition_gets_its_turn() {
    for sets_checked_out_max in [1, 64] {
        let mut config = config([leaf("a")]);
        config.partitions = vec!["gpu".to_owned()];
        config.limits.batch_requests = 1;
        let mut hand = Hand::new(config);
        let handle = hand.engine.handle();
        let gpu = handle.partition("gpu").unwrap();
        hand.node("n", 1_000);
        handle.add_node(NodeSpec::new("g", memory(1)).in_partition(gpu)).unwrap();
        let application = hand.application();
        hand.ask(application, AskSpec::new(memory(1), 500));
        let small = hand.ask(application, AskSpec::new(memory(1), 1).in_partition(gpu));
        hand.commit();
        hand.engine.shared.leases.set_checked_out_max(sets_checked_out_max);
        let is_pending = |hand: &Hand| hand.engine.read(|view| view.ask(small).is_some());
        for _ in 0..4 {
            let Some(batch) = hand.parts.proposers[0].propose() else { break };
            hand.parts.proposers[0].send(batch).unwrap();
            hand.commit();
        }
        assert!(!is_pending(&hand), "with {sets_checked_out_max} sets checked out at most");
    }
}
