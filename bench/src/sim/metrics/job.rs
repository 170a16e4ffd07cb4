//! The outcome of a job, and its duration without waiting.

use crate::sim::time::{later, tick_from};
use crate::workload::Job;

/// The outcome of a job. Times are virtual.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobOutcome {
    /// Its leaf: a place in [`Outcomes::queues`](super::Outcomes::queues).
    pub queue: usize,
    /// Its user: a place in [`Outcomes::users`](super::Outcomes::users).
    pub user: usize,
    /// When it was submitted: the first tick that is not before the time in the workload.
    pub submitted_ms: Option<u64>,
    /// When its first container was placed.
    pub first_start_ms: Option<u64>,
    /// When its last container had completed.
    pub finished_ms: Option<u64>,
    /// Duration if each container is placed when it is asked for; `None` if a container runs for ever.
    pub ideal_ms: Option<u64>,
    /// Containers that the job wants, including its master.
    pub asked: u64,
    /// Containers placed; a preempted container is placed again.
    pub placed: u64,
    /// Containers completed.
    pub completed: u64,
    /// Containers preempted.
    pub preempted: u64,
    /// How long preempted containers had run, all together.
    pub lost_ms: u64,
    /// Total waiting time of all placed containers.
    pub waiting_sum_ms: u64,
    /// The longest waiting time of a container.
    pub waiting_max_ms: u64,
}

/// Shorter jobs count as this long in a bounded slowdown.
const BOUND_MS: f64 = 10_000.0;

impl JobOutcome {
    /// Time from submission to the end of the last container.
    #[must_use]
    pub fn completion_ms(&self) -> Option<u64> {
        Some(self.finished_ms? - self.submitted_ms?)
    }

    /// Completion time divided by the time without waiting.
    ///
    /// Source: Feitelson, Rudolph: Metrics and benchmarking for parallel job scheduling. JSSPP 1998.
    #[must_use]
    pub fn slowdown(&self) -> Option<f64> {
        let (completion, ideal) = (self.completion_ms()? as f64, self.ideal_ms? as f64);
        // A job without containers ends when it is submitted.
        Some(if ideal > 0.0 { completion / ideal } else { 1.0 })
    }

    /// The slowdown with at least ten seconds as the time without waiting, and at least 1.
    ///
    /// Source: as for [`slowdown`](Self::slowdown).
    #[must_use]
    pub fn bounded_slowdown(&self) -> Option<f64> {
        let (completion, ideal) = (self.completion_ms()? as f64, self.ideal_ms? as f64);
        Some((completion / ideal.max(BOUND_MS)).max(1.0))
    }
}

/// The duration of a job submitted at this tick if each container is placed when it is asked for. All times are rounded
/// up to ticks as in the simulation, so that a job that never waits has slowdown 1. `None` if a container never ends.
pub(super) fn ideal_ms(job: &Job, submitted_ms: u64, tick_ms: u64) -> Option<u64> {
    let after = |at_ms, delay_ms| Some(tick_from(later(at_ms, delay_ms)?, tick_ms));
    let mut start_ms = submitted_ms;
    for stage in &job.stages {
        let mut end_ms = start_ms;
        for tasks in stage {
            let asked_ms = after(start_ms, tasks.delay_ms)?;
            for duration_ms in &tasks.durations_ms {
                end_ms = end_ms.max(after(asked_ms, (*duration_ms)?.max(1))?);
            }
        }
        start_ms = end_ms;
    }
    Some(start_ms - submitted_ms)
}

#[cfg(test)]
mod tests {
    use apportion::Resources;

    use super::*;
    use crate::workload::Tasks;

    fn job(stages: Vec<Vec<Tasks>>) -> Job {
        let (name, queue, user) = ("j".into(), "q".into(), "u".into());
        Job { name, queue, user, priority: 0, submit_ms: 0, master: None, stages, starts_together: false }
    }

    #[test]
    fn a_job_that_never_waits_takes_as_long_as_its_longest_tasks() {
        let tasks = |durations: &[u64]| {
            Tasks::new(Resources::ZERO, durations.iter().map(|duration| Some(*duration)).collect())
        };
        let delayed = Tasks { delay_ms: 250, ..tasks(&[10]) };
        let stages = vec![vec![tasks(&[300, 500]), delayed.clone()], vec![], vec![tasks(&[120])]];
        assert_eq!(ideal_ms(&job(stages.clone()), 7_000, 1), Some(500 + 120));
        assert_eq!(ideal_ms(&job(stages), 7_000, 100), Some(500 + 200));
        assert_eq!(ideal_ms(&job(vec![vec![delayed]]), 0, 100), Some(400), "asked for at 300");
        assert_eq!(ideal_ms(&job(vec![]), 0, 100), Some(0));
        let endless = Tasks::new(Resources::ZERO, vec![Some(1), None]);
        assert_eq!(ideal_ms(&job(vec![vec![endless]]), 0, 100), None);
    }

    #[test]
    fn short_jobs_do_not_make_a_bounded_slowdown() {
        let of = |completion_ms: u64, ideal_ms: u64| JobOutcome {
            submitted_ms: Some(1_000),
            finished_ms: Some(1_000 + completion_ms),
            ideal_ms: Some(ideal_ms),
            ..JobOutcome::default()
        };
        let both = |job: JobOutcome| (job.slowdown().unwrap(), job.bounded_slowdown().unwrap());
        assert_eq!(both(of(60_000, 20_000)), (3.0, 3.0));
        assert_eq!(both(of(20_000, 100)), (200.0, 2.0));
        assert_eq!(both(of(100, 100)), (1.0, 1.0));
        assert_eq!(both(of(0, 0)), (1.0, 1.0));
        assert_eq!(JobOutcome::default().slowdown(), None);
    }
}
