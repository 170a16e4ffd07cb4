//! `churn`: a cluster in use to 85 %, where each container that completes is asked for again.
//!
//! One thread stands for the resource manager around the engine: it reads events, reports completions and asks, all
//! through the public handle. That work is part of what is measured.

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use apportion::{ApplicationId, AskId, AskSpec, CommitSeq, ContainerId, Event, EventKind, Resources};
use hdrhistogram::Histogram;
use rand::RngExt;
use rustc_hash::FxHashMap;

use super::cluster::{Cluster, PARTITION_EVERY, Setup};
use super::meter::{Meter, Record};
use crate::synthetic::node_vcores;

const LOAD_PERCENT: i64 = 85;
/// Asks that may be unanswered before no more containers complete: a part of those that run, and so many at most.
const WINDOW_PART: usize = 10;
const WINDOW_MAX: usize = 2_048;
/// How long the resource manager lets events gather when it has enough unanswered asks.
const PAUSE: Duration = Duration::from_micros(100);
/// So many asks may wait when nothing happens, in percent of what runs.
const WAITING_MAX_PERCENT: usize = 2;
/// Between two looks at what is due, where asks come at a rate.
const PACE: Duration = Duration::from_micros(20);
/// Longer times from ask to commit count as this one.
const LONGEST_NS: u64 = 60_000_000_000;
/// Looks without any event after which containers complete although too much is unanswered: what is left may wait
/// for just that.
const PATIENCE_LOOKS: u32 = 100;

/// A cluster that is kept busy for as long as it is asked to.
#[derive(Debug)]
pub struct Churn {
    cluster: Cluster,
    /// Asks that recur, and which of them each is: few, as sizes, priorities and partitions are few.
    kinds: Vec<AskSpec>,
    asked: FxHashMap<AskId, (Task, Instant)>,
    running: Vec<(ContainerId, Task)>,
    events: Vec<Event>,
    placed: u64,
    latency: Latency,
    idle_looks: u32,
    window: usize,
}

/// How long asks take to be committed, and when groups were committed whose events have not been read.
#[derive(Debug)]
struct Latency {
    groups: VecDeque<(CommitSeq, Instant)>,
    ns: Histogram<u64>,
}

/// Who asked for a container, and for what.
#[derive(Clone, Copy, Debug)]
struct Task {
    application: ApplicationId,
    kind: u32,
}

impl Churn {
    /// Starts an engine and fills it to 85 % of its vcores.
    ///
    /// # Errors
    /// When the engine does not start or ends early, or the containers find no room.
    pub fn new(setup: &Setup) -> anyhow::Result<Self> {
        let capacity = |number: usize| {
            // By tens, as every tenth node is of the other partition.
            let vcores = node_vcores(number / PARTITION_EVERY);
            Resources::new(&[vcores * 4 * 1024, vcores * 1000])
        };
        let total: i64 = (0..setup.shape.nodes).map(|number| capacity(number)[1]).sum();
        let cluster = setup.start(capacity, usize::MAX)?;
        let mut churn = Self {
            cluster,
            kinds: Vec::new(),
            asked: FxHashMap::default(),
            running: Vec::new(),
            events: Vec::new(),
            placed: 0,
            latency: Latency { groups: VecDeque::new(), ns: Histogram::new_with_max(LONGEST_NS, 3)? },
            idle_looks: 0,
            window: 0,
        };
        churn.fill(total * LOAD_PERCENT / 100)?;
        Ok(churn)
    }

    fn fill(&mut self, vcores_milli: i64) -> anyhow::Result<()> {
        let (mut asked, mut number) = (0, 0);
        while asked < vcores_milli {
            let spec = self.cluster.draw_ask();
            asked += spec.size[1];
            let application = self.cluster.applications[number % self.cluster.applications.len()];
            let kind = self.kind(spec);
            self.ask(&[Task { application, kind }])?;
            number += 1;
        }
        self.settle()?;
        self.window = (self.running.len() / WINDOW_PART).clamp(1, WINDOW_MAX);
        Ok(())
    }

    /// Keeps the cluster busy for so long; afterwards only what finds no room is left unanswered.
    ///
    /// # Errors
    /// When the engine ends early, or what is asked for again finds no room.
    pub fn run(&mut self, duration: Duration) -> anyhow::Result<Record> {
        self.placed = 0;
        let (begun, meter) = (Instant::now(), Meter::start(&self.cluster.engine));
        while begun.elapsed() < duration {
            self.turn_over()?;
        }
        let record = meter.stop(&self.cluster.engine, self.placed);
        self.settle()?;
        Ok(record)
    }

    /// Lets so many containers complete per second and asks for them again, for so long, however long the answers take:
    /// the record says how long that was.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_at(&mut self, per_second: f64, duration: Duration) -> anyhow::Result<Record> {
        self.placed = 0;
        self.latency.ns.reset();
        let (begun, meter) = (Instant::now(), Meter::start(&self.cluster.engine));
        let mut asked = 0;
        while begun.elapsed() < duration {
            self.take_events()?;
            let due = (begun.elapsed().as_secs_f64() * per_second) as usize;
            self.replace(due.saturating_sub(asked))?;
            asked = asked.max(due);
            thread::sleep(PACE);
        }
        let placed = self.placed;
        let record = meter.stop(&self.cluster.engine, placed);
        self.settle()?;
        Ok(Record { latency_ns: Some(self.latency.ns.clone()), ..record })
    }

    /// Lets so many containers complete, asks for them again, and waits for an answer to everything. In serial mode that
    /// is the same work each time.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn step(&mut self, count: usize) -> anyhow::Result<()> {
        self.replace(count)?;
        self.settle()
    }

    /// How many containers run.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// The audit.
    ///
    /// # Errors
    /// When it finds something.
    pub fn expect_sound(&self) -> anyhow::Result<()> {
        self.cluster.expect_sound()
    }

    /// Takes events, lets containers complete and asks for them again, until enough is unanswered.
    fn turn_over(&mut self) -> anyhow::Result<()> {
        let is_idle = self.take_events()? == 0;
        self.idle_looks = if is_idle { self.idle_looks + 1 } else { 0 };
        let is_stuck = self.idle_looks >= PATIENCE_LOOKS;
        let room = self.window.saturating_sub(self.asked.len()) + usize::from(is_stuck);
        self.replace(room)?;
        if is_idle {
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Lets so many containers complete and asks for them again.
    fn replace(&mut self, count: usize) -> anyhow::Result<()> {
        let (mut completed, mut tasks) = (Vec::new(), Vec::new());
        for _ in 0..count.min(self.running.len()) {
            let place = self.cluster.random.random_range(0..self.running.len());
            let (container, task) = self.running.swap_remove(place);
            completed.push(container);
            tasks.push(task);
        }
        self.cluster.handle.complete_containers(completed)?;
        self.ask(&tasks)
    }

    /// Waits for an answer to everything.
    fn settle(&mut self) -> anyhow::Result<()> {
        self.cluster.engine.run_until_quiet();
        self.take_events()?;
        // A large container may wait for room on one node, and a container that names hosts for those.
        if self.asked.len() * 100 > self.running.len() * WAITING_MAX_PERCENT {
            bail!("{} asks found no room in a cluster at {LOAD_PERCENT} %", self.asked.len());
        }
        Ok(())
    }

    fn take_events(&mut self) -> anyhow::Result<usize> {
        let count = self.cluster.events.drain_into(&mut self.events).context("an event was left out")?;
        // Events come after the group's note.
        self.latency.groups.extend(self.cluster.notes.take_groups());
        for event in self.events.drain(..) {
            match event.kind {
                EventKind::Allocated { ask, container, .. } => {
                    let (task, asked_at) =
                        self.asked.remove(&ask).context("a container that nobody asked for")?;
                    self.latency.note(event.seq, asked_at);
                    self.running.push((container, task));
                    self.placed += 1;
                }
                EventKind::AskRefused { refusal, .. } => bail!("an ask was refused: {refusal}"),
                _ => {}
            }
        }
        Ok(count)
    }

    fn ask(&mut self, tasks: &[Task]) -> anyhow::Result<()> {
        let specs = tasks.iter().map(|task| (task.application, self.kinds[task.kind as usize].clone()));
        let asked_at = Instant::now();
        let asks = self.cluster.handle.submit_asks(specs)?;
        self.asked.extend(asks.into_iter().zip(tasks.iter().map(|task| (*task, asked_at))));
        Ok(())
    }

    fn kind(&mut self, spec: AskSpec) -> u32 {
        // Those that name hosts are hardly ever equal.
        let is_same = |kind: &AskSpec| spec.wishes.is_empty() && *kind == spec;
        let known = self.kinds.iter().position(is_same);
        known.unwrap_or_else(|| {
            self.kinds.push(spec);
            self.kinds.len() - 1
        }) as u32
    }
}

impl Latency {
    /// An ask was placed by this change.
    fn note(&mut self, seq: CommitSeq, asked_at: Instant) {
        while self.groups.front().is_some_and(|(last, _)| *last < seq) {
            self.groups.pop_front();
        }
        if let Some((_, committed_at)) = self.groups.front() {
            let ns = committed_at.saturating_duration_since(asked_at).as_nanos();
            self.ns.saturating_record(ns.try_into().unwrap_or(u64::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use apportion::Mode;

    use super::super::cluster::ClusterShape;
    use super::*;

    #[test]
    fn what_completes_is_placed_again() {
        let shape = ClusterShape { nodes: 100, leaves: 4, applications: 8 };
        let mut churn = Churn::new(&Setup::new(shape, Mode::Parallel { proposers: 2 })).unwrap();
        let running = churn.running();
        let record = churn.run(Duration::from_millis(50)).unwrap();
        assert!(record.placed > 0);
        assert_eq!(churn.running(), running);
        churn.expect_sound().unwrap();
    }
}
