//! Engines that go on where a log with waiting gangs ends.

use std::sync::Arc;

use apportion::event::EventKind;
use apportion::gang::{GangEnd, GangSpec, GangStyle};
use apportion::replay::Replay;
use apportion::{Engine, ManualClock, Mode, NodeSpec};

use crate::{Cluster, amount, ask};

/// A gang of four waits; three have room.
fn waiting() -> (Cluster, apportion::engine::SubmittedGang) {
    let cluster = Cluster::serial();
    cluster.nodes(3, 1);
    let spec = NodeSpec::new("later", amount(1));
    let later = cluster.handle.add_node(spec).unwrap();
    let job = cluster.application();
    cluster.run();
    cluster.handle.drain_node(later).unwrap();
    let spec = GangSpec::new(job).with_role("worker", ask(1, 4)).with_timeout_ms(1_000, GangStyle::Hard);
    let gang = cluster.submit(spec);
    cluster.run();
    (cluster, gang)
}

fn recovered(log: &[u8], mode: Mode) -> (Engine, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new());
    (Engine::recover(log, mode, clock.clone(), None).unwrap().0, clock)
}

#[test]
fn a_gang_waits_on_and_starts_after_a_recovery() {
    let (cluster, gang) = waiting();
    for mode in [Mode::Serial, Mode::Parallel { proposers: 2 }] {
        let (engine, _) = recovered(&cluster.log.bytes(), mode);
        assert_eq!(engine.digest(), cluster.engine.digest());
        let handle = engine.handle();
        let events = handle.event_stream(100);
        let attached =
            handle.attach(cluster.engine.read(|view| view.applications().next().unwrap().0), &events);
        handle.activate_node(handle.node("later").unwrap()).unwrap();
        // A new ask gets another identifier.
        engine.run_until_quiet();
        assert!(engine.audit().is_clean());
        drop(attached);
        let events: Vec<_> =
            std::iter::from_fn(|| events.try_next().unwrap()).map(|event| event.kind).collect();
        assert!(events.contains(&EventKind::GangStarted { gang: gang.gang }), "{events:?}");
    }
}

#[test]
fn the_timer_rings_after_a_recovery() {
    let (cluster, gang) = waiting();
    let (engine, clock) = recovered(&cluster.log.bytes(), Mode::Serial);
    assert_eq!(engine.next_timer_ms(), Some(1_000));
    let handle = engine.handle();
    clock.set(1_000);
    handle.tick().unwrap();
    engine.run_until_quiet();
    assert!(engine.read(|view| view.is_ask_over(gang.asks[0])));
    handle.cancel_gang(gang.gang).unwrap();
    engine.run_until_quiet();
    assert_eq!(handle.take_refusals().list.len(), 1, "{:?} is over", GangEnd::TimedOut);
}

#[test]
fn a_snapshot_has_the_gangs() {
    let (cluster, gang) = waiting();
    let mut replay = Replay::read(&cluster.log.bytes()[..], None).unwrap();
    let mut snapshot = Vec::new();
    replay.write_snapshot(&mut snapshot).unwrap();
    let (engine, _) = recovered(&snapshot, Mode::Serial);
    assert_eq!(engine.digest(), cluster.engine.digest());
    let handle = engine.handle();
    engine.run_until_quiet();
    assert!(engine.audit().is_clean());
    handle.activate_node(handle.node("later").unwrap()).unwrap();
    engine.run_until_quiet();
    assert!(engine.read(|view| view.is_ask_over(gang.asks[0])));
    assert_eq!(engine.read(|view| view.container_count()), 4);
}

/// A gang that fits when the engine starts again is started without any call.
#[test]
fn a_gang_that_fits_starts_at_once_after_a_recovery() {
    let (cluster, _) = waiting();
    cluster.handle.activate_node(cluster.handle.node("later").unwrap()).unwrap();
    cluster.engine.commit_waiting().unwrap();
    let log = cluster.log.bytes();
    let (engine, _) = recovered(&log, Mode::Serial);
    engine.run_until_quiet();
    assert_eq!(engine.read(|view| view.container_count()), 4);
}
