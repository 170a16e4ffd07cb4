//! Two proposals from one view, and proposals against changes of their nodes, queues and applications.

use super::{Bound, Cluster, accepted, allocate, answer, half, model, one, plain, with_queues};
use crate::change::AskSpec;
use crate::config::{Capacity, Factor, Maximum, Percent, QueueConfig, QueueUpdate, Reconfiguration};
use crate::engine::Handle;
use crate::event::Refusal;
use crate::facts::{ApplicationEnd, NodeAttributes, TagLimit};
use crate::ids::{AskId, NodeId, PartitionId};
use crate::request::{CommitOutcome, RejectReason, ResourceAllocationCommitRequest};
use crate::resource::Resources;

/// A parent with a maximum of one memory, and two leaves that may use all of it.
fn narrow_parent() -> QueueConfig {
    let parent = QueueConfig::leaf("parent", Capacity::Percent(Percent::ALL));
    let limited = parent.with_maximum(Maximum::absolute(&[1])).with_children(["a", "b"].map(half));
    QueueConfig::root([limited])
}

/// I1, I8. Two proposals from one view for the last room. The bug: `accept` trusts the proposer's view.
#[test]
fn of_two_proposals_for_one_room_one_is_accepted() {
    model(Bound::None, || {
        // The second node gives the queue room for both.
        let cluster = Cluster::serial(2);
        let ask = cluster.ask(2);
        let outcomes = cluster.both(allocate(ask, cluster.nodes[0]), allocate(ask, cluster.nodes[0]));
        assert_eq!(accepted(&outcomes), 1, "{outcomes:?}");
        assert!(outcomes.contains(&CommitOutcome::Rejected(RejectReason::NodeFull)));
        assert_eq!(cluster.containers(), 1);
        cluster.expect_sound();
    });
}

/// I3. Two leaves use up their parent's maximum. The bug: a limit that is checked at the leaf only.
#[test]
fn of_two_leaves_below_one_maximum_one_is_served() {
    model(Bound::None, || {
        let cluster = Cluster::serial_in("root.parent.a", with_queues(narrow_parent()), 2);
        let sibling = cluster.submit("root.parent.b", "user");
        let asks = [cluster.ask(1), cluster.ask_of(sibling, 1)];
        let outcomes = cluster.both(allocate(asks[0], cluster.nodes[0]), allocate(asks[1], cluster.nodes[1]));
        assert_eq!(accepted(&outcomes), 1, "{outcomes:?}");
        assert!(outcomes.contains(&CommitOutcome::Rejected(RejectReason::QueueLimit)));
        let used =
            cluster.engine.read(|view| view.queue("root.parent").unwrap().quota(PartitionId::DEFAULT).used);
        assert_eq!(used, one());
        cluster.expect_sound();
    });
}

/// I3. Two applications of one user use up the user's limit. The bug: a user limit per application.
#[test]
fn of_two_applications_of_one_user_one_is_served() {
    model(Bound::None, || {
        let half = || Capacity::Percent(Percent::whole(50));
        let leaves = [QueueConfig::leaf("a", half()), QueueConfig::leaf("b", half())];
        let cluster = Cluster::serial_in("root.a", with_queues(QueueConfig::root(leaves)), 2);
        let asks = [cluster.ask(1), cluster.ask_of(cluster.submit("root.a", "user"), 1)];
        let outcomes = cluster.both(allocate(asks[0], cluster.nodes[0]), allocate(asks[1], cluster.nodes[1]));
        assert_eq!(accepted(&outcomes), 1, "{outcomes:?}");
        assert!(outcomes.contains(&CommitOutcome::Rejected(RejectReason::UserLimit)));
        cluster.expect_sound();
    });
}

/// I4. Two proposals for the only unit of an ask. The bug: units that are not checked again, so that an application
/// gets more than it asked for.
#[test]
fn of_two_proposals_for_one_unit_one_is_accepted() {
    model(Bound::None, || {
        let cluster = Cluster::serial(2);
        let ask = cluster.ask(1);
        let outcomes = cluster.both(allocate(ask, cluster.nodes[0]), allocate(ask, cluster.nodes[1]));
        assert_eq!(accepted(&outcomes), 1, "{outcomes:?}");
        assert!(outcomes.contains(&CommitOutcome::Rejected(RejectReason::UnknownAsk)));
        assert_eq!(cluster.containers(), 1);
        cluster.expect_sound();
    });
}

/// A request for one container on each of the nodes, in this order; all or nothing.
fn gang(ask: AskId, nodes: [NodeId; 2]) -> ResourceAllocationCommitRequest {
    let mut request = allocate(ask, nodes[0]);
    request.allocate.extend(allocate(ask, nodes[1]).allocate);
    request
}

/// I8. Two requests for both nodes, named in opposite orders. The bug: a request that is applied in part, or a
/// deadlock in which each keeps one node.
#[test]
fn of_two_requests_for_the_same_nodes_one_is_applied_whole() {
    model(Bound::None, || {
        let cluster = Cluster::serial(2);
        let asks = [cluster.ask(2), cluster.ask(2)];
        let [first, second] = [cluster.nodes[0], cluster.nodes[1]];
        let outcomes = cluster.both(gang(asks[0], [first, second]), gang(asks[1], [second, first]));
        assert_eq!(accepted(&outcomes), 1, "{outcomes:?}");
        assert_eq!(cluster.containers(), 2);
        let pending =
            asks.map(|ask| cluster.engine.read(|view| view.ask(ask).map_or(0, |ask| ask.outstanding())));
        assert!(pending == [0, 2] || pending == [2, 0], "{pending:?}");
        cluster.expect_sound();
    });
}

/// I8. A request for two nodes against one for the second of them. The bug: the first node is taken before the
/// second is checked.
#[test]
fn a_request_for_two_nodes_against_one_for_the_second() {
    model(Bound::None, || {
        let cluster = Cluster::serial(2);
        let asks = [cluster.ask(2), cluster.ask(1)];
        let [first, second] = [cluster.nodes[0], cluster.nodes[1]];
        let outcomes = cluster.both(gang(asks[0], [first, second]), allocate(asks[1], second));
        assert_eq!(accepted(&outcomes), 1, "{outcomes:?}");
        assert_eq!(cluster.containers(), if outcomes[0].is_accepted() { 2 } else { 1 });
        cluster.expect_sound();
    });
}

/// I5, I10. A proposal against the removal of its node. The bug: a container on a removed node.
#[test]
fn a_proposal_against_the_removal_of_its_node() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let (ask, node) = (cluster.ask(1), cluster.nodes[0]);
        let (outcome, ()) =
            cluster.against(allocate(ask, node), move |handle| drop(handle.remove_node(node).unwrap()));
        assert_eq!(cluster.containers(), 0, "its node is gone, whichever came first");
        assert_eq!(cluster.is_pending(ask), !outcome.is_accepted(), "lost with the node: {outcome:?}");
        assert!(cluster.engine.read(|view| view.application(cluster.application).is_some()));
        cluster.expect_sound();
    });
}

/// I7. A proposal against the draining of its node. The bug: a node that counts as a candidate because it was one
/// in the proposer's view.
#[test]
fn a_proposal_against_the_draining_of_its_node() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let (ask, node) = (cluster.ask(1), cluster.nodes[0]);
        let queue = cluster.handle.queue("root.default").unwrap();
        let (outcome, behind) = cluster.against(allocate(ask, node), move |handle| {
            handle.drain_node(node).unwrap();
            handle.update_queue(queue, QueueUpdate::default()).unwrap()
        });
        let behind = answer(&behind).expect("valid limits");
        match outcome {
            CommitOutcome::Accepted(seq) => assert!(seq < behind, "{seq:?} is behind {behind:?}"),
            CommitOutcome::Rejected(reason) => assert_eq!(reason, RejectReason::NodeNotCandidate),
        }
        assert_eq!(cluster.containers(), accepted(&[outcome]), "draining ends nothing that runs");
        cluster.expect_sound();
    });
}

/// I1. A proposal against a smaller capacity of its node. The bug: room computed from the old capacity.
#[test]
fn a_proposal_against_the_shrinking_of_its_node() {
    model(Bound::None, || {
        let cluster = Cluster::serial(2);
        let (ask, node) = (cluster.ask(1), cluster.nodes[0]);
        let (outcome, ()) = cluster.against(allocate(ask, node), move |handle| {
            handle.update_node(node, Resources::ZERO, NodeAttributes::new()).unwrap();
        });
        let free = cluster.engine.read(|view| view.node(node).unwrap().free());
        let expected = if outcome.is_accepted() { Resources::ZERO - one() } else { Resources::ZERO };
        assert_eq!(free, expected, "{outcome:?}");
        cluster.expect_sound();
    });
}

/// I3. A proposal against a lower maximum of its queue. The bug: limits computed only at the end of a group, so
/// that a request after the change is checked against the old ones.
#[test]
fn a_proposal_against_a_lower_maximum() {
    model(Bound::None, || {
        let cluster = Cluster::serial_in("root.default", plain(), 1);
        let (ask, queue) = (cluster.ask(1), cluster.handle.queue("root.default").unwrap());
        let (outcome, lowered) = cluster.against(allocate(ask, cluster.nodes[0]), move |handle| {
            let maximum = Some(Maximum::absolute(&[0]));
            handle.update_queue(queue, QueueUpdate { maximum, ..QueueUpdate::default() }).unwrap()
        });
        let lowered = answer(&lowered).expect("valid limits");
        match outcome {
            CommitOutcome::Accepted(seq) => assert!(seq < lowered, "{seq:?} is not before {lowered:?}"),
            CommitOutcome::Rejected(reason) => assert_eq!(reason, RejectReason::QueueLimit),
        }
        cluster.expect_sound();
    });
}

/// I5, I10. A proposal against the end of its application. The bug: a container without an application.
#[test]
fn a_proposal_against_the_end_of_its_application() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        let (ask, application) = (cluster.ask(1), cluster.application);
        cluster.against(allocate(ask, cluster.nodes[0]), move |handle| {
            handle.end_application(application, ApplicationEnd::Killed).unwrap();
        });
        assert_eq!(cluster.containers(), 0);
        assert!(!cluster.is_pending(ask));
        cluster.expect_sound();
    });
}

/// I3. A proposal against a higher user limit that it needs. The bug: the next request of the same group is checked
/// against the old limit, although the higher limit was answered with an earlier change.
#[test]
fn a_proposal_against_a_higher_user_limit() {
    model(Bound::None, || {
        let half = || Capacity::Percent(Percent::whole(50));
        let leaves = [QueueConfig::leaf("a", half()), QueueConfig::leaf("b", half())];
        let cluster = Cluster::serial_in("root.a", with_queues(QueueConfig::root(leaves)), 2);
        let (ask, queue) = (cluster.ask(2), cluster.handle.queue("root.a").unwrap());
        cluster.commit();
        assert!(cluster.decide(allocate(ask, cluster.nodes[0])).is_accepted());
        let (outcome, raised) = cluster.against(allocate(ask, cluster.nodes[1]), move |handle| {
            let user_limit_factor = Some(Some(Factor::whole(2)));
            handle.update_queue(queue, QueueUpdate { user_limit_factor, ..QueueUpdate::default() }).unwrap()
        });
        let raised = answer(&raised).expect("valid limits");
        match outcome {
            CommitOutcome::Accepted(seq) => assert!(seq > raised, "{seq:?} is not after {raised:?}"),
            CommitOutcome::Rejected(reason) => assert_eq!(reason, RejectReason::UserLimit),
        }
        cluster.expect_sound();
    });
}

/// I1. A proposal for the room that a demoted container left, against its promotion. The bug: a promotion that does
/// not check the room again.
#[test]
fn a_proposal_against_the_promotion_of_a_container() {
    model(Bound::None, || {
        // The second node gives the queue room for both.
        let cluster = Cluster::serial(2);
        let node = cluster.nodes[0];
        assert!(cluster.decide(allocate(cluster.ask(1), node)).is_accepted());
        let container = cluster.container_on(node);
        drop(cluster.handle.demote_container(container).unwrap());
        let ask = cluster.ask(1);
        cluster.commit();
        let promote = move |handle: &Handle| handle.promote_container(container).unwrap();
        let (proposed, promoted) = cluster.against(allocate(ask, node), promote);
        let refused = Err(Refusal::CannotGrow(RejectReason::NodeFull));
        match answer(&promoted) {
            Ok(_) => assert_eq!(proposed, CommitOutcome::Rejected(RejectReason::NodeFull)),
            answer => assert_eq!((answer, proposed.is_accepted()), (refused, true)),
        }
        cluster.expect_sound();
    });
}

/// I7. Two proposals for nodes of one rack, with a tag limit of one container per rack. The bug: a rule on other
/// containers that only proposers check.
#[test]
fn of_two_containers_that_shun_each_other_one_is_placed() {
    model(Bound::None, || {
        let cluster = Cluster::serial(2);
        let apart = AskSpec::new(one(), 2).with_tag("db").with_tag_limit(TagLimit::per_rack("db", 1));
        let ask = cluster.handle.submit_ask(cluster.application, apart).unwrap();
        let outcomes = cluster.both(allocate(ask, cluster.nodes[0]), allocate(ask, cluster.nodes[1]));
        assert_eq!(accepted(&outcomes), 1, "{outcomes:?}");
        assert!(outcomes.contains(&CommitOutcome::Rejected(RejectReason::TagLimit)), "{outcomes:?}");
        cluster.expect_sound();
    });
}

/// I3. A proposal against a new tree in which its queue may use nothing. The bug: the next request of the same
/// group is checked against the old tree.
#[test]
fn a_proposal_against_another_tree() {
    model(Bound::None, || {
        let cluster = Cluster::serial_in("root.a", with_queues(QueueConfig::root([half("a"), half("b")])), 1);
        let ask = cluster.ask(1);
        let leaves = [half("a").with_maximum(Maximum::absolute(&[0])), half("b")];
        let wanted = Reconfiguration::from(&with_queues(QueueConfig::root(leaves)));
        let (outcome, changed) = cluster
            .against(allocate(ask, cluster.nodes[0]), move |handle| handle.reconfigure(wanted).unwrap());
        let changed = answer(&changed).expect("a valid tree");
        match outcome {
            CommitOutcome::Accepted(seq) => assert!(seq < changed, "{seq:?} is not before {changed:?}"),
            CommitOutcome::Rejected(reason) => assert_eq!(reason, RejectReason::QueueLimit),
        }
        cluster.expect_sound();
    });
}

/// I2, I3. A proposal against the move of its application to a leaf that may use nothing. The bug: a container that
/// is charged to the application's former leaf.
#[test]
fn a_proposal_against_the_move_of_its_application() {
    model(Bound::None, || {
        let leaves = [half("a"), half("narrow").with_maximum(Maximum::absolute(&[0]))];
        let cluster = Cluster::serial_in("root.a", with_queues(QueueConfig::root(leaves)), 1);
        let (ask, application) = (cluster.ask(1), cluster.application);
        let (outcome, moved) = cluster.against(allocate(ask, cluster.nodes[0]), move |handle| {
            handle.move_application(application, "root.narrow").unwrap()
        });
        // With the container, the application does not fit there; without it, it gets none.
        assert_eq!(outcome.is_accepted(), answer(&moved).is_err(), "{outcome:?}");
        let used = cluster.engine.read(|view| view.queue("root.a").unwrap().quota(PartitionId::DEFAULT).used);
        assert_eq!(used, if outcome.is_accepted() { one() } else { Resources::ZERO });
        cluster.expect_sound();
    });
}
