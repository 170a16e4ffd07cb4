//! Failed passes, against the end of the obstacle: for inactive applications, borrowed containers and lanes
//! without headroom.

use super::passes::{expect_placed, pass_against};
use super::{Bound, Cluster, Workers, half, model, one, plain, with_queues};
use crate::change::{AskSpec, NodeSpec};
use crate::config::{Capacity, EngineConfig, Maximum, ParallelLimits, Percent, QueueConfig};
use crate::facts::ApplicationEnd;
use crate::ids::{AskId, ContainerId, NodeId, PartitionId};
use crate::resource::Resources;

/// I13. An application that waits for activation, against the end of the active one. The bug: an application that
/// is activated without its asks, or not at all.
#[test]
fn a_pass_against_the_end_of_the_only_active_application() {
    model(Bound::None, || {
        let limits = ParallelLimits { total: Some(1), ..ParallelLimits::default() };
        let leaf = QueueConfig::leaf("default", Capacity::Percent(Percent::ALL)).with_parallel(limits);
        let config = with_queues(QueueConfig::root([leaf]));
        let (cluster, mut workers) = Cluster::assembled(config, 1, 2);
        let active = cluster.application;
        cluster.ask(1);
        workers.run_until_idle();
        cluster.ask_of(cluster.submit("root.default", "other"), 1);
        cluster.ask(1);
        pass_against(&mut workers, &cluster.handle, |handle| {
            handle.end_application(active, ApplicationEnd::Killed).unwrap();
        });
        expect_placed(&cluster, 1);
    });
}

/// Two full nodes, the second lent by another partition, and an ask for one more container. Two more nodes drain:
/// they count in their partitions' totals, so room is missing but no limit is reached.
fn own_and_lender_full() -> (Cluster, Workers, [ContainerId; 2]) {
    let lending = EngineConfig {
        partitions: vec!["lent".to_owned()],
        non_exclusive_partitions: vec!["lent".to_owned()],
        ..plain()
    };
    let (cluster, mut workers) = Cluster::assembled(lending, 1, 1);
    let lent = |name: &str| NodeSpec::new(name, one()).in_partition(PartitionId(1));
    for idle in [lent("idle lent"), NodeSpec::new("idle", one())] {
        cluster.handle.drain_node(cluster.handle.add_node(idle).unwrap()).unwrap();
    }
    let lent = cluster.handle.add_node(lent("lent")).unwrap();
    cluster.ask(2);
    workers.run_until_idle();
    let running = [cluster.nodes[0], lent].map(|node: NodeId| cluster.container_on(node));
    cluster.ask(1);
    (cluster, workers, running)
}

/// I13. No room for a borrowed container, against the end of the borrowed container in its way. The bug: a borrowed
/// container whose shape stays closed although it has room.
#[test]
fn no_room_for_a_borrowed_container_against_a_release() {
    model(Bound::None, || {
        let (cluster, mut workers, [_, borrowed]) = own_and_lender_full();
        pass_against(&mut workers, &cluster.handle, |handle| handle.complete_container(borrowed).unwrap());
        expect_placed(&cluster, 2);
    });
}

/// I13. The same, against the end of the container in its own partition. The bug: an ask that waits on a borrowed node
/// while its own partition has room.
#[test]
fn no_room_for_a_borrowed_container_against_a_release_in_own_partition() {
    model(Bound::Four, || {
        let (cluster, mut workers, [in_own_partition, _]) = own_and_lender_full();
        pass_against(&mut workers, &cluster.handle, |handle| {
            handle.complete_container(in_own_partition).unwrap()
        });
        expect_placed(&cluster, 2);
        assert_eq!(cluster.engine.read(|view| view.node(cluster.nodes[0]).unwrap().containers().len()), 1);
    });
}

/// Below a queue with a maximum of four, the second leaf uses three. The first leaf asks for two, which do not fit.
/// The second leaf asks for one, which blocked headroom keeps out.
fn one_has_blocked_headroom() -> (Cluster, Workers, AskId) {
    let parent = QueueConfig::leaf("p", Capacity::Percent(Percent::ALL));
    let parent = parent.with_maximum(Maximum::absolute(&[4])).with_children(["a", "b"].map(half));
    let config = with_queues(QueueConfig::root([parent]));
    let (cluster, mut workers) = Cluster::assembled_in("root.p.b", config, 1, 1);
    cluster.handle.add_node(NodeSpec::new("large", Resources::new(&[9]))).unwrap();
    cluster.ask(3);
    workers.run_until_idle();
    assert_eq!(cluster.containers(), 3);
    let first = cluster.submit("root.p.a", "user");
    let large = cluster.handle.submit_ask(first, AskSpec::new(Resources::new(&[2]), 1)).unwrap();
    cluster.ask(1);
    (cluster, workers, large)
}

/// I13. A lane that waits for blocked headroom, against the end of the wait that blocks it. The bug: the lane still
/// waits although no headroom is blocked.
#[test]
fn blocked_headroom_against_the_end_of_the_wait_for_it() {
    model(Bound::None, || {
        let (cluster, mut workers, large) = one_has_blocked_headroom();
        pass_against(&mut workers, &cluster.handle, |handle| handle.cancel_ask(large, 1).unwrap());
        expect_placed(&cluster, 4);
    });
}
