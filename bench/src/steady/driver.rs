//! The loop on virtual time: containers end, applications ask for them again, and the engine works until it is quiet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::{Context, bail};
use apportion::config::EngineConfig;
use apportion::event::{Event, EventKind};
use apportion::{AskId, ContainerId, EndCause, ManualClock};
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
    pub(super) asked: FxHashMap<AskId, Asked>,
    pub(super) running: FxHashMap<ContainerId, Running>,
    /// Whether each application has no demand for now, by its place.
    is_away: Vec<bool>,
    /// The tasks of these applications, which are asked for when they return.
    withheld: Vec<Task>,
    ends: BinaryHeap<Reverse<(u64, ContainerId)>>,
    lives: LogNormal<f64>,
    life_max_ms: f64,
    random: Pcg64Mcg,
    events: Vec<Event>,
}

/// A task for which a container is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) task: Task,
    /// Its life, if it starts again after a preemption.
    life_ms: Option<u64>,
}

/// A task that runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub(super) task: Task,
    pub(super) started_ms: u64,
    life_ms: u64,
}

/// An observer of the run.
pub(super) trait Watch {
    /// An ask was submitted.
    fn asked(&mut self, _: AskId, _: Task, _: &Kinds) {}
    /// A container was placed at this time.
    fn placed(&mut self, _: AskId, _: Task, _now_ms: u64, _: &Kinds) {}
    /// A container ended: its life was over, or its application has no more demand.
    fn ended(&mut self, _: &Running, _now_ms: u64, _: &Kinds) {}
    /// A container was preempted, and its task will start again.
    fn preempted(&mut self, _: &Running, _now_ms: u64, _: &Kinds) {}
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
            is_away: Vec::new(),
            withheld: Vec::new(),
            ends: BinaryHeap::new(),
            lives: log_normal(mean_life_ms as f64, LIFE_SIGMA),
            life_max_ms: LIFE_MAX_MEANS * mean_life_ms as f64,
            random: Pcg64Mcg::seed_from_u64(setup.seed),
            events: Vec::new(),
        };
        let applications = steady.cluster.applications.len();
        steady.is_away = vec![false; applications];
        let draw = |number: usize| {
            let kind = steady.kinds.number_of(steady.cluster.draw_ask());
            Task { application: (number % applications) as u32, kind }
        };
        let tasks: Vec<Task> = (0..containers).map(draw).collect();
        steady.ask(tasks.into_iter().map(Asked::new), watch)?;
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

    /// Ends all containers of the applications with these places, and withdraws their asks. They have no demand from
    /// then on.
    pub(super) fn leave(
        &mut self,
        leaves: impl Fn(usize) -> bool,
        watch: &mut dyn Watch,
    ) -> anyhow::Result<()> {
        self.is_away = (0..self.is_away.len()).map(leaves).collect();
        let (handle, is_away) = (&self.cluster.handle, &self.is_away);
        for (ask, asked) in &self.asked {
            if is_away[asked.task.application as usize] {
                handle.cancel_ask(*ask, 1)?;
                self.withheld.push(asked.task);
            }
        }
        self.asked.retain(|_, asked| !is_away[asked.task.application as usize]);
        let ended = self.running.extract_if(|_, running| is_away[running.task.application as usize]);
        let (ended, running): (Vec<ContainerId>, Vec<Running>) = ended.unzip();
        self.cluster.handle.complete_containers(ended)?;
        for one in running {
            watch.ended(&one, self.now_ms, &self.kinds);
            self.withheld.push(one.task);
        }
        self.run_until_idle(watch)
    }

    /// Lets the applications that left ask again for everything that they had and asked for.
    pub(super) fn come_back(&mut self, watch: &mut dyn Watch) -> anyhow::Result<()> {
        self.is_away.fill(false);
        let mut tasks = std::mem::take(&mut self.withheld);
        // The order in which hash maps were read is not that of a run with other containers.
        tasks.sort_by_key(|task| (task.application, task.kind));
        self.ask(tasks.into_iter().map(Asked::new), watch)?;
        self.run_until_idle(watch)
    }

    fn replace_ended(&mut self, watch: &mut dyn Watch) -> anyhow::Result<()> {
        let (mut ended, mut tasks) = (Vec::new(), Vec::new());
        while let Some(Reverse((at_ms, container))) = self.ends.peek().copied()
            && at_ms <= self.now_ms
        {
            self.ends.pop();
            // A container that ended early is not there any more.
            if let Some(running) = self.running.remove(&container) {
                watch.ended(&running, self.now_ms, &self.kinds);
                tasks.push(Asked::new(running.task));
                ended.push(container);
            }
        }
        self.cluster.handle.complete_containers(ended)?;
        self.ask(tasks, watch)
    }

    /// Asks for containers of applications that have demand, and keeps the other tasks back.
    fn ask(&mut self, tasks: impl IntoIterator<Item = Asked>, watch: &mut dyn Watch) -> anyhow::Result<()> {
        let place = |asked: &Asked| asked.task.application as usize;
        let (withheld, tasks): (Vec<Asked>, Vec<Asked>) =
            tasks.into_iter().partition(|asked| self.is_away[place(asked)]);
        self.withheld.extend(withheld.iter().map(|asked| asked.task));
        let application = |asked: &Asked| self.cluster.applications[place(asked)];
        let specs = tasks.iter().map(|asked| (application(asked), self.kinds.of(asked.task).clone()));
        let asks = self.cluster.handle.submit_asks(specs)?;
        for (ask, asked) in asks.into_iter().zip(tasks) {
            watch.asked(ask, asked.task, &self.kinds);
            self.asked.insert(ask, asked);
        }
        Ok(())
    }

    /// Lets the engine work until it is quiet, also after preempted containers were asked for again.
    fn run_until_idle(&mut self, watch: &mut dyn Watch) -> anyhow::Result<()> {
        loop {
            self.cluster.engine.run_until_quiet();
            let again = self.handle_events(watch)?;
            if again.is_empty() {
                break;
            }
            self.ask(again, watch)?;
        }
        watch.quiet(self.now_ms);
        Ok(())
    }

    /// Handles all events so far, and returns the tasks whose containers were preempted.
    fn handle_events(&mut self, watch: &mut dyn Watch) -> anyhow::Result<Vec<Asked>> {
        self.cluster.events.drain_into(&mut self.events).context("an event was lost")?;
        // No caller reads the times of group commits.
        drop(self.cluster.commit_times.take_groups());
        let mut again = Vec::new();
        for event in self.events.drain(..) {
            match event.kind {
                EventKind::Allocated { ask, container, .. } => {
                    let Asked { task, life_ms } =
                        self.asked.remove(&ask).context("a container of an unknown ask")?;
                    let life_ms = life_ms.unwrap_or_else(|| {
                        self.lives.sample(&mut self.random).clamp(LIFE_MIN_MS, self.life_max_ms) as u64
                    });
                    self.ends.push(Reverse((self.now_ms + life_ms, container)));
                    self.running.insert(container, Running { task, started_ms: self.now_ms, life_ms });
                    watch.placed(ask, task, self.now_ms, &self.kinds);
                }
                EventKind::ContainerEnded { container, cause: EndCause::Preempted, .. } => {
                    let running = self.running.remove(&container).context("a victim does not run")?;
                    watch.preempted(&running, self.now_ms, &self.kinds);
                    again.push(Asked { task: running.task, life_ms: Some(running.life_ms) });
                }
                EventKind::AskRefused { refusal, .. } => bail!("an ask was refused: {refusal}"),
                _ => {}
            }
        }
        Ok(again)
    }
}

impl Asked {
    fn new(task: Task) -> Self {
        Self { task, life_ms: None }
    }
}
