//! `apportion-bench demo`.

use std::path::PathBuf;

use apportion::Mode;
use apportion::config::{EngineConfig, QueueConfig};
use clap::Args;

use super::mode::ModeArg;
use super::preemption::PreemptionArg;
use super::run::{Job, run as run_job};
use super::{Failure, OutputArgs};
use crate::synthetic::SteadyStream;

/// The built-in cluster and workload.
#[derive(Clone, Debug, Args)]
pub(super) struct DemoArgs {
    /// Nodes of 32 vcores and 128 GiB.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    nodes: u32,
    /// How long jobs keep arriving, in seconds of virtual time.
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Which threads do the engine's work [default: parallel].
    #[arg(long, value_enum)]
    mode: Option<ModeArg>,
    /// Number of proposer threads; parallel mode only [default: 2]. Without --mode, 0 stands for serial mode.
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=64))]
    proposers: Option<u32>,
    /// Seed of the workload.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Whether the engine preempts containers, with YARN's defaults.
    #[arg(long, value_enum, default_value_t = PreemptionArg::Off)]
    preemption: PreemptionArg,
    #[command(flatten)]
    output: OutputArgs,
}

impl Default for DemoArgs {
    fn default() -> Self {
        let output = OutputArgs::default();
        let preemption = PreemptionArg::Off;
        Self { nodes: 2_000, seconds: 120, mode: None, proposers: None, seed: 1, preemption, output }
    }
}

pub(super) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let stream = SteadyStream {
        nodes: args.nodes as usize,
        span_ms: args.seconds * 1_000,
        mean_duration_ms: 5_000,
        seed: args.seed,
    };
    let workload = stream.workload();
    if workload.jobs.is_empty() {
        return Err(Failure::input(format!(
            "no job arrives in {} s for --nodes {}, so there is nothing to show; give more of either",
            args.seconds, args.nodes
        )));
    }
    let queues = workload.queues.clone().unwrap_or_else(QueueConfig::single_leaf);
    let mut config = EngineConfig::new(workload.resources.clone(), queues);
    args.preemption.kind().apply_to(&mut config);
    let mode = match (args.mode, args.proposers) {
        (None, Some(0)) => Mode::Serial,
        (mode, proposers) => ModeArg::or(mode, proposers, ModeArg::Parallel)?,
    };
    let job = Job {
        name: "demo".into(),
        source: "the demo".into(),
        workload: &workload,
        config,
        mode,
        compress: 1.0,
        compress_durations: 1.0,
        tick_ms: 100,
        seed: args.seed,
        as_gangs: true,
    };
    let mut output = args.output.clone();
    output.report.get_or_insert_with(|| PathBuf::from("report.html"));
    output.check_distinct(&[])?;
    run_job(job, &output)
}
