//! The result of an experiment, and observations during it.

use apportion_placement::ActionStatus;
use apportion_placement::control::{Job, StepTally};

use super::experiment::Experiment;
use super::slow_hosts::SlowHosts;
use crate::interrupt::Interruption;

/// The injected faults, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Containers that failed to start.
    pub starts_failed: u32,
    /// Containers that could not be stopped.
    pub stops_failed: u32,
    /// Lost nodes.
    pub nodes_lost: u32,
}

impl FaultCounts {
    /// Number of all faults.
    #[must_use]
    pub fn total(self) -> u32 {
        self.starts_failed + self.stops_failed + self.nodes_lost
    }
}

/// The result of an experiment. Times count from its beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentRecord {
    /// The experiment.
    pub experiment: Experiment,
    /// The point at which it was stopped early.
    pub interrupted: Option<Interruption>,
    /// Number of requests; `terminal_answers` counts their final answers.
    pub requests: u32,
    /// See [`requests`](Self::requests).
    pub terminal_answers: u32,
    /// Results for the containers of the requests.
    pub steps: StepTally,
    /// Number of containers that the job should have.
    pub configured: u32,
    /// Number of these that were down, at each change.
    pub below_configured: Vec<(u64, u32)>,
    /// Number of containers handled so far, at each change.
    pub done: Vec<(u64, u32)>,
    /// Time of the last final answer, or of the interruption.
    pub took_ms: u64,
    /// Time at which all configured containers ran; `None` if they never did.
    pub whole_ms: Option<u64>,
    /// The injected faults.
    pub faults: FaultCounts,
    /// Mean part of the slots in use, by all jobs together.
    pub used_part: f64,
    /// Number of violations that the engine's audit found at the end.
    pub audit_violations: usize,
}

impl ExperimentRecord {
    /// The most containers that were down at the same time.
    #[must_use]
    pub fn below_configured_max(&self) -> u32 {
        self.below_configured.iter().map(|(_, below)| *below).max().unwrap_or(0)
    }

    /// Number of containers that were down at the end.
    #[must_use]
    pub fn below_configured_end(&self) -> u32 {
        self.below_configured.last().map_or(0, |(_, below)| *below)
    }
}

/// Observations of the job over time.
#[derive(Default)]
pub(super) struct Watch {
    pub(super) below: Vec<(u64, u32)>,
    pub(super) done: Vec<(u64, u32)>,
    pub(super) steps: StepTally,
    pub(super) terminal_answers: u32,
    pub(super) last_word_ms: u64,
}

impl Watch {
    /// Records the present state of the job; `at_ms` counts from the beginning.
    pub(super) fn look(&mut self, job: &mut Job<SlowHosts>, at_ms: u64) {
        for answer in job.take_answers() {
            let Some(steps) = answer.steps.filter(|_| answer.status.is_terminal()) else {
                self.terminal_answers += u32::from(answer.status == ActionStatus::BadRequest);
                continue;
            };
            self.terminal_answers += 1;
            self.last_word_ms = at_ms;
            self.add(steps);
        }
        let below = u32::try_from(job.service().state().missing()).unwrap_or(u32::MAX);
        record(&mut self.below, at_ms, below);
        let open: u32 = job.progress().map(|(_, tally)| tally.succeeded + tally.failed).sum();
        record(&mut self.done, at_ms, self.steps.succeeded + self.steps.failed + open);
    }
}

impl Watch {
    /// Counts the results so far of requests that have no final answer.
    pub(super) fn add_open(&mut self, job: &Job<SlowHosts>) {
        job.progress().for_each(|(_, tally)| self.add(tally));
    }

    fn add(&mut self, steps: StepTally) {
        self.steps.steps += steps.steps;
        self.steps.succeeded += steps.succeeded;
        self.steps.failed += steps.failed;
    }
}

/// Adds a point if the value has changed.
fn record(points: &mut Vec<(u64, u32)>, at_ms: u64, value: u32) {
    if points.last().is_none_or(|(_, last)| *last != value) {
        points.push((at_ms, value));
    }
}
