//! `spec/capacity-scheduler.md`, section 6: commit protocol.
//!
//! Amounts are GB of memory. The application master of each case is an ask for one container. A case has user limits
//! only where they cannot bind (100 times the guarantee).

use apportion::config::{EngineConfig, Factor, HeartbeatPolicy, Percent};
use apportion::request::{AllocationProposal, RejectReason};
use apportion::{
    ApplicationEnd, ApplicationId, AskId, Change, CommitOutcome, ContainerId, Mode, NodeId, ReservationId,
    ResourceAllocationCommitRequest,
};
use apportion_tests::support::check::read_log;
use apportion_tests::support::cluster::Cluster;

use crate::{engine, leaf};

/// Q3: queues of 10, 20 and 70 percent, user limit factor 100.
fn q3() -> EngineConfig {
    let factor = Some(Factor::whole(100));
    let leaves = [("a", 10), ("b", 20), ("c", 70)];
    engine(leaves.map(|(name, percent)| leaf(name, percent).with_user_limit_factor(factor)))
}

/// Three applications on ten nodes of 20, with 20, 40 and 60 containers and a master each. Exactly 123 are allocated,
/// in every mode and at every later time.
fn exact_fill(config: EngineConfig, mode: Mode) {
    let mut cluster = Cluster::start(config, mode);
    for number in 0..10 {
        cluster.node(&format!("n{number}"), &[20]);
    }
    let applications = ["root.a", "root.b", "root.c"].map(|queue| cluster.application(queue, "user"));
    for (application, count) in applications.into_iter().zip([20, 40, 60]) {
        cluster.ask(application, &[1], 1);
        cluster.ask(application, &[1], count);
    }
    cluster.run();
    assert_eq!(cluster.used("root"), 123);
    for _ in 0..3 {
        cluster.advance(1000);
        cluster.run();
        assert_eq!(cluster.used("root"), 123, "nothing is placed twice");
    }
    assert_eq!(["root.a", "root.b", "root.c"].map(|queue| cluster.used(queue)), [21, 41, 61]);
}

#[test]
fn case_01_exact_fill_serial() {
    exact_fill(q3(), Mode::Serial);
}

#[test]
fn case_01_exact_fill_one_proposer() {
    exact_fill(q3(), Mode::Parallel { proposers: 1 });
}

#[test]
fn case_01_exact_fill_two_proposers() {
    exact_fill(q3(), Mode::Parallel { proposers: 2 });
}

#[test]
fn case_01_exact_fill_three_proposers() {
    exact_fill(q3(), Mode::Parallel { proposers: 3 });
}

#[test]
fn case_01_exact_fill_several_sets() {
    for proposers in 1..=3 {
        let mut config = q3();
        config.limits.single_set_nodes = 3;
        config.limits.set_nodes = 2;
        config.limits.batch_requests = 4;
        exact_fill(config, Mode::Parallel { proposers });
    }
}

/// A cluster of two nodes, a master of 1 on the first, and an ask for three containers of 5.
fn overcommitted(mode: Mode) -> (Cluster, [NodeId; 2], AskId) {
    let mut cluster = Cluster::start(engine([leaf("a", 100)]), mode);
    let nodes = ["n1", "n2"].map(|name| cluster.node(name, &[9]));
    let application = cluster.application("root.a", "user");
    cluster.drain(nodes[1]);
    cluster.ask(application, &[1], 1);
    cluster.run();
    assert_eq!(cluster.allocated(nodes[0]), 1);
    let ask = cluster.ask(application, &[5], 3);
    (cluster, nodes, ask)
}

#[test]
fn case_02_node_over_allocation() {
    let (mut cluster, nodes, ask) = overcommitted(Mode::Serial);
    for _ in 0..3 {
        cluster.commit(ResourceAllocationCommitRequest::allocate(ask, nodes[0]));
    }
    cluster.run();
    assert!(cluster.outcomes()[0].is_accepted());
    assert_eq!(cluster.outcomes()[1..], [CommitOutcome::Rejected(RejectReason::NodeFull); 2]);
    assert_eq!(cluster.allocated(nodes[0]), 6);
    assert_eq!(cluster.engine.read(|view| view.node(nodes[0]).unwrap().free()[0]), 3);
}

#[test]
fn case_02_node_over_allocation_against_proposers() {
    let (mut cluster, nodes, ask) = overcommitted(Mode::Parallel { proposers: 2 });
    for _ in 0..3 {
        cluster.commit(ResourceAllocationCommitRequest::allocate(ask, nodes[0]));
    }
    cluster.run();
    let accepted = cluster.outcomes().iter().filter(|outcome| outcome.is_accepted()).count();
    assert!(accepted <= 1, "one made by hand, or one by a proposer");
    assert_eq!(cluster.allocated(nodes[0]), 6);
}

/// Two nodes, the second drained. On the first are a master of 1, a container of 6, and a reservation for one of two
/// containers of 5. Returns the application and the container.
fn with_reservation() -> (Cluster, [NodeId; 2], ApplicationId, ContainerId) {
    let mut config = engine([leaf("a", 100)]);
    config.reservations.delay_ms = Some(0);
    config.reservations.nodes = Percent::whole(10);
    let mut cluster = Cluster::serial(config);
    let nodes = ["n1", "n2"].map(|name| cluster.node(name, &[8]));
    cluster.drain(nodes[1]);
    let application = cluster.application("root.a", "user");
    cluster.ask(application, &[1], 1);
    cluster.ask(application, &[6], 1);
    cluster.run();
    let big = cluster.running(application)[1];
    cluster.ask(application, &[5], 2);
    cluster.run();
    assert!(cluster.engine.read(|view| view.node(nodes[0]).unwrap().is_reserved()));
    assert_eq!(cluster.quota("root").reserved[0], 5);
    (cluster, nodes, application, big)
}

/// The request with which the engine itself fulfils the reservation of [`with_reservation`]. A second serial engine
/// with the same input does the same, so the request is valid there too.
fn from_reserved() -> ResourceAllocationCommitRequest {
    let (mut cluster, _, _, big) = with_reservation();
    cluster.complete(big);
    cluster.run();
    let fulfils = |change: &Change| match change {
        Change::Committed { request } => request.allocate.iter().any(|p| p.from_reservation.is_some()),
        _ => false,
    };
    match read_log(&cluster.log()).into_iter().find(fulfils) {
        Some(Change::Committed { request }) => request,
        other => panic!("the reservation was not fulfilled: {other:?}"),
    }
}

#[test]
fn case_03_duplicate_from_reserved() {
    let request = from_reserved();
    let (mut cluster, nodes, application, big) = with_reservation();
    cluster.complete(big);
    for _ in 0..3 {
        cluster.commit(request.clone());
    }
    cluster.run();
    assert!(cluster.outcomes()[0].is_accepted());
    assert_eq!(cluster.outcomes()[1..], [CommitOutcome::Rejected(RejectReason::UnknownReservation); 2]);
    // 1 and 5 on the first node. The second unit of 5 reserves it again; it is the only candidate.
    assert_eq!(cluster.running(application).len(), 2);
    assert_eq!(cluster.allocated(nodes[0]), 6);
    cluster.end(application, ApplicationEnd::Finished);
    cluster.run();
    assert_eq!((cluster.used("root"), cluster.allocated(nodes[0])), (0, 0), "nothing leaked");
}

#[test]
fn case_07_decommissioning_node() {
    let fulfil = from_reserved();
    let (mut cluster, nodes, application, big) = with_reservation();
    let ask = cluster.ask(application, &[1], 1);
    cluster.complete(big);
    cluster.drain(nodes[0]);
    cluster.commit(ResourceAllocationCommitRequest::allocate(ask, nodes[0]));
    cluster.commit(ResourceAllocationCommitRequest::reserve(ask, nodes[0]));
    cluster.commit(fulfil);
    cluster.run();
    assert_eq!(cluster.outcomes()[..2], [CommitOutcome::Rejected(RejectReason::NodeNotCandidate); 2]);
    // Draining the node dropped the reservation, so either reason is right for the third.
    let third = cluster.outcomes()[2];
    let reasons = [RejectReason::NodeNotCandidate, RejectReason::UnknownReservation];
    assert!(reasons.map(CommitOutcome::Rejected).contains(&third), "{third:?}");
    assert_eq!(cluster.allocated(nodes[0]), 1);
}

/// Ten nodes that report every 100 ms and are stale after two missed intervals.
fn heartbeating(mode: Mode) -> (Cluster, Vec<NodeId>, ApplicationId) {
    let mut config = engine([leaf("a", 100)]);
    config.heartbeat = Some(HeartbeatPolicy { interval_ms: 100, missed_max: 2 });
    let mut cluster = Cluster::start(config, mode);
    let nodes: Vec<NodeId> = (0..10).map(|number| cluster.node(&format!("n{number}"), &[20])).collect();
    cluster.run();
    let application = cluster.application("root.a", "user");
    (cluster, nodes, application)
}

fn stale_heartbeat(mode: Mode) {
    let (mut cluster, nodes, application) = heartbeating(mode);
    cluster.advance(300);
    cluster.run();
    cluster.heartbeat(&nodes[..5]);
    cluster.ask(application, &[1], 1000);
    cluster.run();
    for (number, node) in nodes.iter().enumerate() {
        assert_eq!(cluster.allocated(*node), if number < 5 { 20 } else { 0 }, "node {number}");
    }
}

fn stale_heartbeat_and_draining(mode: Mode) {
    let (mut cluster, nodes, application) = heartbeating(mode);
    cluster.advance(300);
    cluster.run();
    nodes[..5].iter().for_each(|node| cluster.drain(*node));
    cluster.heartbeat(&nodes);
    cluster.ask(application, &[1], 1000);
    cluster.run();
    for (number, node) in nodes.iter().enumerate() {
        assert_eq!(cluster.allocated(*node), if number < 5 { 0 } else { 20 }, "node {number}");
    }
}

#[test]
fn case_08_stale_heartbeat() {
    stale_heartbeat(Mode::Serial);
    stale_heartbeat(Mode::Parallel { proposers: 2 });
}

#[test]
fn case_08_stale_heartbeat_and_draining() {
    stale_heartbeat_and_draining(Mode::Serial);
    stale_heartbeat_and_draining(Mode::Parallel { proposers: 2 });
}

/// A test cannot construct a reservation's identifier, so it takes one from a request that used it.
#[test]
fn case_03_a_reservation_that_was_used_is_unknown() {
    let request = from_reserved();
    let id: ReservationId = request.allocate[0].from_reservation.unwrap();
    let (mut cluster, nodes, application, _) = with_reservation();
    let ask = cluster.ask(application, &[1], 1);
    let allocate = [AllocationProposal { ask, node: nodes[0], from_reservation: Some(id) }];
    let other =
        ResourceAllocationCommitRequest { allocate: allocate.into_iter().collect(), ..Default::default() };
    cluster.commit(other);
    cluster.run();
    let mismatch = CommitOutcome::Rejected(RejectReason::ReservationMismatch);
    assert_eq!(cluster.outcomes(), [mismatch], "another ask's reservation");
}
