//! The plan of a request: steps, one for each processor concerned.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::super::action::{Destination, Pace};
use super::super::processor::ProcessorId;
use super::StepTally;
use crate::application::{ActionId, ActionKind, ComponentChange};
use crate::client::ContainerRef;
use crate::component::ComponentId;
use crate::service::ActionProgress;

/// An open request.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Steps that have not begun.
    pub(super) waiting: VecDeque<Step>,
    /// Running steps by processor. No other step may use that processor meanwhile.
    pub(super) running: BTreeMap<ProcessorId, RunningStep>,
    /// Rules for requests about many containers; `None` for other requests.
    pub(super) batch: Option<Batch>,
    pub(super) expires_after_ms: u64,
    /// The numbers of all steps, of successes and of failures.
    pub(super) steps: u32,
    pub(super) succeeded: u32,
    pub(super) failed: u32,
    /// The reason of the last failure; for one processor, the last message.
    pub(super) reason: String,
    pub(super) is_cancelled: bool,
    /// Whether one of its steps has begun.
    pub(super) is_begun: bool,
}

/// The rules of a request about many containers.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) pace: Pace,
    /// Whether it is a rolling restart: its first failure ends it, and the next rolling restart waits for
    /// its end.
    pub(super) is_rolling: bool,
    pub(super) canary: Option<Canary>,
    pub(super) drains: Option<Drain>,
    /// Since when too many containers are down for a step to begin.
    pub(super) stalled_since_ms: Option<u64>,
}

/// The host that a drain has to empty.
#[derive(Clone, Debug)]
pub(super) struct Drain {
    pub(super) host: Arc<str>,
    /// Containers that have a step. A container that came later has none yet.
    pub(super) seen: BTreeSet<ContainerRef>,
}

/// Steps that must succeed before the other steps begin.
#[derive(Clone, Debug)]
pub(super) struct Canary {
    /// The number of these steps.
    pub(super) steps: u32,
    pub(super) wait_ms: u64,
    /// The containers of these steps, which have to keep running.
    pub(super) runs: Vec<(ComponentId, ContainerRef)>,
    /// The end of the wait; set after the last of these steps.
    pub(super) until_ms: Option<u64>,
}

/// The moves for one processor, in order.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The processor concerned; for a standby, its processor.
    pub(super) group: ProcessorId,
    pub(super) intent: Intent,
    /// The step is only needed while this component has this container.
    pub(super) only_while: Option<(ComponentId, ContainerRef)>,
    pub(super) retries: u32,
    /// The number of failed tries.
    pub(super) tries: u32,
}

/// The intent for a processor.
#[derive(Clone, Debug)]
pub(super) enum Intent {
    Place {
        processor: ProcessorId,
        destination: Destination,
    },
    /// Leaves its present host.
    Depart {
        processor: ProcessorId,
        component: ComponentId,
    },
    StartStandby(ProcessorId),
    StopStandby(ProcessorId),
    Restart {
        component: ComponentId,
        kind: ActionKind,
        change: Arc<ComponentChange>,
    },
}

/// One operation of a step.
#[derive(Clone, Debug)]
pub(super) enum Move {
    /// A container moves or restarts.
    Act { component: ComponentId, kind: ActionKind, or_elsewhere: bool, change: Arc<ComponentChange> },
    /// A standby moves to a host that its fault domain allows, and the container takes its place. With
    /// `or_elsewhere`, the container goes to another host if it does not get that place.
    HandOver { standby: ComponentId, component: ComponentId, or_elsewhere: bool },
    /// A container takes the place of this standby, which the processor then no longer has.
    ReplaceStandby { number: u32, component: ComponentId },
    /// The processor gets this standby.
    StartStandby { number: u32 },
    /// The standby moves to this host unless it is there.
    BringStandby { number: u32, host: Arc<str> },
    /// Waits until the standby runs or, with `has_to_catch_up`, has read all state.
    AwaitStandby { number: u32, has_to_catch_up: bool },
    /// The processor loses this standby.
    StopStandby { number: u32 },
}

/// A step that has begun.
#[derive(Clone, Debug)]
pub(super) struct RunningStep {
    pub(super) step: Step,
    /// The remaining moves, the current one first.
    pub(super) left: VecDeque<Move>,
    /// Standbys that the step started.
    pub(super) started: Vec<u32>,
    /// An early answer of the heir: it arrived while the standby was still moving.
    pub(super) early: Option<ActionProgress>,
    pub(super) stage: RunStage,
}

/// The event that a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunStage {
    /// The container has to run.
    AwaitingContainer { until_ms: u64 },
    /// The answer of a placement action.
    Acting(ActionId),
    /// The answers of two actions: first the standby's, then the heir's, which takes the standby's place.
    HandingOver { standby: ActionId, heir: ActionId },
    /// A standby has to run, or to have read all state.
    Standby { component: ComponentId, until_ms: u64, has_to_catch_up: bool },
    /// The time of the next try.
    Pausing { until_ms: u64 },
    /// A standby has to be gone.
    Gone { component: ComponentId, until_ms: u64 },
}

impl RunStage {
    /// Returns the time limit of the wait; `None` if an answer ends it.
    pub(super) fn until_ms(self) -> Option<u64> {
        match self {
            Self::AwaitingContainer { until_ms }
            | Self::Standby { until_ms, .. }
            | Self::Pausing { until_ms }
            | Self::Gone { until_ms, .. } => Some(until_ms),
            Self::Acting(_) | Self::HandingOver { .. } => None,
        }
    }

    /// Returns the text while it waits, and the text if the wait fails.
    pub(super) fn in_words(self) -> Option<(&'static str, &'static str)> {
        let vain = "the standby did not run, or had not read all state, in time";
        match self {
            Self::AwaitingContainer { .. } => {
                Some(("it waits until the container runs", "the container did not run in time"))
            }
            Self::Standby { has_to_catch_up: false, .. } => Some(("it waits until the standby runs", vain)),
            Self::Standby { .. } => Some(("it waits until the standby has read all state", vain)),
            Self::Gone { .. } => {
                Some(("it waits until the standby has stopped", "the standby did not stop in time"))
            }
            Self::Acting(_) | Self::HandingOver { .. } | Self::Pausing { .. } => None,
        }
    }
}

impl Step {
    /// Creates a step that concerns this processor, or the processor of this standby.
    pub(super) fn new(processor: &ProcessorId, intent: Intent) -> Self {
        Self { group: processor.active(), intent, only_while: None, retries: 0, tries: 0 }
    }

    /// Returns the pause before the next try. It grows with the number of failed tries, because a cause may
    /// take a while to go away.
    pub(super) fn pause_ms(&self) -> u64 {
        const PAUSE_MS: u64 = 1_000;
        PAUSE_MS << self.tries.saturating_sub(1).min(6)
    }
}

impl Move {
    /// Returns whether it is a placement action of the service below.
    pub(super) fn is_placement(&self) -> bool {
        matches!(
            self,
            Self::Act { .. }
                | Self::HandOver { .. }
                | Self::ReplaceStandby { .. }
                | Self::BringStandby { .. }
        )
    }
}

impl RunningStep {
    /// Creates a step without moves.
    pub(super) fn new(step: Step) -> Self {
        let stage = RunStage::AwaitingContainer { until_ms: 0 };
        Self { step, left: VecDeque::new(), started: Vec::new(), early: None, stage }
    }
}

impl Batch {
    /// Creates rules under which a failure does not end the request.
    pub(super) fn new(pace: Pace, drains: Option<Drain>) -> Self {
        Self { pace, is_rolling: false, canary: None, drains, stalled_since_ms: None }
    }
}

impl Plan {
    pub(super) fn new(steps: Vec<Step>, batch: Option<Batch>, expires_after_ms: u64) -> Self {
        Self {
            steps: u32::try_from(steps.len()).unwrap_or(u32::MAX),
            waiting: steps.into(),
            running: BTreeMap::new(),
            batch,
            expires_after_ms,
            succeeded: 0,
            failed: 0,
            reason: String::new(),
            is_cancelled: false,
            is_begun: false,
        }
    }

    /// Returns the host that a drain has to empty.
    pub(super) fn drained_host(&self) -> Option<&Arc<str>> {
        Some(&self.batch.as_ref()?.drains.as_ref()?.host)
    }

    pub(super) fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    pub(super) fn percent_done(&self) -> u32 {
        let done = u64::from(self.succeeded) + u64::from(self.failed);
        u32::try_from(done * 100 / u64::from(self.steps.max(1))).unwrap_or(100)
    }

    pub(super) fn tally(&self) -> StepTally {
        StepTally { steps: self.steps, succeeded: self.succeeded, failed: self.failed }
    }

    /// Describes the progress in a sentence.
    pub(super) fn summary(&self) -> String {
        let left = self.steps.saturating_sub(self.succeeded + self.failed);
        let taken_back = if self.is_cancelled { "it was taken back: " } else { "" };
        let mut text = format!("{taken_back}{} of {} done", self.succeeded, self.steps);
        if self.failed > 0 {
            text.push_str(&format!(", {} failed, the last one because: {}", self.failed, self.reason));
        }
        if left > 0 && self.is_done() {
            text.push_str(&format!(", {left} not begun"));
        }
        text
    }
}
