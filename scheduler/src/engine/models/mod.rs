//! Loom models of the shipped engine: every interleaving of a few steps, up to a bound of preemptions.
//!
//! `cargo loom` runs each model at two preemptions, the three longest at one. `LOOM_MAX_PREEMPTIONS` sets another
//! bound. With `APPORTION_MODELS=deep` it runs each at the deepest bound that ends in reasonable time. `README.md`
//! beside this file lists the models. "The bug" of a model is the change of code that it would catch.
//!
//! The models test the engine itself. Only the surroundings are made here: a small cluster, a race of two requests,
//! and parts that are stepped by hand.

#![allow(clippy::unwrap_used, reason = "these are tests: one that cannot be set up is red")]

mod batches;
mod channels;
mod directory;
mod gangs;
mod held_back;
mod lifecycle;
mod panics;
mod passes;
mod proposals;
mod quiet;
mod reservations;
mod rounds;
mod sets;
mod signals;
mod streams;
mod successors;
mod tasks;
mod wakes;

use std::cell::Cell;
use std::sync::Arc;

use loom::thread;

use super::{Driver, Engine, GroupCommitter, Handle, Mode, Parts, Proposer, Step};
use crate::audit::AuditReport;
use crate::change::{ApplicationSpec, AskSpec, NodeSpec};
use crate::clock::ManualClock;
use crate::config::{Capacity, EngineConfig, Percent, QueueConfig};
use crate::engine::EventStream;
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId, ReservationId};
use crate::propose::ProposalBatch;
use crate::request::{CommitOutcome, ResourceAllocationCommitRequest};
use crate::resource::{ResourceTypes, Resources};
use crate::sync::Ticket;

/// The bound of preemptions in the deep run.
#[derive(Clone, Copy, Debug)]
enum Bound {
    /// Every order.
    None,
    Four,
    Three,
    Two,
}

thread_local! {
    /// The executions of the present model so far. All threads of a model run on one operating system thread.
    static EXECUTIONS: Cell<u64> = const { Cell::new(0) };
}

/// Runs `body` in every order of its steps, up to the bound, and prints the number of orders. With a single order
/// nothing races, so the model fails.
fn model(deepest: Bound, body: impl Fn() + Sync + Send + 'static) {
    model_within(2, deepest, body);
}

/// The same, with `usual` preemptions outside the deep run.
fn model_within(usual: usize, deepest: Bound, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let depth = std::env::var("APPORTION_MODELS").ok();
    assert!(
        matches!(depth.as_deref(), None | Some("deep")),
        "APPORTION_MODELS is {depth:?}; it may be `deep`"
    );
    let is_deep = depth.is_some();
    builder.preemption_bound = match (is_deep, deepest) {
        (true, Bound::None) => None,
        (true, Bound::Four) => Some(4),
        (true, Bound::Three) => Some(3),
        (true, Bound::Two) => Some(2),
        (false, _) => builder.preemption_bound.or(Some(usual)),
    };
    builder.max_branches = 100_000;
    EXECUTIONS.set(0);
    let body = std::sync::Arc::new(body);
    builder.check(move || {
        EXECUTIONS.set(EXECUTIONS.get() + 1);
        // The checker gives its first thread a small stack, and has no setting for it.
        let body = std::sync::Arc::clone(&body);
        let thread = loom::thread::Builder::new().stack_size(crate::sync::stack_bytes());
        thread.spawn(move || body()).expect("a model has few threads").join().expect("the body panicked");
    });
    let name = std::thread::current().name().unwrap_or("a model").to_owned();
    let executions = EXECUTIONS.get();
    println!("{name}: {executions} executions");
    assert!(executions > 1, "nothing races in this model");
}

/// Memory, one leaf, and no reservations except by request.
fn plain() -> EngineConfig {
    with_queues(QueueConfig::single_leaf())
}

fn with_queues(root: QueueConfig) -> EngineConfig {
    let mut config = EngineConfig::new(ResourceTypes::new(["memory"]).unwrap(), root);
    config.reservations.delay_ms = None;
    config
}

/// A leaf with a guarantee of half the cluster, of which one user may use all.
fn half(name: &str) -> QueueConfig {
    QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50))).with_user_limit_factor(None)
}

/// Sets of one node each, from two nodes on.
fn several_sets() -> EngineConfig {
    let mut config = plain();
    (config.limits.single_set_nodes, config.limits.set_nodes) = (2, 1);
    config
}

fn one() -> Resources {
    Resources::new(&[1])
}

fn allocate(ask: AskId, node: NodeId) -> ResourceAllocationCommitRequest {
    ResourceAllocationCommitRequest::allocate(ask, node)
}

/// An engine with nodes of one memory each and an application of `user` in `root.default`.
struct Cluster {
    engine: Arc<Engine>,
    handle: Handle,
    events: EventStream,
    nodes: Vec<NodeId>,
    application: ApplicationId,
}

impl Cluster {
    /// A serial engine whose proposals are made by hand. The application's leaf is `queue`.
    fn serial_in(queue: &str, config: EngineConfig, nodes: usize) -> Self {
        let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
        let cluster = Self::new(engine, queue, nodes);
        cluster.commit();
        cluster
    }

    fn serial(nodes: usize) -> Self {
        Self::serial_in("root.default", plain(), nodes)
    }

    /// An engine whose parts are stepped by hand or run on the model's threads.
    fn assembled_in(queue: &str, config: EngineConfig, proposers: usize, nodes: usize) -> (Self, Workers) {
        let (engine, Parts { mut committer, proposers }) =
            Engine::assemble(config, proposers, Arc::new(ManualClock::new()), None).unwrap();
        let cluster = Self::new(engine, queue, nodes);
        work_off(&mut committer);
        (cluster, Workers { committer, proposers })
    }

    fn assembled(config: EngineConfig, proposers: usize, nodes: usize) -> (Self, Workers) {
        Self::assembled_in("root.default", config, proposers, nodes)
    }

    fn new(engine: Engine, queue: &str, nodes: usize) -> Self {
        let handle = engine.handle();
        let add = |number| handle.add_node(NodeSpec::new(format!("n{number}"), one())).unwrap();
        let nodes = (0..nodes).map(add).collect();
        let events = handle.event_stream(16);
        let spec = ApplicationSpec::new("application", queue, "user");
        let application = handle.submit_application(spec, &events).unwrap();
        Self { engine: Arc::new(engine), handle, events, nodes, application }
    }

    /// Submits another application.
    fn submit(&self, queue: &str, user: &str) -> ApplicationId {
        self.handle.submit_application(ApplicationSpec::new("other", queue, user), &self.events).unwrap()
    }

    /// Submits an ask for containers of one memory.
    fn ask(&self, count: u32) -> AskId {
        self.ask_of(self.application, count)
    }

    fn ask_of(&self, application: ApplicationId, count: u32) -> AskId {
        self.handle.submit_ask(application, AskSpec::new(one(), count)).unwrap()
    }

    /// Submits an ask for containers on this node only.
    fn ask_on(&self, node: NodeId, count: u32) -> AskId {
        let spec = AskSpec::new(one(), count).on_hosts([node]).strictly_local();
        self.handle.submit_ask(self.application, spec).unwrap()
    }

    /// Commits everything that has arrived at a serial engine; proposes nothing.
    fn commit(&self) {
        let Driver::Serial(driver) = &mut *self.engine.driver.lock() else { unreachable!("a serial engine") };
        driver.commit_waiting();
    }

    /// Submits a request and commits it alone.
    fn decide(&self, request: ResourceAllocationCommitRequest) -> CommitOutcome {
        let ticket = self.handle.commit(request).unwrap();
        self.commit();
        ticket.try_take().expect("an answer")
    }

    /// Submits `own` while another thread runs `theirs` and the committer works.
    fn against<T: 'static>(
        &self,
        own: ResourceAllocationCommitRequest,
        theirs: impl FnOnce(&Handle) -> T + 'static,
    ) -> (CommitOutcome, T) {
        let handle = self.handle.clone();
        let other = thread::spawn(move || theirs(&handle));
        let ticket = self.handle.commit(own).unwrap();
        self.commit();
        let theirs = other.join().unwrap();
        self.commit();
        (ticket.try_take().expect("an answer"), theirs)
    }

    /// Submits two requests, each on its own thread, while the committer works.
    fn both(
        &self,
        own: ResourceAllocationCommitRequest,
        theirs: ResourceAllocationCommitRequest,
    ) -> [CommitOutcome; 2] {
        let (own, theirs) = self.against(own, move |handle| handle.commit(theirs).unwrap());
        [own, theirs.try_take().expect("an answer")]
    }

    fn containers(&self) -> usize {
        self.engine.read(|view| view.container_count())
    }

    /// The first container on the node.
    fn container_on(&self, node: NodeId) -> ContainerId {
        self.engine.read(|view| view.node(node).unwrap().containers()[0])
    }

    /// The reservation on the node.
    fn reservation_on(&self, node: NodeId) -> ReservationId {
        self.engine.read(|view| view.node(node).unwrap().reservation().expect("a reservation"))
    }

    fn is_pending(&self, ask: AskId) -> bool {
        self.engine.read(|view| view.ask(ask).is_some())
    }

    fn expect_sound(&self) {
        let report = self.engine.audit();
        assert!(report.is_clean(), "{report}");
    }

    /// I9: every lease is in the pool and nothing is in flight.
    fn expect_nothing_in_flight(&self) {
        assert!(self.engine.shared.leases.all_in_pool(), "a lease is lost");
        let mut report = AuditReport::default();
        self.engine.shared.state.read().audit_nothing_in_flight(&mut report);
        assert!(report.is_clean(), "{report}");
    }
}

/// The working parts of an assembled engine.
struct Workers {
    committer: GroupCommitter,
    proposers: Vec<Proposer>,
}

impl Workers {
    /// Removes and returns the next proposer.
    fn proposer(&mut self) -> Proposer {
        self.proposers.remove(0)
    }

    /// Runs a pass of the first proposer without sending it.
    fn pass(&mut self) -> Box<ProposalBatch> {
        self.proposers[0].propose().expect("a set is worth a pass")
    }

    /// Commits and proposes on this thread until no work is left.
    fn run_until_idle(&mut self) {
        loop {
            work_off(&mut self.committer);
            let Some(batch) = self.proposers[0].propose() else { return };
            self.proposers[0].send(batch).unwrap();
        }
    }
}

/// Runs and sends a pass, if a set is worth one. Returns the proposer, because its end has steps of its own, which
/// the models of `lifecycle` cover.
fn propose_once(mut proposer: Proposer) -> Proposer {
    if let Some(batch) = proposer.propose() {
        proposer.send(batch).unwrap();
    }
    proposer
}

/// Commits everything that has arrived.
fn work_off(committer: &mut GroupCommitter) {
    while committer.step() == Step::Worked {}
}

/// The number of applied requests.
fn accepted(outcomes: &[CommitOutcome]) -> usize {
    outcomes.iter().filter(|outcome| outcome.is_accepted()).count()
}

/// Takes an answer that must be present.
fn answer<T>(ticket: &Ticket<T>) -> T {
    ticket.try_take().expect("an answer")
}
