//! `apportion-bench throughput`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use serde::Serialize;

use super::Failure;
use crate::output::OutputFile;
use crate::report::count_text;
use crate::throughput::{ClusterShape, FillRecord, fill};
use crate::yardstick::Yardstick;

/// What the engine has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WorkloadName {
    /// So many asks for one container each, by so many calls, into an empty cluster.
    Fill,
}

/// Throughput on the machine's own clock.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example: the shape at which YuniKorn's core was measured to be fastest, beside the yardstick\n  \
apportion-bench throughput --workload fill --nodes 5000 --asks 20000 --leaves 2 --apps 20 --with-limit"
)]
pub(super) struct ThroughputArgs {
    /// What the engine has to do.
    #[arg(long, value_enum, default_value_t = WorkloadName::Fill)]
    workload: WorkloadName,
    /// How many nodes.
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    nodes: u32,
    /// How many applications.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    apps: u32,
    /// How many leaf queues.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    leaves: u32,
    /// How many asks.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    asks: u32,
    /// How many threads propose.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=apportion::PROPOSERS_MAX as i64))]
    proposers: u32,
    /// How many runs, of which the median counts.
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeat: u32,
    /// Runs take turns with the yardstick (see `limit`), and what part of its rate is reached is reported.
    #[arg(long)]
    with_limit: bool,
    /// Seed of everything that is drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the figures as JSON to this file; `-` prints them instead of the lines of text.
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

/// The keys of `--json`, documented in `docs/json.md`.
#[derive(Debug, Serialize)]
struct ThroughputReport {
    workload: &'static str,
    nodes: u32,
    apps: u32,
    leaves: u32,
    asks: u32,
    proposers: u32,
    seed: u64,
    repeat: u32,
    placed: u64,
    elapsed_s: f64,
    allocations_per_second: f64,
    cpu_ns_per_allocation: Option<f64>,
    committed: u64,
    rejected: u64,
    rejected_fraction: f64,
    rejected_by_reason: BTreeMap<&'static str, u64>,
    batch_mean: f64,
    audit_violations: usize,
    limit_allocations_per_second: Option<f64>,
    ratio_to_limit: Option<f64>,
}

pub(super) fn run(args: &ThroughputArgs) -> Result<(), Failure> {
    let json = args.json.as_deref().map(OutputFile::create).transpose().map_err(Failure::input)?;
    let (records, limits) = measure(args)?;
    let report = report(args, &records, &limits);
    if let Some(file) = json {
        file.write_text(&serde_json::to_string_pretty(&report).map_err(Failure::run)?)?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        writeln!(std::io::stdout(), "{}", to_text(&report)).map_err(Failure::run)?;
    }
    match report.audit_violations {
        0 => Ok(()),
        violations => Err(Failure::run(format!("the audit found {violations} violations"))),
    }
}

/// One run more than are counted, since the first one warms up; with the yardstick's rate after each.
fn measure(args: &ThroughputArgs) -> Result<(Vec<FillRecord>, Vec<f64>), Failure> {
    let shape = ClusterShape {
        nodes: args.nodes as usize,
        leaves: args.leaves as usize,
        applications: args.apps as usize,
    };
    let mut yardstick =
        args.with_limit.then(|| Yardstick::new(args.nodes as usize, args.leaves as usize, args.seed));
    let bar = ProgressBar::new(u64::from(args.repeat) + 1);
    let (mut records, mut limits) = (Vec::new(), Vec::new());
    for number in 0..=args.repeat {
        let record = fill(&shape, args.asks as usize, args.proposers as usize, args.seed)?;
        let limit = yardstick.as_mut().map(|yardstick| yardstick.run(Duration::from_secs(1)).per_second());
        if number > 0 {
            records.push(record);
            limits.extend(limit);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((records, limits))
}

fn report(args: &ThroughputArgs, records: &[FillRecord], limits: &[f64]) -> ThroughputReport {
    let rate = |record: &FillRecord| record.placed as f64 / record.elapsed.as_secs_f64();
    let ratios: Vec<f64> = records.iter().zip(limits).map(|(record, limit)| rate(record) / limit).collect();
    let mut sorted: Vec<&FillRecord> = records.iter().collect();
    sorted.sort_by_key(|record| record.elapsed);
    let middle = sorted[sorted.len() / 2];
    ThroughputReport {
        workload: "fill",
        nodes: args.nodes,
        apps: args.apps,
        leaves: args.leaves,
        asks: args.asks,
        proposers: args.proposers,
        seed: args.seed,
        repeat: args.repeat,
        placed: middle.placed,
        elapsed_s: middle.elapsed.as_secs_f64(),
        allocations_per_second: rate(middle),
        cpu_ns_per_allocation: middle.cpu_ns.map(|ns| ns as f64 / middle.placed as f64),
        committed: middle.stats.committed,
        rejected: middle.stats.rejected_total(),
        rejected_fraction: middle.stats.rejected_fraction(),
        rejected_by_reason: middle.stats.rejected.clone(),
        batch_mean: (middle.stats.committed + middle.stats.rejected_total()) as f64
            / middle.stats.batches.max(1) as f64,
        audit_violations: records.iter().map(|record| record.audit_violations).sum(),
        limit_allocations_per_second: median(limits.to_vec()),
        ratio_to_limit: median(ratios),
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn to_text(report: &ThroughputReport) -> String {
    let mut text = format!(
        "{} allocations per second (median of {}), all {} placed, {:.3} % rejected, audit: {} violations",
        count_text(report.allocations_per_second as u64),
        report.repeat,
        count_text(report.placed),
        100.0 * report.rejected_fraction,
        report.audit_violations
    );
    if let Some(ns) = report.cpu_ns_per_allocation {
        text += &format!("\n{} ns of processor time per allocation", count_text(ns as u64));
    }
    if let (Some(limit), Some(ratio)) = (report.limit_allocations_per_second, report.ratio_to_limit) {
        text +=
            &format!("\n{ratio:.3} of the yardstick, which makes {} per second", count_text(limit as u64));
    }
    text
}
