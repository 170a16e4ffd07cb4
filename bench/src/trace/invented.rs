//! The parts of a workload that its trace does not specify.

use super::cluster::{CONTAINER_MEMORY_MIB, CONTAINER_VCORES, NODE_MEMORY_MIB, NODE_VCORES};
use super::{Format, ReadOptions, philly, swim};

/// The made-up values, in sentences for reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invented {
    /// About jobs.
    pub jobs: Option<String>,
    /// About the cluster, unless its nodes were read from a file.
    pub nodes: Option<String>,
}

impl Invented {
    /// The values that the reader of a format adds.
    pub(super) fn of(format: Format, options: &ReadOptions) -> Self {
        let seed = options.seed;
        let container = format!("{} GiB and {CONTAINER_VCORES} vcore", CONTAINER_MEMORY_MIB >> 10);
        let node = format!(
            "{} GiB and {NODE_VCORES} vcores, the defaults of YARN's simulator",
            NODE_MEMORY_MIB >> 10
        );
        let (jobs, nodes) = match format {
            Format::Openb => return Self::default(),
            Format::Sls => (
                format!("Where the trace gives no size, a container has {container}."),
                format!("Each host that the trace names is a node of {node}."),
            ),
            Format::Rumen => (
                format!("The trace gives no sizes: every container has {container}."),
                format!("Each host that the trace names is a node of {node}."),
            ),
            Format::Synth => (
                format!(
                    "Jobs are drawn from the trace's distributions with seed {seed}; masters have {container}."
                ),
                format!("The nodes have {node}."),
            ),
            Format::Swim => (swim::invented_jobs(seed), swim::invented_nodes()),
            Format::Philly => (philly::invented_jobs(options), philly::invented_nodes(options)),
        };
        Self { jobs: Some(jobs), nodes: Some(nodes) }
    }

    /// The sentences.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        self.jobs.iter().chain(&self.nodes).cloned().collect()
    }
}
