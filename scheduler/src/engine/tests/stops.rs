//! Containers that are stopped because their application ended or because they are preempted.

use super::hand::Hand;
use super::{config, leaf, memory};
use crate::change::{ApplicationSpec, AskSpec, NodeSpec, RunningContainer};
use crate::config::ParallelLimits;
use crate::engine::EventStream;
use crate::event::{EventKind, Refusal};
use crate::facts::{ApplicationEnd, Blacklist, EndCause};
use crate::ids::{ApplicationId, ContainerId};

const ENDED: ApplicationEnd = ApplicationEnd::Killed;

fn told(events: &EventStream) -> Vec<EventKind> {
    std::iter::from_fn(|| events.try_next().unwrap()).map(|event| event.kind).collect()
}

/// An application with two containers, in a leaf with one active application at a time.
fn running(stops: bool) -> (Hand, ApplicationId, Vec<ContainerId>) {
    let one = ParallelLimits { total: Some(1), ..ParallelLimits::default() };
    let mut config = config([leaf("a").with_parallel(one)]);
    config.stop_ended_applications = stops;
    let mut hand = Hand::new(config);
    hand.node("n1", 10);
    let application = hand.application();
    hand.ask(application, AskSpec::new(memory(1), 2));
    hand.run_until_idle();
    let containers = hand.engine.read(|view| view.containers().map(|(id, _)| id).collect());
    told(&hand.events);
    (hand, application, containers)
}

/// The application was never active, and has a container that its node reported.
#[test]
fn an_application_that_ends_while_it_waits_for_its_turn_gets_none() {
    let (mut hand, first, containers) = running(true);
    let handle = hand.engine.handle();
    let (ends, stays) = (hand.application(), hand.application());
    let found = vec![RunningContainer::new(ends, memory(1))];
    handle.recover_node(NodeSpec::new("n2", memory(4)), found).unwrap();
    handle.end_application(ends, ENDED).unwrap();
    handle.end_application(first, ENDED).unwrap();
    hand.run_until_idle();
    for container in containers {
        handle.complete_container(container).unwrap();
    }
    hand.run_until_idle();
    let is_active = |id| hand.engine.read(|view| view.application(id).map(|it| it.is_active()));
    assert_eq!((is_active(ends), is_active(stays)), (Some(false), Some(true)));
}

#[test]
fn a_preempted_container_is_charged_until_its_end_is_confirmed() {
    let (mut hand, _, containers) = running(false);
    let handle = hand.engine.handle();
    let ticket = handle.preempt_container(containers[0]).unwrap();
    hand.run_until_idle();
    assert!(ticket.try_take().unwrap().is_ok());
    let stopping = told(&hand.events);
    let EventKind::ContainerStopping { container, cause, .. } = stopping[0] else { panic!("{stopping:?}") };
    assert_eq!((container, cause), (containers[0], EndCause::Preempted));
    hand.expect_idle(2);
    handle.complete_container(containers[0]).unwrap();
    hand.expect_idle(1);
    let cause = EndCause::Preempted;
    assert_eq!(
        told(&hand.events),
        [EventKind::ContainerEnded { container: containers[0], cause, allocation_request_id: 0 }]
    );
}

#[test]
fn an_application_that_is_ending_takes_nothing_and_ends_with_its_last_container() {
    let (mut hand, application, containers) = running(true);
    let handle = hand.engine.handle();
    let (late, waits) = (handle.event_stream(100), handle.event_stream(100));
    handle.submit_application(ApplicationSpec::new("waits", "root.a", "user"), &waits).unwrap();
    handle.end_application(application, ENDED).unwrap();
    hand.expect_idle(2);
    assert_eq!(told(&hand.events)[0], EventKind::ApplicationEnding { end: ENDED }, "before all other news");
    let view = |hand: &Hand| hand.engine.read(|view| view.application(application).map(|it| it.ending()));
    assert_eq!(view(&hand), Some(Some(ENDED)));

    let ask = hand.ask(application, AskSpec::new(memory(1), 1));
    handle.end_application(application, ApplicationEnd::Finished).unwrap();
    handle.set_application_priority(application, 3).unwrap();
    handle.update_blacklist(application, Blacklist::new().with_hosts(["n1"]), Blacklist::new()).unwrap();
    handle.move_application(application, "root.a").unwrap();
    let ticket = handle.attach(application, &late).unwrap();
    hand.expect_idle(2);
    let refusal = Refusal::ApplicationEnding;
    assert_eq!(told(&hand.events), [EventKind::AskRefused { ask, refusal }]);
    assert_eq!(hand.engine.health().refused, [("application_ending", 5)].into());
    let attached = ticket.try_take().unwrap().unwrap();
    assert_eq!((attached.ending, attached.containers.len()), (Some(ENDED), 2));

    handle.complete_container(containers[1]).unwrap();
    hand.expect_idle(1);
    assert_eq!((told(&late).len(), told(&waits)), (1, Vec::new()), "it still counts as active");
    handle.release_container(containers[0]).unwrap();
    hand.expect_idle(0);
    let cause = EndCause::ApplicationEnded;
    let last = EventKind::ContainerEnded { container: containers[0], cause, allocation_request_id: 0 };
    assert_eq!(told(&late), [last, EventKind::ApplicationEnded { end: ENDED }]);
    assert_eq!((view(&hand), told(&waits)), (None, vec![EventKind::ApplicationActivated]));
}
