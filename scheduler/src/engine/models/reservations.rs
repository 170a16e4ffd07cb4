//! Reservations: fulfilled, swapped or dropped while other threads change the reserved node.

use super::{Bound, Cluster, accepted, allocate, model};
use crate::event::EventKind;
use crate::ids::{AskId, NodeId, ReservationId};
use crate::request::{AllocationProposal, CommitOutcome, RejectReason, ResourceAllocationCommitRequest};

/// The first node is reserved for an ask of `units`; no container runs.
fn with_reservation(nodes: usize, units: u32) -> (Cluster, AskId, ReservationId) {
    let cluster = Cluster::serial(nodes);
    let ask = cluster.ask(units);
    let request = ResourceAllocationCommitRequest::reserve(ask, cluster.nodes[0]);
    assert!(cluster.decide(request).is_accepted());
    let reservation = cluster.reservation_on(cluster.nodes[0]);
    (cluster, ask, reservation)
}

fn fulfil(ask: AskId, node: NodeId, reservation: ReservationId) -> ResourceAllocationCommitRequest {
    let proposal = AllocationProposal { ask, node, from_reservation: Some(reservation) };
    ResourceAllocationCommitRequest { allocate: [proposal].into_iter().collect(), ..Default::default() }
}

fn swap(ask: AskId, node: NodeId, reservation: ReservationId) -> ResourceAllocationCommitRequest {
    ResourceAllocationCommitRequest { unreserve: [reservation].into(), ..allocate(ask, node) }
}

fn reserved(cluster: &Cluster) -> usize {
    cluster.engine.read(|view| view.reservations().count())
}

/// I6. A reservation is fulfilled while its ask is cancelled. The bug: a reservation that outlives its ask and
/// keeps the node unused, or a container of a cancelled ask.
#[test]
fn a_reservation_is_fulfilled_or_goes_with_its_ask() {
    model(Bound::None, || {
        let (cluster, ask, reservation) = with_reservation(1, 1);
        let (outcome, ()) = cluster.against(fulfil(ask, cluster.nodes[0], reservation), move |handle| {
            handle.cancel_ask(ask, 1).unwrap();
        });
        assert_eq!(cluster.containers(), accepted(&[outcome]), "{outcome:?}");
        assert_eq!(reserved(&cluster), 0);
        assert!(!cluster.is_pending(ask));
        cluster.expect_sound();
    });
}

/// I6. A reservation is fulfilled while another ask is proposed for the same node. The bug: a reserved node that
/// counts as a candidate, or that stays reserved after its reservation was fulfilled.
#[test]
fn a_reserved_node_is_for_its_ask() {
    model(Bound::None, || {
        let (cluster, ask, reservation) = with_reservation(2, 1);
        let (thief, node) = (cluster.ask(1), cluster.nodes[0]);
        let outcomes = cluster.both(fulfil(ask, node, reservation), allocate(thief, node));
        assert!(outcomes[0].is_accepted(), "{outcomes:?}");
        assert!(!outcomes[1].is_accepted(), "{outcomes:?}");
        assert_eq!((cluster.containers(), reserved(&cluster)), (1, 0));
        assert!(cluster.is_pending(thief));
        cluster.expect_sound();
    });
}

/// I6, I8. Another ask is proposed for a reserved node while the reservation ends unused. The bug: a reservation
/// that blocks the request but never ends, or that the request does not check.
#[test]
fn a_node_is_free_for_others_once_its_reservation_has_ended() {
    model(Bound::None, || {
        let (cluster, ask, _) = with_reservation(2, 1);
        let (thief, node) = (cluster.ask(1), cluster.nodes[0]);
        let (outcome, ()) =
            cluster.against(allocate(thief, node), move |handle| handle.cancel_ask(ask, 1).unwrap());
        let expected = CommitOutcome::Rejected(RejectReason::NodeReserved);
        assert!(outcome.is_accepted() || outcome == expected, "{outcome:?}");
        assert_eq!((cluster.containers(), reserved(&cluster)), (accepted(&[outcome]), 0));
        cluster.expect_sound();
    });
}

/// I6 (YARN-8546). Two swaps of one reservation, to two nodes, of an ask that still wants both. The bug: two
/// requests end one reservation, and its use is given back twice.
#[test]
fn a_reservation_is_swapped_once() {
    model(Bound::None, || {
        let (cluster, ask, reservation) = with_reservation(3, 2);
        let outcomes =
            cluster.both(swap(ask, cluster.nodes[1], reservation), swap(ask, cluster.nodes[2], reservation));
        assert_eq!(accepted(&outcomes), 1, "{outcomes:?}");
        assert!(outcomes.contains(&CommitOutcome::Rejected(RejectReason::UnknownReservation)));
        assert_eq!((cluster.containers(), reserved(&cluster)), (1, 0));
        cluster.expect_sound();
    });
}

/// I6 (YARN-8127). Two containers from one reservation. The bug: a reservation that is looked up by node, so that
/// the second container is accepted too.
#[test]
fn a_reservation_is_fulfilled_once() {
    model(Bound::None, || {
        let (cluster, ask, reservation) = with_reservation(2, 2);
        let node = cluster.nodes[0];
        let outcomes = cluster.both(fulfil(ask, node, reservation), fulfil(ask, node, reservation));
        assert_eq!(accepted(&outcomes), 1, "{outcomes:?}");
        assert!(outcomes.contains(&CommitOutcome::Rejected(RejectReason::UnknownReservation)));
        assert_eq!((cluster.containers(), reserved(&cluster)), (1, 0));
        cluster.expect_sound();
    });
}

/// I6. A reservation is fulfilled by one request and swapped by another. The bug: the ask's only unit is placed
/// twice.
#[test]
fn a_reservation_is_fulfilled_or_swapped() {
    model(Bound::None, || {
        let (cluster, ask, reservation) = with_reservation(2, 1);
        let outcomes = cluster
            .both(fulfil(ask, cluster.nodes[0], reservation), swap(ask, cluster.nodes[1], reservation));
        assert_eq!(accepted(&outcomes), 1, "{outcomes:?}");
        assert_eq!((cluster.containers(), reserved(&cluster)), (1, 0));
        cluster.expect_sound();
    });
}

/// I6. Two asks reserve one node. The bug: the second reservation replaces the first, which then never ends.
#[test]
fn a_node_is_reserved_by_one() {
    model(Bound::None, || {
        let cluster = Cluster::serial(2);
        let (asks, node) = ([cluster.ask(1), cluster.ask(1)], cluster.nodes[0]);
        let reservation = |ask| ResourceAllocationCommitRequest::reserve(ask, node);
        let outcomes = cluster.both(reservation(asks[0]), reservation(asks[1]));
        assert_eq!(accepted(&outcomes), 1, "{outcomes:?}");
        assert!(outcomes.contains(&CommitOutcome::Rejected(RejectReason::NodeReserved)));
        assert_eq!(reserved(&cluster), 1);
        cluster.expect_sound();
    });
}

/// I6. A reservation against the draining of its node. The bug: a reservation that stays on a node that takes no
/// containers, so that the ask waits for ever.
#[test]
fn a_reservation_against_the_draining_of_its_node() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let (ask, node) = (cluster.ask(1), cluster.nodes[0]);
        let reservation = ResourceAllocationCommitRequest::reserve(ask, node);
        let (outcome, ()) = cluster.against(reservation, move |handle| handle.drain_node(node).unwrap());
        assert_eq!(reserved(&cluster), 0, "{outcome:?}");
        let mut told = 0;
        while let Some(event) = cluster.events.try_next().unwrap() {
            told += match event.kind {
                EventKind::Reserved { .. } => 1,
                EventKind::Unreserved { .. } => -1,
                _ => 0,
            };
        }
        assert_eq!(told, 0, "every reported reservation is reported to have ended");
        assert!(cluster.is_pending(ask));
        cluster.expect_sound();
    });
}
