//! A second state beside the engine, for snapshots without a guard.

use std::sync::Arc;

use apportion::log::SharedLog;
use apportion::replay::{Follower, Replay};
use apportion::{ApplicationSpec, AskSpec, CommitSeq, Engine, ManualClock, Mode, NodeSpec, Resources};

use crate::embedder::Counted;
use crate::{engine, leaf};

const PARALLEL: Mode = Mode::Parallel { proposers: 2 };

/// Some nodes, applications, asks and ends.
fn work(engine: &Engine, name: &str) {
    let handle = engine.handle();
    let events = handle.event_stream(1 << 10);
    for number in 0..4 {
        handle.add_node(NodeSpec::new(format!("{name}{number}"), Resources::new(&[10]))).unwrap();
    }
    let application = ApplicationSpec::new(name, "root.default", "ann");
    let application = handle.submit_application(application, &events).unwrap();
    handle.submit_ask(application, AskSpec::new(Resources::new(&[3]), 30)).unwrap();
    engine.run_until_quiet();
    handle
        .complete_containers(
            engine.read(|view| view.containers().map(|(id, _)| id).take(3).collect::<Vec<_>>()),
        )
        .unwrap();
}

/// A snapshot is the state at its position, and an engine goes on from it.
fn expect_state_at(snapshot: &[u8], seq: CommitSeq, log: &SharedLog) {
    let bytes = log.bytes();
    let mut whole = Replay::read(&bytes[..], Some(seq.0)).unwrap();
    assert_eq!(Replay::read(snapshot, None).unwrap().canonical_bytes(), whole.canonical_bytes());
    let clock = Arc::new(ManualClock::new());
    let (engine, recovered) = Engine::recover(snapshot, Mode::Serial, clock, None).unwrap();
    assert_eq!((recovered.end.last, recovered.was_torn), (seq.0, false));
    work(&engine, "again");
    assert!(engine.audit().is_clean());
}

#[test]
fn snapshots_of_a_busy_engine_are_its_state_at_their_positions() {
    for mode in [Mode::Serial, Mode::Background, PARALLEL] {
        let log = SharedLog::new();
        let (sink, mut follower) = Follower::beside(Box::new(log.clone()));
        assert_eq!(follower.follow().unwrap(), CommitSeq(0), "nothing is logged");
        assert!(follower.snapshot(Vec::new()).is_err());
        let clock = Arc::new(ManualClock::new());
        let engine =
            Engine::start(engine([leaf("default", 100)]), mode, clock, Some(Box::new(sink))).unwrap();
        let engine = Arc::new(engine);
        let working = Arc::clone(&engine);
        let worker =
            std::thread::spawn(move || (0..20).for_each(|round| work(&working, &format!("r{round}-"))));
        let mut last = CommitSeq(0);
        while !worker.is_finished() {
            let mut snapshot = Vec::new();
            let seq = follower.snapshot(&mut snapshot).unwrap();
            assert!(seq >= last, "{mode}");
            expect_state_at(&snapshot, seq, &log);
            last = seq;
        }
        worker.join().unwrap();
        engine.run_until_quiet();
        assert_eq!(follower.follow().unwrap(), engine.read(|view| view.seq()), "{mode}");
        assert_eq!(follower.replay().unwrap().digest(), engine.digest(), "{mode}");
    }
}

#[test]
fn a_follower_goes_on_with_a_recovered_engine() {
    let log = SharedLog::new();
    let clock = Arc::new(ManualClock::new());
    let config = engine([leaf("default", 100)]);
    let first = Engine::start(config, Mode::Serial, clock.clone(), Some(Box::new(log.clone()))).unwrap();
    work(&first, "first");
    drop(first);
    let bytes = log.bytes();
    let replay = Replay::read(&bytes[..], None).unwrap();
    let (sink, mut follower) = Follower::from_replay(replay, Box::new(log.clone()));
    let (engine, _) = Engine::recover(&bytes[..], PARALLEL, clock, Some(Box::new(sink))).unwrap();
    work(&engine, "second");
    engine.run_until_quiet();
    let mut snapshot = Vec::new();
    let seq = follower.snapshot(&mut snapshot).unwrap();
    assert_eq!((seq, follower.replay().unwrap().digest()), (engine.read(|view| view.seq()), engine.digest()));
    expect_state_at(&snapshot, seq, &log);
}

#[test]
fn a_follower_knows_no_group_that_was_not_written() {
    for groups in 1..4 {
        let log = SharedLog::new();
        let (sink, mut follower) = Follower::beside(Box::new(Counted(log.clone(), groups)));
        let clock = Arc::new(ManualClock::new());
        let engine =
            Engine::start(engine([leaf("default", 100)]), Mode::Serial, clock, Some(Box::new(sink))).unwrap();
        for number in 0..5 {
            let _ = engine.handle().add_node(NodeSpec::new(format!("n{number}"), Resources::new(&[1])));
            engine.run_until_quiet();
        }
        assert!(!engine.is_running(), "the log is required");
        let bytes = log.bytes();
        let mut logged = Replay::read(&bytes[..], None).unwrap();
        assert_eq!(follower.follow().unwrap(), logged.seq());
        assert_eq!(follower.replay().unwrap().digest(), logged.digest());
    }
}

/// The log of a run with another configuration: its groups do not fit the replay that the follower begins with.
#[test]
fn a_follower_that_cannot_follow_says_so_each_time() {
    let clock = Arc::new(ManualClock::new());
    let other = SharedLog::new();
    let with_node = Engine::start(
        engine([leaf("default", 100)]),
        Mode::Serial,
        clock.clone(),
        Some(Box::new(other.clone())),
    );
    with_node.unwrap().handle().add_node(NodeSpec::new("n", Resources::new(&[1]))).unwrap();
    let bytes = other.bytes();
    let replay = Replay::read(&bytes[..], None).unwrap();
    let (sink, mut follower) = Follower::from_replay(replay, Box::new(SharedLog::new()));
    let engine =
        Engine::start(engine([leaf("default", 100)]), Mode::Serial, clock, Some(Box::new(sink))).unwrap();
    assert!(follower.follow().is_err(), "a second configuration");
    work(&engine, "later");
    assert!(follower.follow().is_err() && follower.snapshot(Vec::new()).is_err());
    drop(follower);
    work(&engine, "last");
    assert!(engine.log_error().is_none());
}
