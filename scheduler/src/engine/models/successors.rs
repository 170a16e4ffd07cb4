//! A stale identifier must not affect the successor in its slot.

use std::sync::Arc;

use loom::thread;

use super::{Bound, Cluster, accepted, allocate, answer, model, one};
use crate::change::{ApplicationSpec, AskSpec, NodeSpec};
use crate::event::EventKind;
use crate::facts::ApplicationEnd;
use crate::ids::SlotId;
use crate::request::{CommitOutcome, RejectReason, ResourceAllocationCommitRequest};
use crate::sync::Ticket;

/// I5. A request that releases a container, against its natural end and the start of another in its slot and on its
/// node. The bug: a release by slot, which ends the successor.
#[test]
fn a_release_never_ends_the_successor_of_a_container() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let (ask, node) = (cluster.ask(2), cluster.nodes[0]);
        assert!(cluster.decide(allocate(ask, node)).is_accepted());
        let old = cluster.container_on(node);
        let release = ResourceAllocationCommitRequest { release: [old].into(), ..Default::default() };
        let (outcome, next) = cluster.against(release, move |handle| {
            handle.complete_container(old).unwrap();
            handle.commit(allocate(ask, node)).unwrap()
        });
        assert!(answer(&next).is_accepted(), "it came behind the end of the first");
        let successor = cluster.container_on(node);
        assert_eq!(successor.index(), old.index(), "its slot was given to the successor");
        let expected = CommitOutcome::Rejected(RejectReason::UnknownContainer);
        assert!(outcome.is_accepted() || outcome == expected, "{outcome:?}");
        assert_eq!(cluster.containers(), 1);
        cluster.expect_sound();
    });
}

/// I4. A proposal against the cancellation of its ask and a successor in the ask's slot. The bug: an ask that is
/// looked up by slot, so that the successor gets the container.
#[test]
fn a_proposal_never_serves_the_successor_of_its_ask() {
    model(Bound::None, || {
        let cluster = Arc::new(Cluster::serial(1));
        let (ask, node) = (cluster.ask(1), cluster.nodes[0]);
        cluster.commit();
        let theirs = Arc::clone(&cluster);
        let other = thread::spawn(move || {
            theirs.handle.cancel_ask(ask, 1).unwrap();
            theirs.commit();
            theirs.ask(1)
        });
        let outcome = cluster.decide(allocate(ask, node));
        let successor = other.join().unwrap();
        cluster.commit();
        assert_eq!(successor.index(), ask.index(), "it has the slot of the first");
        assert!(cluster.is_pending(successor), "no request was for it");
        assert_eq!(cluster.containers(), accepted(&[outcome]), "{outcome:?}");
        cluster.expect_sound();
    });
}

/// I5. A proposal against the removal of its node and a successor of the same name in the node's slot. The bug: a
/// node that is looked up by slot or by name.
#[test]
fn a_proposal_never_uses_the_successor_of_its_node() {
    model(Bound::None, || {
        let cluster = Arc::new(Cluster::serial(1));
        let (ask, node) = (cluster.ask(1), cluster.nodes[0]);
        cluster.commit();
        let theirs = Arc::clone(&cluster);
        let other = thread::spawn(move || {
            theirs.handle.remove_node(node).unwrap();
            theirs.commit();
            theirs.handle.add_node(NodeSpec::new("n0", one())).unwrap()
        });
        let outcome = cluster.decide(allocate(ask, node));
        let successor = other.join().unwrap();
        cluster.commit();
        assert_eq!((successor.index(), cluster.containers()), (node.index(), 0), "{outcome:?}");
        assert_eq!(cluster.handle.node("n0"), Some(successor));
        cluster.expect_sound();
    });
}

/// I10. An ask comes too late for an application that ended, against the submission of its successor in the slot.
/// The bug: the refusal goes to the present owner of the slot.
#[test]
fn a_refusal_is_never_told_to_the_successor_of_an_application() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let old = cluster.application;
        cluster.handle.end_application(old, ApplicationEnd::Finished).unwrap();
        cluster.commit();
        let handle = cluster.handle.clone();
        let other = thread::spawn(move || handle.submit_ask(old, AskSpec::new(one(), 1)).unwrap());
        let events = cluster.handle.event_stream(4);
        let spec = ApplicationSpec::new("successor", "root.default", "user");
        let successor = cluster.handle.submit_application(spec, &events).unwrap();
        cluster.commit();
        other.join().unwrap();
        cluster.commit();
        assert_eq!(successor.index(), old.index(), "it has the slot of the first");
        assert_eq!(events.try_next(), Ok(None), "nothing has happened to the successor");
    });
}

/// I2. A request that ends a victim and starts its beneficiary, against the natural end of the victim. The bug: a
/// victim whose use is given back twice, or a beneficiary that is started without its room.
#[test]
fn a_victim_ends_once() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let (ask, beneficiary, node) = (cluster.ask(1), cluster.ask(1), cluster.nodes[0]);
        assert!(cluster.decide(allocate(ask, node)).is_accepted());
        while cluster.events.try_next().unwrap().is_some() {}
        let victim = cluster.container_on(node);
        let request =
            ResourceAllocationCommitRequest { release: [victim].into(), ..allocate(beneficiary, node) };
        let (outcome, ()) =
            cluster.against(request, move |handle| handle.complete_container(victim).unwrap());
        assert_eq!(cluster.containers(), accepted(&[outcome]), "all or nothing: {outcome:?}");
        let mut ends = 0;
        while let Some(event) = cluster.events.try_next().unwrap() {
            ends += usize::from(matches!(event.kind, EventKind::ContainerEnded { .. }));
        }
        assert_eq!(ends, 1, "it is told once that the victim ended");
        cluster.expect_sound();
    });
}

/// I2. Two requests that end one victim, each for its own beneficiary. The bug: room that counts for both.
#[test]
fn one_victim_makes_room_for_one() {
    model(Bound::None, || {
        let cluster = Cluster::serial(2);
        let (ask, node) = (cluster.ask(1), cluster.nodes[0]);
        assert!(cluster.decide(allocate(ask, node)).is_accepted());
        let victim = cluster.container_on(node);
        let request = |cluster: &Cluster| ResourceAllocationCommitRequest {
            release: [victim].into(),
            ..allocate(cluster.ask(1), node)
        };
        let outcomes = cluster.both(request(&cluster), request(&cluster));
        assert_eq!(accepted(&outcomes), 1, "{outcomes:?}");
        assert!(outcomes.contains(&CommitOutcome::Rejected(RejectReason::UnknownContainer)));
        assert_eq!(cluster.containers(), 1);
        cluster.expect_sound();
    });
}

/// Two callers send a request each, one of them impossible. The bug: answers in another order than the requests.
#[test]
fn every_caller_gets_its_own_answer() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let ask = cluster.ask(1);
        let (outcome, theirs): (_, Ticket<CommitOutcome>) = cluster
            .against(allocate(ask, cluster.nodes[0]), |handle| {
                handle.commit(ResourceAllocationCommitRequest::default()).unwrap()
            });
        assert!(outcome.is_accepted(), "{outcome:?}");
        assert_eq!(answer(&theirs), CommitOutcome::Rejected(RejectReason::Empty));
    });
}
