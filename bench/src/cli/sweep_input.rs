//! The input of a sweep: a trace's files, or the demo.

use std::path::{Path, PathBuf};

use apportion::config::{EngineConfig, QueueConfig};
use clap::Args;

use super::Failure;
use super::trace::{FormatParser, TraceFiles};
use crate::report::counted;
use crate::sweep::{Source, Subject, Variant};
use crate::synthetic::SteadyStream;
use crate::trace::Format;
use crate::workload::Workload;

/// The demo, or the files of a trace.
#[derive(Clone, Debug, Args)]
#[command(group(clap::ArgGroup::new("source").required(true)))]
pub(super) struct WorkloadArgs {
    /// The demo's workload instead of a trace. It has this number of nodes (500 if no number is given), of 32 vcores
    /// and 128 GiB. Its jobs arrive for a minute of virtual time.
    #[arg(long, value_name = "NODES", num_args = 0..=1, default_missing_value = "500")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    #[arg(group = "source", conflicts_with_all = ["format", "workload", "nodes", "queues"])]
    demo: Option<u32>,
    /// The trace's format: openb, sls, rumen, synth, swim or philly.
    #[arg(long, group = "source", requires = "workload", hide_possible_values = true, value_parser = FormatParser)]
    format: Option<Format>,
    /// The trace; read directly if its name ends in .gz.
    #[arg(long, value_name = "FILE", requires = "format")]
    workload: Option<PathBuf>,
    /// The cluster: OpenB's node table, or a node file of YARN's simulator.
    #[arg(long, value_name = "FILE")]
    nodes: Option<PathBuf>,
    /// The queues: a native TOML file, YARN's capacity-scheduler.xml, or YuniKorn's queues.yaml. Given several times,
    /// the files are compared.
    #[arg(long, value_name = "FILE")]
    queues: Vec<PathBuf>,
    /// The step of virtual time: an event between two ticks takes effect at the later one.
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    tick: u64,
}

/// The simulated workloads.
pub(super) struct Input {
    pub(super) subject: Subject,
    /// The trace's format, or `demo`.
    pub(super) format: String,
    /// The trace's file, for messages.
    pub(super) name: String,
}

/// How long jobs of the demo keep arriving, and their mean run time.
const DEMO_SPAN_MS: u64 = 60_000;
const DEMO_DURATION_MS: u64 = 5_000;
/// The largest number of nodes of a cluster.
const NODES_MAX: f64 = 1_000_000.0;

impl WorkloadArgs {
    /// The input files, with the options that name them.
    pub(super) fn inputs(&self) -> Vec<(&str, &Path)> {
        let one = [("--workload", &self.workload), ("--nodes", &self.nodes)];
        let one = one.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)));
        one.chain(self.queues.iter().map(|path| ("--queues", path.as_path()))).collect()
    }

    /// The queue files to compare.
    pub(super) fn queues(&self) -> &[PathBuf] {
        &self.queues
    }

    /// Reads the input, once for each seed, and checks that no cluster is too large.
    pub(super) fn read(&self, seeds: &[u64], sizes: &[f64]) -> Result<Input, Failure> {
        let input = match (self.format, &self.workload) {
            (Some(format), Some(workload)) => {
                trace(&self.files(format, workload), &self.queues, seeds, self.tick)?
            }
            _ => demo(self.demo.unwrap_or_default() as usize, self.tick),
        };
        let nodes = match &input.subject.source {
            Source::Drawn(stream) => stream.nodes,
            Source::Read(workloads) => workloads.iter().map(|(_, w)| w.nodes.len()).max().unwrap_or(0),
        };
        match sizes.iter().find(|size| **size * nodes as f64 > NODES_MAX) {
            Some(size) => Err(Failure::input(format!(
                "--sizes {size}: {} become {}; no cluster has more than {NODES_MAX}",
                counted(nodes as u64, "node"),
                nodes as f64 * size
            ))),
            None => Ok(input),
        }
    }

    fn files(&self, format: Format, workload: &Path) -> TraceFiles {
        TraceFiles {
            format,
            workload: workload.to_owned(),
            nodes: self.nodes.clone(),
            node_count: None,
            queues: None,
        }
    }
}

fn trace(files: &TraceFiles, queues: &[PathBuf], seeds: &[u64], tick_ms: u64) -> Result<Input, Failure> {
    if let ([first, _, ..], false) = (seeds, files.format.is_drawn()) {
        return Err(Failure::input(format!(
            "--seeds: a trace in the format {} has no random values, so every run would equal that with {first}; give one seed",
            files.format
        )));
    }
    let read = |seed: &u64| Ok((*seed, files.read_workload(*seed)?));
    let workloads = seeds.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let first = workloads.first().ok_or_else(|| Failure::input("--seeds: at least one is needed"))?;
    let variants = variants(files, queues, &first.1)?;
    let subject = Subject { source: Source::Read(workloads), variants, tick_ms, compress_durations: 1.0 };
    Ok(Input { subject, format: files.format.to_string(), name: files.source() })
}

/// The configuration in each queue file, by the file's name, or by its path where names are the same.
fn variants(files: &TraceFiles, queues: &[PathBuf], workload: &Workload) -> Result<Vec<Variant>, Failure> {
    if queues.is_empty() {
        return Ok(vec![Variant { queues: None, config: files.read_config(workload)? }]);
    }
    let is_unique =
        |path: &Path| queues.iter().filter(|other| other.file_name() == path.file_name()).count() < 2;
    let variant = |path: &PathBuf| {
        let short = path.file_name().filter(|_| is_unique(path));
        let name = short.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
        let files = TraceFiles { queues: Some(path.clone()), ..files.clone() };
        Ok(Variant { queues: Some(name.into()), config: files.read_config(workload)? })
    };
    queues.iter().map(variant).collect()
}

fn demo(nodes: usize, tick_ms: u64) -> Input {
    let stream = SteadyStream { nodes, span_ms: DEMO_SPAN_MS, mean_duration_ms: DEMO_DURATION_MS, seed: 0 };
    let workload = SteadyStream { nodes: 1, ..stream }.workload();
    let queues = workload.queues.unwrap_or_else(QueueConfig::single_leaf);
    let config = EngineConfig::new(workload.resources, queues);
    let variants = vec![Variant { queues: None, config }];
    let subject = Subject { source: Source::Drawn(stream), variants, tick_ms, compress_durations: 1.0 };
    Input { subject, format: "demo".into(), name: "the demo".into() }
}
