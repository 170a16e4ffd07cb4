//! A new stream for a running application.

use super::hand::Hand;
use super::{config, leaf, memory};
use crate::change::{AskSpec, NodeSpec, RunningContainer};
use crate::engine::{AttachedAsk, EventStream};
use crate::event::{EventKind, Refusal};
use crate::facts::{ApplicationEnd, Blacklist, ExecutionType};
use crate::ids::{ApplicationId, ContainerId};

fn told(events: &EventStream) -> Vec<EventKind> {
    std::iter::from_fn(|| events.try_next().unwrap()).map(|event| event.kind).collect()
}

fn ended(events: &EventStream) -> Vec<ContainerId> {
    let ended = told(events).into_iter().filter_map(|kind| match kind {
        EventKind::ContainerEnded { container, .. } => Some(container),
        _ => None,
    });
    ended.collect()
}

/// Three containers run, and an ask that is too large is pending.
fn running() -> (Hand, ApplicationId, Vec<ContainerId>) {
    let mut hand = Hand::new(config([leaf("a")]));
    hand.node("n1", 10);
    let application = hand.application();
    hand.ask(application, AskSpec::new(memory(1), 3).with_priority(7));
    hand.run_until_idle();
    let containers = told(&hand.events).into_iter().filter_map(|kind| match kind {
        EventKind::Allocated { container, .. } => Some(container),
        _ => None,
    });
    let containers = containers.collect();
    (hand, application, containers)
}

#[test]
fn what_an_application_has_and_what_its_new_stream_receives_are_all_there_is() {
    let (mut hand, application, containers) = running();
    let handle = hand.engine.handle();
    let large = hand.ask(application, AskSpec::new(memory(20), 2).with_priority(3));
    let shunned = Blacklist::new().with_hosts(["n2"]);
    handle.update_blacklist(application, shunned.clone(), Blacklist::new()).unwrap();
    // All in one group of commits.
    handle.complete_container(containers[0]).unwrap();
    let events = handle.event_stream(100);
    let ticket = handle.attach(application, &events).unwrap();
    handle.complete_container(containers[1]).unwrap();
    hand.run_until_idle();

    let attachment = ticket.try_take().unwrap().unwrap();
    let found: Vec<_> = attachment.containers.iter().map(|found| (found.container, found.priority)).collect();
    assert_eq!(found, [(containers[1], 7), (containers[2], 7)]);
    let asks = [AttachedAsk {
        ask: large,
        priority: 3,
        allocation_request_id: 0,
        size: memory(20),
        outstanding: 2,
        execution_type: ExecutionType::Guaranteed,
    }];
    assert_eq!((&attachment.asks[..], attachment.application), (&asks[..], application));
    assert_eq!(attachment.blacklist, shunned);
    assert_eq!((ended(&hand.events), ended(&events)), (vec![containers[0]], vec![containers[1]]));
}

#[test]
fn a_container_that_was_recovered_is_told_from_those_that_were_placed() {
    let (mut hand, application, mut containers) = running();
    let handle = hand.engine.handle();
    let found = RunningContainer::new(application, memory(1));
    let recovery = handle.recover_node(NodeSpec::new("n2", memory(10)), vec![found]).unwrap();
    hand.run_until_idle();
    let recovered = recovery.containers.try_take().unwrap()[0].unwrap();
    let running = handle.resync(&hand.events, &[application]).1.remove(0).1;
    let is_recovered: Vec<_> = running.iter().map(|found| (found.container, found.is_recovered)).collect();
    containers.push(recovered);
    assert_eq!(is_recovered, containers.iter().map(|id| (*id, *id == recovered)).collect::<Vec<_>>());
}

#[test]
fn an_application_that_has_ended_is_not_attached_to() {
    let (mut hand, application, _) = running();
    let handle = hand.engine.handle();
    handle.end_application(application, ApplicationEnd::Killed).unwrap();
    let events = handle.event_stream(100);
    let ticket = handle.attach(application, &events).unwrap();
    hand.run_until_idle();
    assert_eq!(ticket.try_take().unwrap(), Err(Refusal::ApplicationEnded));
    assert_eq!(hand.engine.health().refused, [("application_ended", 1)].into());
    assert!(handle.take_refusals().list.is_empty(), "the ticket says so");
    assert_eq!(told(&events), []);
    let last = told(&hand.events).pop();
    assert_eq!(last, Some(EventKind::ApplicationEnded { end: ApplicationEnd::Killed }));
}
