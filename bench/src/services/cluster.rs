//! The cluster: nodes that fail and come back.

use std::sync::Arc;

use anyhow::Context;
use apportion::config::{Capacity, EngineConfig, Percent, QueueConfig};
use apportion::{
    CommitSeq, Engine, Handle, ManualClock, Mode, NodeSpec, NodeState, ResourceTypes, Resources,
};

use super::jobs::slots_of;
use super::plan::YearShape;

const SLOTS_PER_NODE: i64 = 16;
const NODES_PER_RACK: u32 = 40;
/// The leaf of the service; the next one is that of the other jobs.
pub(crate) const SERVICES: &str = "root.services";
pub(crate) const JOBS: &str = "root.jobs";

/// An engine and its nodes.
pub(crate) struct Cluster {
    pub(crate) engine: Engine,
    pub(crate) handle: Handle,
    clock: Arc<ManualClock>,
    known: CommitSeq,
    used: (i64, i64),
}

pub(crate) fn host(node: u32) -> String {
    format!("node-{node:03}")
}

impl Cluster {
    pub(crate) fn start(shape: &YearShape) -> anyhow::Result<Self> {
        let leaf = |name: &str, percent| {
            QueueConfig::leaf(name, Capacity::Percent(Percent::whole(percent))).with_user_limit_factor(None)
        };
        let queues = QueueConfig::root([leaf("services", 30), leaf("jobs", 70)]);
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), queues);
        config.node_order = shape.node_order;
        let clock = Arc::new(ManualClock::new());
        let engine = Engine::start(config, Mode::Serial, clock.clone(), None)?;
        let handle = engine.handle();
        let known = handle.read(|view| view.seq());
        let cluster = Self { engine, handle, clock, known, used: (0, 0) };
        for node in 0..shape.nodes {
            cluster.node_up(node)?;
        }
        Ok(cluster)
    }

    pub(crate) fn slots(nodes: u32) -> i64 {
        SLOTS_PER_NODE * i64::from(nodes)
    }

    pub(crate) fn node_up(&self, node: u32) -> anyhow::Result<()> {
        let spec = NodeSpec::new(host(node), slots_of(SLOTS_PER_NODE));
        self.handle.add_node(spec.on_rack(format!("rack-{}", node / NODES_PER_RACK)))?;
        Ok(())
    }

    pub(crate) fn node_down(&self, node: u32) -> anyhow::Result<()> {
        let node = self.handle.node(&host(node)).context("a node failed that is not registered")?;
        self.handle.remove_node(node)?;
        Ok(())
    }

    pub(crate) fn set_time(&self, now_ms: u64) -> anyhow::Result<()> {
        self.clock.set(now_ms);
        self.handle.tick()?;
        Ok(())
    }

    /// Lets the engine work. Returns whether there was any work.
    pub(crate) fn work(&mut self) -> bool {
        self.engine.run_until_quiet();
        let seq = self.handle.read(|view| view.seq());
        std::mem::replace(&mut self.known, seq) != seq
    }

    /// Number of containers of this size that would fit on the host now; 0 if it is down.
    pub(crate) fn room(&self, host: &str, size: &Resources) -> u32 {
        let Some(node) = self.handle.node(host) else { return 0 };
        self.handle.read(|view| {
            let Some(node) = view.node(node).filter(|node| node.state() == NodeState::Active) else {
                return 0;
            };
            let (mut left, mut room) = (node.free(), 0);
            while size.within(&left) {
                left -= *size;
                room += 1;
            }
            room
        })
    }

    /// Records the present use.
    pub(crate) fn sample(&mut self) {
        self.handle.read(|view| {
            for node in view.nodes() {
                self.used.0 += node.allocated().amounts()[0];
                self.used.1 += node.capacity().amounts()[0];
            }
        });
    }

    /// The mean over all samples.
    pub(crate) fn used_part(&self) -> f64 {
        self.used.0 as f64 / self.used.1.max(1) as f64
    }
}
