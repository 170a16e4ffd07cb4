//! Tag limits and blacklists, with requests made by hand, with reservations and with many sets.

use apportion::config::{EngineConfig, EngineLimits, Percent, ReservationPolicy};
use apportion::explain::{PendingReason, Stage};
use apportion::request::{AllocationProposal, RejectReason};
use apportion::{
    ApplicationId, AskSpec, Blacklist, CommitOutcome, Mode, NodeId, NodeSpec,
    ResourceAllocationCommitRequest, Resources, TagLimit,
};
use apportion_tests::support::cluster::Cluster;

use crate::{engine, leaf};

fn plain() -> EngineConfig {
    engine([leaf("default", 100)])
}

fn node_on(cluster: &mut Cluster, name: &str, rack: &str, memory: i64) -> NodeId {
    cluster.add_node(NodeSpec::new(name, Resources::new(&[memory])).on_rack(rack)).unwrap()
}

/// An ask for containers of size 1 that may not share a node with each other.
fn apart(count: u32) -> AskSpec {
    let limit = TagLimit::per_node("web", 1).within_application();
    AskSpec::new(Resources::new(&[1]), count).with_tag("web").with_tag_limit(limit)
}

fn running_on(cluster: &Cluster, application: ApplicationId, node: NodeId) -> usize {
    cluster
        .engine
        .read(|view| view.application(application).unwrap().containers().filter(|it| it.node == node).count())
}

#[test]
fn units_of_a_request_count_each_other_and_what_it_releases() {
    let mut cluster = Cluster::serial(plain());
    let nodes = [cluster.node("n1", &[10]), cluster.node("n2", &[10])];
    let application = cluster.application("root.default", "ann");
    let ask = cluster.submit_ask(application, apart(4));
    let on = |node| AllocationProposal { ask, node, from_reservation: None };
    let request = |allocate: &[NodeId], release| ResourceAllocationCommitRequest {
        allocate: allocate.iter().map(|node| on(*node)).collect(),
        release,
        ..Default::default()
    };
    cluster.commit(request(&[nodes[0], nodes[0]], Default::default()));
    cluster.commit(request(&nodes, Default::default()));
    cluster.commit(request(&nodes[..1], Default::default()));
    cluster.run();
    let [both, apart, again] = cluster.outcomes() else { panic!("{:?}", cluster.outcomes()) };
    assert_eq!(*both, CommitOutcome::Rejected(RejectReason::TagLimit));
    assert!(apart.is_accepted());
    assert_eq!(*again, CommitOutcome::Rejected(RejectReason::TagLimit));
    let oldest = cluster.running(application)[0];
    cluster.commit(request(&nodes[..1], [oldest].into_iter().collect()));
    cluster.commit(request(&nodes[..1], [cluster.running(application)[1]].into_iter().collect()));
    cluster.run();
    let [swapped, other] = cluster.outcomes() else { panic!("{:?}", cluster.outcomes()) };
    assert!(swapped.is_accepted(), "the released container no longer counts");
    assert_eq!(
        *other,
        CommitOutcome::Rejected(RejectReason::TagLimit),
        "a release on another node does not help"
    );
    assert_eq!(nodes.map(|node| running_on(&cluster, application, node)), [1, 1]);
}

/// Both reservations are ready at once, and only one may be fulfilled: the other waits, and no pass proposes it in
/// vain.
#[test]
fn reservations_wait_for_the_cap_of_their_rack() {
    let mut config = plain();
    config.reservations =
        ReservationPolicy { delay_ms: Some(0), nodes: Percent::ALL, ..ReservationPolicy::default() };
    let mut cluster = Cluster::serial(config);
    let nodes = [node_on(&mut cluster, "n1", "r", 4), node_on(&mut cluster, "n2", "r", 4)];
    // Reservations are charged to the queue, so the queue needs spare capacity for them.
    let spare = cluster.node("spare", &[8]);
    cluster.drain(spare);
    let (small, large) =
        (cluster.application("root.default", "ann"), cluster.application("root.default", "bob"));
    cluster.ask(small, &[2], 2);
    cluster.run();
    let spec =
        AskSpec::new(Resources::new(&[3]), 2).with_tag("db").with_tag_limit(TagLimit::per_rack("db", 1));
    let ask = cluster.submit_ask(large, spec);
    cluster.run();
    let reservations = || cluster.engine.read(|view| view.reservations().count());
    assert_eq!(reservations(), 2);
    cluster.running(small).into_iter().for_each(|container| cluster.complete(container));
    cluster.run();
    assert_eq!(cluster.running(large).len(), 1);
    let why = cluster.engine.explain(ask);
    assert_eq!(why.pending().unwrap().funnel.at(Stage::TagLimit), 2, "{why}");
    cluster.complete(cluster.running(large)[0]);
    cluster.run();
    assert_eq!(nodes.map(|node| running_on(&cluster, large, node)).iter().sum::<usize>(), 1);
}

#[test]
fn nodes_that_are_shunned_and_those_at_a_tag_limit_are_explained() {
    let mut cluster = Cluster::serial(plain());
    for name in ["n1", "n2", "n3"] {
        cluster.node(name, &[2]);
    }
    let application = cluster.application("root.default", "ann");
    cluster.update_blacklist(application, Blacklist::new().with_hosts(["n1"]), Blacklist::new());
    let ask = cluster.submit_ask(application, apart(3));
    cluster.run();
    let explanation = cluster.engine.explain(ask);
    let why = explanation.pending().unwrap();
    assert_eq!((why.funnel.at(Stage::Blacklisted), why.funnel.at(Stage::TagLimit)), (1, 2));
    assert_eq!((why.reason, why.outstanding), (PendingReason::TagLimit, 1));
    let text = explanation.to_string();
    for words in [
        "Every node with room is at the ask's limit of containers with a tag.",
        "1 on the application's blacklist, 2 at its limit of containers with a tag",
    ] {
        assert!(text.contains(words), "`{words}` is not in:\n{text}");
    }
}

/// Each set has room, and all sets share the racks: the second proposer is rejected, and every ask is decided.
#[test]
fn proposers_that_meet_at_the_cap_of_a_rack() {
    for proposers in [1, 4] {
        let mut config = plain();
        config.limits = EngineLimits { single_set_nodes: 2, set_nodes: 2, ..EngineLimits::default() };
        let mut cluster = Cluster::start(config, Mode::Parallel { proposers });
        for number in 0..32 {
            node_on(&mut cluster, &format!("n{number}"), &format!("r{}", number % 2), 10);
        }
        let application = cluster.application("root.default", "ann");
        let limit = TagLimit::per_rack("web", 3);
        for _ in 0..20 {
            let spec = AskSpec::new(Resources::new(&[1]), 3).with_tag("web").with_tag_limit(limit.clone());
            cluster.submit_ask(application, spec);
        }
        cluster.run();
        // Each container that ends is replaced by one other.
        for round in 0..10 {
            let running = cluster.running(application);
            assert_eq!(running.len(), 6, "{proposers} proposers, round {round}");
            running.into_iter().skip(round % 3).step_by(2).for_each(|container| cluster.complete(container));
            cluster.run();
        }
    }
}

/// A node taken off the application's blacklist serves its pending asks.
#[test]
fn a_node_taken_off_the_blacklist_serves_pending_asks() {
    let mut cluster = Cluster::serial(plain());
    cluster.node("n1", &[8]);
    let application = cluster.application("root.default", "user");
    let shunned = || Blacklist::new().with_hosts(["n1".to_owned()]);
    cluster.update_blacklist(application, shunned(), Blacklist::new());
    cluster.ask(application, &[1], 1);
    cluster.run();
    assert_eq!(cluster.running(application).len(), 0);
    cluster.update_blacklist(application, Blacklist::new(), shunned());
    cluster.run();
    assert_eq!(cluster.running(application).len(), 1);
}

/// The end of a container makes room on its whole rack for asks limited there.
#[test]
fn the_rest_of_a_rack_is_looked_at_when_a_tag_ends() {
    let mut cluster = Cluster::serial(plain());
    let first = node_on(&mut cluster, "n1", "r1", 8);
    let application = cluster.application("root.default", "user");
    let spec =
        AskSpec::new(Resources::new(&[1]), 2).with_tag("db").with_tag_limit(TagLimit::per_rack("db", 1));
    cluster.submit_ask(application, spec);
    cluster.run();
    node_on(&mut cluster, "n2", "r1", 8);
    cluster.drain(first);
    cluster.run();
    let running = cluster.running(application);
    assert_eq!(running.len(), 1);
    cluster.complete(running[0]);
    cluster.run();
    assert_eq!(cluster.running(application).len(), 1);
}
