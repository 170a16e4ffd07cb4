//! Guarantees to the embedder, in both modes: separate engines, live limits, shutdown, slow readers.

use std::sync::Arc;

use apportion::config::{EngineConfig, Maximum, QueueUpdate};
use apportion::engine::{Lagging, SubmitError};
use apportion::event::EventKind;
use apportion::log::{LogError, SharedLog};
use apportion::replay::Replay;
use apportion::{
    ApplicationSpec, AskSpec, Change, CommitOutcome, Engine, ManualClock, Mode, NodeSpec,
    ResourceAllocationCommitRequest, Resources,
};

use crate::{engine, leaf};

const PARALLEL: Mode = Mode::Parallel { proposers: 2 };

fn start(mode: Mode) -> Engine {
    let config: EngineConfig = engine([leaf("default", 100)]);
    Engine::start(config, mode, Arc::new(ManualClock::new()), None).unwrap()
}

fn application() -> ApplicationSpec {
    ApplicationSpec::new("application", "root.default", "user")
}

fn one() -> Resources {
    Resources::new(&[1])
}

#[test]
fn two_engines_in_one_process_do_not_know_of_each_other() {
    let engines = [start(PARALLEL), start(Mode::Background)];
    std::thread::scope(|scope| {
        for (number, engine) in engines.iter().enumerate() {
            scope.spawn(move || {
                let handle = engine.handle();
                let events = handle.event_stream(1 << 12);
                for node in 0..10 {
                    handle.add_node(NodeSpec::new(format!("n{node}"), Resources::new(&[100]))).unwrap();
                }
                let application = handle.submit_application(application(), &events).unwrap();
                handle.submit_ask(application, AskSpec::new(one(), 100 * (number as u32 + 1))).unwrap();
                engine.run_until_quiet();
            });
        }
    });
    let placed = engines.each_ref().map(|engine| engine.read(|view| view.container_count()));
    assert_eq!(placed, [100, 200]);
    engines[0].shutdown();
    engines[1].handle().add_node(NodeSpec::new("later", one())).unwrap();
    assert!(engines.iter().all(|engine| engine.audit().is_clean()));
}

/// I14: every message taken before the shutdown is dealt with and answered.
fn shutdown_answers_everything(mode: Mode) {
    let engine = start(mode);
    let handle = engine.handle();
    let events = handle.event_stream(1 << 12);
    let node = handle.add_node(NodeSpec::new("n1", Resources::new(&[50]))).unwrap();
    let application = handle.submit_application(application(), &events).unwrap();
    let mut tickets = Vec::new();
    for _ in 0..100 {
        let ask = handle.submit_ask(application, AskSpec::new(one(), 1)).unwrap();
        tickets.push(handle.commit(ResourceAllocationCommitRequest::allocate(ask, node)).unwrap());
    }
    engine.shutdown();
    let outcomes: Vec<CommitOutcome> =
        tickets.into_iter().map(|ticket| ticket.try_take().expect("an answer")).collect();
    assert_eq!(engine.read(|view| view.container_count()), 50);
    let accepted = outcomes.iter().filter(|outcome| outcome.is_accepted()).count();
    assert!(accepted <= 50, "proposers may have been first for some");
    let mut told = 0;
    while let Some(event) = events.wait_next().unwrap() {
        told += usize::from(matches!(event.kind, EventKind::Allocated { .. }));
    }
    assert_eq!(told, 50, "the stream ends after the last event");
    assert!(matches!(handle.tick(), Err(SubmitError::Closed)));
    assert!(engine.audit().is_clean());
}

#[test]
fn shutdown_answers_everything_serial() {
    shutdown_answers_everything(Mode::Serial);
}

#[test]
fn shutdown_answers_everything_with_threads() {
    for mode in [PARALLEL, Mode::Background].repeat(50) {
        shutdown_answers_everything(mode);
    }
}

/// Threads keep sending while the engine shuts down: each message is either refused or answered.
#[test]
fn shutdown_while_others_send_loses_nothing() {
    for mode in [PARALLEL, Mode::Background].repeat(50) {
        let engine = start(mode);
        let handle = engine.handle();
        let events = handle.event_stream(1 << 16);
        handle.add_node(NodeSpec::new("n1", Resources::new(&[1 << 20]))).unwrap();
        let application = handle.submit_application(application(), &events).unwrap();
        let (started, taken) = (std::sync::Barrier::new(3), std::sync::atomic::AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    started.wait();
                    while handle.submit_ask(application, AskSpec::new(one(), 1)).is_ok() {
                        taken.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                });
            }
            started.wait();
            engine.shutdown();
        });
        let taken = taken.into_inner();
        let (placed, pending) = engine.read(|view| (view.container_count(), view.asks().count()));
        assert_eq!(placed + pending, taken, "every ask that was taken is in the state");
    }
}

/// A slow reader holds nothing back. It is told to resynchronise and goes on from the present state.
fn slow_reader_resynchronises(mode: Mode) {
    let engine = start(mode);
    let handle = engine.handle();
    let events = handle.event_stream(4);
    handle.add_node(NodeSpec::new("n1", Resources::new(&[100]))).unwrap();
    let application = handle.submit_application(application(), &events).unwrap();
    handle.submit_ask(application, AskSpec::new(one(), 60)).unwrap();
    engine.run_until_quiet();
    let mut read = 0;
    let lagging = loop {
        match events.try_next() {
            Ok(Some(_)) => read += 1,
            Ok(None) => panic!("60 events do not fit into 4, but the stream reported no lag"),
            Err(lagging) => break lagging,
        }
    };
    assert_eq!(lagging, Lagging);
    assert!(read <= 4);
    let (known, running) = handle.resync(&events, &[application]);
    assert_eq!(running[0].1.len(), 60);
    handle.submit_ask(application, AskSpec::new(one(), 1)).unwrap();
    engine.run_until_quiet();
    let event = events.try_next().unwrap().expect("an event after the resynchronisation");
    assert!(event.seq > known && matches!(event.kind, EventKind::Allocated { .. }));
    assert_eq!(events.try_next(), Ok(None));
}

#[test]
fn slow_reader_resynchronises_serial() {
    slow_reader_resynchronises(Mode::Serial);
}

#[test]
fn slow_reader_resynchronises_with_threads() {
    slow_reader_resynchronises(PARALLEL);
    slow_reader_resynchronises(Mode::Background);
}

/// A limit changed at run time holds from the next commit on, whether raised or lowered.
fn queue_limits_change_live(mode: Mode) {
    let engine = start(mode);
    let handle = engine.handle();
    let events = handle.event_stream(1 << 10);
    handle.add_node(NodeSpec::new("n1", Resources::new(&[100]))).unwrap();
    let queue = handle.queue("root.default").unwrap();
    let maximum =
        |amount| QueueUpdate { maximum: Some(Maximum::absolute(&[amount])), ..QueueUpdate::default() };
    let lowered = handle.update_queue(queue, maximum(30)).unwrap();
    let refused = handle.update_queue(queue, maximum(-1)).unwrap();
    engine.run_until_quiet();
    assert!(lowered.try_take().unwrap().is_ok());
    assert!(refused.try_take().unwrap().is_err());
    let application = handle.submit_application(application(), &events).unwrap();
    handle.submit_ask(application, AskSpec::new(one(), 200)).unwrap();
    engine.run_until_quiet();
    let before = engine.read(|view| view.container_count());
    let raised = handle.update_queue(queue, maximum(70)).unwrap();
    engine.run_until_quiet();
    let after = engine.read(|view| view.container_count());
    assert!(raised.try_take().unwrap().is_ok());
    assert_eq!((before, after), (30, 70));
}

#[test]
fn queue_limits_change_live_serial() {
    queue_limits_change_live(Mode::Serial);
}

#[test]
fn queue_limits_change_live_with_threads() {
    queue_limits_change_live(PARALLEL);
    queue_limits_change_live(Mode::Background);
}

/// I11: a replay rejects a commit that the engine would never have made.
#[test]
fn a_replay_validates_every_commit_again() {
    let log = SharedLog::new();
    let (config, clock) = (engine([leaf("default", 100)]), Arc::new(ManualClock::new()));
    let engine = Engine::start(config, Mode::Serial, clock, Some(Box::new(log.clone()))).unwrap();
    let handle = engine.handle();
    let events = handle.event_stream(16);
    let node = handle.add_node(NodeSpec::new("n1", Resources::new(&[1]))).unwrap();
    let application = handle.submit_application(application(), &events).unwrap();
    let ask = handle.submit_ask(application, AskSpec::new(one(), 2)).unwrap();
    engine.run_until_quiet();
    let mut replay = Replay::read(log.bytes().as_slice(), None).unwrap();
    let request = ResourceAllocationCommitRequest::allocate(ask, node);
    let refused = replay.step(Change::Committed { request });
    assert!(matches!(refused, Err(LogError::Inconsistent { .. })), "the node is full: {refused:?}");
    assert_eq!(replay.digest(), engine.digest());
}

/// Users of YARN name a leaf by its short name. A parent takes no applications, so it is not suggested.
#[test]
fn an_application_for_an_unknown_queue_is_told_of_a_leaf_that_takes_it() {
    let engine = crate::engine([leaf("prod", 50), leaf("a", 50)]);
    let engine = Engine::start(engine, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let (handle, events) = (engine.handle(), engine.handle().event_stream(1));
    let submit = |queue: &str| {
        let refused = handle.submit_application(ApplicationSpec::new("job", queue, "ann"), &events);
        refused.unwrap_err().to_string()
    };
    assert_eq!(submit("prod"), "unknown queue `prod`; did you mean `root.prod`?");
    assert_eq!(submit("root.b"), "unknown queue `root.b`; did you mean `root.a`?");
    assert_eq!(submit("nothing"), "unknown queue `nothing`");
}

/// The amounts of a vector have no names.
#[test]
fn a_vector_made_for_more_types_is_refused_with_the_types_that_count() {
    let engine = crate::engine([leaf("a", 100)]);
    let engine = Engine::start(engine, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let refused = engine.handle().add_node(NodeSpec::new("n", Resources::new(&[1, 2, 3]))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the vector has an amount of a resource type number 3, but the engine counts memory_mib, vcore_milli; \
         make it with `Handle::resources`"
    );
}
