//! The effect of a policy on jobs, queues and users, as figures of one simulation.

use crate::sim::{GroupOutcome, RunRecord};

/// Figures about jobs, queues and users; `None` where no job finished or nothing contended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OutcomeFigures {
    /// Fraction of the jobs that finished.
    pub finished: Option<f64>,
    /// Time from submission to end, mean over finished jobs.
    pub completion_mean_ms: Option<f64>,
    /// The same, median.
    pub completion_p50_ms: Option<f64>,
    /// Completion time divided by the time without waiting, mean over finished jobs.
    pub slowdown_mean: Option<f64>,
    /// The same with jobs of at least ten seconds.
    pub bounded_slowdown_mean: Option<f64>,
    /// Time from ask to placement, mean over containers placed.
    pub wait_mean_ms: Option<f64>,
    /// The missing share of all leaves together, against their guarantees, or their demands if those are less: part of
    /// the cluster, mean over virtual time.
    pub missing: Option<f64>,
    /// Jain's index over waiting leaves.
    pub jain_queues: Option<f64>,
    /// Jain's index over waiting users.
    pub jain_users: Option<f64>,
}

impl OutcomeFigures {
    pub(super) fn of(record: &RunRecord) -> Self {
        let outcomes = &record.outcomes;
        let total = &outcomes.total;
        let missed_ms = |queue: &GroupOutcome| {
            queue.deviation.map_or(0.0, |deviation| deviation.below * queue.demand_ms as f64)
        };
        let missed_ms: f64 = outcomes.queues.iter().map(missed_ms).sum();
        Self {
            finished: (total.jobs > 0).then(|| total.finished as f64 / total.jobs as f64),
            completion_mean_ms: total.completion_ms.map(|completion| completion.mean),
            completion_p50_ms: total.completion_ms.map(|completion| completion.p50),
            slowdown_mean: total.slowdown.map(|slowdown| slowdown.mean),
            bounded_slowdown_mean: total.bounded_slowdown.map(|slowdown| slowdown.mean),
            wait_mean_ms: total.waiting_ms.map(|waiting| waiting.mean),
            missing: (record.makespan_ms > 0).then(|| missed_ms / record.makespan_ms as f64),
            jain_queues: outcomes.fairness.queues,
            jain_users: outcomes.fairness.users,
        }
    }
}
