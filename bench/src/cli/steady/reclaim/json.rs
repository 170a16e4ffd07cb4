//! The keys of `reclaim --json`, documented in `docs/json.md`.

use apportion::config::PreemptionRounds;
use serde::Serialize;

use super::super::RunKeys;
use crate::interrupt::Interruption;
use crate::report::ReclaimReport;
use crate::steady::{Look, Reclaim, ReturningLeaf};

#[derive(Debug, Serialize)]
pub(super) struct ReclaimJson {
    #[serde(flatten)]
    run: RunKeys,
    mean_life_s: f64,
    leave_s: f64,
    return_s: f64,
    preemption: PreemptionRounds,
    with_preemption: RunJson,
    without_preemption: RunJson,
    audit_violations: usize,
}

#[derive(Debug, Serialize)]
struct RunJson {
    interrupted_at_s: Option<Interruption>,
    converged_s: Option<f64>,
    guaranteed_s: Option<f64>,
    rounds: u64,
    preempted: u64,
    lost_container_s: f64,
    lost_part: f64,
    placed: u64,
    completed_of_returning: u64,
    completed_of_others: u64,
    series: Series,
    returning: Vec<ReturningJson>,
    taken_from: Vec<TakenFromJson>,
}

#[derive(Debug, Serialize)]
struct Series {
    at_s: Vec<f64>,
    owed: Vec<f64>,
    taken: Vec<f64>,
    returning_owed: Vec<f64>,
    returning_share: Vec<f64>,
    returning_fair: Vec<f64>,
    returning_owed_guarantee: Vec<f64>,
    returning_guaranteed: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct ReturningJson {
    path: String,
    owed: Vec<f64>,
    share: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct TakenFromJson {
    path: String,
    containers: u64,
    part: f64,
}

impl ReclaimJson {
    pub(super) fn new(run: RunKeys, rounds: PreemptionRounds, report: &ReclaimReport) -> Self {
        Self {
            run,
            mean_life_s: seconds(report.mean_life_ms),
            leave_s: seconds(report.with.leave_ms),
            return_s: seconds(report.with.return_ms),
            preemption: rounds,
            with_preemption: RunJson::new(&report.with),
            without_preemption: RunJson::new(&report.without),
            audit_violations: 0,
        }
    }
}

impl RunJson {
    fn new(run: &Reclaim) -> Self {
        let column = |value: fn(&Look) -> f64| run.looks.iter().map(|look| rounded(value(look))).collect();
        let returning = |leaf: &ReturningLeaf| ReturningJson {
            path: leaf.path.clone(),
            owed: leaf.owed.iter().copied().map(rounded).collect(),
            share: leaf.share.iter().copied().map(rounded).collect(),
        };
        let taken_from = run.taken_from.iter().map(|leaf| TakenFromJson {
            path: leaf.path.clone(),
            containers: leaf.containers,
            part: rounded(leaf.part),
        });
        Self {
            interrupted_at_s: run.interrupted,
            converged_s: run.converged_ms().map(seconds),
            guaranteed_s: run.guaranteed_ms().map(seconds),
            rounds: run.rounds,
            preempted: run.preempted,
            lost_container_s: seconds(run.lost_container_ms),
            lost_part: run.lost_part,
            placed: run.placed,
            completed_of_returning: run.completed_of_returning,
            completed_of_others: run.completed_of_others,
            series: Series {
                at_s: run.looks.iter().map(|look| seconds(look.at_ms)).collect(),
                owed: column(|look| look.owed),
                taken: column(|look| look.taken),
                returning_owed: column(|look| look.returning_owed),
                returning_share: column(|look| look.returning_share),
                returning_fair: column(|look| look.returning_fair),
                returning_owed_guarantee: column(|look| look.returning_owed_guarantee),
                returning_guaranteed: column(|look| look.returning_guaranteed),
            },
            returning: run.returning.iter().map(returning).collect(),
            taken_from: taken_from.collect(),
        }
    }
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1e3
}

/// Seven digits after the point: a container of a large cluster is visible.
fn rounded(part: f64) -> f64 {
    (part * 1e7).round() / 1e7
}
