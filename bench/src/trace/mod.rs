//! Trace readers: they turn published formats into [`Workload`]s.
//!
//! One file for each format. `source` and `json_stream` provide the bytes, `field`, `record` and `table` parse
//! them by name, `cluster` and `stage` turn the values into nodes and jobs. No content of a file makes a reader
//! panic or, within [`ReadOptions::containers_max`], run out of memory.

mod budget;
mod cluster;
mod error;
mod field;
pub mod fuzz;
mod invented;
mod json_stream;
mod number;
mod openb;
mod philly;
mod record;
mod rumen;
mod sls;
mod source;
mod stage;
mod swim;
mod synth;
mod table;
mod topology;

use std::fmt;
use std::str::FromStr;

use apportion::config::QueueConfig;
use apportion::{NodeSpec, ResourceTypes};

use self::budget::Budget;
use self::cluster::Nodes;
pub use self::error::{Place, TraceError, UnknownFormat};
pub use self::invented::Invented;
pub use self::openb::GPU_MODEL;
pub use self::philly::{PhillyFiles, RunTimes};
pub use self::source::Source;
use crate::workload::{Job, Workload};

/// A published trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Tables of Alibaba's OpenB GPU cluster.
    Openb,
    /// Job traces of YARN's scheduler load simulator.
    Sls,
    /// Job traces that Rumen makes from Hadoop's job history.
    Rumen,
    /// Distributions to draw jobs from, also of YARN's simulator.
    Synth,
    /// SWIM's samples of Facebook's MapReduce clusters.
    Swim,
    /// The jobs of Microsoft's Philly GPU clusters.
    Philly,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 6] = [Self::Openb, Self::Sls, Self::Rumen, Self::Synth, Self::Swim, Self::Philly];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Openb => "openb",
            Self::Sls => "sls",
            Self::Rumen => "rumen",
            Self::Synth => "synth",
            Self::Swim => "swim",
            Self::Philly => "philly",
        }
    }

    /// Whether the reader draws values with [`ReadOptions::seed`].
    #[must_use]
    pub fn is_drawn(self) -> bool {
        matches!(self, Self::Synth | Self::Swim | Self::Philly)
    }

    /// Whether the reader makes up a cluster of [`ReadOptions::node_count`] nodes.
    #[must_use]
    pub fn has_node_count(self) -> bool {
        matches!(self, Self::Swim | Self::Philly)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let found = Self::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

/// Options that a reader cannot take from the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Seed of values that a format does not specify (SYNTH, SWIM, Philly). With the same file and seed the
    /// workload is the same.
    pub seed: u64,
    /// Nodes of the cluster of a SWIM or Philly trace. Without it, SWIM has 600 if the file's name contains `FB-2009`
    /// and 3,000 if not, and Philly has 500.
    pub node_count: Option<u32>,
    /// The run times from which durations of a Philly trace are drawn; needed for that format.
    pub run_times: RunTimes,
    /// The most containers of a workload, including masters; one more is an error.
    pub containers_max: u64,
}

impl Default for ReadOptions {
    /// Seed 0, the cluster by name, at most 10 million containers: under 10 GB even if each is a job.
    fn default() -> Self {
        Self { seed: 0, node_count: None, run_times: RunTimes::default(), containers_max: 10_000_000 }
    }
}

/// Reads jobs, and the cluster if the format describes it (OpenB does not).
///
/// Jobs are sorted by ascending time of submission; jobs with the same time stay in file order.
///
/// # Errors
/// When the file cannot be read, is not in this format, has an impossible value, or has no job.
pub fn read_workload(
    format: Format,
    source: Source<'_>,
    options: &ReadOptions,
) -> Result<Workload, TraceError> {
    let file = source.name().to_owned();
    let mut budget = Budget::new(options.containers_max);
    let mut queues: Option<QueueConfig> = None;
    let (nodes, mut jobs): (Nodes, Vec<Job>) = match format {
        Format::Openb => (Nodes::default(), openb::read_jobs(source, &mut budget)?),
        Format::Sls => sls::read(source, &mut budget)?,
        Format::Rumen => rumen::read(source, &mut budget)?,
        Format::Synth => synth::read(source, options, &mut budget)?,
        Format::Swim => swim::read(source, options, &mut budget)?,
        Format::Philly => {
            let (nodes, tree, jobs) = philly::read(source, options, &mut budget)?;
            queues = Some(tree);
            (nodes, jobs)
        }
    };
    if jobs.is_empty() {
        return Err(TraceError::new(file, "has no jobs; at least one is needed"));
    }
    jobs.sort_by_key(|job| job.submit_ms);
    let resources = match format {
        Format::Openb => openb::resource_types(),
        Format::Philly => philly::resource_types(),
        _ => Ok(ResourceTypes::memory_and_vcores()),
    };
    let resources = resources.map_err(|error| TraceError::new(file, error.to_string()))?;
    let invented = Invented::of(format, options);
    Ok(Workload { resources, nodes: nodes.into_specs(), queues, jobs, invented })
}

/// Reads a list of nodes: the node table of OpenB, and for all other formats but Philly the node file of YARN's
/// simulator. Amounts are in the resource types that [`read_workload`] gives for the same format.
///
/// # Errors
/// When the file cannot be read, is not such a list, has an impossible value, or has no node. When the format has no
/// list of nodes.
pub fn read_nodes(format: Format, source: Source<'_>) -> Result<Vec<NodeSpec>, TraceError> {
    let file = source.name().to_owned();
    let nodes = match format {
        Format::Openb => openb::read_nodes(source)?,
        Format::Sls | Format::Rumen | Format::Synth | Format::Swim => topology::read_nodes(source)?,
        Format::Philly => {
            let message = "the nodes of a Philly cluster are equal: give their number instead of a list";
            return Err(TraceError::new(file, message));
        }
    };
    let specs = nodes.into_specs();
    if specs.is_empty() {
        return Err(TraceError::new(file, "has zero nodes; at least one is needed"));
    }
    Ok(specs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_go_by_name() {
        for format in Format::ALL {
            assert_eq!(format.to_string().to_uppercase().parse(), Ok(format));
        }
        let error = "sinth".parse::<Format>().unwrap_err();
        assert_eq!(error.to_string(), "unknown trace format `sinth`; did you mean `synth`?");
    }
}
