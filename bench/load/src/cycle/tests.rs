//! The yardstick's placements are the engine's, and those of a naive oracle.

mod beside_engine;
mod oracle;

use std::ops::ControlFlow;
use std::time::Duration;

use apportion::Mode;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::amounts::{Amounts, fits, minus, plus};
use super::caller::Task;
use super::cluster::ClusterPlan;
use super::ids::Id;
use super::one_thread::OneThread;
use super::queues::NO_QUEUE;
use super::*;

impl OneThread {
    fn ask(&mut self, task: Task) -> Id {
        self.committer.ask(task.application, task.kind, &mut self.proposer)
    }

    fn complete(&mut self, id: Id) {
        self.committer.complete(&[id], &mut self.proposer);
    }
}

/// Asks of a setup, in turn of its applications.
fn drawn_tasks(setup: &Setup, plan: &ClusterPlan, count: usize) -> Vec<Task> {
    let mut random = Pcg64Mcg::seed_from_u64(setup.seed);
    let task = |number: usize| Task {
        application: (number % setup.shape.applications) as u32,
        kind: plan.kind_of(&setup.profile.draw(&mut random)).unwrap(),
    };
    (0..count).map(task).collect()
}

/// Checks every sum, limit and capacity.
fn expect_sound(engine: &OneThread) {
    let mut containers = 0;
    for (partition, of) in engine.committer.quotas.iter().enumerate() {
        let mut used = vec![[0; 2]; of.queues.len()];
        let mut used_by = vec![[0; 2]; of.users.len()];
        let nodes = engine.committer.nodes.iter().filter(|node| node.partition as usize == partition);
        let slots = nodes.flat_map(|node| &node.containers);
        for container in slots.map(|slot| engine.committer.containers.at(*slot).1) {
            containers += 1;
            let size = engine.committer.kinds[container.kind as usize].size;
            let plan = &engine.committer.applications[container.application as usize].plan;
            used_by[plan.user as usize] = plus(used_by[plan.user as usize], size);
            let mut at = plan.leaf;
            while at != NO_QUEUE {
                used[at as usize] = plus(used[at as usize], size);
                at = of.queues[at as usize].parent;
            }
        }
        for (quota, used) in of.queues.iter().zip(used).chain(of.users.iter().zip(used_by)) {
            assert_eq!(quota.used, used);
            assert!(fits(used, quota.maximum), "{used:?} exceeds {:?}", quota.maximum);
        }
    }
    assert_eq!((containers, engine.committer.rejected), (engine.committer.containers.len(), 0));
    assert!(
        engine.committer.nodes.iter().all(|node| fits([0; 2], node.free)),
        "a node gave more than it has"
    );
    expect_same_views(engine);
}

/// Checks that the proposer's views have the asks, the use and the room of the facts.
fn expect_same_views(engine: &OneThread) {
    let listed: usize = engine.proposer.views.iter().map(|view| view.walk.asks()).sum();
    assert_eq!(listed, engine.committer.asks.len());
    for (view, quotas) in engine.proposer.views.iter().zip(&engine.committer.quotas) {
        let used = quotas.queues.iter().chain(&quotas.users).map(|quota| quota.used);
        assert!(view.walk.levels().eq(used));
    }
    for node in &engine.committer.nodes {
        let view = &engine.proposer.views[node.partition as usize];
        assert_eq!(view.index.candidate(node.position as usize).free, node.free);
    }
}

/// Checks that nodes have what their containers leave.
fn expect_room(engine: &OneThread, plan: &ClusterPlan) {
    for (node, (capacity, _)) in engine.committer.nodes.iter().zip(&plan.nodes) {
        let size =
            |slot: &u32| engine.committer.kinds[engine.committer.containers.at(*slot).1.kind as usize].size;
        let free: Amounts = node.containers.iter().map(size).fold(*capacity, minus);
        assert_eq!(node.free, free);
    }
}

fn setup(nodes: usize, leaves: usize, applications: usize, seed: u64) -> Setup {
    Setup { seed, ..Setup::new(ClusterShape { nodes, leaves, applications }, Mode::Serial) }
}

#[test]
fn the_digest_depends_on_the_seed_alone() {
    let run = |seed, slices| {
        let mut churn = CycleYardstick::churn(&setup(60, 4, 12, seed)).unwrap();
        for _ in 0..slices {
            let rate = churn.run_while(Duration::from_millis(5), &|| ControlFlow::Continue(()));
            assert!(rate.placed > 0);
        }
        expect_sound(&churn.engine);
        churn.digest()
    };
    assert_eq!(run(1, 0), run(1, 3));
    assert_ne!(run(1, 0), run(2, 0));
}

type Run = fn(&mut CycleYardstick, Duration) -> anyhow::Result<CycleRate>;

#[test]
fn work_by_messages_loses_nothing() {
    let runs: [Run; 2] = [CycleYardstick::run_on_two_threads, CycleYardstick::run_by_messages_on_one_thread];
    for run in runs {
        let mut churn = CycleYardstick::churn(&setup(60, 4, 12, 1)).unwrap();
        let containers = |churn: &CycleYardstick| churn.caller.running() + churn.caller.unanswered;
        let before = containers(&churn);
        for _ in 0..3 {
            let placed = churn.caller.placed;
            while churn.caller.placed == placed {
                run(&mut churn, Duration::from_millis(5)).unwrap();
            }
            expect_sound(&churn.engine);
            assert_eq!(churn.engine.committer.asks.len(), churn.caller.unanswered);
            assert_eq!(containers(&churn), before);
            // One thread goes on with the same state.
            churn.run_while(Duration::from_millis(1), &|| ControlFlow::Continue(()));
            expect_sound(&churn.engine);
        }
    }
}

#[test]
fn work_by_messages_fills_no_clusters() {
    let mut fill = CycleYardstick::fill(&setup(50, 3, 7, 1), 500).unwrap();
    assert!(fill.run_on_two_threads(Duration::from_millis(5)).is_err());
}

#[test]
fn each_fill_is_the_same() {
    let mut fill = CycleYardstick::fill(&setup(50, 3, 7, 1), 500).unwrap();
    let first = fill.digest();
    let rate = fill.run_while(Duration::from_millis(20), &|| ControlFlow::Continue(()));
    assert_eq!(rate.placed % 500, 0);
    assert_eq!((fill.caller.digest, fill.caller.running()), (first, 500));
    expect_sound(&fill.engine);
}

#[test]
fn a_cluster_without_nodes_is_refused() {
    assert!(CycleYardstick::churn(&setup(9, 1, 1, 1)).is_err());
    assert!(CycleYardstick::fill(&setup(100, 0, 1, 1), 10).is_err());
}
