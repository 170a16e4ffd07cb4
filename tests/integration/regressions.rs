//! Minimal cases of defects that the properties found in serial mode.

use apportion::config::{
    ApplicationOrdering, Capacity, EngineConfig, HeartbeatPolicy, LocalityDelay, Maximum, Percent,
    QueueUpdate,
};
use apportion::engine::SubmitError;
use apportion::explain::Stage;
use apportion::request::{AllocationProposal, RejectReason};
use apportion::resource::DeviceNeed;
use apportion::{
    AskSpec, Change, CommitOutcome, NodeAttributes, NodeId, NodeSpec, ResourceAllocationCommitRequest,
    ResourceTypes, Resources,
};
use apportion_tests::support::check::read_log;
use apportion_tests::support::cluster::Cluster;

use crate::{engine, leaf};

fn single() -> EngineConfig {
    engine([leaf("default", 100)])
}

fn fair() -> EngineConfig {
    engine([leaf("default", 100).with_ordering(ApplicationOrdering::Fair)])
}

fn node_on_rack(cluster: &mut Cluster, name: &str, rack: &str, memory: i64) -> NodeId {
    cluster.add_node(NodeSpec::new(name, Resources::new(&[memory])).on_rack(rack)).unwrap()
}

#[test]
fn a_fair_leaf_orders_applications_anew_after_each_container() {
    let mut cluster = Cluster::serial(fair());
    cluster.node("n1", &[10, 1]);
    let first = cluster.application("root.default", "user");
    let second = cluster.application("root.default", "user");
    cluster.ask(first, &[4, 0], 1);
    cluster.ask(first, &[0, 1], 1);
    cluster.ask(second, &[0, 1], 1);
    cluster.run();
    assert_eq!((cluster.running(first).len(), cluster.running(second).len()), (1, 1));
}

#[test]
fn a_fair_leaf_orders_applications_anew_when_the_cluster_grows() {
    let mut cluster = Cluster::serial(fair());
    cluster.node("n1", &[4, 4]);
    let first = cluster.application("root.default", "user");
    let second = cluster.application("root.default", "other");
    cluster.ask(first, &[4, 0], 1);
    cluster.ask(second, &[0, 3], 1);
    cluster.run();
    // The first holds all memory, the second three quarters of the cores.
    cluster.ask(first, &[6, 6], 1);
    cluster.ask(second, &[6, 6], 1);
    cluster.run();
    // Now the first holds 4 of 14, the second 3 of 10.
    cluster.node("n2", &[10, 6]);
    cluster.run();
    assert_eq!((cluster.running(first).len(), cluster.running(second).len()), (2, 1));
}

#[test]
fn a_container_of_nothing_leaves_nothing_in_flight() {
    let mut config = engine([leaf("a", 50), leaf("b", 50)]);
    config.allocation.allow_empty = true;
    let mut cluster = Cluster::serial(config);
    cluster.node("n1", &[8]);
    let (a, b) = (cluster.application("root.a", "user"), cluster.application("root.b", "user"));
    cluster.ask(b, &[1], 1);
    cluster.ask(a, &[0], 1);
    cluster.run();
    assert_eq!((cluster.running(a).len(), cluster.running(b).len()), (1, 1));
}

#[test]
fn a_new_maximum_below_the_capacity_is_refused() {
    let mut cluster = Cluster::serial(single());
    let update = QueueUpdate {
        capacity: Some(Capacity::Absolute(Resources::new(&[4]))),
        maximum: Some(Maximum::absolute(&[0])),
        ..QueueUpdate::default()
    };
    cluster.update_queue("root.default", &update);
    cluster.run();
}

#[test]
fn an_ask_for_a_host_of_another_partition_waits_quietly() {
    let mut cluster = Cluster::serial(EngineConfig { partitions: vec!["x".into()], ..single() });
    let x = cluster.handle.partition("x").unwrap();
    cluster.node("n1", &[8]);
    let elsewhere = NodeSpec::new("n2", Resources::new(&[8])).in_partition(x);
    let elsewhere = cluster.add_node(elsewhere).unwrap();
    let application = cluster.application("root.default", "user");
    let ask = AskSpec::new(Resources::new(&[1]), 1).on_hosts([elsewhere]).strictly_local();
    cluster.submit_ask(application, ask);
    cluster.run();
    assert_eq!(cluster.running(application).len(), 0);
}

#[test]
fn a_silent_node_takes_containers_again_after_a_heartbeat() {
    let heartbeat = Some(HeartbeatPolicy { interval_ms: 100, missed_max: 3 });
    let mut cluster = Cluster::serial(EngineConfig { heartbeat, ..single() });
    let node = cluster.node("n1", &[8]);
    cluster.run();
    cluster.advance(1000);
    cluster.run();
    let application = cluster.application("root.default", "user");
    cluster.ask(application, &[1], 1);
    cluster.run();
    assert_eq!(cluster.running(application).len(), 0);
    cluster.heartbeat(&[node]);
    cluster.run();
    assert_eq!(cluster.running(application).len(), 1);
}

#[test]
fn a_strictly_local_ask_gets_its_rack_after_being_offered_other_nodes() {
    let locality_delay = LocalityDelay::nodes(1, 1);
    let mut cluster = Cluster::serial(EngineConfig { locality_delay, ..single() });
    let host = node_on_rack(&mut cluster, "n1", "a", 0);
    node_on_rack(&mut cluster, "n2", "a", 8);
    node_on_rack(&mut cluster, "n3", "b", 8);
    let rack = cluster.handle.rack("a");
    let application = cluster.application("root.default", "user");
    let ask = AskSpec::new(Resources::new(&[1]), 1).on_hosts([host]).on_racks([rack]).strictly_local();
    cluster.submit_ask(application, ask);
    cluster.run();
    assert_eq!(cluster.running(application).len(), 1);
}

#[test]
fn reservations_beyond_a_maximum_are_not_tried_for_ever() {
    let mut config = single();
    config.reservations.delay_ms = Some(0);
    config.reservations.nodes = Percent::ALL;
    let mut cluster = Cluster::serial(config);
    cluster.node("n1", &[3]);
    cluster.node("n2", &[3]);
    let application = cluster.application("root.default", "user");
    cluster.ask(application, &[2], 6);
    cluster.run();
    assert_eq!(
        cluster.used("root"),
        6,
        "two containers and a reservation, and no room for a second reservation"
    );
    cluster.node("n3", &[2]);
    cluster.run();
}

#[test]
fn a_node_is_offered_again_when_its_reservation_is_fulfilled() {
    let locality_delay = LocalityDelay::nodes(1, 1);
    let mut config = EngineConfig { locality_delay, ..single() };
    config.reservations.delay_ms = Some(0);
    let mut cluster = Cluster::serial(config);
    cluster.node("n1", &[4]);
    let host = node_on_rack(&mut cluster, "n2", "b", 0);
    cluster.node("n3", &[2]);
    let first = cluster.application("root.default", "user");
    cluster.ask(first, &[3], 1);
    cluster.run();
    cluster.ask(first, &[3], 1);
    cluster.run();
    cluster.complete(cluster.running(first)[0]);
    cluster.ask(first, &[2], 1);
    let second = cluster.application("root.default", "user");
    cluster.submit_ask(second, AskSpec::new(Resources::new(&[1]), 1).on_hosts([host]));
    cluster.run();
    assert_eq!(cluster.running(second).len(), 1);
}

/// An engine that counts devices, with one node of two devices.
fn with_devices() -> (Cluster, NodeId) {
    let resources = ResourceTypes::new(["memory", "gpu"]).unwrap().with_devices("gpu").unwrap();
    let mut cluster = Cluster::serial(EngineConfig { resources, ..single() });
    let node = cluster.add_node(NodeSpec::new("n1", Resources::new(&[8])).with_devices(2)).unwrap();
    cluster.run();
    (cluster, node)
}

/// Free thousandths: the counted sum, and the sum over the devices.
fn free_devices(cluster: &Cluster, node: NodeId) -> (i64, i64) {
    cluster.engine.read(|view| {
        let node = view.node(node).unwrap();
        (node.free()[1], node.devices().free_milli().iter().map(|free| i64::from(*free)).sum())
    })
}

#[test]
fn a_node_that_reports_another_capacity_keeps_its_devices() {
    let (mut cluster, node) = with_devices();
    cluster.update_node(node, &[4], NodeAttributes::new());
    let application = cluster.application("root.default", "user");
    let need = DeviceNeed { count: 1, milli: 500 };
    cluster.submit_ask(application, AskSpec::new(Resources::new(&[1]), 1).with_devices(need));
    cluster.engine.run_until_quiet();
    assert_eq!(free_devices(&cluster, node), (1500, 1500));
}

/// Three times 600 of 1,000 fit on two devices in sum only.
#[test]
fn a_request_does_not_give_one_device_twice() {
    let (mut cluster, node) = with_devices();
    let application = cluster.application("root.default", "user");
    let need = DeviceNeed { count: 1, milli: 600 };
    let ask = AskSpec::new(Resources::new(&[1]), 3).with_devices(need);
    let ask = cluster.submit_ask(application, ask);
    let proposal = AllocationProposal { ask, node, from_reservation: None };
    let allocate = [proposal; 3].into_iter().collect();
    cluster.commit(ResourceAllocationCommitRequest { allocate, ..Default::default() });
    cluster.run();
    assert_eq!(cluster.outcomes(), [CommitOutcome::Rejected(RejectReason::NodeFull)]);
}

#[test]
fn an_ask_without_devices_takes_nothing_of_the_type_that_counts_them() {
    let (mut cluster, _) = with_devices();
    let application = cluster.application("root.default", "user");
    let error =
        cluster.handle.submit_ask(application, AskSpec::new(Resources::new(&[1, 500]), 1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "gpu = 500 is given, but the given devices add up to 0; leave it out, or give other devices"
    );
    assert!(cluster.add_node(NodeSpec::new("n2", Resources::new(&[8, 500])).with_devices(1)).is_err());
    cluster.run();
}

#[test]
fn an_ask_may_search_further_when_nodes_that_could_be_offered_are_removed() {
    let locality_delay = LocalityDelay::nodes(2, 2);
    let mut cluster = Cluster::serial(EngineConfig { locality_delay, ..single() });
    let host = cluster.node("n1", &[0]);
    cluster.node("n2", &[8]);
    let full = cluster.node("n3", &[1]);
    let other = cluster.application("root.default", "user");
    cluster.submit_ask(other, AskSpec::new(Resources::new(&[1]), 1).on_hosts([full]).strictly_local());
    cluster.run();
    let application = cluster.application("root.default", "user");
    cluster.submit_ask(application, AskSpec::new(Resources::new(&[1]), 1).on_hosts([host]));
    cluster.run();
    assert_eq!(cluster.running(application).len(), 0, "one node offered, of two that count");
    cluster.remove_node(full);
    cluster.run();
    assert_eq!(cluster.running(application).len(), 1, "one node offered, of one that counts");
}

#[test]
fn a_node_has_a_name_that_fits_on_a_line() {
    let cluster = Cluster::serial(engine([leaf("default", 100)]));
    for name in ["", "two\nlines", "tab\t"] {
        let refused =
            cluster.engine.handle().add_node(NodeSpec::new(name, Resources::new(&[1]))).unwrap_err();
        assert_eq!(refused, SubmitError::NodeName { name: name.to_owned() });
        assert!(!refused.to_string().contains(char::is_control), "{refused}");
    }
}

#[test]
fn a_heartbeat_policy_may_mean_never() {
    let heartbeat = Some(HeartbeatPolicy { interval_ms: u64::MAX, missed_max: 1 });
    let mut cluster = Cluster::serial(EngineConfig { heartbeat, ..single() });
    cluster.advance(1);
    cluster.run();
    cluster.node("n1", &[8]);
    cluster.engine.run_until_quiet();
}

/// A bound ask cannot exchange its reservation for another node. So the reservation lets no unit look further before
/// its time, and the explanation agrees.
#[test]
fn a_bound_ask_with_a_reservation_waits_for_its_rack_all_the_same() {
    let mut config = single();
    config.reservations.delay_ms = None;
    config.locality_delay = LocalityDelay::nodes(2, 2);
    let mut cluster = Cluster::serial(config);
    let mut node = |name: &str, rack: &str, size: i64| {
        cluster.add_node(NodeSpec::new(name, Resources::new(&[size])).on_rack(rack)).unwrap()
    };
    let (host, other, full) = (node("host", "r0", 4), node("other", "r2", 16), node("full", "r0", 4));
    let application = cluster.application("root.default", "user");
    for node in [host, full] {
        let ask = AskSpec::new(Resources::new(&[4]), 1).on_hosts([node]).strictly_local();
        cluster.submit_ask(application, ask);
    }
    cluster.run();
    let rack = cluster.handle.rack("r2");
    let bound = AskSpec::new(Resources::new(&[2]), 2).on_hosts([host]).on_racks([rack]).strictly_local();
    let bound = cluster.submit_ask(application, bound);
    cluster.commit(ResourceAllocationCommitRequest::reserve(bound, host));
    cluster.run();
    assert_eq!(cluster.running(application).len(), 2, "one node has room, and two have to be offered");
    let explained = cluster.engine.explain(bound);
    let stages = &explained.pending().unwrap().funnel.stages;
    assert_eq!(stages.get(&Stage::LaterByLocality), Some(&1), "{other}: {explained}");
}

/// Timers are set for the heartbeat before, so that a heartbeat sets none. When the clock jumps, all of them are due at
/// once.
#[test]
fn nodes_are_found_silent_in_the_order_of_their_last_heartbeats() {
    let mut config = engine([leaf("default", 100)]);
    config.heartbeat = Some(HeartbeatPolicy { interval_ms: 100, missed_max: 3 });
    let mut cluster = Cluster::serial(config);
    let nodes = ["a", "b"].map(|name| cluster.node(name, &[1]));
    cluster.run();
    cluster.advance(1);
    cluster.heartbeat(&nodes[..1]);
    cluster.run();
    cluster.advance(1_000);
    cluster.run();
    let silent = read_log(&cluster.log()).into_iter().filter_map(|change| match change {
        Change::NodeSilenceSet { node, stale: true } => Some(node),
        _ => None,
    });
    assert_eq!(silent.collect::<Vec<_>>(), [nodes[1], nodes[0]]);
}
