//! A naive scheduler: every sum is made again for every container, and nothing is sorted beforehand.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::amounts::{Amounts, SHARE_ONE, dominant_share, fits, minus, plus};
use super::super::cluster::{ClusterPlan, Kind};
use super::super::queues::NO_QUEUE;
use super::*;

struct Oracle<'a> {
    plan: &'a ClusterPlan,
    /// By number.
    pending: BTreeMap<u64, Task>,
    /// By number: the task and its node.
    running: BTreeMap<u64, (Task, usize)>,
    /// By partition and queue.
    last_served: Vec<Vec<u64>>,
    served: u64,
}

impl Oracle<'_> {
    fn kind(&self, task: Task) -> Kind {
        self.plan.kinds[task.kind as usize]
    }

    fn used_where(&self, partition: u32, counts: impl Fn(Task) -> bool) -> Amounts {
        let tasks = self.running.values().map(|(task, _)| *task);
        let tasks = tasks.filter(|task| self.kind(*task).partition == partition && counts(*task));
        tasks.fold([0; 2], |sum, task| plus(sum, self.kind(task).size))
    }

    fn is_below(&self, task: Task, queue: u32) -> bool {
        let mut at = self.plan.applications[task.application as usize].leaf;
        while at != NO_QUEUE && at != queue {
            at = self.plan.queues[at as usize].parent;
        }
        at == queue
    }

    fn used(&self, partition: u32, queue: u32) -> Amounts {
        self.used_where(partition, |task| self.is_below(task, queue))
    }

    /// The first of these asks: from the root down, the child with the smallest share.
    fn first_of(&self, partition: u32, asks: &[(u64, Task)]) -> Option<(u64, Task)> {
        let mut queue = 0;
        while self.plan.queues[queue as usize].children > 0 {
            let children = (0..self.plan.queues.len() as u32).filter(|child| {
                self.plan.queues[*child as usize].parent == queue
                    && asks.iter().any(|(_, task)| self.is_below(*task, *child))
            });
            queue = children.min_by_key(|child| {
                let base = self.plan.queues[*child as usize].limits[partition as usize].share_base;
                let share = dominant_share(self.used(partition, *child), base);
                (share, self.last_served[partition as usize][*child as usize], *child)
            })?;
        }
        let of_leaf = asks.iter().filter(|(_, task)| self.is_below(*task, queue));
        let place = |(number, task): &&(u64, Task)| {
            (self.plan.applications[task.application as usize].order, self.kind(*task).priority, *number)
        };
        of_leaf.min_by_key(place).copied()
    }

    fn is_within_limits(&self, task: Task) -> bool {
        let Kind { size, partition, .. } = self.kind(task);
        let application = &self.plan.applications[task.application as usize];
        let is_same_user =
            |other: Task| self.plan.applications[other.application as usize].user == application.user;
        let limits = |queue: u32| self.plan.queues[queue as usize].limits[partition as usize];
        let used_by_user = self.used_where(partition, is_same_user);
        let mut is_within = fits(plus(used_by_user, size), limits(application.leaf).user);
        let mut at = application.leaf;
        while at != NO_QUEUE {
            is_within &= fits(plus(self.used(partition, at), size), limits(at).maximum);
            at = self.plan.queues[at as usize].parent;
        }
        is_within
    }

    /// The node with room that is in the lowest step of use.
    fn find_node(&self, partition: u32, size: Amounts) -> Option<usize> {
        let step_of = |node: usize| {
            let (capacity, of) = self.plan.nodes[node];
            let here = self.running.values().filter(|(_, at)| *at == node);
            let free = here.fold(capacity, |free, (task, _)| minus(free, self.kind(*task).size));
            let share = dominant_share(minus(capacity, free), capacity).min(SHARE_ONE);
            (of as u32 == partition && fits(size, free)).then_some((share * 127 / SHARE_ONE, node))
        };
        (0..self.plan.nodes.len()).filter_map(step_of).min().map(|(_, node)| node)
    }

    /// Places what can be placed.
    fn run(&mut self) {
        for partition in 0..self.last_served.len() as u32 {
            let is_here = |(_, task): &(u64, Task)| self.kind(*task).partition == partition;
            let asks = self.pending.iter().map(|(number, task)| (*number, *task));
            let mut asks: Vec<(u64, Task)> = asks.filter(is_here).collect();
            while let Some((number, task)) = self.first_of(partition, &asks) {
                let found = self.find_node(partition, self.kind(task).size);
                asks.retain(|(other, _)| *other != number);
                if let Some(node) = found.filter(|_| self.is_within_limits(task)) {
                    self.place(number, task, node);
                }
            }
        }
    }

    fn place(&mut self, number: u64, task: Task, node: usize) {
        self.pending.remove(&number);
        self.running.insert(number, (task, node));
        self.served += 1;
        let mut at = self.plan.applications[task.application as usize].leaf;
        while at != NO_QUEUE {
            self.last_served[self.plan.kinds[task.kind as usize].partition as usize][at as usize] =
                self.served;
            at = self.plan.queues[at as usize].parent;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Also in clusters that are nearly full, with asks that wait.
    #[test]
    fn placements_are_those_of_the_oracle(
        leaves in 1..7_usize, applications in 1..9_usize, seed in 0..1_000_u64, asks in 1..160_usize,
        ends in proptest::collection::vec(1..60_usize, 0..4),
    ) {
        let setup = setup(10, leaves, applications, seed);
        let plan = ClusterPlan::new(&setup, |number| [131_072, 32_000 + number as i64 * 1_000]).unwrap();
        let mut engine = OneThread::new(&plan);
        let mut oracle = Oracle {
            plan: &plan, pending: BTreeMap::new(), running: BTreeMap::new(),
            last_served: vec![vec![0; plan.queues.len()]; engine.committer.quotas.len()], served: 0,
        };
        let (mut containers, mut number) = (BTreeMap::new(), 0);
        let mut todo = drawn_tasks(&setup, &plan, asks);
        for end in ends.into_iter().chain([0]) {
            for task in todo.drain(..) {
                engine.ask(task);
                number += 1;
                oracle.pending.insert(number, task);
            }
            engine.run();
            oracle.run();
            containers.extend(engine.committer.events.drain(..).map(|event| (event.number, (event.container, event.node))));
            let of_oracle: Vec<(u64, usize)> = oracle.running.iter().map(|(number, (_, node))| (*number, *node)).collect();
            let of_engine: Vec<(u64, usize)> = containers.iter().map(|(number, (_, node))| (*number, *node as usize)).collect();
            prop_assert_eq!(of_engine, of_oracle);
            expect_sound(&engine);
            expect_room(&engine, &plan);
            // Every third container ends, and is asked for again.
            let ended: Vec<u64> = containers.keys().copied().step_by(3).take(end).collect();
            for number in ended {
                engine.complete(containers.remove(&number).unwrap().0);
                todo.push(oracle.running.remove(&number).unwrap().0);
            }
        }
    }
}
