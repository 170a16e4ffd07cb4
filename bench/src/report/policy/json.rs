//! Keys of `--json` about jobs, queues and users; `docs/json.md` defines them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::sim::{Deviation, Fairness, GroupOutcome, Outcomes, PreemptionRecord, RunRecord, Timeline};
use crate::statistics::Summary;

/// All jobs together.
#[derive(Clone, Copy, Debug, Serialize)]
pub(in crate::report) struct JobsOut {
    count: u64,
    finished: u64,
    completion_s: Option<Summary>,
    slowdown: Option<Summary>,
    bounded_slowdown: Option<Summary>,
}

/// Figures over all containers, in addition to the percentiles.
#[derive(Clone, Copy, Debug, Serialize)]
pub(in crate::report) struct WaitOut {
    pub(in crate::report) p50: u64,
    pub(in crate::report) p99: u64,
    mean: Option<f64>,
    max: Option<f64>,
}

/// The common keys of leaves and users.
#[derive(Clone, Copy, Debug, Serialize)]
pub(in crate::report) struct GroupOut {
    jobs: u64,
    finished: u64,
    asked: u64,
    completed: u64,
    demand_s: f64,
    share_in_demand: f64,
    preempted: u64,
    lost_container_s: f64,
    waiting_s: Option<Summary>,
    completion_s: Option<Summary>,
    slowdown: Option<Summary>,
    bounded_slowdown: Option<Summary>,
}

/// The keys of a leaf, in addition to its path, guarantee, mean share and containers placed.
#[derive(Clone, Copy, Debug, Serialize)]
pub(in crate::report) struct LeafOut {
    #[serde(flatten)]
    group: GroupOut,
    below: f64,
    below_max: f64,
    below_longest_s: f64,
    above: f64,
}

/// A user.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct UserOut {
    name: String,
    mean_share: f64,
    placed: u64,
    #[serde(flatten)]
    group: GroupOut,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(in crate::report) struct FairnessOut {
    queues: Option<f64>,
    queues_contended_s: f64,
    users: Option<f64>,
    users_contended_s: f64,
    queues_slowdown: Option<f64>,
    users_slowdown: Option<f64>,
}

/// Means over equal intervals.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct SeriesOut {
    interval_s: f64,
    running: Vec<f64>,
    waiting: Vec<f64>,
    used: BTreeMap<String, Vec<f64>>,
    queues: Vec<LeafSeriesOut>,
}

#[derive(Clone, Debug, Serialize)]
struct LeafSeriesOut {
    path: String,
    share: Vec<f64>,
    entitled: Vec<f64>,
    /// Left out if nothing was taken from any leaf.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken: Option<Vec<f64>>,
}

/// What preemption took in all.
#[derive(Clone, Copy, Debug, Serialize)]
pub(in crate::report) struct PreemptionOut {
    rounds: u64,
    preempted: u64,
    given_back: u64,
    lost_container_s: f64,
    lost_part: f64,
}

impl PreemptionOut {
    pub(in crate::report) fn new(preemption: &PreemptionRecord) -> Self {
        Self {
            rounds: preemption.rounds,
            preempted: preemption.containers,
            given_back: preemption.given_back,
            lost_container_s: seconds(preemption.lost_container_ms),
            lost_part: preemption.lost_part,
        }
    }
}

const SECOND_MS: f64 = 1_000.0;

fn seconds(ms: u64) -> f64 {
    ms as f64 / SECOND_MS
}

fn in_seconds(summary: Option<Summary>) -> Option<Summary> {
    summary.map(|summary| summary.divided_by(SECOND_MS))
}

impl JobsOut {
    pub(in crate::report) fn new(total: &GroupOutcome) -> Self {
        Self {
            count: total.jobs,
            finished: total.finished,
            completion_s: in_seconds(total.completion_ms),
            slowdown: total.slowdown,
            bounded_slowdown: total.bounded_slowdown,
        }
    }
}

impl WaitOut {
    pub(in crate::report) fn new(record: &RunRecord) -> Self {
        let all = record.outcomes.total.waiting_ms;
        let or_zero = |of: fn(Summary) -> f64| all.map_or(0, |wait| of(wait) as u64);
        Self {
            p50: or_zero(|wait| wait.p50),
            p99: or_zero(|wait| wait.p99),
            mean: all.map(|wait| wait.mean),
            max: all.map(|wait| wait.max),
        }
    }
}

impl GroupOut {
    fn new(group: &GroupOutcome) -> Self {
        Self {
            jobs: group.jobs,
            finished: group.finished,
            asked: group.asked,
            completed: group.completed,
            demand_s: seconds(group.demand_ms),
            share_in_demand: group.share_in_demand,
            preempted: group.preempted,
            lost_container_s: seconds(group.lost_ms),
            waiting_s: in_seconds(group.waiting_ms),
            completion_s: in_seconds(group.completion_ms),
            slowdown: group.slowdown,
            bounded_slowdown: group.bounded_slowdown,
        }
    }
}

impl LeafOut {
    pub(in crate::report) fn new(leaf: &GroupOutcome) -> Self {
        let Deviation { below, below_max, below_longest_ms, above, .. } = leaf.deviation.unwrap_or_default();
        Self {
            group: GroupOut::new(leaf),
            below,
            below_max,
            below_longest_s: seconds(below_longest_ms),
            above,
        }
    }
}

impl UserOut {
    pub(in crate::report) fn new(user: &GroupOutcome) -> Self {
        Self {
            name: user.name.clone(),
            mean_share: user.share,
            placed: user.placed,
            group: GroupOut::new(user),
        }
    }
}

impl FairnessOut {
    pub(in crate::report) fn new(fairness: &Fairness) -> Self {
        Self {
            queues: fairness.queues,
            queues_contended_s: seconds(fairness.queues_contended_ms),
            users: fairness.users,
            users_contended_s: seconds(fairness.users_contended_ms),
            queues_slowdown: fairness.queues_slowdown,
            users_slowdown: fairness.users_slowdown,
        }
    }
}

impl SeriesOut {
    pub(in crate::report) fn new(outcomes: &Outcomes, resource_names: &[String]) -> Self {
        let Timeline { interval_ms, running, waiting, used, shares, entitled, taken } = &outcomes.timeline;
        let has_taken = outcomes.total.preempted > 0;
        let leaf = |(number, queue): (usize, &GroupOutcome)| LeafSeriesOut {
            path: queue.name.clone(),
            share: rounded(&shares[number]),
            entitled: rounded(&entitled[number]),
            taken: has_taken.then(|| rounded(&taken[number])),
        };
        Self {
            interval_s: seconds(*interval_ms),
            running: rounded(running),
            waiting: rounded(waiting),
            used: resource_names.iter().cloned().zip(used.iter().map(|used| rounded(used))).collect(),
            queues: outcomes.queues.iter().enumerate().map(leaf).collect(),
        }
    }
}

/// Six digits after the point; more would only be noise.
fn rounded(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| (value * 1e6).round() / 1e6).collect()
}
