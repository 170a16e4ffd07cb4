//! Queues of nodes: where containers wait, when they start, and when they end for others.

use apportion::config::{Capacity, EngineConfig, Maximum, Percent, QueueConfig, QueueUpdate};
use apportion::event::EventKind;
use apportion::{
    ApplicationEnd, EndCause, ExecutionType, Mode, NodeSpec, PartitionId, ResourceTypes, Resources,
};

use apportion::resource::DeviceNeed;

use crate::cluster::preempted;
use crate::{Cluster, amount, ask, config, opportunistic, queued, started};

#[test]
fn a_container_starts_at_once_where_there_is_room() {
    for mode in Cluster::modes() {
        let cluster = Cluster::new(config(2), mode);
        let (node, job) = (cluster.node("a", 4), cluster.application());
        cluster.ask(job, ask(3, 1));
        drop(cluster.events());
        cluster.ask(job, opportunistic(1, 2));
        let events = cluster.events();
        let containers: Vec<_> = queued(&events).into_iter().map(|(container, _)| container).collect();
        assert_eq!(containers.len(), 2, "{events:?}");
        assert_eq!(started(&events), containers[..1], "one has room: {events:?}");
        assert_eq!(cluster.at(node), (containers[1..].to_vec(), containers[..1].to_vec()));
        let seen = cluster
            .engine
            .read(|view| containers.iter().map(|id| view.container(*id).unwrap()).collect::<Vec<_>>());
        assert_eq!([seen[0].is_waiting, seen[1].is_waiting], [false, true]);
        assert!(seen.iter().all(|one| one.execution_type == ExecutionType::Opportunistic));
        assert!(seen.iter().all(|one| one.size == amount(1)));
        let used =
            cluster.engine.read(|view| view.queue("root.default").unwrap().quota(PartitionId::DEFAULT).used);
        assert_eq!(used, amount(3), "no queue capacity is used");
    }
}

#[test]
fn the_shortest_queue_is_chosen_and_then_the_emptiest_node() {
    let cluster = Cluster::serial(2);
    let nodes = [("a", 4), ("b", 8), ("c", 4)].map(|(name, units)| cluster.node(name, units));
    let job = cluster.application();
    cluster.ask(job, opportunistic(4, 1));
    assert_eq!(queued(&cluster.events())[0].1, nodes[0], "equal: the first node");
    cluster.ask(job, opportunistic(4, 1));
    assert_eq!(queued(&cluster.events())[0].1, nodes[1], "b and c are empty");
    cluster.ask(job, opportunistic(4, 1));
    assert_eq!(queued(&cluster.events())[0].1, nodes[2], "c is empty, b is half full");
    cluster.ask(job, opportunistic(4, 1));
    assert_eq!(queued(&cluster.events())[0].1, nodes[1], "b has room");
    cluster.ask(job, opportunistic(4, 4));
    let events = cluster.events();
    assert_eq!(
        queued(&events).iter().map(|(_, node)| *node).collect::<Vec<_>>(),
        [nodes[0], nodes[1], nodes[2], nodes[0]]
    );
    assert!(started(&events).is_empty());
    assert_eq!(cluster.lengths(&nodes), [2, 1, 1]);
}

#[test]
fn queues_are_bounded_and_the_rest_stays_pending_until_one_is_shorter() {
    for mode in Cluster::modes() {
        let cluster = Cluster::new(config(2), mode);
        let nodes = ["a", "b"].map(|name| cluster.node(name, 1));
        let job = cluster.application();
        let first = cluster.ask(job, opportunistic(1, 8));
        let second = cluster.ask(job, opportunistic(1, 1));
        let outstanding = || {
            [first, second]
                .map(|ask| cluster.engine.read(|view| view.ask(ask).map_or(0, |ask| ask.outstanding())))
        };
        assert_eq!((cluster.lengths(&nodes), outstanding()), (vec![2, 2], [2, 1]));
        let container = cluster.at(nodes[0]).1[0];
        cluster.complete(container);
        assert_eq!((cluster.lengths(&nodes), outstanding()), (vec![2, 2], [1, 1]), "asks in their order");
        let later = cluster.node("c", 1);
        assert_eq!(
            (cluster.lengths(&nodes), cluster.lengths(&[later]), outstanding()),
            (vec![2, 2], vec![1], [0, 0])
        );
        assert!(cluster.engine.read(|view| view.is_ask_over(first) && view.is_ask_over(second)));
    }
}

#[test]
fn nothing_overtakes_the_head_of_a_queue() {
    let cluster = Cluster::serial(5);
    let (node, job) = (cluster.node("a", 4), cluster.application());
    cluster.ask(job, opportunistic(3, 1));
    cluster.ask(job, opportunistic(4, 1));
    cluster.ask(job, opportunistic(1, 1));
    let (waiting, running) = cluster.at(node);
    assert_eq!((waiting.len(), running.len()), (2, 1), "one unit is free, and the head wants four");
    cluster.complete(running[0]);
    assert_eq!(cluster.at(node), (waiting[1..].to_vec(), waiting[..1].to_vec()));
    cluster.complete(waiting[0]);
    assert_eq!(cluster.at(node), (vec![], waiting[1..].to_vec()));
}

#[test]
fn the_latest_start_ends_first_in_the_same_commit() {
    for mode in Cluster::modes() {
        let cluster = Cluster::new(config(5), mode);
        let (node, job) = (cluster.node("a", 4), cluster.application());
        cluster.ask(job, opportunistic(1, 6));
        let (waiting, running) = cluster.at(node);
        drop(cluster.events());
        cluster.ask(job, ask(2, 1));
        let events = cluster.events();
        let placed = events.iter().position(|event| matches!(event, EventKind::Allocated { .. })).unwrap();
        let ended =
            events.iter().position(|event| matches!(event, EventKind::ContainerEnded { .. })).unwrap();
        assert!(placed < ended);
        assert_eq!(preempted(&events), [running[3], running[2]]);
        assert_eq!(cluster.at(node), (waiting.clone(), running[..2].to_vec()));
        cluster.ask(job, ask(2, 1));
        assert_eq!(cluster.at(node), (waiting, vec![]));
    }
}

/// A container that uses none of the scarce type stays.
#[test]
fn only_containers_that_use_the_scarce_type_end() {
    let cluster = Cluster::serial(5);
    let (node, job) = (cluster.node("a", 4), cluster.application());
    let of = |memory, vcores| apportion::AskSpec::new(Resources::new(&[memory, vcores]), 1);
    cluster.ask(job, of(2, 0).opportunistic());
    cluster.ask(job, of(0, 2).opportunistic());
    let (_, running) = cluster.at(node);
    cluster.ask(job, of(3, 0));
    assert_eq!(preempted(&cluster.events()), running[..1]);
    assert_eq!(cluster.at(node).1, running[1..]);
}

#[test]
fn a_demoted_container_ends_for_guaranteed_ones() {
    let cluster = Cluster::serial(5);
    let (node, job) = (cluster.node("a", 4), cluster.application());
    cluster.ask(job, ask(4, 1));
    let demoted = cluster.engine.read(|view| view.containers().next().unwrap().0);
    drop(cluster.handle.demote_container(demoted).unwrap());
    cluster.run();
    assert_eq!(cluster.at(node), (vec![], vec![demoted]));
    cluster.ask(job, opportunistic(1, 1));
    assert_eq!(cluster.lengths(&[node]), [1], "it leaves no room");
    cluster.ask(job, ask(1, 1));
    assert_eq!(preempted(&cluster.events()), [demoted]);
    assert_eq!(cluster.lengths(&[node]), [0]);
}

/// Without the policy, a demoted container runs on as long as its node copes.
#[test]
fn without_a_policy_a_demoted_container_stays() {
    let plain = EngineConfig { opportunistic: None, ..config(1) };
    let cluster = Cluster::new(plain, Mode::Serial);
    let (node, job) = (cluster.node("a", 4), cluster.application());
    cluster.ask(job, ask(4, 1));
    let demoted = cluster.engine.read(|view| view.containers().next().unwrap().0);
    drop(cluster.handle.demote_container(demoted).unwrap());
    cluster.ask(job, ask(4, 1));
    assert_eq!(cluster.engine.read(|view| view.container_count()), 2);
    assert_eq!(cluster.at(node), (vec![], vec![]));
}

#[test]
fn a_container_that_a_smaller_node_can_never_hold_ends() {
    let cluster = Cluster::serial(5);
    let (node, job) = (cluster.node("a", 4), cluster.application());
    cluster.ask(job, opportunistic(3, 3));
    let (waiting, running) = cluster.at(node);
    drop(cluster.events());
    cluster.resize(node, 2);
    let ended = preempted(&cluster.events());
    assert_eq!(ended, [running, waiting].concat());
    let over = cluster.ask(job, opportunistic(2, 1));
    assert!(cluster.engine.read(|view| view.is_ask_over(over)));
}

#[test]
fn devices_are_charged_from_the_start_on() {
    let mut config = config(5);
    config.resources = ResourceTypes::new(["memory", "gpu"]).unwrap().with_devices("gpu").unwrap();
    let cluster = Cluster::new(config, Mode::Serial);
    let node = cluster.handle.add_node(NodeSpec::new("a", Resources::new(&[8])).with_devices(1)).unwrap();
    let job = cluster.application();
    let spec =
        || apportion::AskSpec::new(Resources::new(&[1]), 1).with_devices(DeviceNeed { count: 1, milli: 600 });
    cluster.ask(job, spec().opportunistic());
    cluster.ask(job, spec().opportunistic());
    let used =
        || cluster.engine.read(|view| view.queue("root.default").unwrap().quota(PartitionId::DEFAULT).used);
    let (waiting, running) = cluster.at(node);
    assert_eq!((waiting.len(), running.len(), used()), (1, 1, Resources::new(&[0, 600])));
    cluster.complete(running[0]);
    assert_eq!((cluster.at(node), used()), ((vec![], waiting.clone()), Resources::new(&[0, 600])));
    let free = cluster.engine.read(|view| view.node(node).unwrap().devices().free_milli()[0]);
    assert_eq!(free, 400);
    cluster.complete(waiting[0]);
    assert_eq!(used(), Resources::ZERO);
}

/// The queue's limit on devices holds back the head, and releases it when another container of the queue ends.
#[test]
fn a_limit_on_devices_holds_a_container_back() {
    let leaf = |name, most| {
        QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50)))
            .with_user_limit_factor(None)
            .with_maximum(Maximum::Percent(Percent::whole(most)))
    };
    let mut config = config(5);
    config.root = QueueConfig::root([leaf("a", 50), leaf("b", 100)]);
    config.resources = ResourceTypes::new(["memory", "gpu"]).unwrap().with_devices("gpu").unwrap();
    let cluster = Cluster::new(config, Mode::Serial);
    for name in ["a", "b"] {
        cluster.handle.add_node(NodeSpec::new(name, Resources::new(&[8])).with_devices(1)).unwrap();
    }
    let (job, other) = (cluster.application_in("root.a"), cluster.application_in("root.b"));
    let spec = || {
        apportion::AskSpec::new(Resources::new(&[1]), 1).with_devices(DeviceNeed { count: 1, milli: 1_000 })
    };
    cluster.ask(job, spec().opportunistic());
    let first = started(&cluster.events())[0];
    cluster.ask(job, spec().opportunistic());
    let events = cluster.events();
    assert_eq!((queued(&events).len(), started(&events).len()), (1, 0), "the queue has half of the devices");
    cluster.ask(other, opportunistic_memory());
    drop(cluster.events());
    cluster.complete(first);
    assert_eq!(started(&cluster.events()).first(), Some(&queued(&events)[0].0));
}

/// A container that the maximum of its queue never admits waits at no node: there it would hold back all others. When
/// the maximum is raised, it is queued. When the maximum falls, the head of the queue ends.
#[test]
fn a_container_above_the_maximum_of_devices_blocks_no_queue() {
    let leaf =
        |name| QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50))).with_user_limit_factor(None);
    let mut config = config(5);
    let quarter = Maximum::Percent(Percent::whole(25));
    let small = QueueConfig { capacity: Capacity::Percent(Percent::whole(25)), ..leaf("a") };
    let large = QueueConfig { capacity: Capacity::Percent(Percent::whole(75)), ..leaf("b") };
    config.root = QueueConfig::root([small.with_maximum(quarter), large]);
    config.resources = ResourceTypes::new(["memory", "gpu"]).unwrap().with_devices("gpu").unwrap();
    let cluster = Cluster::new(config, Mode::Serial);
    let nodes = ["a", "b"].map(|name| {
        cluster.handle.add_node(NodeSpec::new(name, Resources::new(&[8])).with_devices(4)).unwrap()
    });
    cluster.run();
    let (job, other) = (cluster.application_in("root.a"), cluster.application_in("root.b"));
    let large =
        apportion::AskSpec::new(Resources::new(&[1]), 9).with_devices(DeviceNeed { count: 3, milli: 1_000 });
    let ask = cluster.ask(job, large.opportunistic());
    assert_eq!(cluster.lengths(&nodes), [0, 0]);
    let why = cluster.engine.explain(ask).to_string();
    assert!(why.contains("The maximum of a queue, or a limit for its user, admits fewer devices"), "{why}");
    cluster.ask(other, opportunistic_memory());
    assert_eq!(started(&cluster.events()).len(), 1, "it waits for no other");
    let queue = cluster.handle.queue("root.a").unwrap();
    let set_maximum = |percent| {
        let maximum = Some(Maximum::Percent(Percent::whole(percent)));
        let update = QueueUpdate { maximum, ..QueueUpdate::default() };
        drop(cluster.handle.update_queue(queue, update).unwrap());
        cluster.run();
    };
    set_maximum(50);
    let events = cluster.events();
    assert_eq!((queued(&events).len(), started(&events).len()), (9, 1), "room for one at a time");
    set_maximum(25);
    assert_eq!(cluster.lengths(&nodes).into_iter().min(), Some(0), "where there is room, none waits");
    cluster.complete(started(&events)[0]);
    assert_eq!(cluster.lengths(&nodes), [0, 0]);
}

/// The maximum of its new leaf admits what that of the old one does not.
#[test]
fn a_moved_application_finds_nodes_that_its_old_leaf_kept_from_it() {
    let leaf = |name, percent| {
        let part = Percent::whole(percent);
        QueueConfig::leaf(name, Capacity::Percent(part)).with_maximum(Maximum::Percent(part))
    };
    let mut config = config(5);
    config.root = QueueConfig::root([leaf("a", 25), leaf("b", 75)]);
    config.resources = ResourceTypes::new(["memory", "gpu"]).unwrap().with_devices("gpu").unwrap();
    let cluster = Cluster::new(config, Mode::Serial);
    let node = NodeSpec::new("n0", Resources::new(&[8])).with_devices(8);
    let node = cluster.handle.add_node(node).unwrap();
    let job = cluster.application_in("root.a");
    let spec =
        apportion::AskSpec::new(Resources::new(&[1]), 1).with_devices(DeviceNeed { count: 3, milli: 1_000 });
    cluster.ask(job, spec.opportunistic());
    assert_eq!(cluster.at(node), (vec![], vec![]));
    drop(cluster.handle.move_application(job, "root.b").unwrap());
    cluster.run();
    assert_eq!(cluster.at(node).1.len(), 1);
}

fn opportunistic_memory() -> apportion::AskSpec {
    apportion::AskSpec::new(Resources::new(&[1]), 1).opportunistic()
}

#[test]
fn a_queued_container_ends_with_its_application_node_or_stop() {
    let cluster = Cluster::serial(5);
    let (node, job) = (cluster.node("a", 1), cluster.application());
    let other = cluster.application();
    cluster.ask(job, opportunistic(1, 4));
    cluster.ask(other, opportunistic(1, 9));
    let (waiting, _) = cluster.at(node);
    assert_eq!(waiting.len(), 5);
    drop(cluster.handle.stop_container(waiting[0]).unwrap());
    cluster.run();
    let ended = |events: Vec<EventKind>| {
        let cause = |event| match event {
            EventKind::ContainerEnded { cause, .. } => Some(cause),
            _ => None,
        };
        events.into_iter().filter_map(cause).collect::<Vec<_>>()
    };
    assert_eq!(ended(cluster.events()), [EndCause::Released], "nothing of it runs");
    assert_eq!(cluster.lengths(&[node]), [5], "another one waits in its place");
    cluster.handle.end_application(job, ApplicationEnd::Finished).unwrap();
    cluster.run();
    assert_eq!(ended(cluster.events()), [EndCause::ApplicationEnded; 3]);
    drop(cluster.handle.remove_node(node).unwrap());
    cluster.run();
    assert_eq!(ended(cluster.events()), [EndCause::NodeLost; 6]);
    let outstanding =
        cluster.engine.read(|view| view.asks().map(|ask| ask.outstanding()).collect::<Vec<_>>());
    assert_eq!(outstanding, [3]);
    cluster.handle.end_application(other, ApplicationEnd::Killed).unwrap();
    cluster.run();
    assert_eq!(cluster.engine.read(|view| view.asks().count()), 0);
}
