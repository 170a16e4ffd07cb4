//! A small cluster, and identifiers that it does not know.

use std::fmt::{Debug, Display};
use std::str::FromStr;
use std::sync::Arc;

use apportion::config::{
    Capacity, LocalityDelay, Percent, QueueConfig, QueueMapping, QueueState, Reconfiguration,
    ReservationPolicy,
};
use apportion::event::EventKind;
use apportion::log::SharedLog;
use apportion::replay::Replay;
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskId, AskKindId, AskOfKind, AskSpec, ContainerId,
    Engine, EventStream, Handle, ManualClock, Mode, NodeId, NodeSpec, PartitionId, QueueId, RackId,
    ReservationId, ResourceAllocationCommitRequest, Resources,
};

use crate::engine;

/// Why an identifier is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Its object is gone, and its slot is vacant.
    Gone,
    /// Its object is gone, and another has its slot.
    Taken,
    /// It is a later one of a slot that an object has.
    Ahead,
    /// It is of a slot that no object ever had.
    NeverGivenOut,
}

impl Unknown {
    pub(super) const ALL: [Self; 4] = [Self::Gone, Self::Taken, Self::Ahead, Self::NeverGivenOut];
}

/// One identifier of each type that has slots, and a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids {
    pub(super) node: NodeId,
    pub(super) application: ApplicationId,
    pub(super) ask: AskId,
    pub(super) container: ContainerId,
    pub(super) reservation: ReservationId,
    pub(super) queue: QueueId,
}

pub(super) struct World {
    pub(super) engine: Engine,
    pub(super) handle: Handle,
    pub(super) unknown: Unknown,
    pub(super) unknown_ids: Ids,
    /// Of objects that the engine knows. The reservation and the queue are unknown.
    pub(super) live: Ids,
    pub(super) partition: PartitionId,
    pub(super) rack: RackId,
    pub(super) kind: AskKindId,
    streams: [(&'static str, EventStream); 3],
    log: SharedLog,
}

impl World {
    pub(super) fn new(mode: Mode, unknown: Unknown) -> Self {
        let mut config = engine(leaves(&["default", "former"]));
        config.reservations =
            ReservationPolicy { delay_ms: None, nodes: Percent::whole(100), ..config.reservations };
        // An ask does not wait for its hosts.
        config.locality_delay = LocalityDelay::Time { rack_ms: 0, any_ms: 0 };
        let log = SharedLog::new();
        let sink = Box::new(log.clone());
        let engine = Engine::start(config, mode, Arc::new(ManualClock::new()), Some(sink)).unwrap();
        let handle = engine.handle();
        let streams = ["live", "former", "successor"].map(|name| (name, handle.event_stream(100)));
        let node = handle.add_node(NodeSpec::new("live", Resources::new(&[100, 100]))).unwrap();
        // Takes no containers, but lets the leaf use more than the rest of the cluster has.
        let spare = handle.add_node(NodeSpec::new("spare", Resources::new(&[1_000, 1_000]))).unwrap();
        handle.drain_node(spare).unwrap();
        engine.run_until_quiet();
        let spec = ApplicationSpec::new("live", "root.default", "ann");
        let application = handle.submit_application(spec, &streams[0].1).unwrap();
        let ids = placeholder(node, application);
        let kind = parse("kind-9");
        let (partition, rack) = (parse("partition-9"), parse("rack-900"));
        let live = ids;
        let mut world =
            Self { engine, handle, unknown, unknown_ids: ids, live, partition, rack, kind, streams, log };
        world.live.container = world.start_container();
        // Too large for the node while the container runs.
        world.live.ask =
            world.handle.submit_ask(application, AskSpec::new(Resources::new(&[100, 1]), 1)).unwrap();
        let former = world.make("former", 1);
        world.remove(former);
        world.unknown_ids = match unknown {
            Unknown::Gone => former,
            Unknown::Taken => {
                world.make_successors(former);
                former
            }
            Unknown::Ahead => ahead(world.make_successors(former)),
            Unknown::NeverGivenOut => placeholder(parse("node-900"), parse("app-900")),
        };
        world.take_told();
        assert!(world.handle.take_refusals().list.is_empty());
        world
    }

    /// Makes one object of each type. The queue is the one of this name.
    fn make(&self, name: &str, stream: usize) -> Ids {
        let node = self.handle.add_node(NodeSpec::new(name, Resources::new(&[20, 20]))).unwrap();
        let spec = ApplicationSpec::new(name, "root.default", "ann");
        let application = self.handle.submit_application(spec, &self.streams[stream].1).unwrap();
        let container = self.start_container();
        let ask = AskSpec::new(Resources::new(&[100, 1]), 1);
        let ask = self.handle.submit_ask(self.live.application, ask).unwrap();
        let request = ResourceAllocationCommitRequest::reserve(self.live.ask, self.live.node);
        let outcome = self.handle.commit(request).unwrap();
        self.engine.run_until_quiet();
        assert!(outcome.try_take().unwrap().is_accepted(), "{outcome:?}");
        let reserved = self.engine.read(|view| view.node(self.live.node).unwrap().reservation());
        let queue = self.handle.queue(&format!("root.{name}")).unwrap();
        Ids { node, application, ask, container, reservation: reserved.unwrap(), queue }
    }

    fn make_successors(&self, former: Ids) -> Ids {
        self.lay_out(&["default", "other", "successor"]);
        let successors = self.make("successor", 2);
        assert_eq!(slot(former.node), slot(successors.node));
        assert_eq!(slot(former.application), slot(successors.application));
        assert_eq!(slot(former.ask), slot(successors.ask));
        assert_eq!(slot(former.container), slot(successors.container));
        assert_eq!(slot(former.reservation), slot(successors.reservation));
        successors
    }

    fn remove(&self, ids: Ids) {
        self.handle.remove_node(ids.node).unwrap();
        self.handle.end_application(ids.application, ApplicationEnd::Finished).unwrap();
        self.handle.cancel_ask(ids.ask, 1).unwrap();
        self.handle.complete_container(ids.container).unwrap();
        let unreserve = [ids.reservation].into();
        self.handle.commit(ResourceAllocationCommitRequest { unreserve, ..Default::default() }).unwrap();
        self.engine.run_until_quiet();
        self.lay_out(&["default"]);
    }

    /// Sets the leaves of the cluster. Those without applications are stopped, so that they may go.
    pub(super) fn lay_out(&self, names: &[&str]) {
        let root = QueueConfig::root(leaves(names));
        let configuration = Reconfiguration { root, queue_mapping: QueueMapping::default() };
        let ticket = self.handle.reconfigure(configuration).unwrap();
        self.engine.run_until_quiet();
        ticket.try_take().unwrap().unwrap();
    }

    fn start_container(&self) -> ContainerId {
        let spec = AskSpec::new(Resources::new(&[10, 1]), 1).on_hosts([self.live.node]).strictly_local();
        self.handle.submit_ask(self.live.application, spec).unwrap();
        self.engine.run_until_quiet();
        let mut events = Vec::new();
        self.streams[0].1.drain_into(&mut events).unwrap();
        let mut started = events.iter().filter_map(|event| match event.kind {
            EventKind::Allocated { container, .. } => Some(container),
            _ => None,
        });
        started.next_back().unwrap()
    }

    pub(super) fn ask_of_kind(
        &self,
        application: ApplicationId,
        kind: AskKindId,
    ) -> Result<Vec<AskId>, apportion::engine::SubmitError> {
        let ask = AskOfKind { application, kind, count: 1, allocation_request_id: 0 };
        self.handle.submit_asks_of_kinds([ask])
    }

    /// The events since the last call, each behind the name of its stream.
    pub(super) fn take_told(&self) -> Vec<String> {
        let mut told = Vec::new();
        for (name, stream) in &self.streams {
            let mut events = Vec::new();
            stream.drain_into(&mut events).unwrap();
            told.extend(events.iter().map(|event| format!("{name}: {}", event.kind.label())));
        }
        told
    }

    /// The log leads to the engine's state.
    pub(super) fn check_log(&self) {
        let mut replay = Replay::read(&self.log.bytes()[..], None).unwrap();
        assert_eq!(replay.digest(), self.engine.digest());
    }
}

/// The default leaf runs, the others are stopped.
fn leaves(names: &[&str]) -> Vec<QueueConfig> {
    let leaf = |name: &&str| {
        let (percent, state) =
            if *name == "default" { (100, QueueState::Running) } else { (0, QueueState::Stopped) };
        let capacity = Capacity::Percent(Percent::whole(percent));
        QueueConfig::leaf(*name, capacity).with_user_limit_factor(None).with_state(state)
    };
    names.iter().map(leaf).collect()
}

fn placeholder(node: NodeId, application: ApplicationId) -> Ids {
    Ids {
        node,
        application,
        ask: parse("ask-900"),
        container: parse("container-900"),
        reservation: parse("reservation-900"),
        queue: parse("queue-900"),
    }
}

/// Later identifiers of the same slots. Queues have no slots.
fn ahead(ids: Ids) -> Ids {
    Ids {
        node: later(ids.node),
        application: later(ids.application),
        ask: later(ids.ask),
        container: later(ids.container),
        reservation: later(ids.reservation),
        queue: parse("queue-900"),
    }
}

fn later<I: Display + FromStr<Err: Debug>>(id: I) -> I {
    let text = id.to_string();
    let generation: u32 = text.split_once('.').map_or(0, |(_, generation)| generation.parse().unwrap());
    parse(&format!("{}.{}", slot(id), generation + 7))
}

fn slot(id: impl Display) -> String {
    id.to_string().split('.').next().unwrap().to_owned()
}

fn parse<I: FromStr<Err: Debug>>(text: &str) -> I {
    text.parse().unwrap()
}
