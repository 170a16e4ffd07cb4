//! A cluster whose committer and proposer the bench calls directly.

use std::sync::Arc;
use std::time::{Duration, Instant};

use apportion::config::{
    ApplicationOrdering, Capacity, EngineConfig, Factor, Maximum, NodeOrderKind, Percent, QueueConfig,
};
use apportion::engine::{GroupCommitter, Parts, Proposer, Step};
use apportion::event::{Event, EventKind};
use apportion::log::LogSink;
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, Clock, ContainerId, Engine, EventStream, Handle, ManualClock,
    NodeSpec, ProposalBatch, ResourceTypes, Resources,
};
use apportion_load::sizes::{CONTAINER_SIZES, node_vcores};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The most requests of a batch: the engine's default.
pub(crate) const BATCH: usize = 256;
/// Number of sizes up to 4 vcores. They fit wherever a tenth of a node is free, so that every batch is full.
const SMALL_SIZES: usize = 5;
const PRIORITIES: u32 = 3;

/// The shape of a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) nodes: usize,
    pub(crate) leaves: usize,
    pub(crate) applications: usize,
    pub(crate) ordering: ApplicationOrdering,
    pub(crate) node_order: NodeOrderKind,
    pub(crate) users_per_leaf: usize,
    /// Whether users are held to equal shares of their leaf's use.
    pub(crate) shares: bool,
}

/// An engine on one thread.
pub(crate) struct Cluster {
    pub(crate) engine: Engine,
    pub(crate) handle: Handle,
    pub(crate) applications: Vec<ApplicationId>,
    pub(crate) running: Vec<ContainerId>,
    committer: GroupCommitter,
    proposer: Proposer,
    events: EventStream,
    random: Pcg64Mcg,
}

impl Shape {
    /// A cluster with this many nodes and one application.
    pub(crate) fn of_nodes(nodes: usize) -> Self {
        Self {
            nodes,
            leaves: 1,
            applications: 1,
            ordering: ApplicationOrdering::Fifo,
            node_order: NodeOrderKind::Spread,
            users_per_leaf: 10,
            shares: false,
        }
    }

    /// A cluster with this many nodes, shared by a thousand applications of twenty leaves.
    pub(crate) fn shared(nodes: usize) -> Self {
        Self { leaves: 20, applications: 1_000, ..Self::of_nodes(nodes) }
    }

    fn config(self) -> EngineConfig {
        let leaf = |number| {
            QueueConfig::leaf(leaf_name(number), Capacity::Weight(Factor::ONE))
                .with_maximum(Maximum::Percent(Percent::whole(90)))
                .with_user_limit_factor(Some(Factor::whole(4)))
                .with_user_limit_minimum(if self.shares { Percent::whole(0) } else { Percent::ALL })
                .with_ordering(self.ordering)
        };
        let root = QueueConfig::root((0..self.leaves).map(leaf));
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
        config.node_order = self.node_order;
        // One set, as in serial mode: a pass covers all nodes and ends when its batch is full.
        config.limits.single_set_nodes = usize::MAX;
        config.limits.pass_visits = u32::MAX as usize;
        config.limits.batch_requests = BATCH;
        config
    }

    fn application(self, number: usize) -> ApplicationSpec {
        let user = format!("user-{}", number / self.leaves % self.users_per_leaf);
        let path = format!("root.{}", leaf_name(number % self.leaves));
        ApplicationSpec::new(format!("application-{number}"), path, user)
            .with_priority(number as u32 % PRIORITIES)
    }
}

fn leaf_name(number: usize) -> String {
    format!("leaf-{number}")
}

impl Cluster {
    /// An empty cluster with nodes of 32, 64 and 96 vcores.
    pub(crate) fn start(shape: Shape) -> Self {
        let capacity = |number| Resources::new(&[node_vcores(number) * 4_096, node_vcores(number) * 1_000]);
        Self::assemble(shape, capacity, Arc::new(ManualClock::new()), None)
    }

    pub(crate) fn assemble(
        shape: Shape,
        capacity: impl Fn(usize) -> Resources,
        clock: Arc<dyn Clock>,
        sink: Option<Box<dyn LogSink>>,
    ) -> Self {
        let (engine, parts) = Engine::assemble(shape.config(), 1, clock, sink).expect("a valid one");
        let Parts { mut committer, mut proposers } = parts;
        let handle = engine.handle();
        let events = handle.event_stream(usize::MAX);
        for number in 0..shape.nodes {
            handle.add_node(NodeSpec::new(format!("node-{number}"), capacity(number))).expect("a new name");
            committer.step();
        }
        let submit = |number| {
            let id = handle.submit_application(shape.application(number), &events).expect("a known queue");
            committer.step();
            id
        };
        let applications = (0..shape.applications).map(submit).collect();
        let (running, random) = (Vec::new(), Pcg64Mcg::seed_from_u64(1));
        let proposer = proposers.remove(0);
        Self { engine, handle, applications, running, committer, proposer, events, random }
    }

    /// Places this many containers.
    pub(crate) fn fill(&mut self, containers: usize) {
        let mut left = containers;
        while left > 0 {
            let count = left.min(4 * BATCH);
            self.ask_for(count);
            self.run_until_idle();
            left -= count;
        }
        assert_eq!(self.running.len(), containers, "everything finds room");
    }

    /// Asks for this many single containers, of many applications and sizes.
    pub(crate) fn ask_for(&mut self, count: usize) {
        let asks: Vec<_> = (0..count).map(|_| self.draw()).collect();
        self.ask(asks);
        self.commit_waiting();
    }

    pub(crate) fn draw(&mut self) -> (ApplicationId, AskSpec) {
        let (vcores, gib, _) = CONTAINER_SIZES[self.random.random_range(0..SMALL_SIZES)];
        let application = self.applications[self.random.random_range(0..self.applications.len())];
        let spec = AskSpec::new(Resources::new(&[gib * 1_024, vcores * 1_000]), 1);
        (application, spec.with_priority(self.random.random_range(0..PRIORITIES)))
    }

    /// Sends asks, which the committer commits later.
    pub(crate) fn ask(&self, asks: Vec<(ApplicationId, AskSpec)>) {
        self.handle.submit_asks(asks).expect("possible asks");
    }

    /// Reports the completion of this many random containers.
    pub(crate) fn complete(&mut self, count: usize) {
        let mut completed = Vec::new();
        for _ in 0..count {
            let place = self.random.random_range(0..self.running.len());
            completed.push(self.running.swap_remove(place));
        }
        self.handle.complete_containers(completed).expect("the engine runs");
    }

    /// Commits the messages that were sent.
    pub(crate) fn commit_waiting(&mut self) {
        while self.committer.step() == Step::Worked {}
    }

    /// Runs one pass.
    pub(crate) fn propose(&mut self) -> Box<ProposalBatch> {
        self.proposer.propose().expect("something is pending")
    }

    /// Runs one pass, which must fill its batch.
    pub(crate) fn propose_full_batch(&mut self) -> Box<ProposalBatch> {
        let batch = self.propose();
        assert_eq!(batch.requests().len(), BATCH, "enough is pending, and finds room");
        batch
    }

    pub(crate) fn send(&self, batch: Box<ProposalBatch>) {
        self.proposer.send(batch).expect("the engine runs");
    }

    /// Gives back all amounts of a batch that are in flight, as if it had never existed.
    pub(crate) fn forget(&mut self, batch: Box<ProposalBatch>) {
        drop(batch);
        self.commit_waiting();
    }

    /// Proposes and commits until the engine is quiet.
    pub(crate) fn run_until_idle(&mut self) {
        self.commit_waiting();
        while let Some(batch) = self.proposer.propose() {
            self.send(batch);
            self.commit_waiting();
        }
        self.take_events();
    }

    pub(crate) fn take_events(&mut self) {
        let mut events: Vec<Event> = Vec::new();
        self.events.drain_into(&mut events).expect("all events find room");
        for event in events {
            if let EventKind::Allocated { container, .. } = event.kind {
                self.running.push(container);
            }
        }
    }

    /// The time of this many passes, each of which fills a batch that is then dropped.
    pub(crate) fn time_passes(&mut self, passes: u64) -> Duration {
        let mut total = Duration::ZERO;
        for _ in 0..passes {
            let begun = Instant::now();
            let batch = self.propose_full_batch();
            total += begun.elapsed();
            self.forget(batch);
        }
        total
    }
}
