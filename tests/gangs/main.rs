//! Gangs: they start as a whole or not at all.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod devices;
mod ended_turns;
mod endings;
mod gathering;
mod in_time;
mod limits;
mod mixed;
mod placeholders;
mod property;
mod racks;
mod random_gang;
mod random_turns;
#[path = "../recorded/mod.rs"]
mod recorded;
mod recovery;
mod refusals;
mod seams;
mod starts;
mod turns;

use std::sync::Arc;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::engine::{Parts, SubmittedGang};
use apportion::event::{Event, EventKind};
use apportion::gang::GangSpec;
use apportion::log::SharedLog;
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, ContainerId, Engine, EventStream, GangId, Handle, ManualClock,
    Mode, NodeId, NodeSpec, ResourceTypes, Resources,
};

/// An engine on virtual time with its log and the stream of all applications.
struct Cluster {
    engine: Engine,
    handle: Handle,
    clock: Arc<ManualClock>,
    log: SharedLog,
    events: EventStream,
}

fn amount(units: i64) -> Resources {
    Resources::new(&[units, units])
}

fn ask(units: i64, count: u32) -> AskSpec {
    AskSpec::new(amount(units), count)
}

fn plain() -> EngineConfig {
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    config.reservations.delay_ms = None;
    config
}

impl Cluster {
    fn new(config: EngineConfig, mode: Mode) -> Self {
        let (clock, log) = (Arc::new(ManualClock::new()), SharedLog::new());
        let sink = Box::new(log.clone());
        Self::of(Engine::start(config, mode, clock.clone(), Some(sink)).unwrap(), clock, log)
    }

    /// An engine whose halves the caller drives.
    fn in_parts(config: EngineConfig, proposers: usize) -> (Self, Parts) {
        let (clock, log) = (Arc::new(ManualClock::new()), SharedLog::new());
        let sink = Box::new(log.clone());
        let (engine, parts) = Engine::assemble(config, proposers, clock.clone(), Some(sink)).unwrap();
        (Self::of(engine, clock, log), parts)
    }

    fn of(engine: Engine, clock: Arc<ManualClock>, log: SharedLog) -> Self {
        let handle = engine.handle();
        Self { events: handle.event_stream(1 << 20), engine, handle, clock, log }
    }

    fn serial() -> Self {
        Self::new(plain(), Mode::Serial)
    }

    /// An engine of each mode, the parallel ones with 1 to 4 proposers.
    fn of_each_mode() -> impl Iterator<Item = Self> {
        let parallel = (1..=4).map(|proposers| Mode::Parallel { proposers });
        [Mode::Serial, Mode::Background].into_iter().chain(parallel).map(|mode| Self::new(plain(), mode))
    }

    fn nodes(&self, count: usize, units: i64) -> Vec<NodeId> {
        let is_free = |number: &usize| self.handle.node(&format!("n{number}")).is_none();
        let numbers = (0..).filter(is_free).take(count);
        let nodes = numbers.map(|number| self.node(number, units, "rack")).collect();
        self.run();
        nodes
    }

    fn node(&self, number: usize, units: i64, rack: &str) -> NodeId {
        self.handle.add_node(NodeSpec::new(format!("n{number}"), amount(units)).on_rack(rack)).unwrap()
    }

    fn application(&self) -> ApplicationId {
        let spec = ApplicationSpec::new("job", "root.default", "ann");
        self.handle.submit_application(spec, &self.events).unwrap()
    }

    fn submit(&self, spec: GangSpec) -> SubmittedGang {
        self.handle.submit_gang(spec).unwrap()
    }

    /// Works until quiet, and checks the state and its log.
    fn run(&self) {
        self.engine.run_until_quiet();
        let report = self.engine.audit();
        assert!(report.is_clean(), "{report}");
        let mut replay = apportion::replay::Replay::read(&self.log.bytes()[..], None).unwrap();
        assert_eq!(replay.digest(), self.engine.digest());
        let report = replay.audit();
        assert!(report.is_clean(), "{report}");
    }

    fn at(&self, now_ms: u64) {
        self.clock.set(now_ms);
        self.handle.tick().unwrap();
        self.run();
    }

    /// The events since the last call.
    fn events(&self) -> Vec<EventKind> {
        let mut events: Vec<Event> = Vec::new();
        self.events.drain_into(&mut events).unwrap();
        events.into_iter().map(|event| event.kind).collect()
    }

    fn running(&self, application: ApplicationId) -> usize {
        self.engine.read(|view| view.application(application).map_or(0, |known| known.containers().count()))
    }

    fn complete(&self, containers: impl IntoIterator<Item = ContainerId>) {
        containers.into_iter().for_each(|id| self.handle.complete_container(id).unwrap());
        self.run();
    }
}

/// The containers that the events placed.
fn placed(events: &[EventKind]) -> Vec<(ContainerId, NodeId)> {
    let placed = |event: &EventKind| match *event {
        EventKind::Allocated { container, node, .. } => Some((container, node)),
        _ => None,
    };
    events.iter().filter_map(placed).collect()
}

fn has_started(events: &[EventKind], gang: GangId) -> bool {
    events.contains(&EventKind::GangStarted { gang })
}
