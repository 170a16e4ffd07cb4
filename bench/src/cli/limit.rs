//! `apportion-bench limit`.

mod cycle;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use apportion_load::GoOn;
use clap::Args;
use serde::Serialize;

use super::Failure;
use crate::interrupt::{Interruptible, Interruption};
use crate::output::OutputFile;
use crate::report::{count_text, counted, interrupted_line, leaves_text};
use crate::yardstick::Yardstick;

/// The options of the yardstick.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples: the rate of this machine, and that of one thread that does everything an engine must\n  \
apportion-bench limit --seconds 5\n  \
apportion-bench limit --cycle\n  \
apportion-bench limit --cycle --nodes 5000 --leaves 2 --apps 20 --asks 20000"
)]
pub(super) struct LimitArgs {
    /// Number of nodes.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    nodes: u32,
    /// Number of leaf queues, below four levels of other queues; with --cycle in the tree of `throughput`.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    leaves: u32,
    /// Run the full cycle of each container instead: ask, propose, accept and apply, end, on the cluster of
    /// `throughput`.
    #[arg(long)]
    cycle: bool,
    /// Number of applications [default: 200].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000), requires = "cycle")]
    apps: Option<u32>,
    /// Fill an empty cluster with this many asks, again and again, as `throughput --workload fill`.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000), requires = "cycle")]
    asks: Option<u32>,
    /// Duration of a slice; the median of the slices counts.
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// Number of slices.
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeat: u32,
    /// Seed of all random values.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the figures as JSON to this file; `-` prints them instead of the line of text.
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

/// The keys of `--json`, documented in `docs/json.md`.
#[derive(Debug, Serialize)]
struct LimitReport {
    nodes: u32,
    leaves: u32,
    seed: u64,
    allocations: u64,
    elapsed_s: f64,
    limit_allocations_per_second: f64,
    interrupted_at_s: Option<Interruption>,
}

/// Parses a time above zero and below an implausible length.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86_400.0 => Ok(seconds),
        _ => Err("a number of seconds above 0, at most 86400, was expected".to_owned()),
    }
}

pub(super) fn run(args: &LimitArgs) -> Result<(), Failure> {
    let json = args.json.as_deref().map(OutputFile::create).transpose().map_err(Failure::input)?;
    if args.cycle {
        return cycle::run(args, json);
    }
    let mut yardstick = Yardstick::new(args.nodes as usize, args.leaves as usize, args.seed);
    let slice = Duration::from_secs_f64(args.seconds);
    yardstick.run(slice.min(Duration::from_millis(200)));
    let (mut rates, interruption) = slices(args.repeat, |go_on| yardstick.run_while(slice, go_on));
    rates.sort_by(|a, b| a.per_second().total_cmp(&b.per_second()));
    let report = LimitReport {
        nodes: args.nodes,
        leaves: args.leaves,
        seed: args.seed,
        allocations: rates.iter().map(|rate| rate.allocations).sum(),
        elapsed_s: rates.iter().map(|rate| rate.elapsed.as_secs_f64()).sum(),
        limit_allocations_per_second: rates[rates.len() / 2].per_second(),
        interrupted_at_s: interruption,
    };
    if let Some(file) = json {
        file.write_text(&serde_json::to_string_pretty(&report).map_err(Failure::run)?)?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        let rate = count_text(report.limit_allocations_per_second as u64);
        let (nodes, leaves) = (counted(args.nodes.into(), "node"), leaves_text(args.leaves.into()));
        let line = format!(
            "{}{rate} allocations per second, one thread, plain arrays, {nodes}, {leaves}",
            interrupted_line(interruption)
        );
        writeln!(std::io::stdout(), "{line}").map_err(Failure::output)?;
    }
    Failure::of_interruption(interruption)
}

/// The slices that count, at least one. A slice that a signal cut short counts only if it is the first.
fn slices<R>(repeat: u32, mut run: impl FnMut(GoOn<'_>) -> R) -> (Vec<R>, Option<Interruption>) {
    let interruptible = Interruptible::begin();
    let begun = Instant::now();
    let mut rates = Vec::new();
    for _ in 0..repeat {
        let rate = run(&|| interruptible.flow());
        if !interruptible.is_stopped() || rates.is_empty() {
            rates.push(rate);
        }
        if interruptible.is_stopped() {
            return (rates, Some(Interruption::measured_since(begun)));
        }
    }
    (rates, None)
}
