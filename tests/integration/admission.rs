//! Which applications a queue takes.

use apportion::config::{ApplicationLimits, QueueConfig, QueueState, QueueUpdate};
use apportion::{
    ApplicationEnd, ApplicationSpec, AskSpec, Engine, Event, EventKind, EventStream, Handle, ManualClock,
    Mode, QueueStatus, Refusal, Resources,
};
use apportion_tests::support::cluster::Cluster;

use std::sync::Arc;

use crate::{engine, leaf};

/// `root.parent` with the leaves `a` and `b`.
fn parent() -> QueueConfig {
    leaf("parent", 100).with_children([leaf("a", 50), leaf("b", 50)])
}

fn set_state(cluster: &mut Cluster, path: &str, state: QueueState) {
    cluster.update_queue(path, &QueueUpdate { state: Some(state), ..QueueUpdate::default() });
}

fn status(cluster: &Cluster, path: &str) -> QueueStatus {
    cluster.engine.read(|view| view.queue(path).unwrap().status())
}

/// What is there goes on; what comes is refused, also below; when the last has ended the queue is stopped.
#[test]
fn a_stopped_queue_drains() {
    let mut cluster = Cluster::serial(engine([parent()]));
    cluster.node("n1", &[10]);
    let early = cluster.application("root.parent.a", "user");
    cluster.run();
    set_state(&mut cluster, "root.parent", QueueState::Stopped);
    let late = cluster.application("root.parent.b", "user");
    cluster.ask(early, &[1], 2);
    cluster.ask(late, &[1], 2);
    cluster.run();
    assert_eq!((cluster.running(early).len(), cluster.running(late).len()), (2, 0));
    assert_eq!(status(&cluster, "root.parent"), QueueStatus::Draining);
    assert_eq!(status(&cluster, "root.parent.b"), QueueStatus::Stopped);
    cluster.end(early, ApplicationEnd::Finished);
    cluster.run();
    assert_eq!(status(&cluster, "root.parent"), QueueStatus::Stopped);
    set_state(&mut cluster, "root.parent", QueueState::Running);
    let again = cluster.application("root.parent.b", "user");
    cluster.ask(again, &[1], 1);
    cluster.run();
    assert_eq!(cluster.running(again).len(), 1);
}

/// Counted at every level, and of each user in a leaf; one that ends makes room for another.
#[test]
fn a_queue_takes_as_many_applications_as_it_may() {
    let limits = |total, per_user| ApplicationLimits { total, per_user };
    let leaves = ["a", "b"].map(|name| leaf(name, 50).with_applications(limits(None, Some(2))));
    let parent = leaf("parent", 100).with_applications(limits(Some(3), None)).with_children(leaves);
    let mut cluster = Cluster::serial(engine([parent]));
    let first = cluster.application("root.parent.a", "u1");
    for (queue, user) in [("a", "u1"), ("a", "u1"), ("b", "u1"), ("b", "u2")] {
        cluster.application(&format!("root.parent.{queue}"), user);
    }
    cluster.run();
    let counts = |cluster: &Cluster| {
        let count = |path| cluster.engine.read(|view| view.queue(path).unwrap().application_count());
        [count("root"), count("root.parent.a"), count("root.parent.b")]
    };
    assert_eq!(
        counts(&cluster),
        [3, 2, 1],
        "the third of u1 in a, and the fourth below the parent, are refused"
    );
    cluster.end(first, ApplicationEnd::Killed);
    cluster.application("root.parent.a", "u1");
    cluster.run();
    assert_eq!(counts(&cluster), [3, 2, 1]);
}

fn submit(handle: &Handle, events: &EventStream) -> apportion::ApplicationId {
    handle.submit_application(ApplicationSpec::new("application", "root.a", "user"), events).unwrap()
}

/// Nobody waits for an application that will never run, or for what it asked.
#[test]
fn whoever_is_refused_is_told() {
    let queue = leaf("a", 100).with_state(QueueState::Stopped);
    let engine = Engine::start(engine([queue]), Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let handle = engine.handle();
    let events = handle.event_stream(16);
    let refused = submit(&handle, &events);
    let ask = handle.submit_ask(refused, AskSpec::new(Resources::new(&[1]), 1)).unwrap();
    engine.run_until_quiet();
    let mut told = Vec::new();
    events.drain_into(&mut told).unwrap();
    let told: Vec<_> = told.into_iter().map(|Event { application, kind, .. }| (application, kind)).collect();
    let expected = [
        EventKind::ApplicationRefused { refusal: Refusal::QueueStopped },
        EventKind::AskRefused { ask, refusal: Refusal::ApplicationEnded },
    ];
    assert_eq!(told, expected.map(|kind| (refused, kind)));
    let slot = |id: apportion::ApplicationId| id.to_string().split('.').next().map(str::to_owned);
    let next = submit(&handle, &events);
    assert_eq!(slot(next), slot(refused), "the slot is free again");
    assert_ne!(next, refused);
}
