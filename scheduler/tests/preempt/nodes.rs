//! The choice of nodes: conditions, devices, reservations, and the least useful loss.

use apportion::config::{Capacity, EngineConfig, PartitionAccess, PartitionCapacity, Percent, QueueConfig};
use apportion::preempt::UnhelpedReason;
use apportion::resource::DeviceNeed;
use apportion::{AskSpec, NodeSpec, ResourceTypes, Resources, TagLimit};

use crate::{Cluster, at_once, by_queue, queue, reasons};

fn memory(amount: i64) -> Resources {
    Resources::new(&[amount])
}

fn halves() -> [QueueConfig; 2] {
    [queue("a", &[20], None), queue("b", &[20], None)]
}

/// Of nodes with containers of 1, 2, 3 and 4, the ask for 4 gets the one on which a single container ends. It gets no
/// node with less than 4 in all.
#[test]
fn the_node_with_the_fewest_victims_is_chosen() {
    let cluster = Cluster::new(halves());
    let nodes = cluster.nodes(10, &[4]);
    let application = cluster.application("root.a");
    for (node, size) in nodes.iter().zip([1, 2, 3, 4, 3, 2, 1, 1, 1, 1]) {
        let spec =
            AskSpec::new(memory(size), 4 / u32::try_from(size).unwrap()).on_hosts([*node]).strictly_local();
        cluster.ask_for(application, spec);
        cluster.run();
    }
    let beneficiary = cluster.demand("root.b", &[4], 1);
    let plan = cluster.plan(&at_once());
    // The victim of 3 leaves nothing unused either, and is newer than the victim of 4.
    assert_eq!((plan.preemptions[0].victims.len(), plan.preemptions[0].node), (1, nodes[4]), "{plan}");
    cluster.execute(&plan);
    assert_eq!(cluster.running(beneficiary), 1);
}

#[test]
fn victims_are_on_nodes_that_meet_the_conditions() {
    let cluster = Cluster::new(halves());
    let nodes = cluster.nodes(10, &[4]);
    cluster.demand("root.a", &[1], 40);
    cluster.run();
    let application = cluster.application("root.b");
    cluster.ask_for(application, AskSpec::new(memory(1), 6).on_hosts([nodes[7]]).strictly_local());
    let capped = AskSpec::new(memory(1), 3).with_tag("web").with_tag_limit(TagLimit::per_node("web", 1));
    cluster.ask_for(application, capped);
    let plan = cluster.plan(&at_once());
    let on_nodes: Vec<_> = plan.preemptions.iter().map(|preemption| preemption.node).collect();
    assert_eq!(on_nodes[..4], [nodes[7]; 4], "{plan}");
    let others: std::collections::BTreeSet<_> = on_nodes[4..].iter().collect();
    assert_eq!((others.len(), plan.unhelped[0].units), (3, 2), "{plan}");
    assert_eq!(reasons(&plan), [UnhelpedReason::NoVictims]);
    cluster.execute(&plan);
}

/// A whole device becomes free only if both halves on it do.
#[test]
fn devices_become_free_one_by_one() {
    let types = ResourceTypes::new(["memory_mib", "vcore_milli", "gpu_milli"])
        .unwrap()
        .with_devices("gpu_milli")
        .unwrap();
    let queues = [queue("a", &[10, 10, 1_000], None), queue("b", &[10, 10, 1_000], None)];
    let cluster = Cluster::with_config(EngineConfig::new(types, QueueConfig::root(queues)));
    let node = NodeSpec::new("n1", Resources::new(&[20, 20])).with_devices(2);
    cluster.engine.handle().add_node(node).unwrap();
    let half = AskSpec::new(memory(1), 1).with_devices(DeviceNeed { count: 1, milli: 500 });
    for _ in 0..4 {
        let application = cluster.application("root.a");
        cluster.ask_for(application, half.clone());
        cluster.run();
    }
    let beneficiary = cluster.application("root.b");
    cluster
        .ask_for(beneficiary, AskSpec::new(memory(1), 1).with_devices(DeviceNeed { count: 1, milli: 1_000 }));
    let plan = cluster.plan(&at_once());
    assert_eq!(by_queue(&plan), [("a".to_owned(), 2)].into(), "{plan}");
    cluster.execute(&plan);
    assert_eq!(cluster.running(beneficiary), 1);
}

/// The devices of an opportunistic container are taken first, although a newer guaranteed one has as many.
#[test]
fn opportunistic_containers_are_taken_first() {
    let types = ResourceTypes::new(["memory_mib", "vcore_milli", "gpu_milli"]).unwrap();
    let queues = [queue("a", &[10, 10, 1_000], None), queue("b", &[10, 10, 1_000], None)];
    let config = EngineConfig::new(types.with_devices("gpu_milli").unwrap(), QueueConfig::root(queues));
    let cluster = Cluster::with_config(config);
    let node = NodeSpec::new("n1", Resources::new(&[20, 20])).with_devices(2);
    cluster.engine.handle().add_node(node).unwrap();
    let spec = AskSpec::new(memory(1), 1).with_devices(DeviceNeed { count: 1, milli: 1_000 });
    let [first, second] = ["first", "second"].map(|_| {
        let application = cluster.application("root.a");
        cluster.ask_for(application, spec.clone());
        cluster.run();
        application
    });
    let beneficiary = cluster.application("root.b");
    cluster.ask_for(beneficiary, spec);
    let taken = || cluster.plan(&at_once()).preemptions[0].victims[0].application;
    assert_eq!(taken(), second);
    let containers = |view: &apportion::view::View<'_>| {
        view.application(first).unwrap().containers().next().map(|one| one.container)
    };
    let demoted = cluster.engine.read(containers).unwrap();
    cluster.engine.handle().demote_container(demoted).unwrap();
    assert_eq!(taken(), first);
    cluster.execute(&cluster.plan(&at_once()));
    assert_eq!(cluster.running(beneficiary), 1);
}

/// Scenario 67: what blocks the reserved node is taken.
#[test]
fn scenario_67_the_reserved_node_becomes_free() {
    let queues = [queue("a", &[50], None), queue("b", &[50], None)];
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root(queues));
    config.reservations.delay_ms = Some(0);
    let cluster = Cluster::start(config);
    let nodes = cluster.nodes(2, &[50]);
    let application = cluster.application("root.a");
    for node in &nodes {
        cluster.ask_for(application, AskSpec::new(memory(1), 45).on_hosts([*node]).strictly_local());
    }
    let beneficiary = cluster.application("root.b");
    cluster.ask_for(beneficiary, AskSpec::new(memory(1), 1).on_hosts([nodes[0]]).strictly_local());
    cluster.run();
    cluster.ask(beneficiary, &[9], 1);
    let plan = cluster.plan(&at_once());
    let [preemption] = &plan.preemptions[..] else { panic!("{plan}") };
    assert!(preemption.reservation.is_some());
    assert_eq!(preemption.victims.len(), if preemption.node == nodes[0] { 5 } else { 4 });
    cluster.execute(&plan);
    assert_eq!(cluster.running(beneficiary), 2);
}

/// Both reserved nodes are on one rack, on which only one container of the ask may be. The other one starts on the far
/// node.
#[test]
fn tags_that_the_plan_gives_count_on_reserved_nodes() {
    let queues = [queue("a", &[30], None), queue("b", &[30], None)];
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root(queues));
    config.reservations.delay_ms = Some(0);
    config.reservations.nodes = Percent::ALL;
    let cluster = Cluster::start(config);
    let near = cluster.nodes(2, &[20]);
    let far = NodeSpec::new("far", memory(20)).on_rack("far");
    let far = cluster.engine.handle().add_node(far).unwrap();
    for node in near.into_iter().chain([far]) {
        let application = cluster.application("root.a");
        cluster.ask_for(application, AskSpec::new(memory(1), 17).on_hosts([node]).strictly_local());
    }
    cluster.run();
    let beneficiary = cluster.application("root.b");
    let one_per_rack = TagLimit::per_rack("web", 1);
    let ask = AskSpec::new(memory(4), 2).with_tag("web").with_tag_limit(one_per_rack);
    let ask = cluster.ask_for(beneficiary, ask);
    cluster.run();
    assert_eq!(cluster.engine.read(|view| view.ask(ask).unwrap().reserved()), 2);
    let plan = cluster.plan(&at_once());
    let on_nodes: Vec<_> = plan.preemptions.iter().map(|one| one.node == far).collect();
    assert_eq!(on_nodes, [false, true], "{plan}");
    cluster.execute(&plan);
    assert_eq!(cluster.running(beneficiary), 2);
}

/// The owner of a partition takes back its nodes from borrowers first.
#[test]
fn borrowed_containers_are_taken_first() {
    let own =
        |amount| PartitionCapacity { capacity: Some(Capacity::Absolute(memory(amount))), maximum: None };
    let with_x = |config: QueueConfig, amount| {
        config.with_access(PartitionAccess::All).with_partition("x", own(amount))
    };
    let queues = [
        with_x(queue("a", &[10], None), 2),
        with_x(queue("b", &[10], None), 8),
        with_x(queue("c", &[5], None), 0),
    ];
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root(queues));
    config.partitions = vec!["x".to_owned()];
    config.non_exclusive_partitions = vec!["x".to_owned()];
    let cluster = Cluster::with_config(config);
    let x = cluster.engine.handle().partition("x").unwrap();
    for number in 0..10 {
        let node = NodeSpec::new(format!("x{number}"), memory(1)).in_partition(x);
        cluster.engine.handle().add_node(node).unwrap();
    }
    // A node of the default partition lets the queue ask at all.
    cluster.nodes(1, &[5]);
    cluster.demand("root.c", &[1], 10);
    cluster.run();
    let own = cluster.application("root.a");
    cluster.ask_for(own, AskSpec::new(memory(1), 5).in_partition(x));
    cluster.run();
    assert_eq!(cluster.running(own), 5);
    let owner = cluster.application("root.b");
    cluster.ask_for(owner, AskSpec::new(memory(1), 3).in_partition(x));
    let plan = cluster.plan(&at_once());
    assert_eq!(by_queue(&plan).keys().collect::<Vec<_>>(), ["c"], "{plan}\n{:#?}", plan.partitions[1]);
    cluster.execute(&plan);
    assert_eq!(cluster.running(owner), by_queue(&plan)["c"]);
}
