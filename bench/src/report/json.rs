//! The run as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use apportion::Mode;
use serde::Serialize;

use super::gangs::GangsOut;
use super::policy::{FairnessOut, JobsOut, LeafOut, PreemptionOut, SeriesOut, UserOut, WaitOut};
use super::sweep_policy::confidence;
use crate::interrupt::Interruption;
use crate::pending::PendingKind;
use crate::sim::{RunRecord, Utilisation};
use crate::sweep::{Case, Estimate, Spread, SweepPoint};

/// The settings of the run.
#[derive(Clone, Debug)]
pub struct RunParameters {
    /// The workload's format, or its name.
    pub format: String,
    /// Which threads did the engine's work.
    pub mode: Mode,
    /// The seed of all random values.
    pub seed: u64,
    /// Submission times were divided by this.
    pub compress: f64,
    /// Durations of containers were divided by this.
    pub compress_durations: f64,
    /// Virtual time between two samples.
    pub tick_ms: u64,
}

/// The keys of `--json`, documented in `docs/json.md`.
#[derive(Clone, Debug, Serialize)]
pub struct JsonReport {
    format: String,
    mode: &'static str,
    proposers: usize,
    seed: u64,
    compress: f64,
    compress_durations: f64,
    tick_ms: u64,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    case: Option<CaseOut>,
    invented: Vec<String>,
    nodes: usize,
    asks: u64,
    placed: u64,
    completed: u64,
    preemption: Option<PreemptionOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gangs: Option<GangsOut>,
    unplaceable: u64,
    unplaceable_by_reason: BTreeMap<String, u64>,
    cancelled: u64,
    pending_at_end: u64,
    pending_by_reason: BTreeMap<String, u64>,
    pending_longest: Vec<PendingKind>,
    committed: u64,
    rejected: u64,
    rejected_fraction: f64,
    rejected_by_reason: BTreeMap<&'static str, u64>,
    reserved: u64,
    makespan_s: f64,
    busy_s: f64,
    interrupted_at_s: Option<Interruption>,
    elapsed_s: f64,
    allocations_per_second: f64,
    ask_to_commit_us: Option<Percentiles>,
    wait_ms: WaitOut,
    jobs: JobsOut,
    fairness: FairnessOut,
    utilisation: BTreeMap<String, UtilisationOut>,
    queues: Vec<QueueOut>,
    users: Vec<UserOut>,
    audit_violations: usize,
    commit_log_digest: String,
    state_digest: String,
    peak_rss_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<SeriesOut>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Percentiles {
    p50: u64,
    p99: u64,
    p999: u64,
}

/// The settings that distinguish the runs of a sweep, except the seed.
#[derive(Clone, Debug, Serialize)]
struct CaseOut {
    size: f64,
    queues_file: Option<Arc<str>>,
    node_order: &'static str,
    application_order: Option<&'static str>,
    preemption_option: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_seeds: Option<OverSeeds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<BTreeMap<&'static str, Estimate>>,
}

/// Figures over all runs that differ only in the seed.
#[derive(Clone, Copy, Debug, Serialize)]
struct OverSeeds {
    runs: usize,
    placed: Spread,
    not_placed: Spread,
    use_mean: Spread,
    use_busy_mean: Spread,
    use_peak: Spread,
    wait_p50_ms: Spread,
    wait_p99_ms: Spread,
    wall_us_per_allocation: Spread,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct UtilisationOut {
    mean: f64,
    busy_mean: Option<f64>,
    peak: f64,
}

#[derive(Clone, Debug, Serialize)]
struct QueueOut {
    path: String,
    guaranteed_share: f64,
    mean_share: f64,
    placed: u64,
    #[serde(flatten)]
    outcome: LeafOut,
}

impl JsonReport {
    /// The report of a run.
    #[must_use]
    pub fn new(parameters: &RunParameters, record: &RunRecord) -> Self {
        let utilisation =
            |u: &Utilisation| UtilisationOut { mean: u.mean, busy_mean: u.busy_mean, peak: u.peak };
        Self {
            format: parameters.format.clone(),
            mode: parameters.mode.name(),
            proposers: parameters.mode.proposers(),
            seed: parameters.seed,
            compress: parameters.compress,
            compress_durations: parameters.compress_durations,
            tick_ms: parameters.tick_ms,
            case: None,
            invented: record.invented.clone(),
            nodes: record.nodes,
            asks: record.asks,
            placed: record.placed,
            completed: record.completed,
            preemption: record.preemption.as_ref().map(PreemptionOut::new),
            gangs: GangsOut::of(record),
            unplaceable: record.unplaceable_total(),
            unplaceable_by_reason: record.unplaceable.clone(),
            cancelled: record.cancelled,
            pending_at_end: record.pending_total(),
            pending_by_reason: record.pending_at_end.clone(),
            pending_longest: record.pending_longest.clone(),
            committed: record.stats.committed,
            rejected: record.stats.rejected_total(),
            rejected_fraction: record.stats.rejected_fraction(),
            rejected_by_reason: record.stats.rejected.clone(),
            reserved: record.stats.reserved,
            makespan_s: record.makespan_ms as f64 / 1000.0,
            busy_s: record.busy_ms as f64 / 1000.0,
            interrupted_at_s: record.interrupted,
            elapsed_s: record.elapsed.as_secs_f64(),
            allocations_per_second: record.allocations_per_second(),
            ask_to_commit_us: record.ask_to_commit_us.as_ref().map(|histogram| Percentiles {
                p50: histogram.value_at_quantile(0.5),
                p99: histogram.value_at_quantile(0.99),
                p999: histogram.value_at_quantile(0.999),
            }),
            wait_ms: WaitOut::new(record),
            jobs: JobsOut::new(&record.outcomes.total),
            fairness: FairnessOut::new(&record.outcomes.fairness),
            utilisation: record
                .resource_names
                .iter()
                .cloned()
                .zip(record.utilisation.iter().map(utilisation))
                .collect(),
            queues: record
                .queues
                .iter()
                .zip(&record.outcomes.queues)
                .map(|(queue, outcome)| QueueOut {
                    path: queue.path.clone(),
                    guaranteed_share: queue.guaranteed_share,
                    mean_share: queue.mean_share,
                    placed: queue.placed,
                    outcome: LeafOut::new(outcome),
                })
                .collect(),
            users: record.outcomes.users.iter().map(UserOut::new).collect(),
            audit_violations: record.audit_violations.len(),
            commit_log_digest: format!("{:032x}", record.log_digest),
            state_digest: record.state_digest.to_string(),
            peak_rss_bytes: apportion_load::process::peak_resident_bytes(),
            series: Some(SeriesOut::new(&record.outcomes, &record.resource_names)),
        }
    }
}

impl JsonReport {
    /// The report with the settings that distinguish it from the other runs of a sweep.
    #[must_use]
    pub fn of_case(self, case: &Case) -> Self {
        let out = CaseOut {
            size: case.size,
            queues_file: case.policy.queues.clone(),
            node_order: case.policy.node_order_name(),
            application_order: case.policy.application_order_name(),
            preemption_option: case.policy.preemption_name(),
            over_seeds: None,
            confidence: None,
        };
        // A series for each of hundreds of runs would make the file too large to read.
        Self { case: Some(out), series: None, ..self }
    }

    /// The report with medians and spread of its point.
    #[must_use]
    pub fn of_point(self, point: &SweepPoint) -> Self {
        let over_seeds = OverSeeds {
            runs: point.figures.len(),
            placed: point.spread(|figures| figures.placed),
            not_placed: point.spread(|figures| figures.not_placed),
            use_mean: point.spread(|figures| figures.use_mean),
            use_busy_mean: point.spread(|figures| figures.use_busy_mean),
            use_peak: point.spread(|figures| figures.use_peak),
            wait_p50_ms: point.spread(|figures| figures.wait_p50_ms),
            wait_p99_ms: point.spread(|figures| figures.wait_p99_ms),
            wall_us_per_allocation: point.spread(|figures| figures.wall_us_per_allocation),
        };
        let confidence = Some(confidence(point));
        let case = |case| CaseOut { over_seeds: Some(over_seeds), confidence, ..case };
        Self { case: self.case.map(case), ..self }
    }
}
