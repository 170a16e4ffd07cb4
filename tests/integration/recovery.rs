//! Engines that go on where a log ends: what callers find there.

use std::sync::Arc;

use apportion::config::{QueueMapping, QueueState, Reconfiguration};
use apportion::log::SharedLog;
use apportion::{ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, Resources};

use crate::{engine, leaf};

/// An engine with a log, in serial mode.
fn logged() -> (Engine, SharedLog) {
    let log = SharedLog::new();
    let sink = Box::new(log.clone());
    let mut config = engine([leaf("kept", 50), leaf("removed", 50)]);
    config.root.children[1].state = QueueState::Stopped;
    let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), Some(sink)).unwrap();
    (engine, log)
}

fn recovered(log: &SharedLog) -> Engine {
    Engine::recover(&log.bytes()[..], Mode::Serial, Arc::new(ManualClock::new()), None).unwrap().0
}

#[test]
fn names_of_present_objects_are_found_and_names_of_removed_ones_are_free() {
    let (engine, log) = logged();
    let handle = engine.handle();
    let [kept, gone] = ["kept", "gone"].map(|name| {
        let spec = NodeSpec::new(name, Resources::new(&[1])).on_rack(name);
        handle.add_node(spec).unwrap()
    });
    let far = handle.rack("far");
    engine.run_until_quiet();
    drop(handle.remove_node(gone).unwrap());
    let mut root = engine.read(|view| view.queue_tree());
    root.children.truncate(1);
    let removed =
        handle.reconfigure(Reconfiguration { root, queue_mapping: QueueMapping::default() }).unwrap();
    engine.run_until_quiet();
    removed.try_take().unwrap().unwrap();
    let racks = ["kept", "gone", "far"].map(|name| handle.rack(name));
    let queue = handle.queue("root.kept").unwrap();
    assert!(handle.queue("root.removed").is_err());

    let again = recovered(&log);
    let again = again.handle();
    assert_eq!((again.node("kept"), again.node("gone")), (Some(kept), None));
    assert_eq!(again.queue("root.kept").unwrap(), queue);
    assert!(again.queue("root.removed").is_err(), "it was removed");
    assert_eq!(["kept", "gone", "far"].map(|name| again.rack(name)), racks);
    assert_eq!(again.rack("far"), far);
    assert!(!racks.contains(&again.rack("new")));
    // The name and the slot of the removed node are free.
    assert_ne!(again.add_node(NodeSpec::new("gone", Resources::new(&[1]))).unwrap(), gone);
}

/// A machine that starts again may count its time from zero.
#[test]
fn a_clock_behind_the_log_goes_on_from_there() {
    let log = SharedLog::new();
    let clock = Arc::new(ManualClock::new());
    let sink = Box::new(log.clone());
    let first =
        Engine::start(engine([leaf("default", 100)]), Mode::Serial, clock.clone(), Some(sink)).unwrap();
    clock.set(5_000);
    first.handle().tick().unwrap();
    first.run_until_quiet();
    let clock = Arc::new(ManualClock::new());
    let (second, recovered) = Engine::recover(&log.bytes()[..], Mode::Serial, clock.clone(), None).unwrap();
    assert_eq!(recovered.now_ms, 5_000);
    clock.set(10);
    second.handle().tick().unwrap();
    second.run_until_quiet();
    assert_eq!(second.read(|view| view.now_ms()), 5_010);
}

/// An engine that goes on from a log makes its placement sets anew. The sets of the first engine follow the changes of
/// their nodes, in bursts of any length.
#[test]
fn a_set_that_followed_a_burst_serves_as_one_that_is_made_anew() {
    const NODES: i64 = 4_500;
    for burst in [500, 1_500, 2_600, 4_400] {
        let log = SharedLog::new();
        let sink = Box::new(log.clone());
        let config = engine([leaf("default", 100)]);
        let first = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), Some(sink)).unwrap();
        let handle = first.handle();
        for number in 0..NODES {
            let units = 2 + number % 3;
            handle.add_node(NodeSpec::new(format!("n{number}"), Resources::new(&[units, units]))).unwrap();
        }
        let spec = ApplicationSpec::new("job", "root.default", "ann");
        let job = handle.submit_application(spec, &handle.event_stream(1 << 16)).unwrap();
        handle.submit_ask(job, AskSpec::new(Resources::new(&[1, 1]), 2 * NODES as u32)).unwrap();
        first.run_until_quiet();
        let running: Vec<_> = first.read(|view| view.containers().map(|(id, _)| id).collect());
        assert_eq!(running.len(), 2 * NODES as usize);
        handle.complete_containers(running.into_iter().step_by(2).take(burst)).unwrap();
        first.run_until_quiet();
        let second = recovered(&log);
        let digests = [&first, &second].map(|engine| {
            engine.handle().submit_ask(job, AskSpec::new(Resources::new(&[2, 2]), 1_000)).unwrap();
            engine.run_until_quiet();
            engine.digest()
        });
        assert_eq!(digests[0], digests[1], "after {burst} ends");
        assert!(first.read(|view| view.container_count()) > 2 * NODES as usize - burst + 400);
    }
}
