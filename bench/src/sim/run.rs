//! The simulation loop.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use apportion::config::{EngineConfig, PreemptionRounds};
use apportion::engine::{Lagging, StartError, SubmitError};
use apportion::event::{Event, EventKind};
use apportion::log::LogSink;
use apportion::{
    ApplicationEnd, ApplicationSpec, AskId, ContainerId, EndCause, Engine, EventStream, Handle, ManualClock,
    Mode, NodeId,
};
use apportion_load::{CommitTimes, LatencySink};
use rustc_hash::FxHashMap;
use thiserror::Error;

use super::cluster::{ClusterError, Leaves};
use super::containers::Running;
use super::gang::{AwaitedGang, Watch};
use super::jobs::{AskRun, JobRun, Part, Step};
use super::metrics::Metrics;
use super::record::RunRecord;
use super::tally::Tally;
use super::time::{END_MS, later, tick_from};
use crate::interrupt::Interruption;
use crate::workload::Workload;

/// The settings of a simulation.
#[expect(missing_debug_implementations, reason = "a sink is anybody's")]
pub struct SimOptions {
    /// The engine's configuration, including its queues.
    pub config: EngineConfig,
    /// Which threads do the engine's work.
    pub mode: Mode,
    /// The step of virtual time: an event between two ticks takes effect at the later one.
    pub tick_ms: u64,
    /// The sink of the log, in addition to its digest.
    pub sink: Option<Box<dyn LogSink>>,
    /// Whether [`Outcomes`](super::Outcomes) list each container, at about 60 bytes per container.
    pub with_containers: bool,
    /// Whether jobs whose containers start together are submitted as gangs. Otherwise their containers are plain asks,
    /// and the first wait for the last.
    pub as_gangs: bool,
}

/// The progress of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Virtual time.
    pub now_ms: u64,
    /// Containers placed, without those that were preempted.
    pub placed: u64,
    /// Containers that the workload asks for.
    pub asks: u64,
}

/// Why a simulation could not run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimError {
    /// The workload does not fit the cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The engine did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The engine refused a submission.
    #[error("{what}: {error}")]
    Submit {
        /// The submission.
        what: String,
        /// The reason.
        error: SubmitError,
    },
    /// Events were lost; a bug, since the stream is made large enough.
    #[error(transparent)]
    Lagging(#[from] Lagging),
}

/// Runs `workload` until nothing runs or can still be placed, or until `progress` ends it.
///
/// # Errors
/// When the workload does not fit the cluster, or the engine refuses a submission.
pub fn simulate(
    workload: &Workload,
    options: SimOptions,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<RunRecord, SimError> {
    let started = Instant::now();
    let mut simulation = Simulation::new(workload, options)?;
    simulation.run(progress)?;
    simulation.finish(started)
}

/// An entry of the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Agenda {
    Submit { job: usize },
    Ask { job: usize, stage: usize, tasks: usize },
    Complete(ContainerId),
}

pub(super) struct Simulation<'a> {
    pub(super) workload: &'a Workload,
    pub(super) leaves: Vec<usize>,
    pub(super) engine: Engine,
    pub(super) handle: Handle,
    clock: ManualClock,
    events: EventStream,
    pub(super) commit_times: CommitTimes,
    pub(super) measures_latency: bool,
    tick_ms: u64,
    timer_patience_ms: u64,
    /// Whether the engine preempts.
    pub(super) preempts: bool,
    agenda: BinaryHeap<Reverse<(u64, u64, Agenda)>>,
    agenda_count: u64,
    pub(super) jobs: Vec<JobRun>,
    paths: Vec<String>,
    pub(super) node_index: FxHashMap<NodeId, usize>,
    pub(super) asks: FxHashMap<AskId, AskRun>,
    pub(super) asked_at: FxHashMap<AskId, Instant>,
    pub(super) containers: FxHashMap<ContainerId, Running>,
    pub(super) tally: Tally,
    pub(super) metrics: Metrics<'a>,
    pub(super) leaf_paths: Vec<String>,
    /// Whether a message was sent to the engine since it was last quiet.
    pub(super) has_sent: bool,
    pub(super) as_gangs: bool,
    /// Jobs whose containers start together, if there are any.
    pub(super) watch: Option<Watch>,
    pub(super) awaited_gangs: Vec<AwaitedGang>,
    /// Jobs that lost a member to preemption.
    pub(super) lost_attempts: Vec<usize>,
    /// Containers of gangs that the engine refused, by reason.
    pub(super) refused: BTreeMap<String, u64>,
    /// The point at which `progress` ended the run.
    pub(super) interrupted: Option<Interruption>,
}

impl<'a> Simulation<'a> {
    fn new(workload: &'a Workload, options: SimOptions) -> Result<Self, SimError> {
        if workload.nodes.is_empty() {
            return Err(ClusterError::NoNodes.into());
        }
        let known = Leaves::of(&options.config.root);
        let paths = workload.jobs.iter().map(|job| known.path(&job.name, &job.queue).map(str::to_owned));
        let paths: Vec<String> = paths.collect::<Result<_, _>>()?;
        let preempts = options.config.preemption.is_some();
        let timer_patience_ms = timer_patience_ms(options.config.preemption.as_ref());
        let clock = ManualClock::new();
        let (sink, commit_times) = LatencySink::new(options.sink);
        let engine =
            Engine::start(options.config, options.mode, Arc::new(clock.clone()), Some(Box::new(sink)))?;
        let handle = engine.handle();
        let leaf_paths: Vec<String> =
            engine.read(|view| view.queues().filter(|q| q.is_leaf()).map(|q| q.path().to_owned()).collect());
        let leaf_of = |path: &String| leaf_paths.iter().position(|leaf| leaf == path).unwrap_or_default();
        let events = handle.event_stream(usize::MAX);
        let leaves: Vec<usize> = paths.iter().map(leaf_of).collect();
        let tick_ms = options.tick_ms.max(1);
        let metrics = Metrics::new(workload, &leaves, leaf_paths.len(), tick_ms, options.with_containers);
        let mut simulation = Self {
            leaves,
            metrics,
            tally: Tally::new(workload, leaf_paths.len(), options.tick_ms),
            leaf_paths,
            workload,
            engine,
            handle,
            clock,
            events,
            commit_times,
            measures_latency: options.mode != Mode::Serial,
            tick_ms,
            timer_patience_ms,
            preempts,
            agenda: BinaryHeap::new(),
            agenda_count: 0,
            jobs: workload.jobs.iter().map(|_| JobRun::default()).collect(),
            paths,
            node_index: FxHashMap::default(),
            asks: FxHashMap::default(),
            asked_at: FxHashMap::default(),
            containers: FxHashMap::default(),
            has_sent: false,
            as_gangs: options.as_gangs,
            watch: Watch::new(workload, options.as_gangs),
            awaited_gangs: Vec::new(),
            lost_attempts: Vec::new(),
            refused: BTreeMap::new(),
            interrupted: None,
        };
        simulation.add_nodes()?;
        Ok(simulation)
    }

    fn add_nodes(&mut self) -> Result<(), SimError> {
        for (index, node) in self.workload.nodes.iter().enumerate() {
            let submit = |error| SimError::Submit { what: format!("node `{}`", node.name), error };
            let id = self.handle.add_node(node.clone()).map_err(submit)?;
            self.node_index.insert(id, index);
        }
        Ok(())
    }

    fn run(&mut self, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<(), SimError> {
        for (job, content) in self.workload.jobs.iter().enumerate() {
            self.schedule(0, content.submit_ms, Agenda::Submit { job });
        }
        let asks = self.workload.asks();
        let mut events = Vec::new();
        let mut active_ms = 0;
        while let Some(now_ms) = self.next_time(active_ms) {
            self.clock.set(now_ms);
            self.tally.advance(now_ms);
            self.metrics.advance(now_ms);
            if let Some(watch) = &mut self.watch {
                watch.advance(now_ms);
            }
            let before = self.tally.placed;
            let acted = self.handle_due_entries(now_ms)?;
            self.run_until_idle(now_ms, &mut events)?;
            if self.metrics.lacks_guarantees() {
                let guaranteed = self.guaranteed_shares();
                self.metrics.set_guarantees(&guaranteed);
            }
            if acted || self.tally.placed > before {
                active_ms = now_ms;
            }
            self.find_waiting_reasons();
            self.tally.sample(self.metrics.owed());
            let placed = self.tally.placed - self.tally.asked_again();
            if progress(Progress { now_ms, placed, asks }).is_break() {
                self.interrupted = Some(Interruption::Virtual(now_ms));
                break;
            }
        }
        Ok(())
    }

    /// Lets the engine work until it is quiet and its events lead to no further step at the same time.
    fn run_until_idle(&mut self, now_ms: u64, events: &mut Vec<Event>) -> Result<(), SimError> {
        self.has_sent = true;
        while std::mem::take(&mut self.has_sent) {
            self.engine.run_until_quiet();
            self.events.drain_into(events)?;
            self.record_latencies(events);
            for event in events.drain(..) {
                self.handle_event(&event, now_ms)?;
            }
            self.take_refused_gangs();
            self.restart_lost_attempts(now_ms)?;
        }
        Ok(())
    }

    /// The time of the agenda's next entry, or of an engine's timer that could still place a container. Rounds of
    /// preemption keep their interval even while nothing waits, as on real time.
    fn next_time(&self, active_ms: u64) -> Option<u64> {
        let up = |at_ms| tick_from(at_ms, self.tick_ms);
        let agenda = self.agenda.peek().map(|Reverse((at_ms, ..))| up(*at_ms));
        let waits = self.tally.pending() > 0;
        let timer = self.engine.next_timer_ms().filter(|at_ms| *at_ms <= END_MS);
        let timer = timer.filter(|_| waits || self.preempts).map(up);
        match (agenda, timer) {
            (Some(agenda), Some(timer)) => Some(agenda.min(timer)),
            (None, Some(_)) if !waits => None,
            (None, Some(timer)) => {
                (timer <= active_ms.saturating_add(self.timer_patience_ms)).then_some(timer)
            }
            (agenda, None) => agenda,
        }
    }

    /// Adds an entry to the agenda, `delay_ms` from now. It never becomes due if virtual time ends before.
    pub(super) fn schedule(&mut self, now_ms: u64, delay_ms: u64, what: Agenda) {
        let Some(at_ms) = later(now_ms, delay_ms) else { return };
        self.agenda_count += 1;
        self.agenda.push(Reverse((at_ms, self.agenda_count, what)));
    }

    /// Handles every due entry of the agenda; returns false if there was none.
    fn handle_due_entries(&mut self, now_ms: u64) -> Result<bool, SimError> {
        let mut acted = false;
        while let Some(Reverse((at_ms, _, what))) = self.agenda.peek().copied() {
            if at_ms > now_ms {
                break;
            }
            self.agenda.pop();
            acted = true;
            match what {
                Agenda::Submit { job } => self.submit_job(job, now_ms)?,
                Agenda::Ask { job, stage, tasks } => self.ask(job, Some((stage, tasks)), now_ms)?,
                Agenda::Complete(container) => self.complete(container)?,
            }
        }
        self.handle.tick().map_err(closed)?;
        Ok(acted)
    }

    /// Completes a container, unless it was preempted meanwhile.
    fn complete(&mut self, container: ContainerId) -> Result<(), SimError> {
        if !self.containers.contains_key(&container) {
            return Ok(());
        }
        self.handle.complete_container(container).map_err(closed)
    }

    fn submit_job(&mut self, job: usize, now_ms: u64) -> Result<(), SimError> {
        let content = &self.workload.jobs[job];
        let spec = ApplicationSpec::new(&content.name, &self.paths[job], &content.user)
            .with_priority(content.priority);
        let submit = |error| SimError::Submit { what: format!("job `{}`", content.name), error };
        let application = self.handle.submit_application(spec, &self.events).map_err(submit)?;
        self.jobs[job].application = Some(application);
        self.metrics.job_submitted(job);
        if content.master.is_some() {
            return self.ask(job, None, now_ms);
        }
        let step = self.jobs[job].begin(content);
        self.go_on(job, &step, now_ms)
    }

    /// Takes the job's next step. Without its master, the job waits until the master runs again.
    pub(super) fn go_on(&mut self, job: usize, step: &Step, now_ms: u64) -> Result<(), SimError> {
        if *step != Step::Wait && self.jobs[job].is_without_master {
            self.jobs[job].held = Some(*step);
            return Ok(());
        }
        match *step {
            Step::Wait => {}
            Step::Ask(stage) if self.workload.jobs[job].starts_together => {
                self.ask_together(job, stage, now_ms)?;
            }
            Step::Ask(stage) => {
                for tasks in 0..self.workload.jobs[job].stages[stage].len() {
                    let content = &self.workload.jobs[job].stages[stage][tasks];
                    if !content.durations_ms.is_empty() {
                        self.schedule(now_ms, content.delay_ms, Agenda::Ask { job, stage, tasks });
                    }
                }
            }
            Step::Finish => match self.jobs[job].master {
                Some(master) => {
                    self.has_sent = true;
                    self.handle.complete_container(master).map_err(closed)?;
                }
                None => self.end_application(job)?,
            },
        }
        Ok(())
    }

    pub(super) fn end_application(&mut self, job: usize) -> Result<(), SimError> {
        let Some(application) = self.jobs[job].application.take() else { return Ok(()) };
        self.has_sent = true;
        self.metrics.job_finished(job);
        self.handle.end_application(application, ApplicationEnd::Finished).map_err(closed)
    }

    fn handle_event(&mut self, event: &Event, now_ms: u64) -> Result<(), SimError> {
        match event.kind {
            EventKind::Allocated { ask, container, node, .. } => {
                self.container_started(ask, container, node, now_ms)
            }
            EventKind::ContainerEnded { container, cause: EndCause::Preempted, .. } => {
                self.has_sent = true;
                self.container_preempted(container, now_ms)
            }
            EventKind::ContainerEnded { container, cause: EndCause::Released, .. } => {
                self.member_given_back(container, now_ms);
                Ok(())
            }
            EventKind::ContainerEnded { container, .. } => self.container_ended(container, now_ms),
            EventKind::AskCancelled { ask, units } => {
                self.tally.cancelled += u64::from(units);
                if let Some(run) = self.asks.get(&ask) {
                    self.metrics.cancelled(run.part, u64::from(units));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Containers that jobs never asked for, because an earlier stage was not placed.
    pub(super) fn not_asked_yet(&self) -> u64 {
        self.workload.asks() + self.tally.asked_again() - self.tally.submitted
    }
}

/// A timer that is due later than this after the last event places no pending ask: all other delays are shorter. A
/// round of preemption may have to wait for the end of the victims' time.
fn timer_patience_ms(preemption: Option<&PreemptionRounds>) -> u64 {
    const DELAYS_MS: u64 = 60_000;
    let rounds_ms = preemption.map_or(0, |rounds| {
        rounds.interval_ms.saturating_mul(2).saturating_add(rounds.max_wait_before_kill_ms)
    });
    rounds_ms.saturating_add(DELAYS_MS)
}

pub(super) fn size_of(workload: &Workload, part: Part) -> apportion::Resources {
    let job = &workload.jobs[part.job];
    match part.tasks {
        Some((stage, tasks)) => job.stages[stage][tasks].size,
        None => job.master.unwrap_or_default(),
    }
}

pub(super) fn closed(error: SubmitError) -> SimError {
    SimError::Submit { what: "the simulation".into(), error }
}
