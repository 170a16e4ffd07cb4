//! Running jobs: their stages, and the tasks left in each.

use apportion::{ApplicationId, ContainerId};

use super::gang::Attempt;
use crate::workload::{Job, Tasks};

/// A container's or ask's place in the workload: job, and stage and tasks within it. The master has no stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) job: usize,
    pub(super) tasks: Option<(usize, usize)>,
}

/// The progress of a job.
#[derive(Debug, Default)]
pub(super) struct JobRun {
    pub(super) application: Option<ApplicationId>,
    pub(super) master: Option<ContainerId>,
    stage: usize,
    /// Containers of the current stage that have not completed.
    left_in_stage: u64,
    pub(super) done: bool,
    /// Whether the master was preempted and does not run again yet.
    pub(super) is_without_master: bool,
    /// A step that the job takes when its preempted master runs again.
    pub(super) held: Option<Step>,
    /// The members of the current stage, if they start together.
    pub(super) attempt: Attempt,
}

/// The next step of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Ask for the containers of this stage.
    Ask(usize),
    /// Finish: all stages are done.
    Finish,
    /// Wait for running containers.
    Wait,
}

impl JobRun {
    /// Starts the job's first stage.
    pub(super) fn begin(&mut self, job: &Job) -> Step {
        self.enter(0, job)
    }

    /// Counts a completed container of the current stage.
    pub(super) fn task_completed(&mut self, job: &Job) -> Step {
        self.left_in_stage -= 1;
        if self.left_in_stage > 0 { Step::Wait } else { self.enter(self.stage + 1, job) }
    }

    /// Enters the first stage from `stage` on that has tasks.
    fn enter(&mut self, stage: usize, job: &Job) -> Step {
        let size = |tasks: &[Tasks]| tasks.iter().map(|tasks| tasks.durations_ms.len() as u64).sum::<u64>();
        let next = (stage..job.stages.len()).find(|stage| size(&job.stages[*stage]) > 0);
        match next {
            Some(stage) => {
                self.stage = stage;
                self.left_in_stage = size(&job.stages[stage]);
                Step::Ask(stage)
            }
            None => {
                self.done = true;
                Step::Finish
            }
        }
    }
}

/// An ask in the engine: for all containers of its part, or again for one that was preempted.
#[derive(Clone, Copy, Debug)]
pub(super) struct AskRun {
    pub(super) part: Part,
    pub(super) submitted_ms: u64,
    /// The place of the next container among its part's durations.
    pub(super) next: usize,
    /// The place of the last container.
    pub(super) last: usize,
}

#[cfg(test)]
mod tests {
    use apportion::Resources;

    use super::*;

    #[test]
    fn stages_follow_one_another_and_empty_ones_are_passed_over() {
        let tasks = |count| Tasks::new(Resources::new(&[1]), vec![Some(5); count]);
        let job = Job {
            name: "j".into(),
            queue: "q".into(),
            user: "u".into(),
            priority: 0,
            submit_ms: 0,
            master: None,
            stages: vec![vec![tasks(2)], vec![], vec![tasks(0)], vec![tasks(1)]],
            starts_together: false,
        };
        let mut run = JobRun::default();
        assert_eq!(run.begin(&job), Step::Ask(0));
        assert_eq!(run.task_completed(&job), Step::Wait);
        assert_eq!(run.task_completed(&job), Step::Ask(3));
        assert_eq!(run.task_completed(&job), Step::Finish);
        assert!(run.done);
    }
}
