//! Cluster managers that tests control: an engine and the fake, with the same interface.

use std::sync::Arc;

use apportion::config::{EngineConfig, Maximum, PartitionAccess, QueueConfig, QueueUpdate};
use apportion::engine::SubmitError;
use apportion::resource::RESOURCE_TYPES_MAX;
use apportion::{ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};
use apportion_placement::{
    Callback, ClientError, ClusterClient, ContainerExit, ContainerRef, ContainerRequest, EngineClient,
    FakeCluster, Launch, NodeCommand, NodeReport, RequestId, RunningContainer, Unserved,
};

/// A cluster manager and the cluster behind it.
pub(crate) trait Manager: ClusterClient + Sized {
    /// A cluster without nodes.
    fn new() -> Self;
    /// Runs the cluster until nothing more happens.
    fn run_until_idle(&mut self);
    fn set_time(&mut self, now_ms: u64);
    fn add_node(&mut self, host: &str, rack: &str, label: &str, slots: i64);
    fn lose_node(&mut self, host: &str);
    fn end(&mut self, container: ContainerRef, exit: ContainerExit) -> Result<(), ClientError>;
    fn start_by_hand(self) -> Self;
    /// The same, and a released container ends only when [`end`](Self::end) is called.
    fn stop_by_hand(self) -> Self;
    fn report_started(&mut self, container: ContainerRef) -> Result<(), ClientError>;
    fn report_start_failed(&mut self, container: ContainerRef) -> Result<(), ClientError>;
}

impl Manager for FakeCluster {
    fn new() -> Self {
        Self::default()
    }

    fn run_until_idle(&mut self) {}

    fn set_time(&mut self, _now_ms: u64) {}

    fn add_node(&mut self, host: &str, rack: &str, label: &str, slots: i64) {
        self.add_node_in(host, rack, label, Resources::new(&[slots]));
    }

    fn lose_node(&mut self, host: &str) {
        Self::lose_node(self, host);
    }

    fn end(&mut self, container: ContainerRef, exit: ContainerExit) -> Result<(), ClientError> {
        self.complete(container, exit)
    }

    fn start_by_hand(self) -> Self {
        self.starting_by_hand()
    }

    fn stop_by_hand(self) -> Self {
        self.starting_by_hand().stopping_by_hand()
    }

    fn report_started(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        self.report(Callback::Started(container));
        Ok(())
    }

    fn report_start_failed(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        self.report(Callback::StartFailed { container, diagnostics: "no such image".into() });
        Ok(())
    }
}

/// An engine in serial mode, with one service.
#[derive(Debug)]
pub(crate) struct EngineCluster {
    engine: Engine,
    clock: Arc<ManualClock>,
    client: EngineClient,
    stops_by_hand: bool,
}

impl EngineCluster {
    /// An engine cluster that drops events when more than this many wait.
    pub(crate) fn with_events(events_max: usize) -> Self {
        Self::assemble(events_max).unwrap_or_else(|error| panic!("no engine: {error}"))
    }

    /// Limits the service's queue to this many slots.
    pub(crate) fn limit_queue(&mut self, slots: i64) {
        let handle = self.engine.handle();
        let queue = handle.queue("root.default");
        let mut amounts = [None; RESOURCE_TYPES_MAX];
        amounts[0] = Some(slots);
        let maximum = Some(Maximum::Absolute(amounts));
        let update = QueueUpdate { maximum, ..QueueUpdate::default() };
        let updated = queue.and_then(|queue| handle.update_queue(queue, update));
        self.run_until_idle();
        assert!(updated.is_ok_and(|ticket| ticket.wait().is_some_and(|done| done.is_ok())), "a new limit");
    }

    /// Starts another application of higher priority that wants this many containers of one slot on any node.
    pub(crate) fn contend(&mut self, containers: u32) {
        let handle = self.engine.handle();
        let events = handle.event_stream(0);
        let spec = ApplicationSpec::new("contender", "root.default", "ann").with_priority(9);
        let asked = handle.submit_application(spec, &events).and_then(|application| {
            let ask = AskSpec::new(Resources::new(&[1]), containers).with_priority(0);
            handle.submit_ask(application, ask)
        });
        assert!(asked.is_ok(), "{asked:?}");
        self.run_until_idle();
    }

    fn assemble(events_max: usize) -> Result<Self, Box<dyn std::error::Error>> {
        let mut root = QueueConfig::single_leaf();
        root.accessible_partitions = Some(PartitionAccess::All);
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
        config.partitions = vec!["gpu".into()];
        let clock = Arc::new(ManualClock::new());
        let engine = Engine::start(config, Mode::Serial, clock.clone(), None)?;
        let spec = ApplicationSpec::new("service", "root.default", "ann");
        let client = EngineClient::submit(engine.handle(), spec, events_max)?;
        Ok(Self { engine, clock, client, stops_by_hand: false })
    }

    fn try_add_node(&self, host: &str, rack: &str, label: &str, slots: i64) -> Result<(), SubmitError> {
        let handle = self.engine.handle();
        let mut spec = NodeSpec::new(host, Resources::new(&[slots])).on_rack(rack);
        if !label.is_empty() {
            spec = spec.in_partition(handle.partition(label)?);
        }
        handle.add_node(spec).map(|_| ())
    }
}

impl Manager for EngineCluster {
    fn new() -> Self {
        Self::with_events(10_000)
    }

    fn run_until_idle(&mut self) {
        for command in self.client.take_commands() {
            if let NodeCommand::Kill { container, .. } = command
                && !self.stops_by_hand
            {
                // The container may have ended meanwhile.
                let _ = self.client.report_exit(container, ContainerExit::of(143));
            }
        }
        self.engine.run_until_quiet();
    }

    fn set_time(&mut self, now_ms: u64) {
        self.clock.set(now_ms);
        self.engine.run_until_quiet();
    }

    fn add_node(&mut self, host: &str, rack: &str, label: &str, slots: i64) {
        let added = self.try_add_node(host, rack, label, slots);
        assert_eq!(added, Ok(()), "{host} is added");
        self.run_until_idle();
    }

    fn lose_node(&mut self, host: &str) {
        let handle = self.engine.handle();
        let removed = handle.node(host).map(|node| handle.remove_node(node));
        assert!(matches!(removed, Some(Ok(_))), "{host} is removed: {removed:?}");
        self.run_until_idle();
    }

    fn end(&mut self, container: ContainerRef, exit: ContainerExit) -> Result<(), ClientError> {
        self.client.report_exit(container, exit)
    }

    fn start_by_hand(mut self) -> Self {
        self.client = self.client.with_node_agents();
        self
    }

    fn stop_by_hand(self) -> Self {
        Self { stops_by_hand: true, ..self.start_by_hand() }
    }

    fn report_started(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        self.client.report_started(container)
    }

    fn report_start_failed(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        self.client.report_start_failed(container, "no such image".into())
    }
}

impl ClusterClient for EngineCluster {
    fn keeps_apart(&self) -> bool {
        self.client.keeps_apart()
    }

    fn request(&mut self, request: ContainerRequest) -> Result<(), ClientError> {
        self.client.request(request)
    }

    fn cancel(&mut self, request: RequestId) -> Result<(), ClientError> {
        self.client.cancel(request)
    }

    fn release(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        self.client.release(container)
    }

    fn swap(&mut self, container: ContainerRef, request: ContainerRequest) -> Result<(), ClientError> {
        self.client.swap(container, request)
    }

    fn start(&mut self, container: ContainerRef, launch: &Launch) -> Result<(), ClientError> {
        self.client.start(container, launch)
    }

    fn update_blacklist(&mut self, add: &[Arc<str>], remove: &[Arc<str>]) -> Result<(), ClientError> {
        self.client.update_blacklist(add, remove)
    }

    fn nodes(&self) -> Vec<NodeReport> {
        self.client.nodes()
    }

    fn take_over(&mut self) -> Vec<RunningContainer> {
        self.client.take_over()
    }

    fn explain(&self, request: RequestId) -> Option<Unserved> {
        self.client.explain(request)
    }

    fn poll(&mut self) -> Vec<Callback> {
        self.client.poll()
    }
}
