//! Opportunistic asks: where they may go, why they are pending, and which are refused.

use apportion::config::{Capacity, EngineConfig, OpportunisticPolicy, PartitionAccess, Percent, QueueConfig};
use apportion::engine::SubmitError;
use apportion::event::{EventKind, Refusal};
use apportion::explain::{PendingReason, Standing};
use apportion::gang::{GangSpec, InvalidGang};
use apportion::{
    AttributeRule, Blacklist, ExecutionType, Mode, NodeAttributes, NodeSpec, ResourceAllocationCommitRequest,
    TagLimit,
};

use crate::cluster::preempted;
use crate::{Cluster, amount, ask, config, opportunistic, queued, started};

#[test]
fn without_a_policy_they_are_refused() {
    let plain = EngineConfig { opportunistic: None, ..config(1) };
    let cluster = Cluster::new(plain, Mode::Serial);
    let job = cluster.application();
    let refused = cluster.handle.submit_ask(job, opportunistic(1, 1)).unwrap_err();
    assert_eq!(refused, SubmitError::NoOpportunistic);
    assert_eq!(
        refused.to_string(),
        "the engine queues no opportunistic containers; add the table [engine.opportunistic] to its configuration"
    );
    assert_eq!(cluster.handle.register_ask_kind(opportunistic(1, 1)), Err(SubmitError::NoOpportunistic));
}

#[test]
fn a_queue_takes_at_least_one() {
    let error = config(0).validate().unwrap_err().to_string();
    assert_eq!(
        error,
        "engine.opportunistic.queue_length_max: must be at least 1: each opportunistic container goes through a queue"
    );
    assert_eq!(OpportunisticPolicy::default().queue_length_max, 15);
}

#[test]
fn neither_masters_nor_members_of_gangs_are_opportunistic() {
    let cluster = Cluster::serial(1);
    let job = cluster.application();
    let master = cluster.handle.submit_ask(job, opportunistic(1, 1).as_master());
    assert_eq!(master, Err(SubmitError::OpportunisticMaster));
    let gang = GangSpec::new(job).with_role("worker", opportunistic(1, 2));
    let role = "worker".to_owned();
    assert_eq!(gang.check(), Err(InvalidGang::OpportunisticRole { role }));
    assert!(cluster.handle.submit_gang(gang).is_err());
}

#[test]
fn kinds_of_asks_may_be_opportunistic() {
    let cluster = Cluster::serial(2);
    let (node, job) = (cluster.node("a", 1), cluster.application());
    let kinds = [ask(1, 1), opportunistic(1, 1)].map(|spec| cluster.handle.register_ask_kind(spec).unwrap());
    assert_ne!(kinds[0], kinds[1]);
    let of = |kind, count| apportion::AskOfKind { application: job, kind, count, allocation_request_id: 7 };
    cluster.handle.submit_asks_of_kinds([of(kinds[0], 1), of(kinds[1], 2)]).unwrap();
    cluster.run();
    let events = cluster.events();
    assert_eq!(
        (queued(&events).len(), preempted(&events).len()),
        (2, 1),
        "the guaranteed one takes the room"
    );
    assert_eq!(cluster.lengths(&[node]), [1]);
}

/// An opportunistic ask has no part in requests.
#[test]
fn a_request_cannot_serve_one() {
    let cluster = Cluster::serial(1);
    let job = cluster.application();
    let pending = cluster.ask(job, opportunistic(1, 1));
    let node = cluster.node("a", 8);
    drop(cluster.handle.drain_node(node));
    let second = cluster.ask(job, opportunistic(1, 1));
    for ask in [pending, second] {
        let ticket = cluster.handle.commit(ResourceAllocationCommitRequest::allocate(ask, node)).unwrap();
        cluster.run();
        assert!(!ticket.wait().unwrap().is_accepted());
    }
    assert!(cluster.engine.read(|view| view.ask(second).unwrap().outstanding() == 1));
}

#[test]
fn they_prefer_their_hosts_and_may_be_strict() {
    let cluster = Cluster::serial(1);
    let add = |name: &str, rack: &str| {
        cluster.handle.add_node(NodeSpec::new(name, amount(1)).on_rack(rack)).unwrap()
    };
    let [a, b, c] = [("a", "east"), ("b", "east"), ("c", "west")].map(|(name, rack)| add(name, rack));
    let job = cluster.application();
    let nodes = || queued(&cluster.events()).iter().map(|(_, node)| *node).collect::<Vec<_>>();
    cluster.ask(job, opportunistic(1, 6).on_hosts([b]));
    assert_eq!(nodes(), [b, b, a, a, c, c], "the host, its rack, any node");
    let strict = cluster.ask(job, opportunistic(1, 1).on_hosts([b]).strictly_local());
    let free = add("d", "east");
    cluster.run();
    assert_eq!(cluster.lengths(&[a, b, c, free]), [1, 1, 1, 0]);
    assert_eq!(cluster.engine.read(|view| view.ask(strict).unwrap().outstanding()), 1);
    cluster.complete(cluster.at(b).1[0]);
    assert!(cluster.engine.read(|view| view.is_ask_over(strict)));
}

#[test]
fn rules_blacklists_and_limits_on_tags_hold() {
    let cluster = Cluster::serial(3);
    let spec = NodeSpec::new("a", amount(4)).with_attribute("disk", "ssd");
    let (a, b) = (cluster.handle.add_node(spec).unwrap(), cluster.node("b", 4));
    let job = cluster.application();
    let apart = TagLimit::per_node("web", 1);
    let tagged = cluster.ask(job, opportunistic(1, 3).with_tag("web").with_tag_limit(apart));
    assert_eq!(queued(&cluster.events()).iter().map(|(_, node)| *node).collect::<Vec<_>>(), [a, b]);
    let explanation = cluster.engine.explain(tagged);
    let Standing::Opportunistic(why) = &explanation.standing else { panic!("{explanation}") };
    assert_eq!((why.reason, why.possible_nodes, why.open_nodes), (PendingReason::TagLimit, 2, 0));
    cluster.complete(cluster.at(b).1[0]);
    assert!(cluster.engine.read(|view| view.is_ask_over(tagged)));

    let shunned = Blacklist::new().with_hosts(["a", "b"]);
    cluster.handle.update_blacklist(job, shunned.clone(), Blacklist::new()).unwrap();
    drop(cluster.events());
    cluster.ask(job, opportunistic(1, 1));
    assert!(queued(&cluster.events()).is_empty());
    cluster.handle.update_blacklist(job, Blacklist::new(), shunned).unwrap();
    cluster.run();
    assert_eq!(queued(&cluster.events()).len(), 1);
}

#[test]
fn an_explanation_says_why_no_node_takes_it() {
    let cluster = Cluster::serial(1);
    let job = cluster.application();
    let ask = cluster.ask(job, opportunistic(2, 4));
    let reason = || cluster.engine.read(|view| view.ask(ask).unwrap().pending_reason());
    assert_eq!(reason(), PendingReason::NoNodeLargeEnough);
    let small = cluster.node("small", 1);
    assert_eq!(reason(), PendingReason::NoNodeLargeEnough);
    drop(cluster.handle.drain_node(small));
    let node = cluster.node("a", 2);
    assert_eq!(reason(), PendingReason::QueuesFull);
    let explanation = cluster.engine.explain(ask).to_string();
    assert_eq!(
        explanation,
        format!(
            "{ask} wants 2 opportunistic containers (of 4) of 2 MiB, 0.002 vcores for job ({job}) in \
             root.default, pending for 0.000 s.\nThe queues of all nodes that could take it (1 node) are full, with 1 each."
        )
    );
    drop(cluster.handle.drain_node(node));
    cluster.run();
    assert_eq!(reason(), PendingReason::NoRoom);
    cluster.handle.cancel_ask(ask, 9).unwrap();
    cluster.run();
    assert!(cluster.events().contains(&EventKind::AskCancelled { ask, units: 2 }));
    assert_eq!(cluster.engine.explain(ask).standing, Standing::Cancelled { units: 2, placed: 2 });
    cluster.handle.cancel_ask(ask, 1).unwrap();
    cluster.run();
    assert_eq!(cluster.handle.take_refusals().list[0].refusal, Refusal::UnknownAsk);
}

#[test]
fn an_ask_in_json_is_guaranteed_unless_it_says_otherwise() {
    let spec = opportunistic(1, 2);
    let mut json = serde_json::to_value(&spec).unwrap();
    assert_eq!(serde_json::from_value::<apportion::AskSpec>(json.clone()).unwrap(), spec);
    json.as_object_mut().unwrap().remove("execution_type").unwrap();
    assert_eq!(serde_json::from_value::<apportion::AskSpec>(json).unwrap(), ask(1, 2));
}

/// A draining node takes no new opportunistic containers, but starts those in its queue.
#[test]
fn a_draining_node_takes_no_more() {
    let cluster = Cluster::serial(2);
    let (node, job) = (cluster.node("a", 1), cluster.application());
    cluster.ask(job, opportunistic(1, 2));
    cluster.handle.drain_node(node).unwrap();
    let later = cluster.ask(job, opportunistic(1, 1));
    let (waiting, running) = cluster.at(node);
    cluster.complete(running[0]);
    assert_eq!(cluster.at(node), (vec![], waiting));
    assert!(cluster.engine.read(|view| view.ask(later).is_some()));
    cluster.handle.activate_node(node).unwrap();
    cluster.run();
    assert_eq!(cluster.lengths(&[node]), [1]);
}

/// The number of guaranteed asks of a queue, its users and its demand are as without opportunistic asks.
#[test]
fn guaranteed_asks_do_not_notice_them() {
    let cluster = Cluster::serial(1);
    let job = cluster.application();
    cluster.node("a", 2);
    cluster.ask(job, opportunistic(1, 100));
    let (pending, users, asks) = cluster.engine.read(|view| {
        let queue = view.queue("root.default").unwrap();
        let application = view.application(job).unwrap();
        (
            queue.quota(apportion::PartitionId::DEFAULT).pending,
            queue.active_user_count(),
            application.pending_asks(),
        )
    });
    assert_eq!((pending, users, asks), (amount(0), 0, 0));
    drop(cluster.events());
    cluster.ask(job, ask(2, 1));
    let events = cluster.events();
    assert!(events.iter().any(|event| matches!(event, EventKind::Allocated { .. })), "{events:?}");
    assert!(started(&events).is_empty());
}

#[test]
fn an_attached_master_learns_of_asks_and_queued_containers() {
    let cluster = Cluster::serial(1);
    let job = cluster.application();
    cluster.handle.add_node(NodeSpec::new("a", amount(1))).unwrap();
    let ask = cluster.ask(job, opportunistic(1, 3));
    let stream = cluster.handle.event_stream(10);
    let ticket = cluster.handle.attach(job, &stream).unwrap();
    cluster.run();
    let attachment = ticket.wait().unwrap().unwrap();
    assert_eq!(attachment.containers.iter().map(|one| one.is_waiting).collect::<Vec<_>>(), [false, true]);
    assert_eq!(attachment.asks.len(), 1);
    assert_eq!((attachment.asks[0].ask, attachment.asks[0].outstanding), (ask, 1));
    assert_eq!(attachment.asks[0].execution_type, ExecutionType::Opportunistic);
}

#[test]
fn a_changed_attribute_lets_a_pending_ask_look_again() {
    let cluster = Cluster::serial(1);
    let (node, job) = (cluster.node("a", 2), cluster.application());
    cluster.ask(job, opportunistic(1, 1).with_rule(AttributeRule::one_of("disk", ["ssd"])));
    assert!(queued(&cluster.events()).is_empty());
    let attributes = NodeAttributes::from([("disk".to_owned(), "ssd".to_owned())]);
    cluster.handle.update_node(node, amount(2), attributes).unwrap();
    cluster.run();
    assert_eq!(queued(&cluster.events()).len(), 1);
}

/// Neither its pending asks nor its waiting containers are charged, so no maximum stops the move.
#[test]
fn an_application_with_opportunistic_asks_moves_only_to_a_leaf_with_their_partition() {
    let half = |name: &str| QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50)));
    let mut config = config(1);
    config.partitions = vec!["q".into()];
    let root = QueueConfig::root([half("a"), half("b").with_access(PartitionAccess::Only([].into()))]);
    config.root = root;
    let cluster = Cluster::new(config, Mode::Serial);
    let q = cluster.handle.partition("q").unwrap();
    let job = cluster.application_in("root.a");
    let moved = || {
        let ticket = cluster.handle.move_application(job, "root.b").unwrap();
        cluster.run();
        ticket.wait().unwrap()
    };
    cluster.ask(job, opportunistic(1, 1).in_partition(q));
    assert_eq!(moved(), Err(Refusal::PartitionNotAccessible), "it is pending");
    let full = NodeSpec::new("n0", amount(1)).in_partition(q);
    cluster.handle.add_node(full).unwrap();
    cluster.ask(job, opportunistic(1, 1).in_partition(q));
    assert_eq!(cluster.engine.read(|view| view.containers().filter(|(_, one)| one.is_waiting).count()), 1);
    assert_eq!(moved(), Err(Refusal::PartitionNotAccessible), "it waits");
}
