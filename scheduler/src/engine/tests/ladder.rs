//! Rejected proposals: fewer sets checked out at a time, and finally the committer's own proposal.

use super::hand::{Hand, busy};
use super::{config, leaf, memory};
use crate::change::{AskSpec, NodeSpec};
use crate::config::{Factor, LocalityDelay, Maximum, Semantics};
use crate::event::EventKind;
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId};
use crate::propose::propose_for_starved;
use crate::request::ResourceAllocationCommitRequest;

/// Two asks for the room of one node; there are three sets.
struct Rivals {
    hand: Hand,
    node: NodeId,
    application: ApplicationId,
    slow: AskId,
    quick: AskId,
}

impl Rivals {
    fn new(count: u32) -> Self {
        let mut config = config([leaf("a")]);
        config.limits.single_set_nodes = 2;
        config.limits.set_nodes = 2;
        let mut hand = Hand::new(config);
        for number in 0..4 {
            hand.node(&format!("n{number}"), 1);
        }
        // The last node in order, so that only an ask that names it gets it.
        let node = hand.node("wanted", 1);
        let application = hand.application();
        let pinned = |count| AskSpec::new(memory(1), count).on_hosts([node]).strictly_local();
        let slow = hand.ask(application, pinned(count));
        let quick = hand.ask(application, pinned(1000).with_priority(9));
        hand.commit();
        Self { hand, node, application, slow, quick }
    }

    fn last_container(&self) -> ContainerId {
        let mut last = None;
        while let Some(event) = self.hand.events.try_next().unwrap() {
            if let EventKind::Allocated { container, .. } = event.kind {
                last = Some(container);
            }
        }
        last.expect("one was placed")
    }

    /// Another request takes the room while the slow ask's proposal is on its way. The room comes back right after
    /// the rejection, in the same group or in the next.
    fn lose(&mut self, in_same_group: bool) {
        let batch = self.hand.parts.proposers[0].propose().expect("a set is wanted");
        let has_proposed = batch.requests().iter().any(|request| request.allocate[0].ask == self.slow);
        let handle = self.hand.engine.handle();
        let rival = handle.commit(ResourceAllocationCommitRequest::allocate(self.quick, self.node)).unwrap();
        self.hand.commit();
        assert!(rival.try_take().is_some_and(|outcome| outcome.is_accepted()));
        let container = self.last_container();
        self.hand.parts.proposers[0].send(batch).unwrap();
        if !in_same_group {
            self.hand.parts.committer.step();
        }
        handle.complete_container(container).unwrap();
        self.hand.parts.committer.step();
        assert!(has_proposed, "the pass proposes what is first in order");
    }
}

#[test]
fn an_ask_that_always_loses_is_placed_by_the_committer() {
    let mut rivals = Rivals::new(1);
    for _ in 0..3 {
        rivals.lose(true);
        assert!(rivals.hand.engine.read(|view| view.ask(rivals.slow).is_some()), "it has lost");
    }
    rivals.lose(true);
    assert_eq!(rivals.hand.engine.stats().placed_by_committer, 1);
    assert!(rivals.hand.engine.read(|view| view.ask(rivals.slow).is_none()), "it was placed");
    assert!(rivals.hand.engine.audit().is_clean());
}

/// A failed attempt is not the last one.
#[test]
fn an_ask_that_starves_in_vain_is_due_again() {
    let mut rivals = Rivals::new(1);
    for _ in 0..4 {
        rivals.lose(false);
    }
    assert_eq!(
        rivals.hand.engine.stats().placed_by_committer,
        0,
        "there was no room at the end of the group"
    );
    for _ in 0..4 {
        rivals.lose(true);
    }
    assert_eq!(rivals.hand.engine.stats().placed_by_committer, 1);
}

/// Only rejections in a row count.
#[test]
fn an_ask_that_wins_now_and_then_is_not_starved() {
    let mut rivals = Rivals::new(10);
    for round in 0..8 {
        if round % 3 == 2 {
            let batch = rivals.hand.parts.proposers[0].propose().expect("a set is wanted");
            rivals.hand.parts.proposers[0].send(batch).unwrap();
            rivals.hand.commit();
            let container = rivals.last_container();
            rivals.hand.engine.handle().complete_container(container).unwrap();
            rivals.hand.commit();
        } else {
            rivals.lose(true);
        }
    }
    assert_eq!(rivals.hand.engine.stats().placed_by_committer, 0);
}

/// A group places a limited number of starved asks; the next group places the rest.
#[test]
fn more_starved_asks_than_one_group_places_are_placed_by_the_next() {
    let mut hand = Hand::new(config([leaf("a")]));
    let (node, _) = (hand.node("wanted", 10), hand.node("elsewhere", 100));
    let application = hand.application();
    for _ in 0..10 {
        hand.ask(application, AskSpec::new(memory(1), 1).on_hosts([node]).strictly_local());
    }
    let rival = AskSpec::new(memory(10), 10).on_hosts([node]).strictly_local().with_priority(9);
    let rival = hand.ask(application, rival);
    hand.commit();
    for _ in 0..4 {
        let batch = hand.parts.proposers[0].propose().expect("a set is wanted");
        assert_eq!(batch.requests().len(), 10);
        let handle = hand.engine.handle();
        handle.commit(ResourceAllocationCommitRequest::allocate(rival, node)).unwrap();
        hand.commit();
        let container = hand.engine.read(|view| view.containers().next().expect("one runs").0);
        hand.parts.proposers[0].send(batch).unwrap();
        handle.complete_container(container).unwrap();
        hand.parts.committer.step();
    }
    let placed_at_once = hand.engine.stats().placed_by_committer;
    assert!((1..10).contains(&placed_at_once), "{placed_at_once}");
    hand.commit();
    assert_eq!(hand.engine.stats().placed_by_committer, 10);
}

/// The choice of a pass, over the whole partition.
#[test]
fn a_container_for_a_starved_ask_goes_to_the_best_node() {
    let mut hand = Hand::new(config([leaf("a")]));
    let nodes: Vec<NodeId> = (0..3).map(|number| hand.node(&format!("n{number}"), 4)).collect();
    let application = hand.application();
    for (node, count) in [(0, 3), (1, 1), (2, 2)] {
        hand.ask(application, AskSpec::new(memory(1), count).on_hosts([nodes[node]]).strictly_local());
    }
    hand.run_until_idle();
    let ask = hand.ask(application, AskSpec::new(memory(1), 1));
    hand.commit();
    let request = propose_for_starved(&hand.engine.shared_state(), ask).expect("there is room");
    assert_eq!(request.allocate[0].node, nodes[1], "the emptiest one, since the order is to spread");
}

/// Another node has room, but the ask may not go there, or not yet.
#[test]
fn a_starved_ask_waits_for_the_host_that_it_names() {
    let mut hand = Hand::new(config([leaf("a")]));
    let full = hand.node("full", 4);
    let application = hand.application();
    hand.ask(application, AskSpec::new(memory(4), 1));
    hand.run_until_idle();
    hand.node("free", 4);
    for spec in [
        AskSpec::new(memory(1), 1).on_hosts([full]).strictly_local(),
        AskSpec::new(memory(1), 1).on_hosts([full]),
    ] {
        let ask = hand.ask(application, spec);
        hand.commit();
        assert_eq!(propose_for_starved(&hand.engine.shared_state(), ask), None);
    }
}

/// Its delay is over at once, and the host that it names is full.
#[test]
fn a_starved_ask_goes_elsewhere_after_its_delay() {
    let mut config = config([leaf("a")]);
    config.locality_delay = LocalityDelay::nodes(0, 0);
    let mut hand = Hand::new(config);
    let full = hand.node("full", 4);
    let application = hand.application();
    hand.ask(application, AskSpec::new(memory(4), 1));
    hand.run_until_idle();
    let free = NodeSpec::new("free", memory(4)).on_rack("other");
    let free = hand.engine.handle().add_node(free).unwrap();
    let ask = hand.ask(application, AskSpec::new(memory(1), 1).on_hosts([full]));
    hand.commit();
    let request = propose_for_starved(&hand.engine.shared_state(), ask).expect("there is room");
    assert_eq!(request.allocate[0].node, free);
}

/// The queue's only headroom is held by the ask's own reservation. This also holds in the mode in which
/// reservations outlive their need.
#[test]
fn a_container_for_a_starved_ask_gives_a_reservation_back() {
    for semantics in [Semantics::Strict, Semantics::YarnCompatible] {
        let mut config = config([leaf("a").with_maximum(Maximum::absolute(&[4]))]);
        (config.semantics, config.reservations.delay_ms) = (semantics, Some(0));
        let mut hand = Hand::new(config);
        hand.node("full", 4);
        let application = hand.application();
        hand.ask(application, AskSpec::new(memory(2), 1));
        hand.run_until_idle();
        let ask = hand.ask(application, AskSpec::new(memory(3), 2).with_priority(9));
        hand.run_until_idle();
        assert_eq!(hand.engine.read(|view| view.ask(ask).unwrap().reserved()), 0, "3 of 2 that are left");
        let small = hand.ask(application, AskSpec::new(memory(2), 1));
        let free = hand.node("free", 8);
        let reserve = ResourceAllocationCommitRequest::reserve(
            small,
            hand.engine.read(|view| view.nodes().next().unwrap().id()),
        );
        let reserved = hand.engine.handle().commit(reserve).unwrap();
        hand.commit();
        assert!(reserved.try_take().unwrap().is_accepted(), "{semantics:?}");
        let request = propose_for_starved(&hand.engine.shared_state(), small).expect("there is room");
        assert_eq!((request.allocate[0].node, request.unreserve.len()), (free, 1));
        let placed_by_committer = hand.engine.handle().commit(request).unwrap();
        hand.commit();
        assert!(placed_by_committer.try_take().unwrap().is_accepted(), "{semantics:?}");
        assert!(hand.engine.audit().is_clean());
    }
}

/// A user limit and a queue's maximum, with room on the node.
#[test]
fn an_ask_at_a_limit_is_not_starved() {
    let limited = leaf("a").with_user_limit_factor(Some(Factor::ONE));
    for leaf in [leaf("a").with_maximum(Maximum::absolute(&[4])), limited] {
        let mut hand = Hand::new(config([leaf]));
        hand.node("n", 8);
        let application = hand.application();
        let ask = hand.ask(application, AskSpec::new(memory(1), 5));
        hand.run_until_idle();
        assert_eq!(hand.engine.read(|view| view.container_count()), 4);
        assert_eq!(propose_for_starved(&hand.engine.shared_state(), ask), None);
        let running = hand.engine.read(|view| view.containers().map(|(id, _)| id).next().unwrap());
        hand.engine.handle().complete_container(running).unwrap();
        hand.commit();
        assert!(propose_for_starved(&hand.engine.shared_state(), ask).is_some());
    }
}

#[test]
fn proposers_are_held_back_while_proposals_collide() {
    let mut rivals = Rivals::new(1);
    for _ in 0..200 {
        if rivals.hand.engine.read(|view| view.ask(rivals.slow).is_none()) {
            let pinned = AskSpec::new(memory(1), 1).on_hosts([rivals.node]).strictly_local();
            rivals.slow = rivals.hand.ask(rivals.application, pinned);
            rivals.hand.commit();
            let container = rivals.last_container();
            rivals.hand.engine.handle().complete_container(container).unwrap();
            rivals.hand.commit();
        }
        rivals.lose(true);
    }
    assert_eq!(rivals.hand.engine.stats().sets_checked_out_max, 1);
}

/// A proposer that is held back is woken when a set has come back.
#[test]
fn no_more_sets_are_out_than_may_be() {
    let (mut hand, containers) = busy();
    hand.engine.shared.leases.set_checked_out_max(1);
    assert_eq!(hand.engine.shared.leases.takeable(), 1);
    let batch = hand.parts.proposers[0].propose().expect("a set is wanted");
    assert!(hand.parts.proposers[1].propose().is_none(), "one is out");
    assert_eq!(hand.engine.shared.leases.takeable(), 0);
    hand.parts.proposers[0].send(batch).unwrap();
    hand.commit();
    assert_eq!(hand.engine.shared.leases.takeable(), 1);
    hand.expect_idle(containers);
}

/// Amounts in flight are a reason for fewer sets checked out; a full cluster is not.
#[test]
fn a_pass_knows_whether_it_lost_a_race() {
    let mut config = config([leaf("a")]);
    (config.limits.single_set_nodes, config.limits.set_nodes) = (2, 1);
    let mut hand = Hand::new(config);
    for number in 0..2 {
        hand.node(&format!("n{number}"), 1);
    }
    let application = hand.application();
    hand.ask(application, AskSpec::new(memory(1), 1));
    hand.commit();
    let first = hand.parts.proposers[0].propose().expect("two sets are wanted");
    let second = hand.parts.proposers[1].propose().expect("two sets are wanted");
    assert!(!first.proposals.lost_race && second.proposals.lost_race);
    for batch in [first, second] {
        hand.parts.proposers[0].send(batch).unwrap();
    }
    hand.ask(application, AskSpec::new(memory(2), 1));
    hand.commit();
    let vain = hand.parts.proposers[0].propose().expect("no pass has looked for the new shape");
    assert!(vain.requests().is_empty() && !vain.proposals.lost_race);
    drop(vain);
    hand.expect_idle(1);
}
