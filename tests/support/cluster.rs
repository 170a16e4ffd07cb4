//! A cluster for tests: an engine on virtual time, short methods for operations, and a check of everything after each
//! [`run`](Cluster::run).

mod crash;
mod reads;

use std::collections::VecDeque;
use std::sync::Arc;

use apportion::config::{ConfigError, EngineConfig, QueueUpdate, Reconfiguration};
use apportion::engine::{Recovery, SubmitError};
use apportion::event::{Event, Refusal, Subject};
use apportion::log::{LogSink, SharedLog};
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskId, AskSpec, Blacklist, BlacklistUpdate, Change,
    CommitOutcome, CommitSeq, ContainerId, EndCause, Engine, EventStream, ExecutionType, Handle, Mode,
    NodeAttributes, NodeId, NodeSpec, NodeState, PartitionId, PassScope, ResourceAllocationCommitRequest,
    Resources, RunningContainer, StateDigest, Ticket,
};

use super::by_kind::submit_either_way;
use super::check::{Certainty, Checker, Sent, Step};
use super::oracle::Oracle;
use super::watch::WatchedClock;
pub use crash::Source;

/// More events than any test causes between two reads.
const EVENTS_MAX: usize = 1 << 20;

/// An engine under test, with everything sent to it since the last check.
#[derive(Debug)]
pub struct Cluster {
    /// The engine.
    pub engine: Arc<Engine>,
    /// A handle to it, for calls that this type lacks. The checks do not expect messages sent this way.
    pub handle: Handle,
    /// The model and its position in the engine's log.
    pub checker: Checker,
    clock: WatchedClock,
    now_ms: u64,
    log: SharedLog,
    events: EventStream,
    sent: Vec<Waiting>,
    outcomes: Vec<CommitOutcome>,
    history: Vec<(CommitSeq, StateDigest)>,
}

/// A message sent, with the ticket of its answer.
#[derive(Debug)]
enum Waiting {
    Change(Change),
    Queue(Change, Ticket<Result<CommitSeq, ConfigError>>),
    Answered(Change, Ticket<Result<CommitSeq, Refusal>>),
    Request(ResourceAllocationCommitRequest, Ticket<CommitOutcome>),
}

/// How far the model predicts an engine in this mode.
fn certainty(config: &EngineConfig, mode: Mode) -> Certainty {
    let is_plain = config.reservations.delay_ms.is_none() && config.limits.off_switch_per_pass.is_none();
    match mode {
        Mode::Serial | Mode::Background if is_plain => Certainty::Exact,
        Mode::Serial | Mode::Background => Certainty::Serial,
        Mode::Parallel { .. } => Certainty::Legal,
    }
}

impl Cluster {
    /// Starts an engine.
    #[must_use]
    pub fn start(config: EngineConfig, mode: Mode) -> Self {
        Self::start_logging_to(config, mode, |log| Box::new(log))
    }

    /// Starts an engine with this sink, which passes everything on to the log that it gets.
    #[must_use]
    pub fn start_logging_to(
        config: EngineConfig,
        mode: Mode,
        sink: impl FnOnce(SharedLog) -> Box<dyn LogSink>,
    ) -> Self {
        let (clock, log) = (WatchedClock::new(mode != Mode::Serial), SharedLog::new());
        let sink = sink(log.clone());
        let engine = Engine::start(config.clone(), mode, Arc::new(clock.clone()), Some(sink)).unwrap();
        let handle = engine.handle();
        let certainty = certainty(&config, mode);
        let names = std::iter::once("").chain(config.partitions.iter().map(String::as_str));
        let partitions = names.map(|name| handle.partition(name).unwrap()).collect();
        let oracle = Oracle::new(config, partitions, |path| handle.queue(path).unwrap());
        Self {
            checker: Checker::new(oracle, certainty, mode == Mode::Serial),
            events: handle.event_stream(EVENTS_MAX),
            engine: Arc::new(engine),
            handle,
            clock,
            now_ms: 0,
            log,
            sent: Vec::new(),
            outcomes: Vec::new(),
            history: Vec::new(),
        }
    }

    /// Starts a serial engine.
    #[must_use]
    pub fn serial(config: EngineConfig) -> Self {
        Self::start(config, Mode::Serial)
    }

    /// Lets the engine work until it is quiet, then checks everything.
    pub fn run(&mut self) {
        self.clock.run_until_quiet(&self.engine);
        let (log, events, sent) = self.take_step();
        let refusals = Some(self.take_refusals());
        self.checker.check(Step { engine: &self.engine, log: &log, events, sent, refusals });
        self.history.push((self.engine.read(|view| view.seq()), self.engine.digest()));
    }

    /// Makes one pass over one node, then checks it; does nothing in parallel mode.
    pub fn pass(&mut self, node: NodeId) {
        if self.engine.pass_once(PassScope { node: Some(node), leaf: None }).is_err() {
            return;
        }
        let (log, events, sent) = self.take_step();
        let refusals = Some(self.take_refusals());
        self.checker.check_pass(node, Step { engine: &self.engine, log: &log, events, sent, refusals });
    }

    /// The subjects of the calls that were refused.
    fn take_refusals(&self) -> Vec<Subject> {
        let refusals = self.handle.take_refusals();
        assert_eq!(refusals.missed, 0);
        refusals.list.into_iter().map(|refused| refused.subject).collect()
    }

    /// Returns the log, and the events and sent messages since the last call.
    fn take_step(&mut self) -> (Vec<u8>, Vec<Event>, VecDeque<Sent>) {
        let mut events = Vec::new();
        self.events.drain_into(&mut events).unwrap();
        let sent: VecDeque<Sent> =
            std::mem::take(&mut self.sent).into_iter().map(Waiting::answered).collect();
        self.outcomes = sent
            .iter()
            .filter_map(|sent| if let Sent::Request(_, outcome) = sent { Some(*outcome) } else { None })
            .collect();
        (self.log.bytes(), events, sent)
    }

    /// The verdicts on the requests committed by hand before the last run, in order.
    #[must_use]
    pub fn outcomes(&self) -> &[CommitOutcome] {
        &self.outcomes
    }

    /// The log position and state digest of the engine after each run.
    #[must_use]
    pub fn history(&self) -> &[(CommitSeq, StateDigest)] {
        &self.history
    }

    /// The log so far.
    #[must_use]
    pub fn log(&self) -> Vec<u8> {
        self.log.bytes()
    }

    fn record(&mut self, change: Change) {
        self.sent.push(Waiting::Change(change));
    }
}

impl Waiting {
    fn answered(self) -> Sent {
        match self {
            Self::Change(change) => Sent::Change(change),
            Self::Queue(change, ticket) => Sent::Queue(change, ticket.try_take().expect("an answer")),
            Self::Answered(change, ticket) => Sent::Answered(change, ticket.try_take().expect("an answer")),
            Self::Request(request, ticket) => Sent::Request(request, ticket.try_take().expect("a verdict")),
        }
    }
}

/// Nodes and time.
impl Cluster {
    /// Registers a node with these amounts.
    pub fn node(&mut self, name: &str, capacity: &[i64]) -> NodeId {
        self.add_node(NodeSpec::new(name, Resources::new(capacity))).unwrap()
    }

    /// Registers a node.
    ///
    /// # Errors
    /// When the engine's handle does not take it.
    pub fn add_node(&mut self, mut spec: NodeSpec) -> Result<NodeId, SubmitError> {
        let node = self.handle.add_node(spec.clone())?;
        if spec.devices > 0 {
            spec.capacity = self.with_devices(spec.capacity, i64::from(spec.devices) * 1000);
        }
        let rack = self.handle.rack(&spec.rack);
        self.record(Change::NodeAdded { node, rack, spec: Box::new(spec) });
        Ok(node)
    }

    /// Registers a node on which containers run already.
    ///
    /// # Errors
    /// When the engine's handle does not take it.
    pub fn recover_node(
        &mut self,
        mut spec: NodeSpec,
        running: Vec<RunningContainer>,
    ) -> Result<Recovery, SubmitError> {
        let recovery = self.handle.recover_node(spec.clone(), running.clone())?;
        if spec.devices > 0 {
            spec.capacity = self.with_devices(spec.capacity, i64::from(spec.devices) * 1000);
        }
        let (node, rack) = (recovery.node, self.handle.rack(&spec.rack));
        self.record(Change::NodeAdded { node, rack, spec: Box::new(spec) });
        for (ask, mut container) in recovery.asks.iter().zip(running) {
            if let Some(need) = container.devices {
                container.size = self.with_devices(container.size, need.total_milli());
            }
            self.record(Change::ContainerRecovered { ask: *ask, node, container: Box::new(container) });
        }
        Ok(recovery)
    }

    /// Changes the capacity and the attributes of a node.
    pub fn update_node(&mut self, node: NodeId, capacity: &[i64], attributes: NodeAttributes) {
        let capacity = Resources::new(capacity);
        self.handle.update_node(node, capacity, attributes.clone()).unwrap();
        self.record(Change::NodeUpdated { node, capacity, attributes });
    }

    /// Moves a node to another partition.
    pub fn set_partition(&mut self, node: NodeId, partition: PartitionId) {
        self.handle.set_node_partition(node, partition).unwrap();
        self.record(Change::NodePartitionSet { node, partition });
    }

    /// Drains a node, so that it takes no new containers.
    pub fn drain(&mut self, node: NodeId) {
        self.handle.drain_node(node).unwrap();
        self.record(Change::NodeStateSet { node, state: NodeState::Draining });
    }

    /// Ends draining.
    pub fn activate(&mut self, node: NodeId) {
        self.handle.activate_node(node).unwrap();
        self.record(Change::NodeStateSet { node, state: NodeState::Active });
    }

    /// Removes a node.
    pub fn remove_node(&mut self, node: NodeId) {
        self.handle.remove_node(node).unwrap();
        self.record(Change::NodeRemoved { node });
    }

    /// Reports that nodes are alive.
    pub fn heartbeat(&mut self, nodes: &[NodeId]) {
        self.handle.heartbeat(nodes).unwrap();
        self.record(Change::Heartbeats { nodes: nodes.to_vec() });
    }

    /// Lets time pass.
    pub fn advance(&mut self, milliseconds: u64) {
        self.now_ms += milliseconds;
        self.clock.set(self.now_ms);
        self.handle.tick().unwrap();
    }

    /// The amounts with the device type, if there is one, set to this.
    fn with_devices(&self, resources: Resources, milli: i64) -> Resources {
        let mut amounts = *resources.amounts();
        if let Some(device_type) = self.handle.config().resources.device_type() {
            amounts[device_type] = milli;
        }
        Resources::new(&amounts)
    }
}

/// Applications and asks.
impl Cluster {
    /// Rounds each type that has steps up to a whole number of them, at least one.
    fn in_steps(&self, size: &Resources) -> Resources {
        let steps = self.handle.config().allocation.minimum;
        let rounded = size.amounts().iter().zip(steps.amounts()).map(|(amount, step)| {
            let whole = |step: i64| (1..).map(|count| count * step).find(|sum| sum >= amount);
            if *step == 0 { *amount } else { whole(*step).expect("some number of steps is enough") }
        });
        Resources::new(&rounded.collect::<Vec<_>>())
    }

    /// Submits an application of priority 0.
    pub fn application(&mut self, queue: &str, user: &str) -> ApplicationId {
        self.submit(ApplicationSpec::new("application", queue, user))
    }

    /// Submits an application.
    pub fn submit(&mut self, spec: ApplicationSpec) -> ApplicationId {
        self.try_submit(spec).unwrap()
    }

    /// Submits an application to a queue that may be gone.
    ///
    /// # Errors
    /// When the queue is known to be gone.
    pub fn try_submit(&mut self, mut spec: ApplicationSpec) -> Result<ApplicationId, SubmitError> {
        let application = self.handle.submit_application(spec.clone(), &self.events)?;
        if let Some(master) = &mut spec.master {
            master.size = self.in_steps(&master.size);
        }
        self.record(Change::ApplicationSubmitted { application, spec: Box::new(spec) });
        Ok(application)
    }

    /// Ends an application.
    pub fn end(&mut self, application: ApplicationId, end: ApplicationEnd) {
        self.handle.end_application(application, end).unwrap();
        self.record(Change::ApplicationEnded { application, end });
    }

    /// Changes the blacklist of an application.
    pub fn update_blacklist(&mut self, application: ApplicationId, add: Blacklist, remove: Blacklist) {
        self.handle.update_blacklist(application, add.clone(), remove.clone()).unwrap();
        let update = Box::new(BlacklistUpdate { add, remove });
        self.record(Change::BlacklistUpdated { application, update });
    }

    /// Moves an application to another leaf, if that leaf exists.
    pub fn move_application(&mut self, application: ApplicationId, path: &str) {
        let Ok(queue) = self.handle.queue(path) else { return };
        let Ok(ticket) = self.handle.move_application(application, path) else { return };
        self.sent.push(Waiting::Answered(Change::ApplicationMoved { application, queue }, ticket));
    }

    /// Resizes a container.
    pub fn resize(&mut self, container: ContainerId, size: &[i64]) {
        let ticket = self.handle.resize_container(container, Resources::new(size)).unwrap();
        let size = self.in_steps(&self.with_devices(Resources::new(size), 0));
        self.sent.push(Waiting::Answered(Change::ContainerResized { container, size }, ticket));
    }

    /// Demotes or promotes a container.
    pub fn set_execution_type(&mut self, container: ContainerId, execution_type: ExecutionType) {
        let ticket = match execution_type {
            ExecutionType::Guaranteed => self.handle.promote_container(container),
            ExecutionType::Opportunistic => self.handle.demote_container(container),
        };
        let change = Change::ExecutionTypeSet { container, execution_type };
        self.sent.push(Waiting::Answered(change, ticket.unwrap()));
    }

    /// Changes an application's priority.
    pub fn set_priority(&mut self, application: ApplicationId, priority: u32) {
        self.handle.set_application_priority(application, priority).unwrap();
        self.record(Change::ApplicationPrioritySet { application, priority });
    }

    /// Asks for `count` containers of this size.
    pub fn ask(&mut self, application: ApplicationId, size: &[i64], count: u32) -> AskId {
        self.submit_ask(application, AskSpec::new(Resources::new(size), count))
    }

    /// Submits an ask.
    pub fn submit_ask(&mut self, application: ApplicationId, mut spec: AskSpec) -> AskId {
        spec.allocation_request_id = self.sent.len() as u64;
        let ask = submit_either_way(&self.handle, application, &spec);
        if let Some(need) = spec.devices {
            spec.size = self.with_devices(spec.size, need.total_milli());
        }
        spec.size = self.in_steps(&spec.size);
        if !spec.preference.is_empty() || !spec.preference.relax_locality {
            self.checker.certainty = self.checker.certainty.min(Certainty::Serial);
        }
        self.record(Change::AskSubmitted { ask, application, spec });
        ask
    }

    /// Cancels units of an ask.
    pub fn cancel(&mut self, ask: AskId, units: u32) {
        self.handle.cancel_ask(ask, units).unwrap();
        self.record(Change::AskCancelled { ask, units });
    }

    /// Reports that a container finished by itself.
    pub fn complete(&mut self, container: ContainerId) {
        self.handle.complete_container(container).unwrap();
        self.record(Change::ContainerEnded { container, cause: EndCause::Completed });
    }

    /// Stops a container on behalf of its application.
    pub fn stop(&mut self, container: ContainerId) {
        let ticket = self.handle.stop_container(container).unwrap();
        let change = Change::ContainerStopping { container, cause: EndCause::Released };
        self.sent.push(Waiting::Answered(change, ticket));
    }

    /// Preempts a container.
    pub fn preempt(&mut self, container: ContainerId) {
        let ticket = self.handle.preempt_container(container).unwrap();
        let change = Change::ContainerStopping { container, cause: EndCause::Preempted };
        self.sent.push(Waiting::Answered(change, ticket));
    }

    /// Releases a container on behalf of its application.
    pub fn release(&mut self, container: ContainerId) {
        self.handle.release_container(container).unwrap();
        self.record(Change::ContainerEnded { container, cause: EndCause::Released });
    }

    /// Changes a queue's limits, if the queue exists. The limits may be invalid.
    pub fn update_queue(&mut self, path: &str, update: &QueueUpdate) {
        let Ok(queue) = self.handle.queue(path) else { return };
        let ticket = self.handle.update_queue(queue, update.clone()).unwrap();
        let change = Change::QueueUpdated { queue, update: Box::new(update.clone()) };
        self.sent.push(Waiting::Queue(change, ticket));
    }

    /// Changes the whole queue tree and the mapping rules. They may be invalid.
    pub fn reconfigure(&mut self, configuration: Reconfiguration) {
        let ticket = self.handle.reconfigure(configuration.clone()).unwrap();
        let change = Change::Reconfigured { configuration: Box::new(configuration) };
        self.sent.push(Waiting::Queue(change, ticket));
    }

    /// Sends a commit request; the verdict will be among the [`outcomes`](Self::outcomes).
    pub fn commit(&mut self, request: ResourceAllocationCommitRequest) {
        let ticket = self.handle.commit(request.clone()).unwrap();
        self.sent.push(Waiting::Request(request, ticket));
    }
}
