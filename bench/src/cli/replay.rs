//! `apportion-bench replay`.

use std::path::PathBuf;

use apportion::config::EngineConfig;
use apportion::{Mode, NodeOrderKind};
use clap::{Args, ValueEnum};

use super::queues::{config_with_equal_shares, read_queues};
use super::run::{Job, run as run_job};
use super::{Failure, OutputArgs};
use crate::trace::{Format, ReadOptions, Source, read_nodes, read_workload};
use crate::workload::Workload;

/// A trace, a cluster, queues, and how to run.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Without --nodes the cluster is the trace's own: the hosts it names (sls, rumen), its \
num_nodes (synth), 3,000 or 600 nodes of 8 vcores and 32 GiB (swim of 2010 and 2009). OpenB always needs --nodes.\n\
Without --queues there is one leaf for each queue that jobs name, with equal shares and no limit per user.\n\n\
Example:\n  apportion-bench replay --format openb --nodes nodes.csv.gz --workload pods.csv.gz --compress 275 \
--report report.html"
)]
pub(super) struct ReplayArgs {
    /// The trace's format: openb, sls, rumen, synth or swim.
    #[arg(long, value_name = "FORMAT")]
    format: Format,
    /// The trace; read directly if its name ends in .gz.
    #[arg(long, value_name = "FILE")]
    workload: PathBuf,
    /// The cluster: OpenB's node table, or a node file of YARN's simulator.
    #[arg(long, value_name = "FILE")]
    nodes: Option<PathBuf>,
    /// The queues: a native TOML file, or YARN's capacity-scheduler.xml.
    #[arg(long, value_name = "FILE")]
    queues: Option<PathBuf>,
    /// `serial`: one thread, the same log for the same input. `parallel`: a committer and proposers.
    #[arg(long, value_enum, default_value_t = ModeArg::Serial)]
    mode: ModeArg,
    /// How many threads propose in parallel mode.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    proposers: u32,
    /// Decides what the trace leaves open: task counts and times (synth), sizes and times (swim).
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Divides submission times, so that more runs at once; durations stay.
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = compression)]
    compress: f64,
    /// Which of the nodes that fit comes first; overrides the file given with --queues.
    #[arg(long, value_enum)]
    node_order: Option<NodeOrderArg>,
    /// The step of virtual time: what happens between two ticks happens at the later one.
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    tick: u64,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeArg {
    Serial,
    Parallel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NodeOrderArg {
    Spread,
    Pack,
    First,
}

pub(super) fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let workload = read(args)?;
    let mut config = match &args.queues {
        Some(path) => read_queues(path, &workload.resources)?,
        None => config_with_equal_shares(&workload),
    };
    apply_node_order(&mut config, args.node_order);
    let mode = match args.mode {
        ModeArg::Serial => Mode::Serial,
        ModeArg::Parallel => Mode::Parallel { proposers: args.proposers as usize },
    };
    let job = Job {
        name: args.format.to_string(),
        workload: &workload,
        config,
        mode,
        tick_ms: args.tick,
        seed: args.seed,
    };
    run_job(job, &args.output)
}

fn read(args: &ReplayArgs) -> Result<Workload, Failure> {
    let options = ReadOptions { seed: args.seed, ..ReadOptions::default() };
    let source = Source::open(&args.workload).map_err(Failure::input)?;
    let mut workload = read_workload(args.format, source, &options).map_err(Failure::input)?;
    if let Some(path) = &args.nodes {
        let source = Source::open(path).map_err(Failure::input)?;
        workload.nodes = read_nodes(args.format, source).map_err(Failure::input)?;
    }
    if workload.nodes.is_empty() {
        let problem =
            format!("{}: names no nodes; give the cluster with --nodes FILE", args.workload.display());
        return Err(Failure::input(problem));
    }
    workload.compress(args.compress);
    Ok(workload)
}

fn apply_node_order(config: &mut EngineConfig, order: Option<NodeOrderArg>) {
    config.node_order = match order {
        None => return,
        Some(NodeOrderArg::Spread) => NodeOrderKind::Spread,
        Some(NodeOrderArg::Pack) => NodeOrderKind::Pack,
        Some(NodeOrderArg::First) => NodeOrderKind::First,
    };
}

fn compression(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(factor),
        _ => Err("a number above 0 is needed, 275 for instance".into()),
    }
}
