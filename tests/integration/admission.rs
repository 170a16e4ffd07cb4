//! Admission: which applications a queue takes.

use apportion::config::{
    ApplicationLimits, AutoCreation, Capacity, Factor, MappingAction, MappingRule, PlaceIn, QueueConfig,
    QueueState, QueueUpdate, Reconfiguration, RuleFilter,
};
use apportion::event::{Event, EventKind, Refusal};
use apportion::replay::Replay;
use apportion::view::QueueStatus;
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskSpec, Engine, EventStream, Handle, ManualClock, Mode,
    Resources,
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

/// Running applications go on and new ones are refused, also in queues below; when the last one has ended, the queue
/// is stopped.
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

/// Applications are counted at every level, and per user in a leaf. An application that ends makes room for another.
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

fn submit(handle: &Handle, events: &EventStream) -> ApplicationId {
    handle.submit_application(ApplicationSpec::new("application", "root.a", "user"), events).unwrap()
}

/// Returns all events since the last call, each with its application.
fn told(events: &EventStream) -> Vec<(ApplicationId, EventKind)> {
    let mut told = Vec::new();
    events.drain_into(&mut told).unwrap();
    told.into_iter().map(|Event { application, kind, .. }| (application, kind)).collect()
}

fn one() -> AskSpec {
    AskSpec::new(Resources::new(&[1]), 1)
}

/// Asserts that `next` has the slot of `gone`.
fn expect_successor(gone: ApplicationId, next: ApplicationId) {
    let slot = |id: ApplicationId| id.to_string().split('.').next().map(str::to_owned);
    assert_eq!(slot(next), slot(gone), "the slot is free again");
    assert_ne!(next, gone);
}

/// The refusal of an application is sent as an event, and so is the refusal of its asks.
#[test]
fn a_refused_caller_learns_of_it() {
    let queue = leaf("a", 100).with_state(QueueState::Stopped);
    let engine = Engine::start(engine([queue]), Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let handle = engine.handle();
    let events = handle.event_stream(16);
    let refused = submit(&handle, &events);
    let ask = handle.submit_ask(refused, one()).unwrap();
    engine.run_until_quiet();
    let expected = [
        EventKind::ApplicationRefused { refusal: Refusal::QueueStopped },
        EventKind::AskRefused { ask, refusal: Refusal::ApplicationEnded },
    ];
    assert_eq!(told(&events), expected.map(|kind| (refused, kind)));
    expect_successor(refused, submit(&handle, &events));
}

/// Asserts that asks for an application that is gone are refused with an event, both a single ask and a list of asks.
fn expect_late_asks_refused(engine: &Engine, gone: ApplicationId, events: &EventStream) {
    let handle = engine.handle();
    for _ in 0..2 {
        let mut asks = vec![handle.submit_ask(gone, one()).unwrap()];
        asks.extend(handle.submit_asks([(gone, one()), (gone, one())]).unwrap());
        engine.run_until_quiet();
        let refused = |ask| (gone, EventKind::AskRefused { ask, refusal: Refusal::ApplicationEnded });
        assert_eq!(told(events), asks.into_iter().map(refused).collect::<Vec<_>>());
    }
}

/// I10: an ask for an application that has ended is refused with an event.
#[test]
fn a_late_ask_is_refused_with_an_event() {
    let engine =
        Engine::start(engine([leaf("a", 100)]), Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let (handle, events) = (engine.handle(), engine.handle().event_stream(16));
    let ended = submit(&handle, &events);
    engine.run_until_quiet();
    handle.end_application(ended, ApplicationEnd::Finished).unwrap();
    engine.run_until_quiet();
    assert_eq!(told(&events), [(ended, EventKind::ApplicationEnded { end: ApplicationEnd::Finished })]);
    expect_late_asks_refused(&engine, ended, &events);
}

#[test]
fn an_ask_of_a_refused_application_is_refused_with_an_event() {
    let queue = leaf("a", 100).with_state(QueueState::Stopped);
    let engine = Engine::start(engine([queue]), Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let events = engine.handle().event_stream(16);
    let refused = submit(&engine.handle(), &events);
    engine.run_until_quiet();
    let expected = EventKind::ApplicationRefused { refusal: Refusal::QueueStopped };
    assert_eq!(told(&events), [(refused, expected)]);
    expect_late_asks_refused(&engine, refused, &events);
}

/// The refusal is sent only if the ended application and its successor share a stream. Another stream belongs to the
/// successor alone.
#[test]
fn a_late_ask_is_refused_on_the_successors_stream_only_if_shared() {
    let engine =
        Engine::start(engine([leaf("a", 100)]), Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let handle = engine.handle();
    let (events, others) = (handle.event_stream(16), handle.event_stream(16));
    let end = |application| {
        handle.end_application(application, ApplicationEnd::Killed).unwrap();
        engine.run_until_quiet();
        let expected = EventKind::ApplicationEnded { end: ApplicationEnd::Killed };
        [events.try_next(), others.try_next()]
            .map(|event| event.unwrap().map(|event| event.kind))
            .into_iter()
            .flatten()
            .for_each(|kind| assert_eq!(kind, expected));
    };
    let first = submit(&handle, &events);
    end(first);
    let second = submit(&handle, &events);
    expect_successor(first, second);
    expect_late_asks_refused(&engine, first, &events);
    end(second);
    let stranger = submit(&handle, &others);
    expect_successor(second, stranger);
    for gone in [first, second] {
        handle.submit_ask(gone, one()).unwrap();
    }
    engine.run_until_quiet();
    assert_eq!((told(&events), told(&others)), (vec![], vec![]), "the successor's stream gets no event");
    end(stranger);
    expect_late_asks_refused(&engine, stranger, &others);
}

/// An auto-created queue stays while it has applications, and for its expiry time after the last one. So does its
/// parent.
#[test]
fn unused_auto_created_queues_expire() {
    let creation = AutoCreation { expiry_ms: Some(1_000), ..AutoCreation::default() };
    let maker = QueueConfig::leaf("users", Capacity::Weight(Factor::ONE)).with_auto_creation(creation);
    let mut cluster = Cluster::serial(engine([maker]));
    let application = cluster.application("root.users.team.bob", "bob");
    cluster.run();
    cluster.advance(500);
    cluster.end(application, ApplicationEnd::Finished);
    cluster.run();
    let mut are_there = |after_ms| {
        cluster.advance(after_ms);
        cluster.run();
        let is_there = |path: &str| cluster.engine.read(|view| view.queue(path).is_some());
        (is_there("root.users.team.bob"), is_there("root.users.team"))
    };
    assert_eq!(are_there(999), (true, true));
    assert_eq!(are_there(1), (false, true));
    assert_eq!(are_there(999), (false, true));
    assert_eq!(are_there(1), (false, false));
}

/// Queues between the creating queue and the leaf count, too. An expired queue makes room.
#[test]
fn auto_creation_stops_at_its_maximum() {
    let creation = AutoCreation { queues_max: 3, expiry_ms: Some(1), ..AutoCreation::default() };
    let maker = QueueConfig::leaf("users", Capacity::Weight(Factor::ONE)).with_auto_creation(creation);
    let mut cluster = Cluster::serial(engine([maker]));
    let first = cluster.application("root.users.team.ann", "ann");
    for path in ["root.users.bob", "root.users.team.cid", "root.users.dan", "root.users.other.eve"] {
        cluster.application(path, "user");
    }
    cluster.run();
    let made = |cluster: &Cluster| {
        let names = ["team", "team.ann", "bob", "team.cid", "dan", "other", "other.eve"];
        let is_there =
            |name: &&str| cluster.engine.read(|view| view.queue(&format!("root.users.{name}")).is_some());
        names.into_iter().filter(is_there).collect::<Vec<_>>()
    };
    assert_eq!(made(&cluster), ["team", "team.ann", "bob"]);
    cluster.end(first, ApplicationEnd::Finished);
    cluster.run();
    cluster.advance(1);
    cluster.run();
    cluster.application("root.users.dan", "dan");
    cluster.run();
    assert_eq!(made(&cluster), ["team", "bob", "dan"]);
}

/// An access list holds for all queues below. Without a list every user has access. An administrator may also submit.
#[test]
fn who_may_administer_is_answered() {
    let list = |text: &str| text.parse().unwrap();
    let a = leaf("a", 50).with_submitters(list("")).with_administrators(list("ann"));
    let parent = leaf("parent", 50).with_administrators(list(" ops")).with_children([a, leaf("b", 50)]);
    let cluster = Cluster::serial(engine([parent, leaf("open", 50)]));
    let may = |path: &str, user: &str, group: &str| {
        let groups = [group.to_owned()];
        cluster.engine.read(|view| {
            let queue = view.queue(path).unwrap();
            (queue.may_administer(user, &groups), queue.may_submit(user, &groups))
        })
    };
    for (path, ann, member_of_ops, other) in [
        ("root.parent.a", (true, true), (true, true), (false, false)),
        ("root.parent.b", (false, true), (true, true), (false, true)),
        ("root.parent", (false, true), (true, true), (false, true)),
        ("root.open", (true, true), (true, true), (true, true)),
        ("root", (true, true), (true, true), (true, true)),
    ] {
        assert_eq!(may(path, "ann", "dev"), ann, "ann in {path}");
        assert_eq!(may(path, "bob", "ops"), member_of_ops, "a member of ops in {path}");
        assert_eq!(may(path, "ops", "dev"), other, "another user in {path}");
    }
}

/// The user gets the refusal as an event, which the checker expects, and the log lacks the application.
#[test]
fn an_access_list_refuses_applications_of_other_users() {
    let closed = leaf("a", 100).with_submitters("ann".parse().unwrap());
    let mut cluster = Cluster::serial(engine([closed]));
    let taken = cluster.application("root.a", "ann");
    let refused = cluster.application("root.a", "bob");
    cluster.run();
    let is_there = |id| cluster.engine.read(|view| view.application(id).is_some());
    assert!(is_there(taken) && !is_there(refused));
    let log = cluster.log();
    let mut replay = Replay::read(&log[..], None).unwrap();
    assert_eq!(replay.digest(), cluster.engine.digest(), "a refused application is not in the log");
}

#[test]
fn placement_rules_change_with_the_queues() {
    let mut cluster = Cluster::serial(engine([leaf("a", 50), leaf("b", 50)]));
    let queue_of = |cluster: &Cluster, id| {
        cluster.engine.read(|view| view.application(id).map(|application| application.queue().to_owned()))
    };
    let before = cluster.application("root.a", "ann");
    cluster.run();
    let mut wanted = Reconfiguration::from(cluster.handle.config());
    let place = PlaceIn::existing("root.b".parse().unwrap());
    let rule = MappingRule { filter: RuleFilter::everybody(), action: MappingAction::Place(place) };
    wanted.queue_mapping.rules.push(rule);
    cluster.reconfigure(wanted);
    let after = cluster.application("root.a", "ann");
    cluster.run();
    assert_eq!(queue_of(&cluster, before).as_deref(), Some("root.a"), "it stays where it is");
    assert_eq!(queue_of(&cluster, after).as_deref(), Some("root.b"));
    let log = cluster.log();
    let mut replay = Replay::read(&log[..], None).unwrap();
    assert_eq!(replay.digest(), cluster.engine.digest());
}
