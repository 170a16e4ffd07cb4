//! The cluster of the throughput measurements, with every kind of limit in force.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use apportion::config::{EngineConfig, LocalityDelay};
use apportion::log::{LogSink, LoggedGroup};
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, Clock, Engine, EventStream, Handle, Mode, NodeId, NodeSpec,
    PartitionId, ResourceTypes, Resources,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::commit_times::{CommitTimes, LatencySink};
use crate::memory::Memory;
use crate::profile::{DrawnAsk, Hosts, PARTITION_EVERY, Profile, is_other, is_wanted};

const PARTITION: &str = "other";
const NODES_PER_RACK: usize = 40;

/// The size of a cluster, and the number of applications that share it.
#[derive(Clone, Copy, Debug)]
pub struct ClusterShape {
    /// Number of nodes; a tenth of them are in a separate partition.
    pub nodes: usize,
    /// Number of leaf queues.
    pub leaves: usize,
    /// Number of applications, spread evenly over the leaves.
    pub applications: usize,
}

/// A cluster and the setup of its engine.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The cluster.
    pub shape: ClusterShape,
    /// Which threads do the engine's work.
    pub mode: Mode,
    /// The most requests in a batch; `None` means the engine's default.
    pub batch_requests: Option<usize>,
    /// The kinds of nodes and asks.
    pub profile: Profile,
    /// Seed of all random values.
    pub seed: u64,
}

/// An engine with nodes and applications, and no container.
#[derive(Debug)]
pub struct Cluster {
    /// The engine.
    pub engine: Engine,
    /// Its handle.
    pub handle: Handle,
    /// The stream of the applications' events.
    pub events: EventStream,
    /// The applications, in the order of their submission.
    pub applications: Vec<ApplicationId>,
    /// The generator of asks.
    pub random: Pcg64Mcg,
    /// Times of group commits.
    pub commit_times: CommitTimes,
    /// Memory of the cluster.
    pub(crate) memory: Memory,
    /// The partition with a tenth of the nodes and asks.
    other: PartitionId,
    /// Nodes of the default partition, and of the other.
    nodes: [Vec<NodeId>; 2],
    /// Nodes that a storm's asks name, likewise.
    wanted: [Vec<NodeId>; 2],
    profile: Profile,
}

impl Setup {
    /// Churn with the engine's own batches, seed 1.
    #[must_use]
    pub fn new(shape: ClusterShape, mode: Mode) -> Self {
        Self { shape, mode, batch_requests: None, profile: Profile::CHURN, seed: 1 }
    }

    /// Starts an engine on the machine's own clock; `capacity` gives the capacity of each node by number. Its event
    /// stream holds `events`.
    pub(crate) fn start(
        &self,
        capacity: impl Fn(usize) -> Resources,
        events: usize,
    ) -> anyhow::Result<Cluster> {
        let mut config = self.config();
        // Virtual time stands still, so locality delays are counted in offered nodes.
        config.locality_delay = LocalityDelay::nodes(40, 80);
        self.start_with(config, Arc::new(Stopwatch(Instant::now())), capacity, events)
    }

    /// Starts an engine with these settings on this clock; `capacity` gives the capacity of each node by number. Its
    /// event stream holds `events`.
    ///
    /// # Errors
    ///
    /// The shape is too small, or the engine refuses the settings.
    pub fn start_with(
        &self,
        config: EngineConfig,
        clock: Arc<dyn Clock>,
        capacity: impl Fn(usize) -> Resources,
        events: usize,
    ) -> anyhow::Result<Cluster> {
        let Self { shape, mode, profile, .. } = *self;
        if shape.nodes < PARTITION_EVERY || shape.leaves == 0 || shape.applications == 0 {
            anyhow::bail!(
                "a cluster has {PARTITION_EVERY} nodes, a leaf and an application at least, not {shape:?}"
            );
        }
        let mut memory = Memory::before_nodes();
        let (sink, commit_times) = LatencySink::new(Some(Box::new(Encoded)));
        let engine = Engine::start(config, mode, clock, Some(Box::new(sink)))?;
        let handle = engine.handle();
        let other = handle.partition(PARTITION)?;
        let [mut nodes, mut wanted] = [const { [const { Vec::new() }; 2] }; 2];
        for number in 0..shape.nodes {
            let spec = NodeSpec::new(format!("node-{number}"), capacity(number))
                .on_rack(format!("rack-{}", number / NODES_PER_RACK));
            let is_other = is_other(number);
            let node = handle.add_node(if is_other { spec.in_partition(other) } else { spec })?;
            nodes[usize::from(is_other)].push(node);
            if is_wanted(number, shape.nodes) {
                wanted[usize::from(is_other)].push(node);
            }
        }
        let events = handle.event_stream(events);
        let specs = self.applications();
        let submit = |spec: &ApplicationSpec| handle.submit_application(spec.clone(), &events);
        let applications = specs.iter().map(submit).collect::<Result<_, _>>()?;
        engine.run_until_quiet();
        memory.record_nodes(shape.nodes);
        let random = Pcg64Mcg::seed_from_u64(self.seed);
        Ok(Cluster {
            engine,
            handle,
            events,
            applications,
            random,
            commit_times,
            memory,
            other,
            nodes,
            wanted,
            profile,
        })
    }

    /// The applications, in the order of their submission.
    #[must_use]
    pub fn applications(&self) -> Vec<ApplicationSpec> {
        self.profile.tree.applications(self.shape, self.profile.priorities, self.seed)
    }

    /// The configuration: two partitions and the profile's queues.
    #[must_use]
    pub fn config(&self) -> EngineConfig {
        let root = self.profile.tree.root(self.shape.leaves);
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
        config.partitions = vec![PARTITION.to_owned()];
        config.limits.batch_requests = self.batch_requests.unwrap_or(config.limits.batch_requests);
        config
    }
}

impl Cluster {
    /// Audits the engine.
    ///
    /// # Errors
    ///
    /// The audit found violations; the first is named.
    pub fn expect_sound(&self) -> anyhow::Result<()> {
        let violations = self.engine.audit().violations;
        if let Some(first) = violations.first() {
            anyhow::bail!("the audit found {} violations, the first: {first:?}", violations.len());
        }
        Ok(())
    }

    /// Draws an ask for one container.
    pub fn draw_ask(&mut self) -> AskSpec {
        let DrawnAsk { size, priority, is_other } = self.profile.draw(&mut self.random);
        let spec = AskSpec::new(size, 1).with_priority(priority);
        let spec = if is_other { spec.in_partition(self.other) } else { spec };
        match self.profile.hosts {
            Hosts::Replicas(percent) if percent > 0 && self.random.random_ratio(percent, 100) => {
                spec.on_hosts(self.draw_hosts(is_other))
            }
            Hosts::Replicas(_) => spec,
            Hosts::Wanted => {
                let wanted = &self.wanted[usize::from(is_other)];
                spec.on_hosts([wanted[self.random.random_range(0..wanted.len())]]).strictly_local()
            }
        }
    }

    /// Draws hosts like the replicas of a block in HDFS: one anywhere, two on another rack.
    fn draw_hosts(&mut self, is_other: bool) -> [NodeId; 3] {
        let nodes = &self.nodes[usize::from(is_other)];
        let mut draw = || self.random.random_range(0..nodes.len());
        let (one, two) = (draw(), draw());
        [nodes[one], nodes[two], nodes[(two + 1) % nodes.len()]]
    }
}

/// A clock whose virtual time stands still, and which measures real time.
#[derive(Debug)]
struct Stopwatch(Instant);

impl Clock for Stopwatch {
    fn now_ms(&self) -> u64 {
        0
    }

    fn measured_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// A sink that discards the encoded log.
struct Encoded;

impl LogSink for Encoded {
    fn start(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        std::hint::black_box(group.frame());
        Ok(())
    }
}
