//! What it takes to hold a cluster, by what the system says of this process.

use crate::process::resident_bytes;

/// Resident memory that came with nodes and with containers, of everything in this process: the engine, and what
/// the caller notes about each. Right for the first cluster of a process; later ones live in what others left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    before: Option<u64>,
    /// Per node, with its name, and with queues and applications; `None` where the system does not say.
    pub bytes_per_node: Option<f64>,
    /// Per container, likewise.
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

    /// What was used up to now does not count as the containers'.
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
