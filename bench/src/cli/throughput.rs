//! `apportion-bench throughput`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use apportion::Mode;
use clap::{Args, ValueEnum};
use hdrhistogram::Histogram;
use indicatif::ProgressBar;
use serde::Serialize;

use super::Failure;
use super::limit::seconds;
use crate::output::OutputFile;
use crate::report::count_text;
use crate::throughput::{Churn, ClusterShape, Record, Setup, fill};
use crate::yardstick::Yardstick;

/// How long the yardstick runs between two runs of the engine.
const LIMIT_SLICE: Duration = Duration::from_secs(1);
/// Of a hundred asks, as in W4a of `workloads.md`.
const LOCATED_PERCENT: u32 = 60;
/// How long a cluster churns before anything is measured.
const WARM_UP: Duration = Duration::from_secs(1);

/// What the engine has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum WorkloadName {
    /// So many asks for one container each, by so many calls, into an empty cluster.
    Fill,
    /// A cluster in use to 85 %, where each container that completes is asked for again.
    Churn,
    /// The same, where six of ten asks name three hosts.
    Constrained,
}

/// Throughput on the machine's own clock.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples: the shape at which YuniKorn's core was measured to be fastest, and a busy cluster, each beside \
                  the yardstick\n  \
apportion-bench throughput --workload fill --nodes 5000 --asks 20000 --leaves 2 --apps 20 --with-limit\n  \
apportion-bench throughput --workload churn --nodes 10000 --with-limit\n\nHow long 100,000 asks a second wait for their containers:\n  \
apportion-bench throughput --workload churn --rate 100000 --seconds 2"
)]
pub(super) struct ThroughputArgs {
    /// What the engine has to do.
    #[arg(long, value_enum, default_value_t = WorkloadName::Churn)]
    workload: WorkloadName,
    /// How many nodes, a tenth of them in a partition of their own [default: 5000 for fill, 10000 otherwise].
    #[arg(long, value_parser = clap::value_parser!(u32).range(10..=10_000_000))]
    nodes: Option<u32>,
    /// How many applications [default: 20 for fill, 200 otherwise].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    apps: Option<u32>,
    /// How many leaf queues [default: 2 for fill, 20 otherwise].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    leaves: Option<u32>,
    /// How many asks, of fill [default: 20000].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    asks: Option<u32>,
    /// How long a run takes, of all but fill [default: 1].
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<f64>,
    /// So many asks per second, however long the answers take; says how long they took. Of all but fill.
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=100_000_000), conflicts_with = "with_limit")]
    rate: Option<u32>,
    /// How many threads propose.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=apportion::PROPOSERS_MAX as i64))]
    proposers: u32,
    /// How many requests a batch may hold [default: the engine's].
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    batch: Option<u32>,
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

impl ThroughputArgs {
    fn asks(&self) -> u32 {
        self.asks.unwrap_or(20_000)
    }

    /// Nothing that was asked for is left aside.
    fn check(&self) -> Result<(), Failure> {
        let name =
            self.workload.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        let is_fill = self.workload == WorkloadName::Fill;
        let in_vain = [
            ("--asks", self.asks.is_some() && !is_fill),
            ("--seconds", self.seconds.is_some() && is_fill),
            ("--rate", self.rate.is_some() && is_fill),
        ];
        match in_vain.iter().find(|(_, is_in_vain)| *is_in_vain) {
            Some((option, _)) => {
                Err(Failure::input(format!("{option} means nothing to the workload {name}")))
            }
            None => Ok(()),
        }
    }

    fn setup(&self) -> Setup {
        let [nodes, applications, leaves] = match self.workload {
            WorkloadName::Fill => [5_000, 20, 2],
            WorkloadName::Churn | WorkloadName::Constrained => [10_000, 200, 20],
        };
        Setup {
            shape: ClusterShape {
                nodes: self.nodes.map_or(nodes, |nodes| nodes as usize),
                leaves: self.leaves.map_or(leaves, |leaves| leaves as usize),
                applications: self.apps.map_or(applications, |applications| applications as usize),
            },
            mode: Mode::Parallel { proposers: self.proposers as usize },
            located_percent: if self.workload == WorkloadName::Constrained { LOCATED_PERCENT } else { 0 },
            batch_requests: self.batch.map(|batch| batch as usize),
            seed: self.seed,
        }
    }
}

/// The keys of `--json`, documented in `docs/json.md`.
#[derive(Debug, Serialize)]
struct ThroughputReport {
    workload: WorkloadName,
    nodes: usize,
    apps: usize,
    leaves: usize,
    /// Of `fill`.
    asks: Option<u32>,
    rate: Option<u32>,
    proposers: u32,
    seed: u64,
    repeat: u32,
    placed: u64,
    elapsed_s: f64,
    allocations_per_second: f64,
    cpu_ns_per_allocation: Option<f64>,
    commit_lock_ns_per_allocation: f64,
    commit_lock_ns_per_allocation_median: u64,
    commit_lock_share: f64,
    propose_ns_per_allocation: f64,
    proposal_age_us: Quantiles,
    latency_us: Option<Quantiles>,
    committed: u64,
    rejected: u64,
    rejected_fraction: f64,
    rejected_by_reason: BTreeMap<&'static str, u64>,
    batch_mean: f64,
    limit_allocations_per_second: Option<f64>,
    ratio_to_limit: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Quantiles {
    p50: f64,
    p99: f64,
}

impl Quantiles {
    fn of(ns: &Histogram<u64>) -> Self {
        let us = |quantile| ns.value_at_quantile(quantile) as f64 / 1e3;
        Self { p50: us(0.5), p99: us(0.99) }
    }
}

pub(super) fn run(args: &ThroughputArgs) -> Result<(), Failure> {
    args.check()?;
    let json = args.json.as_deref().map(OutputFile::create).transpose().map_err(Failure::input)?;
    let setup = args.setup();
    let (records, limits) = measure(args, &setup)?;
    let report = report(args, &setup, &records, &limits);
    if let Some(file) = json {
        file.write_text(&serde_json::to_string_pretty(&report).map_err(Failure::run)?)?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        writeln!(std::io::stdout(), "{}", to_text(&report)).map_err(Failure::run)?;
    }
    Ok(())
}

/// A first run that warms up, then those that count, each with a slice of the yardstick behind it.
fn measure(args: &ThroughputArgs, setup: &Setup) -> Result<(Vec<Record>, Vec<f64>), Failure> {
    let shape = setup.shape;
    let mut yardstick = args.with_limit.then(|| Yardstick::new(shape.nodes, shape.leaves, args.seed));
    let mut limit = || yardstick.as_mut().map(|yardstick| yardstick.run(LIMIT_SLICE).per_second());
    let bar = ProgressBar::new(u64::from(args.repeat) + 1);
    let (mut records, mut limits) = (Vec::new(), Vec::new());
    let mut pair = |record: Record| {
        records.push(record);
        limits.extend(limit());
        bar.inc(1);
    };
    match args.workload {
        WorkloadName::Fill => {
            fill(setup, args.asks() as usize)?;
            for _ in 0..args.repeat {
                pair(fill(setup, args.asks() as usize)?);
            }
        }
        WorkloadName::Churn | WorkloadName::Constrained => {
            let mut churn = Churn::new(setup)?;
            churn.run(WARM_UP)?;
            let duration = Duration::from_secs_f64(args.seconds.unwrap_or(1.0));
            for _ in 0..args.repeat {
                pair(match args.rate {
                    Some(rate) => churn.run_at(f64::from(rate), duration)?,
                    None => churn.run(duration)?,
                });
            }
            churn.expect_sound()?;
        }
    }
    bar.finish_and_clear();
    Ok((records, limits))
}

fn report(args: &ThroughputArgs, setup: &Setup, records: &[Record], limits: &[f64]) -> ThroughputReport {
    let ratios = records.iter().zip(limits).map(|(record, limit)| record.per_second() / limit).collect();
    let mut sorted: Vec<&Record> = records.iter().collect();
    // At a given rate the runs differ in how long the answers took.
    let p99 = |record: &Record| record.latency_ns.as_ref().map_or(0, |ns| ns.value_at_quantile(0.99));
    sorted.sort_by(|a, b| p99(a).cmp(&p99(b)).then(a.per_second().total_cmp(&b.per_second())));
    let middle = sorted[sorted.len() / 2];
    let timing = &middle.timing;
    let per_allocation = |duration: Duration| duration.as_nanos() as f64 / middle.placed.max(1) as f64;
    let rejected = middle.rejected.values().sum();
    let decided = middle.committed + rejected;
    ThroughputReport {
        workload: args.workload,
        nodes: setup.shape.nodes,
        apps: setup.shape.applications,
        leaves: setup.shape.leaves,
        asks: (args.workload == WorkloadName::Fill).then_some(args.asks()),
        rate: args.rate,
        proposers: args.proposers,
        seed: args.seed,
        repeat: args.repeat,
        placed: middle.placed,
        elapsed_s: middle.elapsed.as_secs_f64(),
        allocations_per_second: middle.per_second(),
        cpu_ns_per_allocation: middle.cpu_ns.map(|ns| ns as f64 / middle.placed.max(1) as f64),
        commit_lock_ns_per_allocation: per_allocation(timing.lock_held),
        commit_lock_ns_per_allocation_median: timing.lock_held_ns_per_allocation.value_at_quantile(0.5),
        commit_lock_share: timing.lock_held.as_secs_f64() / middle.elapsed.as_secs_f64(),
        propose_ns_per_allocation: per_allocation(timing.proposing),
        proposal_age_us: Quantiles::of(&timing.proposal_age_ns),
        latency_us: middle.latency_ns.as_ref().map(Quantiles::of),
        committed: middle.committed,
        rejected,
        rejected_fraction: rejected as f64 / decided.max(1) as f64,
        rejected_by_reason: middle.rejected.clone(),
        batch_mean: decided as f64 / middle.batches.max(1) as f64,
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
        "{} allocations per second (median of {}), {:.3} % of requests rejected, audit: nothing found",
        count_text(report.allocations_per_second as u64),
        report.repeat,
        100.0 * report.rejected_fraction,
    );
    if let Some(ns) = report.cpu_ns_per_allocation {
        text += &format!("\n{} ns of processor time per allocation", count_text(ns as u64));
    }
    text += &format!(
        "\nwrite lock: {} ns per allocation, {:.0} % of the time; proposing: {} ns per allocation, {:.0} in a batch, \
         decided {:.0} us after it began (99 %: {:.0} us)",
        count_text(report.commit_lock_ns_per_allocation as u64),
        100.0 * report.commit_lock_share,
        count_text(report.propose_ns_per_allocation as u64),
        report.batch_mean,
        report.proposal_age_us.p50,
        report.proposal_age_us.p99,
    );
    if let Some(latency) = &report.latency_us {
        text += &format!("\nfrom ask to commit: {:.0} us, 99 %: {:.0} us", latency.p50, latency.p99);
    }
    if let (Some(limit), Some(ratio)) = (report.limit_allocations_per_second, report.ratio_to_limit) {
        text +=
            &format!("\n{ratio:.3} of the yardstick, which makes {} per second", count_text(limit as u64));
    }
    text
}
