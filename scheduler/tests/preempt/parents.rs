//! Queues above the leaves: those that are not above the beneficiary keep their guarantees, too.

use std::sync::Arc;

use apportion::config::{EngineConfig, PreemptionRounds, QueueConfig};
use apportion::{AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};

use crate::{Cluster, at_once, by_queue, queue};

const INTERVAL_MS: u64 = 100;

/// One node of 10. The parent has this guarantee. Of its leaves, only the second one has a guarantee.
fn cluster(parent: i64, second: i64) -> (Cluster, Arc<ManualClock>) {
    let leaves = [queue("a", &[0], None), queue("b", &[second], None)];
    let parent = queue("p", &[parent], None).with_children(leaves);
    let root = QueueConfig::root([parent, queue("c", &[2], None)]);
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
    config.reservations.delay_ms = None;
    config.preemption = Some(PreemptionRounds {
        policy: at_once(),
        interval_ms: INTERVAL_MS,
        max_wait_before_kill_ms: 0,
        observe_only: false,
    });
    let clock = Arc::new(ManualClock::new());
    let engine = Engine::start(config, Mode::Serial, Arc::clone(&clock) as _, None).unwrap();
    let events = engine.handle().event_stream(1 << 10);
    let cluster = Cluster { engine, events };
    cluster.nodes(1, &[10, 10]);
    (cluster, clock)
}

/// The first leaf has all that its parent is guaranteed. What it loses beyond the beneficiary's container is room of
/// the parent, so the beneficiary gets its container although the parent uses less afterwards.
#[test]
fn a_queue_above_both_leaves_keeps_the_room() {
    let (cluster, clock) = cluster(8, 4);
    let [a, _] = [("root.p.a", 4), ("root.c", 1)].map(|(queue, size)| {
        let application = cluster.demand(queue, &[size], 2);
        cluster.run();
        application
    });
    let b = cluster.demand("root.p.b", &[1], 1);
    cluster.run();
    assert_eq!((cluster.running(a), cluster.running(b)), (2, 0));
    clock.set(INTERVAL_MS);
    cluster.engine.handle().tick().unwrap();
    cluster.run();
    assert_eq!((cluster.running(a), cluster.running(b)), (1, 1));
    assert_eq!(cluster.engine.stats().preempted, 1);
}

/// The leaf that would lose has no guarantee, but its parent has. The committer would refuse a plan that takes the
/// parent below it, round after round.
#[test]
fn a_plan_takes_no_parent_below_its_guarantee() {
    for (parent, victims) in [(8, 0), (7, 0), (6, 1)] {
        let (cluster, clock) = cluster(parent, parent);
        let a = cluster.demand("root.p.a", &[3], 3);
        cluster.run();
        let c = cluster.demand("root.c", &[2], 1);
        let plan = cluster.plan(&at_once());
        assert_eq!(by_queue(&plan).values().sum::<usize>(), victims, "{parent}: {plan}");
        clock.set(INTERVAL_MS);
        cluster.engine.handle().tick().unwrap();
        cluster.run();
        assert_eq!((cluster.running(a), cluster.running(c)), (3 - victims, victims), "{parent}");
    }
}

/// The parent is below its guarantee already. Its second leaf wants the rest, but finds no node. So its first leaf owes
/// a lot, but to that leaf and not to other queues.
#[test]
fn a_parent_below_its_guarantee_loses_nothing_to_other_queues() {
    // What the other queue runs and wants.
    for (runs, wants) in [(9, 1), (4, 6)] {
        let leaves = [queue("x", &[10], None), queue("y", &[40], None)];
        let cluster = Cluster::new([queue("p", &[50], None).with_children(leaves), queue("q", &[50], None)]);
        let [n1, n2] = [("n1", 45), ("n2", 55)].map(|(name, size)| {
            cluster.engine.handle().add_node(NodeSpec::new(name, Resources::new(&[size]))).unwrap()
        });
        let demand = |queue: &str, (size, count), node| {
            let spec = AskSpec::new(Resources::new(&[size]), count).on_hosts([node]).strictly_local();
            let application = cluster.application(queue);
            cluster.ask_for(application, spec);
            cluster.run();
            application
        };
        demand("root.p.x", (5, 9), n1);
        demand("root.q", (5, runs), n2);
        demand("root.p.y", (60 - 5 * i64::from(runs), 1), n2);
        let late = demand("root.q", (5, wants), n1);
        let plan = cluster.plan(&at_once());
        let shares = plan.partitions[0].queues.iter().find(|queue| queue.path == "root.p.x").unwrap();
        assert!(shares.to_take.get("memory_mib") > 0, "{shares}");
        assert!(plan.preemptions.iter().all(|one| one.application != late), "{plan}");
    }
}
