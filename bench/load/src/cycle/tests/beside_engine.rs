//! The engine in serial mode, given the same asks and ends, decides the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use apportion::event::EventKind;
use apportion::{AskId, AskSpec, ContainerId, ManualClock, NodeId};
use proptest::prelude::*;
use rustc_hash::FxHashMap;

use super::super::cluster::ClusterPlan;
use super::super::queues::QueueLimits;
use super::*;
use crate::cluster::Cluster;
use crate::fill::node_capacity;

/// An engine, and what the test knows of it.
struct Beside {
    cluster: Cluster,
    nodes: FxHashMap<NodeId, usize>,
    numbers: FxHashMap<AskId, u64>,
}

impl Beside {
    fn start(setup: &Setup, asks: usize) -> Self {
        let capacity = node_capacity(setup.shape.nodes, asks);
        let clock = Arc::new(ManualClock::new());
        let cluster = setup.start_with(setup.config(), clock, |_| capacity, usize::MAX).unwrap();
        let number = |name: &str| name.strip_prefix("node-").unwrap().parse().unwrap();
        let nodes = cluster.engine.read(|view| view.nodes().map(|n| (n.id(), number(n.name()))).collect());
        Self { cluster, nodes, numbers: FxHashMap::default() }
    }

    fn ask(&mut self, asks: Vec<(usize, AskSpec)>) {
        let asks = asks.into_iter().map(|(of, spec)| (self.cluster.applications[of], spec));
        for ask in self.cluster.handle.submit_asks(asks).unwrap() {
            self.numbers.insert(ask, self.numbers.len() as u64 + 1);
        }
    }

    /// Places, and adds where each container is.
    fn run(&mut self, placed: &mut BTreeMap<u64, (ContainerId, usize)>) {
        self.cluster.engine.run_until_quiet();
        let mut events = Vec::new();
        self.cluster.events.drain_into(&mut events).unwrap();
        for event in events {
            if let EventKind::Allocated { ask, container, node, .. } = event.kind {
                placed.insert(self.numbers[&ask], (container, self.nodes[&node]));
            }
        }
    }

    /// Checks that the plan's limits are the engine's.
    fn expect_limits(&self, plan: &ClusterPlan) {
        self.cluster.engine.read(|view| {
            for (partition, id) in view.partition_ids().enumerate() {
                for of in &plan.queues {
                    let queue = view.queue(&of.path).unwrap();
                    let pair = |amounts: apportion::Resources| [amounts[0], amounts[1]];
                    let quota = queue.quota(id);
                    let limits = QueueLimits {
                        guaranteed: pair(quota.guaranteed),
                        maximum: pair(quota.maximum),
                        user: if queue.is_leaf() {
                            pair(quota.user_limit)
                        } else {
                            of.limits[partition].user
                        },
                        share_base: pair(quota.share_base),
                    };
                    assert_eq!(limits, of.limits[partition], "{}", of.path);
                }
            }
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn every_container_is_where_the_engine_places_it(
        nodes in 40..90_usize, leaves in 1..21_usize, applications in 1..30_usize, seed in 0..1_000_u64,
        asks in 1..500_usize, ends in proptest::collection::vec(1..200_usize, 0..4),
    ) {
        let setup = setup(nodes, leaves, applications, seed);
        let capacity = node_capacity(nodes, asks);
        let plan = ClusterPlan::new(&setup, |_| [capacity[0], capacity[1]]).unwrap();
        let (mut engine, mut beside) = (OneThread::new(&plan), Beside::start(&setup, asks));
        beside.expect_limits(&plan);
        let specs: Vec<AskSpec> = (0..asks).map(|_| beside.cluster.draw_ask()).collect();
        let mut todo: Vec<(Task, AskSpec)> = drawn_tasks(&setup, &plan, asks).into_iter().zip(specs).collect();
        let (mut placed, mut expected, mut tasks) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for end in ends.into_iter().chain([0]) {
            todo.iter().for_each(|(task, _)| { engine.ask(*task); });
            beside.ask(todo.iter().map(|(task, spec)| (task.application as usize, spec.clone())).collect());
            tasks.append(&mut todo);
            engine.run();
            beside.run(&mut expected);
            placed.extend(engine.committer.events.drain(..).map(|event| (event.number, (event.container, event.node as usize))));
            let of_engine: Vec<(u64, usize)> = expected.iter().map(|(number, (_, node))| (*number, *node)).collect();
            let of_yardstick: Vec<(u64, usize)> = placed.iter().map(|(number, (_, node))| (*number, *node)).collect();
            prop_assert_eq!(of_yardstick, of_engine);
            // Every third container ends, and is asked for again.
            let ended: Vec<u64> = placed.keys().copied().step_by(3).take(end).collect();
            for number in ended {
                engine.complete(placed.remove(&number).unwrap().0);
                beside.cluster.handle.complete_container(expected.remove(&number).unwrap().0).unwrap();
                todo.push(tasks[number as usize - 1].clone());
            }
        }
    }
}
