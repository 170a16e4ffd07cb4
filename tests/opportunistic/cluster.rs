//! An engine on virtual time that queues opportunistic containers.

use std::sync::Arc;

use apportion::config::{EngineConfig, OpportunisticPolicy, QueueConfig};
use apportion::event::{Event, EventKind};
use apportion::log::SharedLog;
use apportion::replay::Replay;
use apportion::{
    ApplicationId, ApplicationSpec, AskId, AskSpec, ContainerId, EndCause, Engine, EventStream, Handle,
    ManualClock, Mode, NodeAttributes, NodeId, NodeSpec, ResourceTypes, Resources,
};

/// An engine with its log and the stream of all applications.
pub(crate) struct Cluster {
    pub(crate) engine: Engine,
    pub(crate) handle: Handle,
    pub(crate) log: SharedLog,
    events: EventStream,
}

pub(crate) fn amount(units: i64) -> Resources {
    Resources::new(&[units, units])
}

pub(crate) fn ask(units: i64, count: u32) -> AskSpec {
    AskSpec::new(amount(units), count)
}

pub(crate) fn opportunistic(units: i64, count: u32) -> AskSpec {
    ask(units, count).opportunistic()
}

/// Queues of at most this length.
pub(crate) fn config(queue_length_max: u32) -> EngineConfig {
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    config.reservations.delay_ms = None;
    config.opportunistic = Some(OpportunisticPolicy { queue_length_max });
    config
}

impl Cluster {
    pub(crate) fn new(config: EngineConfig, mode: Mode) -> Self {
        let (clock, log) = (Arc::new(ManualClock::new()), SharedLog::new());
        let sink = Box::new(log.clone());
        let engine = Engine::start(config, mode, clock, Some(sink)).unwrap();
        let handle = engine.handle();
        Self { events: handle.event_stream(1 << 20), engine, handle, log }
    }

    pub(crate) fn serial(queue_length_max: u32) -> Self {
        Self::new(config(queue_length_max), Mode::Serial)
    }

    pub(crate) fn modes() -> impl Iterator<Item = Mode> {
        let parallel = (1..=4).map(|proposers| Mode::Parallel { proposers });
        [Mode::Serial, Mode::Background].into_iter().chain(parallel)
    }

    pub(crate) fn node(&self, name: &str, units: i64) -> NodeId {
        let id = self.handle.add_node(NodeSpec::new(name, amount(units))).unwrap();
        self.run();
        id
    }

    pub(crate) fn resize(&self, node: NodeId, units: i64) {
        self.handle.update_node(node, amount(units), NodeAttributes::new()).unwrap();
        self.run();
    }

    pub(crate) fn application(&self) -> ApplicationId {
        self.application_in("root.default")
    }

    pub(crate) fn application_in(&self, queue: &str) -> ApplicationId {
        let spec = ApplicationSpec::new("job", queue, "ann");
        self.handle.submit_application(spec, &self.events).unwrap()
    }

    pub(crate) fn ask(&self, application: ApplicationId, spec: AskSpec) -> AskId {
        let ask = self.handle.submit_ask(application, spec).unwrap();
        self.run();
        ask
    }

    /// Works until quiet, and checks the state and its log.
    pub(crate) fn run(&self) {
        self.engine.run_until_quiet();
        let report = self.engine.audit();
        assert!(report.is_clean(), "{report}");
        let mut replay = Replay::read(&self.log.bytes()[..], None).unwrap();
        assert_eq!(replay.digest(), self.engine.digest());
        let report = replay.audit();
        assert!(report.is_clean(), "{report}");
    }

    /// The events since the last call.
    pub(crate) fn events(&self) -> Vec<EventKind> {
        self.all_events().into_iter().map(|event| event.kind).collect()
    }

    pub(crate) fn all_events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        self.events.drain_into(&mut events).unwrap();
        events
    }

    pub(crate) fn complete(&self, container: ContainerId) {
        self.handle.complete_container(container).unwrap();
        self.run();
    }

    /// The containers in the node's queue, and the opportunistic ones that run on it.
    pub(crate) fn at(&self, node: NodeId) -> (Vec<ContainerId>, Vec<ContainerId>) {
        self.engine.read(|view| {
            let node = view.node(node).unwrap();
            (node.queue().collect(), node.running_opportunistic().collect())
        })
    }

    /// The lengths of the nodes' queues.
    pub(crate) fn lengths(&self, nodes: &[NodeId]) -> Vec<usize> {
        nodes.iter().map(|node| self.at(*node).0.len()).collect()
    }
}

/// The containers that were put into queues, with their nodes.
pub(crate) fn queued(events: &[EventKind]) -> Vec<(ContainerId, NodeId)> {
    let queued = |event: &EventKind| match *event {
        EventKind::OpportunisticAllocated { container, node, .. } => Some((container, node)),
        _ => None,
    };
    events.iter().filter_map(queued).collect()
}

/// The containers that started opportunistically.
pub(crate) fn started(events: &[EventKind]) -> Vec<ContainerId> {
    let started = |event: &EventKind| match *event {
        EventKind::OpportunisticStarted { container, .. } => Some(container),
        _ => None,
    };
    events.iter().filter_map(started).collect()
}

/// The containers that ended for guaranteed ones.
pub(crate) fn preempted(events: &[EventKind]) -> Vec<ContainerId> {
    let ended = |event: &EventKind| match *event {
        EventKind::ContainerEnded { container, cause: EndCause::OpportunisticPreempted, .. } => {
            Some(container)
        }
        _ => None,
    };
    events.iter().filter_map(ended).collect()
}
