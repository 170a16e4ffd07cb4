//! The loop on virtual time: containers end, applications ask for them again, and the engine works until it is quiet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::{Context, bail};
use apportion::config::EngineConfig;
use apportion::event::{Event, EventKind};
use apportion::{AskId, ContainerId, ManualClock};
use apportion_load::{Cluster, Kinds, Setup, Task};
use rand::SeedableRng;
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64Mcg;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::synthetic::log_normal;

/// Containers that end within this time end together.
const TICK_MS: u64 = 100;
/// The spread of lives (`docs/workloads.md`), and their bounds.
const LIFE_SIGMA: f64 = 1.0;
const LIFE_MIN_MS: f64 = 500.0;
const LIFE_MAX_MEANS: f64 = 20.0;

/// A cluster whose containers recur.
pub(super) struct Steady {
    pub(super) cluster: Cluster,
    clock: ManualClock,
    pub(super) now_ms: u64,
    pub(super) kinds: Kinds,
    pub(super) asked: FxHashMap<AskId, Task>,
    pub(super) running: FxHashMap<ContainerId, Task>,
    ends: BinaryHeap<Reverse<(u64, ContainerId)>>,
    lives: LogNormal<f64>,
    life_max_ms: f64,
    random: Pcg64Mcg,
    events: Vec<Event>,
}

/// An observer of the run.
pub(super) trait Watch {
    /// An ask was submitted.
    fn asked(&mut self, _: AskId, _: Task, _: &Kinds) {}
    /// A container was placed at this time.
    fn placed(&mut self, _: AskId, _: Task, _now_ms: u64, _: &Kinds) {}
    /// Nothing more happens at this time.
    fn quiet(&mut self, _now_ms: u64) {}
}

/// The observer that ignores everything.
pub(super) struct Unwatched;

impl Watch for Unwatched {}

impl Steady {
    /// Starts an engine and asks for this many containers, evenly over the applications, at time 0. Containers live for
    /// the given mean time.
    pub(super) fn start(
        setup: &Setup,
        config: EngineConfig,
        containers: usize,
        mean_life_ms: u64,
        watch: &mut dyn Watch,
    ) -> anyhow::Result<Self> {
        let clock = ManualClock::new();
        let (profile, nodes) = (setup.profile, setup.shape.nodes);
        let capacity = |number| profile.capacity(number, nodes);
        let cluster = setup.start_with(config, Arc::new(clock.clone()), capacity, usize::MAX)?;
        let mut steady = Self {
            cluster,
            clock,
            now_ms: 0,
            kinds: Kinds::default(),
            asked: FxHashMap::default(),
            running: FxHashMap::default(),
            ends: BinaryHeap::new(),
            lives: log_normal(mean_life_ms as f64, LIFE_SIGMA),
            life_max_ms: LIFE_MAX_MEANS * mean_life_ms as f64,
            random: Pcg64Mcg::seed_from_u64(setup.seed),
            events: Vec::new(),
        };
        let applications = steady.cluster.applications.len();
        let draw = |number: usize| {
            let kind = steady.kinds.number_of(steady.cluster.draw_ask());
            Task { application: (number % applications) as u32, kind }
        };
        let tasks: Vec<Task> = (0..containers).map(draw).collect();
        steady.ask(&tasks, watch)?;
        steady.run_until_idle(watch)?;
        Ok(steady)
    }

    /// Lets virtual time pass until `end_ms`. Reports the time reached to a callback, which decides whether to
    /// continue.
    pub(super) fn run_until(
        &mut self,
        end_ms: u64,
        watch: &mut dyn Watch,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> anyhow::Result<ControlFlow<()>> {
        while self.now_ms < end_ms {
            self.now_ms += TICK_MS;
            self.clock.set(self.now_ms);
            self.replace_ended(watch)?;
            self.cluster.handle.tick()?;
            self.run_until_idle(watch)?;
            if progress(self.now_ms).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Asks for which a node is reserved.
    pub(super) fn reservations(&self) -> FxHashSet<AskId> {
        self.cluster
            .engine
            .read(|view| view.asks().filter(|ask| ask.reserved() > 0).map(|ask| ask.id()).collect())
    }

    fn replace_ended(&mut self, watch: &mut dyn Watch) -> anyhow::Result<()> {
        let (mut ended, mut tasks) = (Vec::new(), Vec::new());
        while let Some(Reverse((at_ms, container))) = self.ends.peek().copied()
            && at_ms <= self.now_ms
        {
            self.ends.pop();
            tasks.push(self.running.remove(&container).context("a container ended that does not run")?);
            ended.push(container);
        }
        self.cluster.handle.complete_containers(ended)?;
        self.ask(&tasks, watch)
    }

    fn ask(&mut self, tasks: &[Task], watch: &mut dyn Watch) -> anyhow::Result<()> {
        let application = |task: &Task| self.cluster.applications[task.application as usize];
        let specs = tasks.iter().map(|task| (application(task), self.kinds.of(*task).clone()));
        let asks = self.cluster.handle.submit_asks(specs)?;
        for (ask, task) in asks.into_iter().zip(tasks) {
            self.asked.insert(ask, *task);
            watch.asked(ask, *task, &self.kinds);
        }
        Ok(())
    }

    fn run_until_idle(&mut self, watch: &mut dyn Watch) -> anyhow::Result<()> {
        self.cluster.engine.run_until_quiet();
        self.cluster.events.drain_into(&mut self.events).context("an event was lost")?;
        // No caller reads the times of group commits.
        drop(self.cluster.notes.take_groups());
        for event in self.events.drain(..) {
            match event.kind {
                EventKind::Allocated { ask, container, .. } => {
                    let task = self.asked.remove(&ask).context("a container of an unknown ask")?;
                    let life_ms = self.lives.sample(&mut self.random).clamp(LIFE_MIN_MS, self.life_max_ms);
                    self.ends.push(Reverse((self.now_ms + life_ms as u64, container)));
                    self.running.insert(container, task);
                    watch.placed(ask, task, self.now_ms, &self.kinds);
                }
                EventKind::AskRefused { refusal, .. } => bail!("an ask was refused: {refusal}"),
                _ => {}
            }
        }
        watch.quiet(self.now_ms);
        Ok(())
    }
}
