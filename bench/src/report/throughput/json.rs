//! The figures of a measurement; those of the median run count.

use std::collections::BTreeMap;
use std::time::Duration;

use apportion::Mode;
use apportion_load::{ClusterShape, CycleRate, Memory, Record};
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::interrupt::Interruption;

/// The parameters of a measurement.
#[derive(Clone, Debug)]
pub struct ThroughputParameters {
    /// The workload's name.
    pub workload: String,
    /// The cluster.
    pub shape: ClusterShape,
    /// The number of asks, if the workload has one.
    pub asks: Option<u32>,
    /// The number of asks per second, if they come at a rate.
    pub rate: Option<u32>,
    /// Which threads did the engine's work.
    pub mode: Mode,
    /// The seed of all random values.
    pub seed: u64,
}

/// The measured data.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The runs.
    pub records: Vec<Record>,
    /// The yardstick's rates, one after each run; empty if it did not run.
    pub limits: Vec<f64>,
    /// The same of the full-cycle yardstick.
    pub cycles: Vec<CycleRate>,
    /// Memory of the first cluster.
    pub memory: Memory,
    /// The point at which a signal stopped the measurement.
    pub interruption: Option<Interruption>,
}

/// The keys of `--json`, documented in `docs/json.md`.
#[derive(Clone, Debug, Serialize)]
pub struct ThroughputReport {
    pub(super) workload: String,
    mode: &'static str,
    pub(super) nodes: usize,
    pub(super) apps: usize,
    pub(super) leaves: usize,
    pub(super) asks: Option<u32>,
    pub(super) rate: Option<u32>,
    proposers: usize,
    #[serde(skip)]
    pub(super) mode_text: String,
    pub(super) seed: u64,
    pub(super) repeat: usize,
    pub(super) placed: u64,
    pub(super) pending: u64,
    pub(super) used_part: f64,
    elapsed_s: f64,
    pub(super) allocations_per_second: f64,
    pub(super) cpu_ns_per_allocation: Option<f64>,
    pub(super) commit_lock_ns_per_allocation: f64,
    pub(super) commit_lock_ns_per_allocation_median: u64,
    pub(super) commit_lock_share: f64,
    pub(super) commit_lock_wait_share: f64,
    pub(super) propose_ns_per_allocation: f64,
    pub(super) proposal_age_us: Quantiles,
    pub(super) latency_us: Option<Quantiles>,
    committed: u64,
    rejected: u64,
    pub(super) rejected_fraction: f64,
    rejected_by_reason: BTreeMap<&'static str, u64>,
    pub(super) batch_mean: f64,
    pub(super) limit_allocations_per_second: Option<f64>,
    pub(super) ratio_to_limit: Option<f64>,
    pub(super) cycle_allocations_per_second: Option<f64>,
    pub(super) ratio_to_cycle: Option<f64>,
    pub(super) cycle_cpu_ns_per_allocation: Option<f64>,
    pub(super) cpu_ratio_to_cycle: Option<f64>,
    pub(super) bytes_per_node: Option<f64>,
    pub(super) bytes_per_container: Option<f64>,
    pub(super) peak_rss_bytes: Option<u64>,
    audit_violations: usize,
    pub(super) interrupted_at_s: Option<Interruption>,
    pub(super) runs: Vec<Run>,
}

/// One of the runs.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Run {
    pub(super) allocations_per_second: f64,
    pub(super) limit_allocations_per_second: Option<f64>,
    pub(super) cycle_allocations_per_second: Option<f64>,
    pub(super) commit_lock_share: f64,
}

/// Quantiles in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Quantiles {
    pub(super) p50: f64,
    pub(super) p99: f64,
}

impl Quantiles {
    fn of(ns: &Histogram<u64>) -> Self {
        let us = |quantile| ns.value_at_quantile(quantile) as f64 / 1e3;
        Self { p50: us(0.5), p99: us(0.99) }
    }
}

impl ThroughputReport {
    /// The figures of an audited engine. There is at least one record.
    #[must_use]
    pub fn new(parameters: ThroughputParameters, measured: &Measured) -> Self {
        let Measured { records, limits, cycles, memory, interruption } = measured;
        let ratios = records.iter().zip(limits).map(|(record, limit)| record.per_second() / limit).collect();
        let middle = median_record(records);
        let timing = &middle.timing;
        let per_allocation = |duration: Duration| duration.as_nanos() as f64 / middle.placed.max(1) as f64;
        let rejected = middle.rejected.values().sum();
        let decided = middle.committed + rejected;
        Self {
            workload: parameters.workload,
            mode: parameters.mode.name(),
            nodes: parameters.shape.nodes,
            apps: parameters.shape.applications,
            leaves: parameters.shape.leaves,
            asks: parameters.asks,
            rate: parameters.rate,
            proposers: parameters.mode.proposers(),
            mode_text: parameters.mode.to_string(),
            seed: parameters.seed,
            repeat: records.len(),
            placed: middle.placed,
            pending: middle.pending,
            used_part: middle.used_part,
            elapsed_s: middle.elapsed.as_secs_f64(),
            allocations_per_second: middle.per_second(),
            cpu_ns_per_allocation: cpu_ns_per_allocation(middle),
            commit_lock_ns_per_allocation: per_allocation(timing.lock_held),
            commit_lock_ns_per_allocation_median: timing.lock_held_ns_per_allocation.value_at_quantile(0.5),
            commit_lock_share: lock_share(middle),
            commit_lock_wait_share: part_of(middle, middle.timing.lock_awaited),
            propose_ns_per_allocation: per_allocation(timing.proposing),
            proposal_age_us: Quantiles::of(&timing.proposal_age_ns),
            latency_us: middle.latency_ns.as_ref().map(Quantiles::of),
            committed: middle.committed,
            rejected,
            rejected_fraction: rejected as f64 / decided.max(1) as f64,
            rejected_by_reason: middle.rejected.clone(),
            batch_mean: decided as f64 / middle.batches.max(1) as f64,
            limit_allocations_per_second: median(limits.clone()),
            ratio_to_limit: median(ratios),
            cycle_allocations_per_second: median(cycles.iter().map(CycleRate::per_second).collect()),
            ratio_to_cycle: median(ratios_to(records, cycles, |record, cycle| {
                Some(record.per_second() / cycle.per_second())
            })),
            cycle_cpu_ns_per_allocation: median(
                cycles.iter().filter_map(CycleRate::cpu_ns_per_container).collect(),
            ),
            cpu_ratio_to_cycle: median(ratios_to(records, cycles, |record, cycle| {
                Some(cpu_ns_per_allocation(record)? / cycle.cpu_ns_per_container()?)
            })),
            bytes_per_node: memory.bytes_per_node,
            bytes_per_container: memory.bytes_per_container,
            peak_rss_bytes: apportion_load::process::peak_resident_bytes(),
            audit_violations: 0,
            interrupted_at_s: *interruption,
            runs: runs(records, limits, cycles),
        }
    }
}

/// The median run by rate, or, at a given rate, by the latency of answers.
pub(super) fn median_record(records: &[Record]) -> &Record {
    let p99 = |record: &Record| record.latency_ns.as_ref().map_or(0, |ns| ns.value_at_quantile(0.99));
    let mut sorted: Vec<&Record> = records.iter().collect();
    sorted.sort_by(|a, b| p99(a).cmp(&p99(b)).then(a.per_second().total_cmp(&b.per_second())));
    sorted[sorted.len() / 2]
}

/// A ratio for each run and the slice of the yardstick that followed it.
fn ratios_to(
    records: &[Record],
    cycles: &[CycleRate],
    ratio: impl Fn(&Record, &CycleRate) -> Option<f64>,
) -> Vec<f64> {
    records.iter().zip(cycles).filter_map(|(record, cycle)| ratio(record, cycle)).collect()
}

fn cpu_ns_per_allocation(record: &Record) -> Option<f64> {
    record.cpu_ns.map(|ns| ns as f64 / record.placed.max(1) as f64)
}

fn runs(records: &[Record], limits: &[f64], cycles: &[CycleRate]) -> Vec<Run> {
    let run = |(number, record): (usize, &Record)| Run {
        allocations_per_second: record.per_second(),
        limit_allocations_per_second: limits.get(number).copied(),
        cycle_allocations_per_second: cycles.get(number).map(CycleRate::per_second),
        commit_lock_share: lock_share(record),
    };
    records.iter().enumerate().map(run).collect()
}

fn lock_share(record: &Record) -> f64 {
    part_of(record, record.timing.lock_held)
}

fn part_of(record: &Record, time: Duration) -> f64 {
    time.as_secs_f64() / record.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
