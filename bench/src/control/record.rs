//! What came of an experiment, and what was seen of it while it went on.

use apportion_placement::ActionStatus;
use apportion_placement::control::{Job, StepTally};

use super::experiment::Experiment;
use super::slow_hosts::SlowHosts;
use crate::interrupt::Interruption;

/// What was made to go wrong, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Containers in which nothing could be started.
    pub starts_failed: u32,
    /// Containers that could not be stopped.
    pub stops_failed: u32,
    /// Nodes that were lost.
    pub nodes_lost: u32,
}

impl FaultCounts {
    /// All of them.
    #[must_use]
    pub fn total(self) -> u32 {
        self.starts_failed + self.stops_failed + self.nodes_lost
    }
}

/// What came of an experiment. Times count from its beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentRecord {
    /// Which.
    pub experiment: Experiment,
    /// Where it was stopped before its end.
    pub interrupted: Option<Interruption>,
    /// Requests that were made, and last words that were said of them.
    pub requests: u32,
    /// See [`requests`](Self::requests).
    pub terminal_answers: u32,
    /// Of the containers that were to be acted on.
    pub steps: StepTally,
    /// How many containers the job should have.
    pub configured: u32,
    /// How many of them did not run, whenever that changed.
    pub below_configured: Vec<(u64, u32)>,
    /// How many had been acted on, whenever that changed.
    pub done: Vec<(u64, u32)>,
    /// When the last word was said, or when it was stopped before that.
    pub took_ms: u64,
    /// When as many containers ran as should.
    pub whole_ms: Option<u64>,
    /// What was made to go wrong, and how often.
    pub faults: FaultCounts,
    /// Mean part of the slots that was in use, by whomever.
    pub used_part: f64,
    /// What the engine's audit found at the end.
    pub audit_violations: usize,
}

impl ExperimentRecord {
    /// The most containers that were down at once.
    #[must_use]
    pub fn below_configured_max(&self) -> u32 {
        self.below_configured.iter().map(|(_, below)| *below).max().unwrap_or(0)
    }

    /// How many were down at the end.
    #[must_use]
    pub fn below_configured_end(&self) -> u32 {
        self.below_configured.last().map_or(0, |(_, below)| *below)
    }
}

/// What is seen of the job over time.
#[derive(Default)]
pub(super) struct Watch {
    pub(super) below: Vec<(u64, u32)>,
    pub(super) done: Vec<(u64, u32)>,
    pub(super) steps: StepTally,
    pub(super) terminal_answers: u32,
    pub(super) last_word_ms: u64,
}

impl Watch {
    /// The job as it is so long after the beginning.
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

/// Only changes are worth a point.
fn record(points: &mut Vec<(u64, u32)>, at_ms: u64, value: u32) {
    if points.last().is_none_or(|(_, last)| *last != value) {
        points.push((at_ms, value));
    }
}
