//! Reservations: when they are made, and that each counts once.

use apportion::config::{
    Capacity, EngineConfig, Maximum, NodeOrderKind, Percent, QueueConfig, ReservationPolicy,
};
use apportion::request::{RejectReason, ReservationProposal};
use apportion::{
    AskSpec, AttributeRule, CommitOutcome, NodeAttributes, NodeSpec, NodeState, ReservationId,
    ResourceAllocationCommitRequest, Resources,
};
use apportion_tests::support::cluster::Cluster;

use crate::{engine, leaf};

fn reserving(queue: QueueConfig, delay_ms: u64) -> EngineConfig {
    let reservations = ReservationPolicy { delay_ms: Some(delay_ms), ..ReservationPolicy::default() };
    EngineConfig { reservations, ..engine([queue]) }
}

fn reservations(cluster: &Cluster) -> usize {
    cluster.engine.read(|view| view.reservations().count())
}

#[test]
fn a_node_that_takes_containers_again_is_reserved_although_it_is_in_use() {
    let mut cluster = Cluster::serial(reserving(leaf("default", 100), 0));
    for number in 0..10 {
        cluster.node(&format!("small{number}"), &[4]);
    }
    let big = cluster.node("big", &[8]);
    let first = cluster.application("root.default", "user");
    cluster.ask(first, &[3], 12);
    cluster.run();
    assert!(cluster.allocated(big) > 0);
    cluster.drain(big);
    let second = cluster.application("root.default", "other");
    cluster.ask(second, &[8], 1);
    cluster.run();
    assert_eq!(reservations(&cluster), 0, "the only node large enough is draining");
    cluster.activate(big);
    cluster.run();
    assert_eq!(reservations(&cluster), 1);
    assert_eq!(cluster.engine.read(|view| view.node(big).unwrap().state()), NodeState::Active);
}

#[test]
fn a_node_that_grows_is_reserved_although_it_is_in_use() {
    let mut cluster = Cluster::serial(reserving(leaf("default", 100), 0));
    for number in 0..10 {
        cluster.node(&format!("small{number}"), &[4]);
    }
    let growing = cluster.node("growing", &[4]);
    let first = cluster.application("root.default", "user");
    cluster.ask(first, &[3], 11);
    cluster.ask(first, &[8], 1);
    cluster.run();
    assert_eq!(reservations(&cluster), 0, "no node is large enough");
    cluster.update_node(growing, &[8], apportion::NodeAttributes::new());
    cluster.run();
    assert_eq!(reservations(&cluster), 1);
}

/// The delay ends while the only lane is parked at its user's limit.
#[test]
fn an_ask_that_wakes_after_its_delay_reserves_a_node() {
    let capacity = Capacity::Percent(Percent::whole(100));
    let tenth = Some("0.1".parse().unwrap());
    let mut config = reserving(QueueConfig::leaf("default", capacity).with_user_limit_factor(tenth), 1000);
    config.node_order = NodeOrderKind::First;
    let mut cluster = Cluster::serial(config);
    cluster.node("n1", &[8]);
    cluster.node("n2", &[8]);
    for number in 0..16 {
        cluster.node(&format!("small{number}"), &[4]);
    }
    for user in ["a", "b"] {
        let application = cluster.application("root.default", user);
        cluster.ask(application, &[1], 7);
    }
    let own = cluster.application("root.default", "u2");
    cluster.ask(own, &[1], 1);
    cluster.run();
    // The second user's container and the large ask together would exceed the limit of 8.
    let large = cluster.application("root.default", "u2");
    cluster.ask(large, &[8], 1);
    let other = cluster.application("root.default", "u1");
    let other_ask = cluster.ask(other, &[8], 1);
    cluster.run();
    cluster.advance(100);
    cluster.cancel(other_ask, 1);
    cluster.run();
    cluster.advance(2000);
    cluster.run();
    assert_eq!(reservations(&cluster), 0);
    cluster.complete(cluster.running(own)[0]);
    cluster.run();
    assert_eq!(reservations(&cluster), 1);
}

/// A full node of 8, two empty nodes of 4, and a reservation for a further container of 8.
fn with_reservation(maximum: i64) -> (Cluster, apportion::AskId, ReservationId) {
    let queue = leaf("default", 100).with_maximum(Maximum::absolute(&[maximum]));
    let mut cluster = Cluster::serial(reserving(queue, 0));
    cluster.node("n1", &[8]);
    cluster.node("n2", &[4]);
    let application = cluster.application("root.default", "user");
    cluster.ask(application, &[8], 1);
    cluster.run();
    cluster.node("n3", &[4]);
    cluster.run();
    let ask = cluster.ask(application, &[8], 1);
    cluster.run();
    let reservations: Vec<_> =
        cluster.engine.read(|view| view.nodes().filter_map(|node| node.reservation()).collect());
    let [reservation] = reservations[..] else { panic!("one reservation, not {reservations:?}") };
    (cluster, ask, reservation)
}

/// A container elsewhere makes the reservation superfluous. Both change in one step, so the ask does not count twice.
#[test]
fn a_reservation_that_becomes_superfluous_makes_room_at_the_limit() {
    let (mut cluster, ask, _) = with_reservation(16);
    let n4 = cluster.node("n4", &[8]);
    cluster.commit(ResourceAllocationCommitRequest::allocate(ask, n4));
    cluster.run();
    assert!(cluster.outcomes()[0].is_accepted(), "{:?}", cluster.outcomes());
    assert_eq!((reservations(&cluster), cluster.used("root")), (0, 16));
}

#[test]
fn a_reservation_cannot_be_ended_twice_in_one_request() {
    let (mut cluster, _, reservation) = with_reservation(100);
    let unreserve = [reservation, reservation].into();
    cluster.commit(ResourceAllocationCommitRequest { unreserve, ..Default::default() });
    cluster.run();
    assert_eq!(cluster.outcomes(), [CommitOutcome::Rejected(RejectReason::UnknownReservation)]);
    assert_eq!(reservations(&cluster), 1);
}

/// Whether they are made in one request or one after another. A reservation that the request ends makes way for
/// another.
#[test]
fn an_ask_reserves_no_more_nodes_than_it_wants_containers() {
    for (units, nodes) in [(1, 1), (1, 2), (2, 2), (2, 3)] {
        let mut config = reserving(leaf("default", 100), 1_000_000);
        config.reservations.nodes = Percent::ALL;
        let mut cluster = Cluster::serial(config);
        let application = cluster.application("root.default", "user");
        let names = (0..nodes).map(|number| format!("n{number}"));
        let nodes: Vec<_> = names.map(|name| cluster.node(&name, &[8])).collect();
        let ask = cluster.ask(application, &[8], units);
        let reserve = nodes.iter().map(|&node| ReservationProposal { ask, node }).collect();
        cluster.commit(ResourceAllocationCommitRequest { reserve, ..Default::default() });
        cluster.run();
        let is_enough = nodes.len() <= units as usize;
        let verdict = &cluster.outcomes()[0];
        assert_eq!(verdict.is_accepted(), is_enough, "{units} units: {verdict:?}");
        if !is_enough {
            assert_eq!(*verdict, CommitOutcome::Rejected(RejectReason::NothingOutstanding));
        }
    }
    let (mut cluster, ask, reservation) = with_reservation(100);
    let node = cluster.node("n4", &[8]);
    let reserve = [ReservationProposal { ask, node }].into_iter().collect();
    let unreserve = [reservation].into();
    cluster.commit(ResourceAllocationCommitRequest { reserve, unreserve, ..Default::default() });
    cluster.run();
    assert!(cluster.outcomes()[0].is_accepted(), "{:?}", cluster.outcomes());
}

/// An attribute change ends the reservation like a change of capacity (`nodes/resized_below_the_reservation.yaml`).
#[test]
fn a_node_that_is_no_longer_what_the_ask_requires_loses_the_reservation() {
    let mut cluster = Cluster::serial(reserving(leaf("default", 100), 0));
    let fast = || NodeAttributes::from([("disk".to_owned(), "fast".to_owned())]);
    let node = cluster
        .add_node(NodeSpec { attributes: fast(), ..NodeSpec::new("n1", Resources::new(&[8])) })
        .unwrap();
    cluster.node("n2", &[8]);
    let application = cluster.application("root.default", "user");
    for size in [4, 5] {
        let rule = AttributeRule::one_of("disk", ["fast"]);
        cluster.submit_ask(application, AskSpec::new(Resources::new(&[size]), 1).with_rule(rule));
        cluster.run();
    }
    assert!(cluster.engine.read(|view| view.node(node).unwrap().reservation().is_some()));
    cluster.update_node(node, &[7], fast());
    cluster.run();
    assert_eq!(reservations(&cluster), 1, "it could still serve the ask");
    cluster.update_node(node, &[7], NodeAttributes::new());
    cluster.run();
    assert_eq!((reservations(&cluster), cluster.used("root")), (0, 4));
}

/// Two nodes of 10 and small ones, half of which may be reserved, and an ask for 6 containers of 10.
fn two_reservable(mut config: EngineConfig) -> (Cluster, apportion::ApplicationId) {
    config.reservations.nodes = Percent::whole(50);
    config.reservations.continue_looking = false;
    let mut cluster = Cluster::serial(config);
    for (name, memory) in [("n0", 10), ("n1", 10), ("small0", 9), ("small1", 9), ("small2", 9)] {
        cluster.node(name, &[memory]);
    }
    let application = cluster.application("root.default", "user");
    cluster.ask(application, &[10], 6);
    cluster.run();
    (cluster, application)
}

/// The pass that uses the reservation still sees the node as reserved, and finds no other.
#[test]
fn an_ask_that_used_its_reservation_reserves_the_node_again() {
    let mut queue = leaf("default", 100);
    queue.maximum = Maximum::Absolute([Some(40), None, None, None, None, None, None, None]);
    let (mut cluster, application) = two_reservable(reserving(queue, 0));
    // While the ask is at its queue's maximum, a node has room for it. So the next pass for the ask will look for a
    // node.
    let spare = cluster.node("spare", &[10]);
    cluster.run();
    cluster.drain(spare);
    cluster.run();
    assert_eq!(reservations(&cluster), 2);
    let first = cluster.running(application)[0];
    cluster.complete(first);
    cluster.run();
    assert_eq!((cluster.running(application).len(), reservations(&cluster)), (2, 2));
}

#[test]
fn an_ask_goes_on_reserving_after_a_pass_that_was_full() {
    let mut config = reserving(leaf("default", 100), 0);
    config.limits.batch_requests = 1;
    let (cluster, _) = two_reservable(config);
    assert_eq!(reservations(&cluster), 2);
}
