//! One loss or crash at a time.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::{engine, leaf};
use apportion::config::HeartbeatPolicy;
use apportion::event::{Event, EventKind};
use apportion::nodes::{
    HeartbeatError, NodeHeartbeat, NodeRegistration, NodeSession, NodeSessions, ResourceTracker,
    SessionError, TrackerOptions, UnknownContainers,
};
use apportion::{ContainerId, EndCause, Engine, ManualClock, Mode, NodeSpec, Resources, RunningContainer};

use super::world::{Fate, LEASE_MS, World};

/// A world with this many registered nodes, and containers that the engine has placed. Events are read.
fn with_containers(nodes: usize, containers: u32) -> World {
    let mut world = World::new(nodes, Mode::Serial, 1_000);
    (0..nodes).for_each(|agent| world.register(agent));
    world.ask(0, containers);
    world.run();
    world
}

/// The ends among the events that have not been read. The tracker gets all of them.
fn ends(world: &mut World) -> Vec<(ContainerId, EndCause)> {
    world.engine.run_until_quiet();
    let mut events: Vec<Event> = Vec::new();
    world.events.drain_into(&mut events).unwrap();
    events.iter().for_each(|event| world.tracker.on_event(event));
    let end = |event: Event| match event.kind {
        EventKind::ContainerEnded { container, cause, .. } => Some((container, cause)),
        _ => None,
    };
    events.into_iter().filter_map(end).collect()
}

fn running(world: &World, agent: usize) -> BTreeSet<ContainerId> {
    world.agents[agent].running.keys().copied().collect()
}

#[test]
fn an_answer_that_was_lost_is_given_again() {
    let mut world = with_containers(1, 3);
    let lost = world.beat(0, Fate::AnswerIsLost).unwrap();
    assert_eq!((lost.start.len(), lost.is_complete), (3, true));
    assert_eq!(world.beat(0, Fate::Arrives).unwrap(), lost);
    // The same between two versions.
    let [first, ..] = running(&world, 0).into_iter().collect::<Vec<_>>()[..] else { panic!("three") };
    world.handle.release_container(first).unwrap();
    world.ask(0, 1);
    world.run();
    let lost = world.beat(0, Fate::AnswerIsLost).unwrap();
    assert_eq!((lost.start.len(), &lost.stop[..], lost.is_complete), (1, &[first][..], false));
    assert_eq!(world.beat(0, Fate::Arrives).unwrap(), lost);
    let next = world.beat(0, Fate::Arrives).unwrap();
    assert!(next.is_empty() && next.version == lost.version);
    world.settle();
    assert!(world.handle.take_refusals().list.is_empty());
}

#[test]
fn a_version_of_the_past_or_of_another_tracker_gets_the_full_picture() {
    let mut world = with_containers(1, 3);
    let first = world.beat(0, Fate::Arrives).unwrap();
    world.ask(0, 1);
    world.run();
    let second = world.beat(0, Fate::Arrives).unwrap();
    world.beat(0, Fate::Arrives);
    for version in [0, first.version, second.version + 1, u64::MAX] {
        let session = world.agents[0].session.unwrap();
        let heartbeat = NodeHeartbeat { version, ..NodeHeartbeat::default() };
        let answer = world.tracker.heartbeat(&session, &heartbeat, 0).unwrap();
        assert!(answer.is_complete && answer.is_empty(), "{version}: {answer:?}");
        assert_eq!(answer.keep, running(&world, 0));
    }
}

#[test]
fn an_agent_that_starts_again_keeps_its_containers_and_its_former_session_is_over() {
    let mut world = with_containers(1, 3);
    world.settle();
    let (former, before) = (world.agents[0].session.unwrap(), running(&world, 0));
    world.restart_agent(0, true);
    world.register(0);
    let present = world.agents[0].session.unwrap();
    assert!(present.incarnation > former.incarnation && present.node == former.node);
    assert_eq!(world.beat(0, Fate::Arrives).unwrap().version, 0, "the engine has not followed yet");
    assert_eq!(ends(&mut world), []);
    let answer = world.beat(0, Fate::Arrives).unwrap();
    assert_eq!((answer.is_complete, answer.is_empty(), &answer.keep), (true, true, &before));
    let refused = world.tracker.heartbeat(&former, &NodeHeartbeat::default(), 0).unwrap_err();
    let (node, given, present) = (former.node, former.incarnation, present.incarnation);
    assert_eq!(refused, HeartbeatError::Session(SessionError::Stale { node, given, present }));
    assert_eq!(
        refused.to_string(),
        "incarnation 1.1 of node-0 is over, the present one is 1.2; register the node again"
    );
}

/// The agent may have started them, and lost them with its memory.
#[test]
fn starts_that_were_handed_out_to_an_agent_that_starts_again_are_not_repeated() {
    let mut world = with_containers(1, 2);
    let handed_out = world.beat(0, Fate::AnswerIsLost).unwrap().start;
    world.ask(0, 1);
    world.run();
    world.restart_agent(0, false);
    world.register(0);
    let lost: Vec<_> = handed_out.iter().map(|start| (start.container, EndCause::NodeLost)).collect();
    assert_eq!(ends(&mut world), lost);
    let answer = world.beat(0, Fate::Arrives).unwrap();
    assert_eq!((answer.start.len(), answer.stop.len()), (1, 0), "the third was not handed out");
    world.settle();
}

#[test]
fn a_container_that_was_placed_while_its_node_registers_goes_on_and_is_started_once() {
    let mut world = with_containers(1, 1);
    world.settle();
    world.ask(0, 2);
    world.engine.run_until_quiet();
    // The tracker has not read the events of two containers.
    world.restart_agent(0, true);
    world.register(0);
    assert_eq!(ends(&mut world), []);
    let answer = world.beat(0, Fate::Arrives).unwrap();
    assert_eq!((answer.keep.len(), answer.start.len()), (1, 2));
    world.settle();
    assert_eq!(world.started.len(), 3);
}

#[test]
fn a_manager_that_starts_again_goes_on_with_its_agents() {
    let mut world = with_containers(2, 8);
    world.settle();
    let former = world.agents[0].session.unwrap();
    let [finished, released, died, ..] = running(&world, 0).into_iter().collect::<Vec<_>>()[..] else {
        panic!("four")
    };
    // The manager crashes before it tells the agent of a stop, and hears nothing of two ends.
    world.handle.release_container(released).unwrap();
    world.crash();
    world.agents[0].running.remove(&finished);
    world.agents[0].done.push(finished);
    world.agents[0].running.remove(&died);
    assert!(world.beat(0, Fate::Arrives).is_none(), "the former session is over");
    world.register(0);
    assert!(world.agents[0].session.unwrap().incarnation > former.incarnation);
    assert_eq!(ends(&mut world), [(finished, EndCause::Completed), (died, EndCause::NodeLost)]);
    let answer = world.beat(0, Fate::Arrives).unwrap();
    assert_eq!((&answer.stop[..], answer.keep.len(), answer.start.len()), (&[released][..], 1, 0));
    world.settle();
    assert_eq!(world.started.len(), 8);
    assert!(world.handle.take_refusals().list.is_empty());
}

#[test]
fn a_node_whose_lease_runs_out_is_removed_and_its_containers_are_stopped() {
    let mut world = with_containers(2, 8);
    world.settle();
    let silent = world.agents[0].session.unwrap();
    assert_eq!(world.advance(LEASE_MS - 1), []);
    world.beat(1, Fate::Arrives);
    assert_eq!(world.advance(1), [silent]);
    let lost = ends(&mut world);
    assert!(lost.len() == 4 && lost.iter().all(|(_, cause)| *cause == EndCause::NodeLost), "{lost:?}");
    let node = silent.node;
    let refused = world.tracker.heartbeat(&silent, &NodeHeartbeat::default(), world.now_ms);
    assert_eq!(refused, Err(HeartbeatError::Session(SessionError::Unknown { node })));
    // The agent comes back as a new node, with the old containers.
    world.agents[0].session = None;
    world.register(0);
    world.engine.run_until_quiet();
    assert_ne!(world.agents[0].session.unwrap().node, node);
    let answer = world.beat(0, Fate::Arrives).unwrap();
    assert_eq!((answer.stop.len(), answer.keep.len()), (4, 0));
    world.settle();
    assert!(running(&world, 0).is_empty());
}

/// Its containers would wait for it for ever.
#[test]
fn a_node_that_does_not_come_back_to_a_new_manager_is_removed() {
    let mut world = with_containers(2, 8);
    world.settle();
    world.advance(500);
    world.crash();
    world.beat(1, Fate::Arrives);
    world.beat(1, Fate::Arrives);
    assert_eq!(world.advance(LEASE_MS - 1), []);
    world.beat(1, Fate::Arrives);
    assert_eq!(world.advance(1).len(), 1);
    world.engine.run_until_quiet();
    assert_eq!(world.containers().into_keys().collect::<Vec<_>>(), ["n1"]);
}

#[test]
fn a_node_that_was_removed_is_told_to_register() {
    let mut world = with_containers(1, 1);
    let session = world.agents[0].session.unwrap();
    let node = session.node;
    drop(world.handle.remove_node(node).unwrap());
    let refused = world.tracker.heartbeat(&session, &NodeHeartbeat::default(), 0);
    assert_eq!(refused, Err(HeartbeatError::Removed { node }));
    assert_eq!(world.tracker.sessions().get(node), None);
    world.settle();
}

/// Between the name and the answer.
#[test]
fn a_node_that_is_removed_while_it_registers_is_told_to_register() {
    let mut world = with_containers(1, 1);
    world.restart_agent(0, false);
    drop(world.handle.remove_node(world.handle.node("n0").unwrap()).unwrap());
    world.register(0);
    world.settle();
    assert_eq!(world.containers()["n0"].len(), 0);
}

#[test]
fn a_stream_that_lags_costs_no_start_and_no_stop() {
    let mut world = World::new(1, Mode::Serial, 2);
    world.register(0);
    world.ask(0, 4);
    world.engine.run_until_quiet();
    assert!(world.events.try_next().is_err(), "four events do not fit");
    world.read_events();
    assert_eq!(world.beat(0, Fate::Arrives).unwrap().start.len(), 4);
    let containers: Vec<_> = running(&world, 0).into_iter().collect();
    for container in &containers[..3] {
        world.handle.release_container(*container).unwrap();
    }
    drop(world.handle.stop_container(containers[3]).unwrap());
    world.ask(1, 1);
    world.engine.run_until_quiet();
    assert!(world.events.try_next().is_err());
    world.read_events();
    let answer = world.beat(0, Fate::Arrives).unwrap();
    assert_eq!((answer.stop, answer.start.len()), (containers, 1));
    world.settle();
}

/// The node confirms the end, and the engine frees the room.
#[test]
fn a_stop_is_confirmed_by_the_report_of_the_end() {
    let mut world = with_containers(1, 1);
    world.settle();
    let [container] = running(&world, 0).into_iter().collect::<Vec<_>>()[..] else { panic!("one") };
    drop(world.handle.stop_container(container).unwrap());
    world.run();
    assert_eq!(world.beat(0, Fate::Arrives).unwrap().stop, [container]);
    assert_eq!(ends(&mut world), []);
    // The report arrives twice, because the first answer is lost.
    world.beat(0, Fate::AnswerIsLost);
    world.beat(0, Fate::Arrives);
    assert_eq!(ends(&mut world), [(container, EndCause::Released)]);
    assert!(world.handle.take_refusals().list.is_empty());
    world.settle();
}

#[test]
fn a_container_that_ends_before_its_node_heard_of_it_is_never_mentioned() {
    let mut world = with_containers(1, 2);
    let ended = *world.containers()["n0"].first().unwrap();
    world.handle.release_container(ended).unwrap();
    // The tracker learns of the end only afterwards.
    world.engine.run_until_quiet();
    let answer = world.beat(0, Fate::Arrives).unwrap();
    assert_eq!((answer.start.len(), answer.stop.len()), (1, 0));
    world.run();
    assert!(world.beat(0, Fate::Arrives).unwrap().is_empty());
    world.settle();
}

#[test]
fn a_node_that_registers_again_with_another_capacity_gets_it() {
    let mut world = with_containers(1, 1);
    world.settle();
    let node = world.handle.node("n0").unwrap();
    let shrunk = apportion::Resources::new(&[20, 100]);
    let spec = apportion::NodeSpec::new("n0", shrunk).with_attribute("os", "debian");
    world.tracker.register(apportion::nodes::NodeRegistration::new(spec), 0).unwrap();
    world.engine.run_until_quiet();
    world.handle.read(|view| {
        let node = view.node(node).unwrap();
        assert_eq!((node.capacity(), node.attributes()["os"].as_str()), (shrunk, "debian"));
    });
}

/// The engine has not followed the first registration yet.
#[test]
fn the_second_of_two_registrations_at_once_counts() {
    let mut world = World::new(1, Mode::Serial, 1_000);
    let spec = |memory| NodeSpec::new("twice", Resources::new(&[memory]));
    world.tracker.register(NodeRegistration::new(spec(10)), 0).unwrap();
    assert!(world.tracker.register(NodeRegistration::new(spec(-5)), 0).is_err());
    let last = NodeRegistration::new(spec(20).with_attribute("zone", "b"));
    let session = world.tracker.register(last, 0).unwrap();
    world.engine.run_until_quiet();
    world.engine.read(|view| {
        let node = view.node(session.node).unwrap();
        assert_eq!((node.capacity(), &*node.attributes()["zone"]), (Resources::new(&[20]), "b"));
    });
}

#[test]
fn a_registration_that_is_refused_changes_nothing() {
    let mut world = with_containers(1, 2);
    world.settle();
    let (session, before) =
        (world.tracker.sessions().get(world.handle.node("n0").unwrap()), running(&world, 0));
    let job = world.engine.read(|view| view.applications().next().map(|(id, _)| id)).unwrap();
    let wrong = RunningContainer::new(job, Resources::new(&[-1]));
    let unknown: ContainerId = "container-77".parse().unwrap();
    let spec = NodeSpec::new("n0", Resources::new(&[50]));
    world.tracker.register(NodeRegistration::new(spec).with_running(unknown, wrong), 0).unwrap_err();
    assert_eq!(world.tracker.sessions().get(session.unwrap().node), session);
    assert!(world.beat(0, Fate::Arrives).unwrap().is_empty());
    world.settle();
    assert_eq!((running(&world, 0), before.len()), (before, 2));
    assert_ne!(world.engine.read(|view| view.nodes().next().unwrap().capacity()), Resources::new(&[50]));
}

#[test]
fn a_lease_gets_no_shorter() {
    let mut sessions = NodeSessions::new(1, 100);
    let session = sessions.open("node-0".parse().unwrap(), 1_000);
    sessions.renew(&session, 500).unwrap();
    assert!(sessions.expired(1_099).is_empty() && sessions.expired(1_100) == [session]);
    sessions.renew(&session, 1_050).unwrap();
    assert!(sessions.expired(1_149).is_empty() && sessions.expired(1_150) == [session]);
}

/// The engine has a heartbeat policy of its own.
#[test]
fn heartbeats_of_agents_reach_the_engine() {
    let clock = Arc::new(ManualClock::new());
    let mut config = engine([leaf("default", 100)]);
    config.heartbeat = Some(HeartbeatPolicy { interval_ms: 1_000, missed_max: 2 });
    let engine = Engine::start(config, Mode::Serial, Arc::<ManualClock>::clone(&clock), None).unwrap();
    let options = TrackerOptions { epoch: 1, lease_ms: 600_000, unknown: UnknownContainers::Stop };
    let mut tracker = ResourceTracker::new(engine.handle(), options, 0);
    let spec = |name| NodeRegistration::new(NodeSpec::new(name, Resources::new(&[1])));
    let alive = tracker.register(spec("alive"), 0).unwrap();
    let silent = tracker.register(spec("silent"), 0).unwrap();
    for now_ms in (1_000..=6_000).step_by(1_000) {
        clock.set(now_ms);
        engine.run_until_quiet();
        tracker.heartbeat(&alive, &NodeHeartbeat::default(), now_ms).unwrap();
        assert!(tracker.expire(now_ms).unwrap().is_empty());
    }
    engine.run_until_quiet();
    let is_stale = |session: NodeSession| engine.read(|view| view.node(session.node).unwrap().is_stale());
    assert!(!is_stale(alive) && is_stale(silent));
}
