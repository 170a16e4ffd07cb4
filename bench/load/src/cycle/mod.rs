//! The full-cycle yardstick: how fast one thread, or two, can do everything that a container costs an engine.
//!
//! Each container is asked for, proposed, accepted and applied, announced, and ended, on the cluster of `throughput`,
//! with its sizes, queues, limits and orders. Unlike the stripped yardstick of `apportion-bench limit`, it keeps all
//! that an engine must keep. Identifiers are used once. There are lanes, the exact order by share at every level of the
//! queue tree, lists of a node's containers, and the caller's own tables. Limits are checked when proposed and when
//! accepted. Each change has an event and a log record, each group a checksum. It has no locks and no general case:
//! asks are for one container, name no hosts, and name a size that is known beforehand.
//!
//! | module | what it does |
//! |---|---|
//! | `cluster`, `queues`, `amounts` | the cluster and its limits as plain values |
//! | `committer`, `commit`, `ids`, `log` | takes in asks and ends; accepts and applies |
//! | `proposer`, `walk`, `least`, `index` | finds the first ask in order, and the first node with room |
//! | `caller` | ends containers and asks again |
//! | `one_thread` | lets proposer and committer take turns |
//! | `by_messages` | keeps them apart, so that each may have a thread of its own |

mod amounts;
mod by_messages;
mod caller;
mod cluster;
mod commit;
mod committer;
mod ids;
mod index;
mod least;
mod log;
mod one_thread;
mod proposer;
mod queues;
#[cfg(test)]
mod tests;
mod walk;

use std::time::{Duration, Instant};

use anyhow::ensure;
use caller::{Caller, Task};
use cluster::ClusterPlan;
use one_thread::OneThread;

use crate::churn::{GoOn, window};
use crate::cluster::{ClusterShape, Setup};
use crate::fill::node_capacity;
use crate::process;

/// Placements after the cluster is full that the digest covers. They also warm up.
const DIGESTED: u64 = 20_000;

/// The result of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct CycleRate {
    /// Containers placed.
    pub placed: u64,
    /// How long that took.
    pub elapsed: Duration,
    /// Processor time of the thread, where the system says; `None` for work by messages.
    pub cpu_ns: Option<u64>,
}

impl CycleRate {
    /// Containers placed per second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.placed as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Processor time per container, in nanoseconds.
    #[must_use]
    pub fn cpu_ns_per_container(&self) -> Option<f64> {
        self.cpu_ns.map(|ns| ns as f64 / self.placed.max(1) as f64)
    }
}

/// A cluster and its caller.
#[derive(Debug)]
pub struct CycleYardstick {
    engine: OneThread,
    caller: Caller,
    work: Work,
    digest: u64,
}

#[derive(Debug)]
enum Work {
    /// Ends containers of a busy cluster and asks again, with this many unanswered asks.
    Churn { window: usize },
    /// Fills an empty cluster with these asks, again and again.
    Fill { empty: Box<OneThread>, tasks: Vec<Task> },
}

impl CycleYardstick {
    /// A cluster as full as the profile says, whose containers end and are asked for again. The setup's profile must be
    /// one [for the yardstick](crate::Profile::for_yardstick).
    ///
    /// # Errors
    /// The cluster is too small, or its queues have settings that the yardstick does not know.
    pub fn churn(setup: &Setup) -> anyhow::Result<Self> {
        let (profile, nodes) = (setup.profile, setup.shape.nodes);
        check(setup)?;
        let capacity = |number| profile.capacity(number, nodes);
        let plan = ClusterPlan::new(setup, |number| [capacity(number)[0], capacity(number)[1]])?;
        let (mut engine, mut caller) = (OneThread::new(&plan), Caller::new(setup.seed));
        let scarce = profile.scarce_type();
        let obtainable = (0..nodes).map(|number| profile.obtainable(number, nodes)[scarce]).sum();
        let (mut asked, mut number) = (0, 0);
        while profile.filled_part(number, asked, nodes, obtainable) < 1.0 {
            let drawn = profile.draw(&mut caller.random);
            asked += drawn.size[scarce];
            let application = (number % setup.shape.applications) as u32;
            let task = Task { application, kind: plan.kind_of(&drawn)? };
            caller.ask(&mut engine.committer, &mut engine.proposer, task);
            number += 1;
            if number % 1_024 == 0 {
                engine.run();
                caller.take_events(&mut engine.committer);
            }
        }
        engine.run();
        caller.take_events(&mut engine.committer);
        let work = Work::Churn { window: window(caller.running()) };
        let mut yardstick = Self { engine, caller, work, digest: 0 };
        let until = yardstick.caller.placed + DIGESTED;
        while yardstick.caller.placed < until {
            let before = yardstick.caller.placed;
            yardstick.turn_over();
            ensure!(
                yardstick.caller.placed > before,
                "no container fits any more; give the cluster more nodes, or fewer leaves that share them"
            );
        }
        yardstick.digest = yardstick.caller.digest;
        Ok(yardstick)
    }

    /// An empty cluster that this many asks fill.
    ///
    /// # Errors
    /// As for [`churn`](Self::churn); or not everything finds room.
    pub fn fill(setup: &Setup, asks: usize) -> anyhow::Result<Self> {
        check(setup)?;
        let capacity = node_capacity(setup.shape.nodes, asks);
        let plan = ClusterPlan::new(setup, |_| [capacity[0], capacity[1]])?;
        let mut caller = Caller::new(setup.seed);
        let task = |number: usize| {
            let kind = plan.kind_of(&setup.profile.draw(&mut caller.random))?;
            Ok(Task { application: (number % setup.shape.applications) as u32, kind })
        };
        let tasks = (0..asks).map(task).collect::<anyhow::Result<_>>()?;
        let engine = OneThread::new(&plan);
        let work = Work::Fill { empty: Box::new(engine.clone()), tasks };
        let mut yardstick = Self { engine, caller, work, digest: 0 };
        yardstick.refill();
        let placed = yardstick.caller.placed as usize;
        ensure!(placed == asks, "{placed} of {asks} containers found room");
        yardstick.digest = yardstick.caller.digest;
        Ok(yardstick)
    }

    /// Digest of the nodes of the first containers, a fixed number: equal seeds have equal digests.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Works for this long, or until `go_on` breaks.
    pub fn run_while(&mut self, duration: Duration, go_on: GoOn<'_>) -> CycleRate {
        if let Work::Churn { .. } = self.work {
            let begun = Instant::now();
            return self.measure(|yardstick| {
                yardstick.turn_over();
                while begun.elapsed() < duration && go_on().is_continue() {
                    yardstick.turn_over();
                }
            });
        }
        let mut sum = CycleRate { placed: 0, elapsed: Duration::ZERO, cpu_ns: Some(0) };
        while sum.placed == 0 || (sum.elapsed < duration && go_on().is_continue()) {
            self.empty();
            let fill = self.measure(Self::refill);
            sum.placed += fill.placed;
            sum.elapsed += fill.elapsed;
            sum.cpu_ns = sum.cpu_ns.zip(fill.cpu_ns).map(|(sum, fill)| sum + fill);
        }
        sum
    }

    fn measure(&mut self, work: impl FnOnce(&mut Self)) -> CycleRate {
        let (cpu_ns, begun, before) = (process::thread_cpu_ns(), Instant::now(), self.caller.placed);
        work(self);
        let elapsed = begun.elapsed();
        let cpu_ns = process::thread_cpu_ns().zip(cpu_ns).map(|(after, before)| after.saturating_sub(before));
        CycleRate { placed: self.caller.placed - before, elapsed, cpu_ns }
    }

    /// Ends containers of a busy cluster, asks again and places.
    fn turn_over(&mut self) {
        let Work::Churn { window } = self.work else { return };
        let count = window.saturating_sub(self.caller.unanswered);
        let OneThread { committer, proposer, .. } = &mut self.engine;
        self.caller.replace(committer, proposer, count);
        self.engine.run();
        self.caller.take_events(&mut self.engine.committer);
    }

    /// Fills the empty cluster.
    fn refill(&mut self) {
        let Work::Fill { tasks, .. } = &self.work else { return };
        let OneThread { committer, proposer, .. } = &mut self.engine;
        tasks.iter().for_each(|task| self.caller.ask(committer, proposer, *task));
        self.engine.run();
        self.caller.take_events(&mut self.engine.committer);
    }

    /// Takes an empty cluster.
    fn empty(&mut self) {
        if let Work::Fill { empty, .. } = &self.work {
            self.engine.clone_from(empty);
            self.caller.forget();
        }
    }
}

/// Both partitions need nodes, as in the cluster of `throughput`.
fn check(setup: &Setup) -> anyhow::Result<()> {
    let ClusterShape { nodes, leaves, applications } = setup.shape;
    ensure!(
        nodes >= 10 && leaves > 0 && applications > 0,
        "with --cycle, a cluster has at least 10 nodes, a leaf and an application, not {nodes}, {leaves} and {applications}"
    );
    Ok(())
}
