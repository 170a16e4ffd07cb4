//! Gangs that end without a start.

use apportion::event::{EventKind, Refusal, Subject};
use apportion::gang::{GangEnd, GangSpec, GangStyle};
use apportion::{ApplicationEnd, GangId};

use crate::{Cluster, ask, has_started, placed};

/// A cluster with four units, one of them in use, and a waiting gang that needs all four.
fn waiting(
    style: GangStyle,
    timeout_ms: u64,
) -> (Cluster, apportion::ApplicationId, apportion::engine::SubmittedGang) {
    let cluster = Cluster::serial();
    cluster.nodes(2, 2);
    let (other, job) = (cluster.application(), cluster.application());
    cluster.handle.submit_ask(other, ask(1, 1)).unwrap();
    cluster.run();
    let spec = GangSpec::new(job)
        .with_role("master", ask(1, 1))
        .with_role_of_at_least("worker", ask(1, 4), 3)
        .with_timeout_ms(timeout_ms, style);
    let gang = cluster.submit(spec);
    cluster.run();
    cluster.events();
    assert_eq!(cluster.running(job), 0);
    (cluster, job, gang)
}

fn ended(gang: GangId, end: GangEnd, style: GangStyle) -> EventKind {
    EventKind::GangEnded { gang, end, style }
}

#[test]
fn a_hard_gang_fails_at_its_timeout() {
    let (cluster, job, gang) = waiting(GangStyle::Hard, 1_000);
    assert_eq!(cluster.engine.next_timer_ms(), Some(1_000));
    cluster.at(999);
    assert!(cluster.events().is_empty());
    cluster.at(1_000);
    let cancelled = |place: usize, units| EventKind::AskCancelled { ask: gang.asks[place], units };
    let end = ended(gang.gang, GangEnd::TimedOut, GangStyle::Hard);
    assert_eq!(cluster.events(), [end, cancelled(0, 1), cancelled(1, 4)]);
    cluster.nodes(4, 2);
    assert_eq!(cluster.running(job), 0);
}

#[test]
fn a_soft_gang_falls_back_to_single_asks() {
    let (cluster, job, gang) = waiting(GangStyle::Soft, 1_000);
    cluster.at(1_000);
    let events = cluster.events();
    assert_eq!(events[0], ended(gang.gang, GangEnd::TimedOut, GangStyle::Soft));
    assert_eq!((placed(&events).len(), cluster.running(job)), (3, 3));
    assert!(!has_started(&events, gang.gang));
}

#[test]
fn a_gang_that_started_has_no_timeout() {
    let (cluster, job, gang) = waiting(GangStyle::Hard, 1_000);
    cluster.nodes(1, 1);
    assert!(has_started(&cluster.events(), gang.gang));
    cluster.at(2_000);
    assert!(cluster.events().is_empty());
    assert_eq!(cluster.running(job), 4);
}

#[test]
fn a_gang_can_be_cancelled_until_it_starts() {
    let (cluster, job, gang) = waiting(GangStyle::Hard, 1_000);
    cluster.handle.cancel_gang(gang.gang).unwrap();
    cluster.run();
    assert_eq!(cluster.events()[0], ended(gang.gang, GangEnd::Cancelled, GangStyle::Hard));
    cluster.nodes(4, 2);
    assert_eq!(cluster.running(job), 0);
    cluster.handle.cancel_gang(gang.gang).unwrap();
    cluster.run();
    let refused = cluster.handle.take_refusals().list;
    assert_eq!(refused.len(), 1);
    assert_eq!((refused[0].subject, refused[0].refusal), (Subject::Gang(gang.gang), Refusal::UnknownGang));
    cluster.at(5_000);
}

#[test]
fn units_above_the_minimum_can_be_cancelled_alone() {
    let (cluster, job, gang) = waiting(GangStyle::Hard, 1_000);
    cluster.handle.cancel_ask(gang.asks[1], 1).unwrap();
    cluster.run();
    assert_eq!(cluster.events(), [EventKind::AskCancelled { ask: gang.asks[1], units: 1 }]);
    cluster.nodes(4, 2);
    assert_eq!(cluster.running(job), 4);
    let (cluster, _, gang) = waiting(GangStyle::Hard, 1_000);
    cluster.handle.cancel_ask(gang.asks[1], 2).unwrap();
    cluster.run();
    assert_eq!(cluster.events()[0], ended(gang.gang, GangEnd::Cancelled, GangStyle::Hard));
    assert!(cluster.engine.read(|view| gang.asks.iter().all(|ask| view.is_ask_over(*ask))));
}

#[test]
fn a_role_without_a_minimum_can_be_cancelled_alone() {
    let cluster = Cluster::serial();
    cluster.nodes(2, 1);
    let (other, job) = (cluster.application(), cluster.application());
    cluster.handle.submit_ask(other, ask(1, 1)).unwrap();
    cluster.run();
    let spec =
        GangSpec::new(job).with_role_of_at_least("helper", ask(1, 1), 0).with_role("worker", ask(1, 2));
    let gang = cluster.submit(spec);
    cluster.run();
    cluster.handle.cancel_ask(gang.asks[0], 1).unwrap();
    cluster.run();
    // The identifier of the helper's ask is free again; the gang keeps its own.
    let later = cluster.handle.submit_ask(other, ask(5, 1)).unwrap();
    assert_ne!(later, gang.asks[0]);
    cluster.events();
    cluster.nodes(1, 1);
    assert!(has_started(&cluster.events(), gang.gang));
    assert_eq!(cluster.running(job), 2);
}

#[test]
fn a_gang_ends_with_its_application() {
    let (cluster, job, gang) = waiting(GangStyle::Soft, 1_000);
    cluster.handle.end_application(job, ApplicationEnd::Killed).unwrap();
    cluster.run();
    let events = cluster.events();
    assert_eq!(events[0], ended(gang.gang, GangEnd::ApplicationEnded, GangStyle::Soft));
    assert_eq!(events.last(), Some(&EventKind::ApplicationEnded { end: ApplicationEnd::Killed }));
    cluster.at(5_000);
    assert!(cluster.events().is_empty());
}

#[test]
fn a_lost_node_only_delays_a_gang() {
    let (cluster, job, gang) = waiting(GangStyle::Hard, 1_000);
    let node = cluster.handle.node("n0").unwrap();
    drop(cluster.handle.remove_node(node).unwrap());
    cluster.run();
    assert_eq!(cluster.running(job), 0);
    cluster.nodes(1, 2);
    assert_eq!(cluster.running(job), 4, "{:?}", cluster.events());
    assert!(has_started(&cluster.events(), gang.gang));
}
