//! Managers without a log: containers that only the nodes know.

use std::sync::Arc;

use apportion::nodes::{
    NodeDirectives, NodeHeartbeat, NodeRegistration, NodeSession, ResourceTracker, TrackerOptions,
    UnknownContainers,
};
use apportion::{
    ApplicationId, ApplicationSpec, ContainerId, Engine, EventStream, Handle, ManualClock, Mode, NodeSpec,
    Resources, RunningContainer,
};

use super::world::size;
use crate::{engine, leaf};

struct Adopting {
    engine: Engine,
    handle: Handle,
    events: EventStream,
    tracker: ResourceTracker,
    application: ApplicationId,
}

impl Adopting {
    fn new() -> Self {
        let config = engine([leaf("default", 100)]);
        let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
        let handle = engine.handle();
        let options = TrackerOptions { epoch: 1, lease_ms: 1_000, unknown: UnknownContainers::Adopt };
        let tracker = ResourceTracker::new(handle.clone(), options, 0);
        let events = handle.event_stream(1_000);
        let spec = ApplicationSpec::new("job", "root.default", "ann");
        let application = handle.submit_application(spec, &events).unwrap();
        engine.run_until_quiet();
        Self { engine, handle, events, tracker, application }
    }

    fn register(&mut self, running: &[(ContainerId, ApplicationId)]) -> NodeSession {
        let mut registration = NodeRegistration::new(NodeSpec::new("n", Resources::new(&[40, 100])));
        for (container, application) in running {
            registration = registration.with_running(*container, RunningContainer::new(*application, size()));
        }
        let session = self.tracker.register(registration, 0).unwrap();
        self.run();
        session
    }

    fn run(&mut self) {
        self.engine.run_until_quiet();
        while let Some(event) = self.events.try_next().unwrap() {
            self.tracker.on_event(&event);
        }
        assert!(self.engine.audit().is_clean());
    }

    fn beat(&mut self, session: &NodeSession, version: u64) -> NodeDirectives {
        let heartbeat = NodeHeartbeat { version, ..NodeHeartbeat::default() };
        self.tracker.heartbeat(session, &heartbeat, 0).unwrap()
    }
}

fn unknown() -> [ContainerId; 2] {
    ["container-90", "container-91"].map(|id| id.parse().unwrap())
}

#[test]
fn a_node_brings_its_containers_with_it() {
    let mut adopting = Adopting::new();
    let [known, stranger] = unknown();
    let session = adopting.register(&[(known, adopting.application), (stranger, "app-7".parse().unwrap())]);
    let first = adopting.beat(&session, 0);
    let adopted = first.adopted[&known];
    assert_eq!((&first.stop[..], first.keep.len(), first.start.len()), (&[stranger][..], 1, 0));
    assert!(first.keep.contains(&adopted));
    assert_eq!(adopting.beat(&session, 0), first, "until the node confirms");
    let next = adopting.beat(&session, first.version);
    assert!(next.is_empty() && !next.is_complete, "{next:?}");
}

/// The agent that does not know the new identifier reports the old one again. The engine counts one container.
#[test]
fn a_container_whose_new_identifier_was_lost_is_adopted_once() {
    let mut adopting = Adopting::new();
    let [container, _] = unknown();
    adopting.register(&[]);
    let application = adopting.application;
    adopting.register(&[(container, application)]);
    let session = adopting.register(&[(container, application)]);
    let answer = adopting.beat(&session, 0);
    assert_eq!(adopting.handle.read(|view| view.container_count()), 1);
    let adopted = answer.adopted[&container];
    assert!(answer.keep.contains(&adopted) && answer.keep.len() == 1);
    // From now on it has the new one.
    let session = adopting.register(&[(adopted, application)]);
    let answer = adopting.beat(&session, 0);
    assert!(answer.is_empty() && answer.keep.contains(&adopted), "{answer:?}");
}

/// The answer to the first registration is still to come when the second one arrives.
#[test]
fn two_registrations_at_once_lead_to_one_container() {
    let mut adopting = Adopting::new();
    let [container, _] = unknown();
    adopting.register(&[]);
    let running = RunningContainer::new(adopting.application, size());
    let spec = NodeSpec::new("n", Resources::new(&[40, 100]));
    let registration = NodeRegistration::new(spec).with_running(container, running);
    adopting.tracker.register(registration.clone(), 0).unwrap();
    let session = adopting.tracker.register(registration, 0).unwrap();
    adopting.run();
    let answer = adopting.beat(&session, 0);
    // The agent runs one of the two that it is told to keep, and reports the end of the other.
    let adopted = answer.adopted[&container];
    let completed: Vec<_> = answer.keep.iter().copied().filter(|id| *id != adopted).collect();
    let heartbeat = NodeHeartbeat { version: answer.version, completed };
    adopting.tracker.heartbeat(&session, &heartbeat, 0).unwrap();
    adopting.run();
    assert_eq!(adopting.handle.read(|view| view.container_count()), 1);
}

/// It would come back to life.
#[test]
fn a_container_that_the_engine_has_ended_is_not_adopted() {
    let mut adopting = Adopting::new();
    let [container, _] = unknown();
    let application = adopting.application;
    let session = adopting.register(&[(container, application)]);
    let answer = adopting.beat(&session, 0);
    let adopted = answer.adopted[&container];
    adopting.beat(&session, answer.version);
    // The tracker has not read the event.
    adopting.handle.release_container(adopted).unwrap();
    adopting.engine.run_until_quiet();
    let session = adopting.register(&[(adopted, application)]);
    let answer = adopting.beat(&session, 0);
    assert_eq!((&answer.stop[..], answer.adopted.len()), (&[adopted][..], 0));
}

/// Registers a node, and then again with a container, which the engine adopts.
fn with_adopted(adopting: &mut Adopting) -> (NodeSession, ContainerId) {
    let [container, _] = unknown();
    adopting.register(&[]);
    let spec = NodeSpec::new("n", Resources::new(&[40, 100]));
    let running = RunningContainer::new(adopting.application, size());
    let registration = NodeRegistration::new(spec).with_running(container, running);
    let session = adopting.tracker.register(registration, 0).unwrap();
    adopting.engine.run_until_quiet();
    let containers = adopting.handle.read(|view| view.node(session.node).unwrap().containers().to_vec());
    let [adopted] = containers[..] else { panic!("one") };
    (session, adopted)
}

/// The view already has the end of the container, and the event of its beginning comes afterwards.
#[test]
fn events_that_are_part_of_the_view_are_ignored() {
    let mut adopting = Adopting::new();
    let (session, adopted) = with_adopted(&mut adopting);
    let begun = adopting.events.try_next().unwrap().unwrap();
    adopting.handle.release_container(adopted).unwrap();
    adopting.engine.run_until_quiet();
    adopting.tracker.resync();
    adopting.tracker.on_event(&begun);
    assert_eq!(adopting.beat(&session, 0).keep.len(), 0);
}

#[test]
fn an_adopted_container_that_ends_before_the_first_heartbeat_is_stopped() {
    let mut adopting = Adopting::new();
    let (session, adopted) = with_adopted(&mut adopting);
    adopting.handle.release_container(adopted).unwrap();
    adopting.run();
    let answer = adopting.beat(&session, 0);
    assert_eq!((answer.keep.len(), &answer.stop[..]), (0, &[adopted][..]));
}

/// Otherwise the agent would stop it, because the full picture does not name it.
#[test]
fn an_adopted_container_goes_on_before_its_event_is_read() {
    let mut adopting = Adopting::new();
    let (session, adopted) = with_adopted(&mut adopting);
    assert_eq!(adopting.beat(&session, 0).keep, [adopted].into());
}
