//! `apportion-bench replay`.

use clap::{Args, ValueEnum};

use super::mode::ModeArg;
use super::run::{Job, run as run_job};
use super::trace::{TraceArgs, compression};
use super::{Failure, OutputArgs};

/// A trace, and how to run it.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Without --nodes the cluster is the trace's own:\n  sls, rumen  the hosts that it names\n  \
synth       its num_nodes\n  swim        3,000 nodes of 8 vcores and 32 GiB; 600 if the file is called FB-2009...\n  \
philly      500 nodes of 8 GPUs\n  openb       always needs --nodes\n\n\
Without --queues there is one leaf for each queue that jobs name, without a limit per user. The leaves have equal shares; \
those of philly have shares in proportion to the GPUs that their jobs ask for.\n\n\
Examples:\n  apportion-bench replay --format openb --nodes nodes.csv.gz --workload pods.csv.gz --compress 275 \
--report report.html\n  apportion-bench replay --format philly --workload philly --compress 50 --preemption on --report gangs.html"
)]
pub(super) struct ReplayArgs {
    #[command(flatten)]
    trace: TraceArgs,
    /// Which threads do the engine's work.
    #[arg(long, value_enum, default_value_t = ModeArg::Serial)]
    mode: ModeArg,
    /// Number of proposer threads; parallel mode only [default: 2].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=64))]
    proposers: Option<u32>,
    /// Divides submission times, so that more jobs run at once. Durations stay: containers that ran for weeks still do,
    /// and the run ends with a long tail. See --compress-durations.
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = compression)]
    compress: f64,
    /// Divides container durations. With the same factor as --compress the whole trace runs faster.
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = compression)]
    compress_durations: f64,
    /// Whether jobs of several containers that work together (philly) are submitted as gangs. Without gangs their
    /// containers are placed one by one, and the first wait for the last.
    #[arg(long, value_enum, default_value_t = GangsArg::On)]
    gangs: GangsArg,
    #[command(flatten)]
    output: OutputArgs,
}

/// Whether gangs are submitted as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GangsArg {
    On,
    Off,
}

pub(super) fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let mode = args.mode.with(args.proposers)?;
    args.output.check_distinct(&args.trace.files.inputs())?;
    let (mut workload, config) = args.trace.read()?;
    workload.compress(args.compress);
    workload.compress_durations(args.compress_durations);
    let job = Job {
        name: args.trace.files.format.to_string(),
        source: args.trace.files.source(),
        workload: &workload,
        config,
        mode,
        compress: args.compress,
        compress_durations: args.compress_durations,
        tick_ms: args.trace.tick,
        seed: args.trace.seed,
        as_gangs: args.gangs == GangsArg::On,
    };
    run_job(job, &args.output)
}
