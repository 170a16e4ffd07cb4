//! The arguments that name a trace, its cluster and its queues, and the readers of these files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use apportion::config::{EngineConfig, NodeOrderKind};
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Args, ValueEnum};

use super::Failure;
use super::preemption::PreemptionArg;
use super::queues::{config_of, read_queues};
use crate::trace::{Format, PhillyFiles, ReadOptions, RunTimes, Source, read_nodes, read_workload};
use crate::workload::Workload;

/// A trace, a cluster and queues.
#[derive(Clone, Debug, Args)]
pub(super) struct TraceArgs {
    #[command(flatten)]
    pub(super) files: TraceFiles,
    /// Seed of values that the trace does not specify: task counts and times (synth), sizes and times (swim), times
    /// (philly).
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
    /// Which of the fitting nodes comes first; overrides the file given with --queues.
    #[arg(long, value_enum)]
    node_order: Option<NodeOrderArg>,
    /// Whether the engine preempts containers; by default as in the file given with --queues. `on` takes the settings
    /// of that file, or YARN's defaults if it has none. A preempted task starts again from zero.
    #[arg(long, value_enum)]
    preemption: Option<PreemptionArg>,
    /// The step of virtual time: an event between two ticks takes effect at the later one.
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    pub(super) tick: u64,
}

/// The files of a trace.
#[derive(Clone, Debug, Args)]
pub(super) struct TraceFiles {
    /// The trace's format: openb, sls, rumen, synth, swim or philly.
    #[arg(long, value_name = "FORMAT", hide_possible_values = true, value_parser = FormatParser)]
    pub(super) format: Format,
    /// The trace; read directly if its name ends in .gz. Of philly: the table of jobs or its folder, which has the
    /// table of run times too.
    #[arg(long, value_name = "FILE")]
    pub(super) workload: PathBuf,
    /// The cluster: OpenB's node table, or a node file of YARN's simulator.
    #[arg(long, value_name = "FILE")]
    pub(super) nodes: Option<PathBuf>,
    /// The number of nodes (swim, philly), instead of a list.
    #[arg(long, value_name = "N", conflicts_with = "nodes", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) node_count: Option<u32>,
    /// The queues: a native TOML file, YARN's capacity-scheduler.xml, or YuniKorn's queues.yaml.
    #[arg(long, value_name = "FILE")]
    pub(super) queues: Option<PathBuf>,
}

/// Reads the name of a format. Completions offer all names.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormatParser;

impl TypedValueParser for FormatParser {
    type Value = Format;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Format, clap::Error> {
        Format::from_str.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Format::ALL.into_iter().map(|format| PossibleValue::new(format.name()))))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum NodeOrderArg {
    Spread,
    Pack,
    First,
}

impl TraceArgs {
    /// The workload with its nodes, and the engine's configuration with its queues.
    pub(super) fn read(&self) -> Result<(Workload, EngineConfig), Failure> {
        let workload = self.files.read_workload(self.seed)?;
        let mut config = self.files.read_config(&workload)?;
        if let Some(order) = self.node_order {
            config.node_order = order.kind();
        }
        if let Some(preemption) = self.preemption {
            preemption.kind().apply_to(&mut config);
        }
        Ok((workload, config))
    }
}

impl TraceFiles {
    /// The workload's file, for messages.
    pub(super) fn source(&self) -> String {
        self.workload.display().to_string()
    }

    /// The input files, with the options that name them.
    pub(super) fn inputs(&self) -> Vec<(&str, &Path)> {
        let all = [
            ("--workload", Some(&self.workload)),
            ("--nodes", self.nodes.as_ref()),
            ("--queues", self.queues.as_ref()),
        ];
        all.into_iter().filter_map(|(option, path)| Some((option, path?.as_path()))).collect()
    }

    /// The engine's configuration with the given queues, those of the trace, or equal shares for the queues that jobs
    /// name.
    pub(super) fn read_config(&self, workload: &Workload) -> Result<EngineConfig, Failure> {
        match &self.queues {
            Some(path) => read_queues(path, &workload.resources),
            None => Ok(config_of(workload)),
        }
    }

    /// The workload with its nodes.
    pub(super) fn read_workload(&self, seed: u64) -> Result<Workload, Failure> {
        if let Some(count) = self.node_count.filter(|_| !self.format.has_node_count()) {
            let format = self.format;
            return Err(Failure::input(format!(
                "--node-count {count}: only swim and philly have it; a cluster for {format} is given with --nodes FILE"
            )));
        }
        let mut options = ReadOptions { seed, node_count: self.node_count, ..ReadOptions::default() };
        let mut jobs = None;
        if self.format == Format::Philly {
            let files = PhillyFiles::at(&self.workload);
            // The jobs first: a wrong path lacks both tables.
            jobs = Some(files.open_jobs().map_err(Failure::input)?);
            let run_times = files.open_run_times().map_err(Failure::input)?;
            options.run_times = RunTimes::read(run_times).map_err(Failure::input)?;
        }
        let source = match jobs {
            Some(jobs) => jobs,
            None => Source::open(&self.workload).map_err(Failure::input)?,
        };
        let mut workload = read_workload(self.format, source, &options).map_err(Failure::input)?;
        if let Some(path) = &self.nodes {
            let source = Source::open(path).map_err(Failure::input)?;
            workload.nodes = read_nodes(self.format, source).map_err(Failure::input)?;
            workload.invented.nodes = None;
        }
        if workload.nodes.is_empty() {
            let file = self.workload.display();
            return Err(Failure::input(format!(
                "{file}: the trace names no nodes; give the cluster with --nodes FILE"
            )));
        }
        Ok(workload)
    }
}

impl NodeOrderArg {
    pub(super) fn kind(self) -> NodeOrderKind {
        match self {
            Self::Spread => NodeOrderKind::Spread,
            Self::Pack => NodeOrderKind::Pack,
            Self::First => NodeOrderKind::First,
        }
    }
}

/// Outside this range, all times are zero or too large to count.
const COMPRESSION: std::ops::RangeInclusive<f64> = 0.000_001..=1_000_000_000_000.0;

/// Parses a divisor of times.
pub(super) fn compression(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if COMPRESSION.contains(&factor) => Ok(factor),
        _ => Err(format!(
            "a number from {} to {} is needed, 275 for instance",
            COMPRESSION.start(),
            COMPRESSION.end()
        )),
    }
}
