//! Memory that a cluster takes, as the operating system reports it for this process.

use crate::process::resident_bytes;

/// Growth of resident memory with nodes and with containers, of everything in this process: the engine, and the
/// caller's records of each. Valid only for the first cluster of a process; later ones reuse freed memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    before: Option<u64>,
    /// Per node, including its name and a share of queues and applications; `None` where the system does not report it.
    pub bytes_per_node: Option<f64>,
    /// Per container; `None` where the system does not report it.
    pub bytes_per_container: Option<f64>,
}

impl Memory {
    pub(crate) fn before_nodes() -> Self {
        Self { before: resident_bytes(), ..Self::default() }
    }

    pub(crate) fn record_nodes(&mut self, nodes: usize) {
        self.bytes_per_node = self.more_since(nodes);
        self.before_fill();
    }

    /// Starts the containers' measurement: memory in use up to now does not count.
    pub(crate) fn before_fill(&mut self) {
        self.before = resident_bytes();
    }

    pub(crate) fn record_fill(&mut self, containers: usize) {
        self.bytes_per_container = self.more_since(containers);
    }

    fn more_since(&self, count: usize) -> Option<f64> {
        let more = resident_bytes()?.saturating_sub(self.before?);
        (count > 0).then(|| more as f64 / count as f64)
    }
}
