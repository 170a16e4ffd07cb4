//! `spec/peers.md`, section 5: black-box scenarios of other schedulers.
//!
//! "Without quota" is a leaf without a guarantee that may use everything. User limits play no part in these cases, so
//! there are none.

use apportion::config::{
    ApplicationOrdering, Capacity, EngineConfig, Factor, Maximum, NodeOrderKind, Percent, QueueConfig,
};
use apportion::{ApplicationEnd, ApplicationId, Mode, Quota};
use apportion_tests::support::cluster::Cluster;

use crate::{engine, leaf};

/// Ten of twelve fit below the maximum; when the ten are released, the other two follow.
fn maximum_is_honoured(config: EngineConfig, queue: &str, limited: &str, mode: Mode) {
    let mut cluster = Cluster::start(config, mode);
    cluster.node("n1", &[150, 15]);
    let application = cluster.application(queue, "user");
    cluster.ask(application, &[10, 1], 12);
    cluster.run();
    assert_eq!((cluster.running(application).len(), cluster.pending(limited)), (10, 20));
    for container in cluster.running(application) {
        cluster.release(container);
    }
    cluster.run();
    assert_eq!((cluster.running(application).len(), cluster.pending(limited)), (2, 0));
}

#[test]
fn case_1_maximum_of_a_leaf() {
    for mode in [Mode::Serial, Mode::Background, Mode::Parallel { proposers: 2 }] {
        let config = engine([leaf("leaf", 100).with_maximum(Maximum::absolute(&[100, 10]))]);
        maximum_is_honoured(config, "root.leaf", "root.leaf", mode);
    }
}

#[test]
fn case_1_maximum_of_a_parent() {
    for mode in [Mode::Serial, Mode::Background, Mode::Parallel { proposers: 2 }] {
        let parent = leaf("parent", 100).with_maximum(Maximum::absolute(&[100, 10]));
        let config = engine([parent.with_children([leaf("leaf", 100)])]);
        maximum_is_honoured(config, "root.parent.leaf", "root.parent", mode);
    }
}

/// Two nodes of 100 below a maximum of 150: the asks of 10 and of 50 are placed, those of 100 are not.
fn mixed_sizes(mode: Mode) -> (Cluster, ApplicationId) {
    let config = engine([leaf("leaf", 100).with_maximum(Maximum::absolute(&[150]))]);
    let mut cluster = Cluster::start(config, mode);
    cluster.node("n1", &[100]);
    cluster.node("n2", &[100]);
    let application = cluster.application("root.leaf", "user");
    cluster.ask(application, &[10], 2);
    cluster.run();
    assert_eq!(cluster.used("root.leaf"), 20);
    cluster.ask(application, &[50], 2);
    cluster.ask(application, &[100], 2);
    cluster.run();
    assert_eq!((cluster.used("root.leaf"), cluster.pending("root.leaf")), (120, 200));
    (cluster, application)
}

#[test]
fn case_2_mixed_sizes_against_a_maximum() {
    for mode in [Mode::Serial, Mode::Background, Mode::Parallel { proposers: 2 }] {
        let (mut cluster, application) = mixed_sizes(mode);
        // The engine schedules whenever it can. To get "no further pass", no node may take anything.
        let nodes = ["n1", "n2"].map(|name| cluster.handle.node(name).unwrap());
        nodes.iter().for_each(|node| cluster.drain(*node));
        cluster.run();
        for container in cluster.running(application) {
            cluster.release(container);
        }
        cluster.run();
        assert_eq!((cluster.used("root.leaf"), cluster.pending("root.leaf")), (0, 200));
        let asks = cluster.engine.read(|view| view.asks().map(|ask| ask.id()).collect::<Vec<_>>());
        asks.into_iter().for_each(|ask| cluster.cancel(ask, u32::MAX));
        cluster.run();
        assert_eq!((cluster.used("root.leaf"), cluster.pending("root.leaf")), (0, 0));
    }
}

#[test]
fn case_2_with_a_further_pass_one_large_container_fits() {
    for mode in [Mode::Serial, Mode::Background, Mode::Parallel { proposers: 2 }] {
        let (mut cluster, application) = mixed_sizes(mode);
        for container in cluster.running(application) {
            cluster.release(container);
        }
        cluster.run();
        assert_eq!((cluster.used("root.leaf"), cluster.pending("root.leaf")), (100, 100));
    }
}

/// Demand of 200 in each of two leaves on two nodes of 100.
fn shared_by(leaves: [QueueConfig; 2]) -> [i64; 2] {
    let mut cluster = Cluster::serial(engine(leaves));
    cluster.node("n1", &[100]);
    cluster.node("n2", &[100]);
    for queue in ["root.a", "root.b"] {
        let application = cluster.application(queue, "user");
        cluster.ask(application, &[10], 20);
    }
    cluster.run();
    ["root.a", "root.b"].map(|queue| cluster.used(queue))
}

#[test]
fn case_3_two_equal_queues_share_equally() {
    assert_eq!(shared_by(["a", "b"].map(|name| leaf(name, 0))), [100, 100], "without guarantee");
    assert_eq!(shared_by(["a", "b"].map(|name| leaf(name, 50))), [100, 100], "half each");
    let weighted = |name| QueueConfig { capacity: Capacity::Weight(Factor::ONE), ..leaf(name, 0) };
    assert_eq!(shared_by(["a", "b"].map(weighted)), [100, 100], "by weight");
}

#[test]
fn case_3_two_applications_of_a_fair_leaf_share_equally() {
    for users in [["user", "user"], ["one", "other"]] {
        let mut cluster = Cluster::serial(engine([leaf("a", 100).with_ordering(ApplicationOrdering::Fair)]));
        cluster.node("n1", &[100]);
        cluster.node("n2", &[100]);
        let applications = users.map(|user| cluster.application("root.a", user));
        for application in applications {
            cluster.ask(application, &[10], 20);
        }
        cluster.run();
        assert_eq!(applications.map(|application| cluster.running(application).len()), [10, 10]);
    }
}

#[test]
fn case_4_spread_fills_all_nodes_alike() {
    let mut cluster = Cluster::serial(engine([leaf("a", 100)]));
    let nodes: Vec<_> = (0..10).map(|number| cluster.node(&format!("n{number}"), &[100])).collect();
    let application = cluster.application("root.a", "user");
    cluster.ask(application, &[10], 20);
    cluster.run();
    assert!(nodes.into_iter().all(|node| cluster.allocated(node) == 20));
}

#[test]
fn case_4_pack_fills_one_node_first() {
    for mode in [Mode::Serial, Mode::Background, Mode::Parallel { proposers: 1 }] {
        let config = EngineConfig { node_order: NodeOrderKind::Pack, ..engine([leaf("a", 100)]) };
        let mut cluster = Cluster::start(config, mode);
        let nodes = ["n1", "n2"].map(|name| cluster.node(name, &[100]));
        cluster.run();
        let application = cluster.application("root.a", "user");
        cluster.ask(application, &[10], 9);
        cluster.run();
        let mut filled = nodes.map(|node| cluster.allocated(node));
        filled.sort_unstable();
        assert_eq!(filled, [0, 90]);
    }
}

#[test]
fn case_7_a_reservation_beats_starvation_and_hands_over() {
    let mut config = engine([leaf("one", 50), leaf("two", 50)]);
    config.reservations.delay_ms = Some(0);
    config.reservations.nodes = Percent::ALL;
    let mut cluster = Cluster::serial(config);
    let nodes = ["n1", "n2"].map(|name| cluster.node(name, &[50]));
    let first = cluster.application("root.one", "user");
    cluster.ask(first, &[20], 4);
    cluster.run();
    let (second, third) = (cluster.application("root.two", "user"), cluster.application("root.two", "user"));
    cluster.ask(second, &[20], 2);
    cluster.ask(third, &[5], 2);
    cluster.run();
    // Queues hold their reservations, and the root's maximum is 100. With 80 in use, it has room for one reservation
    // of 20, so one node is reserved; the source has two. The smaller asks find the root full.
    let quota: Quota = cluster.quota("root");
    assert_eq!((quota.used[0], quota.reserved[0]), (100, 20));
    assert_eq!((cluster.running(second).len(), cluster.running(third).len()), (0, 0));
    cluster.end(first, ApplicationEnd::Finished);
    cluster.run();
    assert_eq!((cluster.running(second).len(), cluster.running(third).len()), (2, 2));
    assert_eq!(nodes.map(|node| cluster.allocated(node)).iter().sum::<i64>(), 50);
    assert_eq!(cluster.quota("root").reserved[0], 0);
}
