//! Many changes in one call.

use std::sync::Arc;

use super::hand::Hand;
use super::{config, leaf, memory};
use crate::change::{ApplicationSpec, AskSpec, NodeSpec};
use crate::clock::ManualClock;
use crate::engine::{BulkCall, Engine, Mode, SubmitError};
use crate::event::EventKind;
use crate::facts::EndCause;
use crate::ids::{ApplicationId, ContainerId, SlotId};
use crate::log::SharedLog;
use crate::replay::Replay;

/// More than fit into one message.
const MANY: i64 = 300;

fn started(hand: &Hand) -> Vec<ContainerId> {
    let events = std::iter::from_fn(|| hand.events.try_next().unwrap());
    events
        .filter_map(|event| match event.kind {
            EventKind::Allocated { container, .. } => Some(container),
            _ => None,
        })
        .collect()
}

fn with_node() -> (Hand, ApplicationId) {
    let hand = Hand::new(config([leaf("a").with_maximum(crate::config::Maximum::absolute(&[MANY]))]));
    hand.node("n1", MANY);
    let application = hand.application();
    (hand, application)
}

#[test]
fn all_asks_and_completions_of_one_call_are_processed() {
    let (mut hand, application) = with_node();
    let handle = hand.engine.handle();
    let asks = handle.submit_asks((0..MANY).map(|_| (application, AskSpec::new(memory(1), 1)))).unwrap();
    hand.run_until_idle();
    let shared = &hand.engine.shared;
    assert_eq!(shared.progress().processed, shared.sent(), "the gate counts messages, not their changes");
    let containers = started(&hand);
    assert_eq!((asks.len(), containers.len()), (MANY as usize, MANY as usize));
    handle.complete_containers(containers).unwrap();
    hand.run_until_idle();
    assert_eq!(hand.engine.read(|view| view.container_count()), 0);
    assert!(hand.engine.audit().violations.is_empty());
}

#[test]
fn calls_of_mixed_kinds_are_made_in_their_order() {
    let (mut hand, application) = with_node();
    let handle = hand.engine.handle();
    let ask_for = |count| BulkCall::SubmitAsk { application, spec: AskSpec::new(memory(1), count) };
    let both = [ask_for(5), BulkCall::CompleteContainer(ContainerId::new(9, 9)), ask_for(7)];
    let asks = handle.submit_all(both).unwrap();
    hand.commit();
    let outstanding = |hand: &Hand| {
        asks.iter()
            .map(|ask| hand.engine.read(|view| view.ask(*ask).map(|ask| ask.outstanding())))
            .collect::<Vec<_>>()
    };
    assert_eq!(outstanding(&hand), [Some(5), Some(7)], "identifiers are in the order of the asks");
    assert_eq!(hand.engine.stats().refused.values().sum::<u64>(), 1, "the container is unknown");
    handle.submit_all([BulkCall::CancelAsk { ask: asks[1], units: 5 }]).unwrap();
    hand.run_until_idle();
    let running = started(&hand);
    assert_eq!(running.len(), 7);
    let (completed, released) = (running[0], running[1]);
    let ends = [BulkCall::CompleteContainer(completed), BulkCall::ReleaseContainer(released)];
    handle.submit_all(ends.into_iter().chain([ask_for(1)])).unwrap();
    hand.commit();
    let causes: Vec<_> = std::iter::from_fn(|| hand.events.try_next().unwrap())
        .filter_map(|event| match event.kind {
            EventKind::ContainerEnded { container, cause, .. } => Some((container, cause)),
            _ => None,
        })
        .collect();
    assert_eq!(causes, [(completed, EndCause::Completed), (released, EndCause::Released)]);
    hand.run_until_idle();
    assert_eq!(hand.engine.read(|view| view.container_count()), 6);
}

#[test]
fn calls_beside_an_impossible_ask_are_not_made() {
    let (mut hand, application) = with_node();
    let handle = hand.engine.handle();
    handle.submit_ask(application, AskSpec::new(memory(1), 1)).unwrap();
    hand.run_until_idle();
    let impossible = BulkCall::SubmitAsk { application, spec: AskSpec::new(memory(1), 0) };
    let calls = [BulkCall::CompleteContainer(started(&hand)[0]), impossible];
    assert_eq!(handle.submit_all(calls), Err(SubmitError::NothingAsked));
    hand.run_until_idle();
    assert_eq!(hand.engine.read(|view| view.container_count()), 1);
    hand.engine.shutdown();
    assert_eq!(handle.submit_all([]), Err(SubmitError::Closed));
}

/// The first ask is valid, yet the call submits none.
#[test]
fn an_impossible_ask_among_many_takes_none_of_them_in() {
    let (mut hand, application) = with_node();
    let asks = [1, 0].map(|count| (application, AskSpec::new(memory(1), count)));
    assert_eq!(hand.engine.handle().submit_asks(asks), Err(SubmitError::NothingAsked));
    hand.run_until_idle();
    assert_eq!(hand.engine.read(|view| view.container_count()), 0);
    assert!(!hand.engine.health().has_work());
}

/// One of the named objects may be gone; the others are served.
#[test]
fn one_ask_of_many_is_refused_by_itself() {
    let (mut hand, application) = with_node();
    let gone = hand.application();
    let handle = hand.engine.handle();
    handle.end_application(gone, crate::facts::ApplicationEnd::Finished).unwrap();
    handle.submit_asks([gone, application].map(|one| (one, AskSpec::new(memory(1), 1)))).unwrap();
    hand.run_until_idle();
    assert_eq!((started(&hand).len(), hand.engine.stats().refused.values().sum()), (1, 1));
}

#[test]
fn refused_changes_among_many_are_not_logged() {
    let log = SharedLog::new();
    let config = config([leaf("a")]);
    let clock = Arc::new(ManualClock::new());
    let engine = Engine::start(config, Mode::Serial, clock, Some(Box::new(log.clone()))).unwrap();
    let (handle, events) = (engine.handle(), engine.handle().event_stream(100));
    handle.add_node(NodeSpec::new("n1", memory(9))).unwrap();
    let application =
        handle.submit_application(ApplicationSpec::new("application", "root.a", "user"), &events).unwrap();
    handle.submit_ask(application, AskSpec::new(memory(1), 2)).unwrap();
    engine.run_until_quiet();
    let [first, second] = engine.read(|view| view.containers().map(|(id, _)| id).collect::<Vec<_>>())[..]
    else {
        panic!("two run")
    };
    handle.complete_containers([first, first, second, first]).unwrap();
    engine.run_until_quiet();
    assert_eq!(engine.stats().refused.values().sum::<u64>(), 2);
    let mut replay = Replay::read(&log.bytes()[..], None).unwrap();
    assert_eq!(replay.digest(), engine.digest());
}
