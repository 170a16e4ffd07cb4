//! A busy cluster in which each completed container is asked for again: all workloads except `fill`.
//!
//! One thread plays the resource manager around the engine: it reads events, reports completions and asks, all
//! through the public handle. The measurement includes its work.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use apportion::event::{Event, EventKind};
use apportion::{AskKindId, AskOfKind, ContainerId, Mode};
use rand::RngExt;

use crate::cluster::{Cluster, Setup};
use crate::latency::Latency;
use crate::memory::Memory;
use crate::meter::{Meter, Record};
use crate::profile::{Load, Profile};
use crate::sizes::mean_size;
use crate::tasks::{Asked, Kinds, Task};

/// Asks of one call while the cluster is filled.
const ASKS_PER_CALL: usize = 1_024;
/// The window of unanswered asks, beyond which no more containers complete: a part of the running ones, up to a
/// maximum.
const WINDOW_PART: usize = 10;
const WINDOW_MAX: usize = 2_048;
/// How long the resource manager lets events gather when it has enough unanswered asks.
const PAUSE: Duration = Duration::from_micros(100);
/// Idle threshold: this many asks may be pending, in percent of running containers.
const WAITING_MAX_PERCENT: usize = 2;
/// With more asks than room, at least this part of the scarce resource is in use when the engine is
/// idle.
const FULL_PERCENT_MIN: i64 = 99;
/// The time between two checks for due asks, where asks come at a rate.
const PACE: Duration = Duration::from_micros(20);
/// A run without any placement ends after this much more time than it should take.
const STUCK: Duration = Duration::from_secs(60);
/// Number of checks without any event after which containers complete although too many asks are unanswered. The
/// remaining asks may wait for just that.
const PATIENCE_LOOKS: u32 = 100;

/// The most unanswered asks while this many containers run.
#[must_use]
pub fn window(running: usize) -> usize {
    (running / WINDOW_PART).clamp(1, WINDOW_MAX)
}

/// Decides between two steps of a run whether to continue.
pub type GoOn<'a> = &'a dyn Fn() -> ControlFlow<()>;

/// A cluster that is kept busy on request.
#[derive(Debug)]
pub struct Churn {
    cluster: Cluster,
    kinds: Kinds,
    /// The engine's number of each kind, unless asks of the kind name hosts.
    registered: Vec<Option<AskKindId>>,
    asked: Asked,
    running: Vec<(ContainerId, Task)>,
    events: Vec<Event>,
    placed: u64,
    latency: Latency,
    idle_looks: u32,
    window: usize,
    profile: Profile,
    /// The resource type that runs out first. The next three fields are amounts of it: of a container on average,
    /// obtainable by asks, and in use.
    scarce: usize,
    mean: i64,
    obtainable: i64,
    used: i64,
    is_serial: bool,
}

impl Churn {
    /// Starts an engine and fills it as far as the profile says.
    ///
    /// # Errors
    /// When the engine does not start or ends early, or the containers find no room.
    pub fn new(setup: &Setup) -> anyhow::Result<Self> {
        Self::filled(setup, &mut |_| {})
    }

    /// Does the same as [`new`](Self::new), and reports the part of everything that was asked for so far.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn filled(setup: &Setup, progress: &mut dyn FnMut(f64)) -> anyhow::Result<Self> {
        let (profile, nodes) = (setup.profile, setup.shape.nodes);
        let scarce = profile.scarce_type();
        let cluster = setup.start(|number| profile.capacity(number, nodes), usize::MAX)?;
        let mut churn = Self {
            cluster,
            kinds: Kinds::default(),
            registered: Vec::new(),
            asked: Asked::default(),
            running: Vec::new(),
            events: Vec::new(),
            placed: 0,
            latency: Latency::new()?,
            idle_looks: 0,
            window: 0,
            profile,
            scarce,
            mean: mean_size(profile.sizes)[scarce] as i64,
            obtainable: (0..nodes).map(|number| profile.obtainable(number, nodes)[scarce]).sum(),
            used: 0,
            is_serial: setup.mode == Mode::Serial,
        };
        churn.fill(nodes, progress)?;
        Ok(churn)
    }

    fn fill(&mut self, nodes: usize, progress: &mut dyn FnMut(f64)) -> anyhow::Result<()> {
        let (mut asked, mut number) = (0, 0);
        let mut part = 0.0;
        while part < 1.0 {
            let mut tasks = Vec::with_capacity(ASKS_PER_CALL);
            while part < 1.0 && tasks.len() < ASKS_PER_CALL {
                let spec = self.cluster.draw_ask();
                asked += spec.size[self.scarce];
                let application = (number % self.cluster.applications.len()) as u32;
                let kind = self.kinds.number_of(spec);
                self.register(kind)?;
                tasks.push(Task { application, kind });
                number += 1;
                part = self.profile.filled_part(number, asked, nodes, self.obtainable);
            }
            self.ask(&tasks)?;
            self.take_events()?;
            progress(part);
        }
        self.run_until_idle()?;
        self.cluster.memory.record_fill(self.running.len());
        self.window = window(self.running.len());
        Ok(())
    }

    /// Keeps the cluster busy for this time, and until a container was placed, unless `go_on` ends it earlier.
    /// Afterwards only asks that find no room are unanswered.
    ///
    /// # Errors
    /// When the engine ends early, or asks made again find no room.
    pub fn run(&mut self, duration: Duration, go_on: GoOn<'_>) -> anyhow::Result<Record> {
        self.placed = 0;
        let (begun, meter) = (Instant::now(), Meter::start(&self.cluster.engine));
        while (begun.elapsed() < duration || self.placed == 0) && go_on().is_continue() {
            if begun.elapsed() > duration + STUCK {
                bail!("no container was placed in {:?}", begun.elapsed());
            }
            self.turn_over()?;
        }
        let record = self.record(meter);
        self.run_until_idle()?;
        Ok(record)
    }

    /// Lets this many containers complete per second and asks for them again, for this time, however long the answers
    /// take. The record has the latencies. `go_on` may end the run earlier.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_at(&mut self, per_second: f64, duration: Duration, go_on: GoOn<'_>) -> anyhow::Result<Record> {
        self.placed = 0;
        self.latency.reset();
        let (begun, meter) = (Instant::now(), Meter::start(&self.cluster.engine));
        let mut asked = 0;
        while begun.elapsed() < duration && go_on().is_continue() {
            self.take_events()?;
            let due = (begun.elapsed().as_secs_f64() * per_second) as usize;
            self.replace(due.saturating_sub(asked))?;
            asked = asked.max(due);
            self.work_in_serial_mode();
            thread::sleep(PACE);
        }
        let record = self.record(meter);
        self.run_until_idle()?;
        Ok(Record { latency_ns: Some(self.latency.ns().clone()), ..record })
    }

    /// Lets this many containers complete, asks for them again, and waits for an answer to every ask. In serial mode
    /// this is the same work each time.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn step(&mut self, count: usize) -> anyhow::Result<()> {
        self.replace(count)?;
        self.run_until_idle()
    }

    /// Number of running containers.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// The rejected fraction of all decided requests, from 0 to 1.
    #[must_use]
    pub fn rejected_fraction(&self) -> f64 {
        self.cluster.engine.stats().rejected_fraction()
    }

    /// Memory of the cluster.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.cluster.memory
    }

    fn record(&self, meter: Meter) -> Record {
        let record = meter.stop(&self.cluster.engine, self.placed);
        Record {
            used_part: self.used as f64 / self.obtainable as f64,
            pending: self.asked.len() as u64,
            memory: self.cluster.memory,
            ..record
        }
    }

    /// Audits the engine.
    ///
    /// # Errors
    /// When the audit finds a violation.
    pub fn expect_sound(&self) -> anyhow::Result<()> {
        self.cluster.expect_sound()
    }

    /// Handles events, lets containers complete and asks for them again, until enough asks are unanswered.
    fn turn_over(&mut self) -> anyhow::Result<()> {
        let is_idle = self.take_events()? == 0;
        self.idle_looks = if is_idle { self.idle_looks + 1 } else { 0 };
        let is_stuck = self.idle_looks >= PATIENCE_LOOKS;
        let room = self.window.saturating_sub(self.unanswered()) + usize::from(is_stuck);
        self.replace(room)?;
        self.work_in_serial_mode();
        if is_idle && !self.is_serial {
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn work_in_serial_mode(&self) {
        if self.is_serial {
            self.cluster.engine.run_until_quiet();
        }
    }

    /// Number of expected containers that have not been placed.
    fn unanswered(&self) -> usize {
        match self.profile.load {
            Load::Percent(_) | Load::PerNode(_) => self.asked.len(),
            Load::Backlog(_) => {
                let idle = self.obtainable - self.used;
                (idle / self.mean) as usize
            }
        }
    }

    /// Lets this many containers complete and asks for them again.
    fn replace(&mut self, count: usize) -> anyhow::Result<()> {
        let (mut completed, mut tasks) = (Vec::new(), Vec::new());
        for _ in 0..count.min(self.running.len()) {
            let place = self.cluster.random.random_range(0..self.running.len());
            let (container, task) = self.running.swap_remove(place);
            self.used -= self.kinds.of(task).size[self.scarce];
            completed.push(container);
            tasks.push(task);
        }
        self.cluster.handle.complete_containers(completed)?;
        self.ask(&tasks)
    }

    /// Waits until every ask is answered.
    fn run_until_idle(&mut self) -> anyhow::Result<()> {
        self.cluster.engine.run_until_quiet();
        self.take_events()?;
        match self.profile.load {
            Load::Backlog(_) => self.expect_full(),
            Load::Percent(_) | Load::PerNode(_) => self.expect_all_placed(),
        }
    }

    fn expect_full(&self) -> anyhow::Result<()> {
        let used_percent = self.used * 100 / self.obtainable.max(1);
        if used_percent < FULL_PERCENT_MIN {
            let pending = self.asked.len();
            bail!(
                "{used_percent} % of the cluster is in use while {pending} asks wait; are there enough asks?"
            );
        }
        Ok(())
    }

    fn expect_all_placed(&self) -> anyhow::Result<()> {
        // A large container may wait for room on one node, and a container with named hosts for those hosts.
        if self.asked.len() * 100 > self.running.len() * WAITING_MAX_PERCENT {
            bail!(
                "{} asks find no room in addition to {} containers; give the cluster more nodes, or fewer leaves that \
                 share them",
                self.asked.len(),
                self.running.len()
            );
        }
        Ok(())
    }

    fn take_events(&mut self) -> anyhow::Result<usize> {
        let count = self.cluster.events.drain_into(&mut self.events).context("an event was lost")?;
        // The events follow the sink's record of their group.
        self.latency.record_groups(self.cluster.commit_times.take_groups());
        for event in self.events.drain(..) {
            match event.kind {
                EventKind::Allocated { container, allocation_request_id, .. } => {
                    let asked = self.asked.remove(allocation_request_id);
                    let (task, asked_at) = asked.context("a container of an unknown ask")?;
                    self.latency.record(event.seq, asked_at);
                    self.used += self.kinds.of(task).size[self.scarce];
                    self.running.push((container, task));
                    self.placed += 1;
                }
                EventKind::AskRefused { refusal, .. } => bail!("an ask was refused: {refusal}"),
                _ => {}
            }
        }
        Ok(count)
    }

    fn register(&mut self, kind: u32) -> anyhow::Result<()> {
        if self.registered.len() == kind as usize {
            let spec = self.kinds.at(kind);
            let is_plain = spec.preference.is_empty();
            let registered = is_plain.then(|| self.cluster.handle.register_ask_kind(spec.clone()));
            self.registered.push(registered.transpose()?);
        }
        Ok(())
    }

    fn ask(&mut self, tasks: &[Task]) -> anyhow::Result<()> {
        let kinds: Option<Vec<AskKindId>> =
            tasks.iter().map(|task| self.registered[task.kind as usize]).collect();
        match kinds {
            Some(kinds) => self.ask_by_kind(tasks, &kinds),
            None => self.ask_by_description(tasks),
        }
    }

    fn ask_by_kind(&mut self, tasks: &[Task], kinds: &[AskKindId]) -> anyhow::Result<()> {
        let Self { cluster, asked, .. } = self;
        let asked_at = Instant::now();
        let asks = tasks.iter().zip(kinds).map(|(task, kind)| AskOfKind {
            application: cluster.applications[task.application as usize],
            kind: *kind,
            count: 1,
            allocation_request_id: asked.insert(*task, asked_at),
        });
        cluster.handle.submit_asks_of_kinds(asks)?;
        Ok(())
    }

    fn ask_by_description(&mut self, tasks: &[Task]) -> anyhow::Result<()> {
        let Self { cluster, asked, kinds, .. } = self;
        let asked_at = Instant::now();
        let specs = tasks.iter().map(|task| {
            let spec = kinds.of(*task).clone().with_allocation_request(asked.insert(*task, asked_at));
            (cluster.applications[task.application as usize], spec)
        });
        cluster.handle.submit_asks(specs)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use apportion::view::NodeView;

    use super::super::cluster::ClusterShape;
    use super::super::profile::{Room, WANTED_NODES};
    use super::*;

    fn setup(profile: Profile) -> Setup {
        let shape = ClusterShape { nodes: 100, leaves: 4, applications: 8 };
        Setup { profile, ..Setup::new(shape, Mode::Parallel { proposers: 2 }) }
    }

    #[test]
    fn completed_containers_are_placed_again() {
        for profile in [Profile::CHURN, Profile::SCALE, Profile::conflict_storm(Room::Ample)] {
            let mut churn = Churn::new(&setup(profile)).unwrap();
            let running = churn.running();
            let record = churn.run(Duration::from_millis(50), &|| ControlFlow::Continue(())).unwrap();
            assert!(record.placed > 0);
            assert_eq!(churn.running(), running);
            churn.expect_sound().unwrap();
        }
    }

    #[test]
    fn scale_means_ten_containers_on_a_node() {
        assert_eq!(Churn::new(&setup(Profile::SCALE)).unwrap().running(), 1_000);
    }

    /// Containers run only on ten nodes, and asks without room wait.
    #[test]
    fn a_storm_keeps_ten_nodes_full() {
        let mut storm = Churn::new(&setup(Profile::conflict_storm(Room::Tight))).unwrap();
        let is_busy = |node: &NodeView<'_>| !node.containers().is_empty();
        let busy = |storm: &Churn| storm.cluster.engine.read(|view| view.nodes().filter(is_busy).count());
        assert_eq!(busy(&storm), WANTED_NODES);
        let all = storm.running() + storm.asked.len();
        let record = storm.run(Duration::from_millis(50), &|| ControlFlow::Continue(())).unwrap();
        assert!(record.placed > 0 && record.pending > 0);
        assert_eq!((busy(&storm), storm.running() + storm.asked.len()), (WANTED_NODES, all));
        storm.expect_sound().unwrap();
    }
}
