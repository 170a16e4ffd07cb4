//! The plan of a request: steps, one for each processor that it concerns.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::super::action::{Destination, Pace};
use super::super::processor::ProcessorId;
use crate::application::{ActionId, ActionKind, ActionStatus, ComponentChange};
use crate::client::ContainerRef;
use crate::component::ComponentId;

/// A request that goes on.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Steps whose turn has not come.
    pub(super) waiting: VecDeque<Step>,
    /// Steps that go on, by the processor that they keep others from.
    pub(super) running: BTreeMap<ProcessorId, RunningStep>,
    /// Rules for requests about many containers.
    pub(super) batch: Option<Batch>,
    pub(super) expires_after_ms: u64,
    /// Steps in all, those that succeeded, and those that did not.
    pub(super) steps: u32,
    pub(super) succeeded: u32,
    pub(super) failed: u32,
    /// Why the last step that failed did.
    pub(super) reason: String,
    pub(super) is_cancelled: bool,
    /// Whether a step of it has begun.
    pub(super) is_begun: bool,
}

/// How a request about many containers goes.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) pace: Pace,
    /// A rolling restart: the first failure ends it, and the next one waits until it is over.
    pub(super) is_rolling: bool,
    pub(super) canary: Option<Canary>,
    pub(super) drains: Option<Drain>,
    /// Since when nothing of it could begin.
    pub(super) stalled_since_ms: Option<u64>,
}

/// A host that is to be empty in the end.
#[derive(Clone, Debug)]
pub(super) struct Drain {
    pub(super) host: Arc<str>,
    /// Containers that steps were made for: others have come since.
    pub(super) seen: BTreeSet<ContainerRef>,
}

/// Steps that have to go well before the others begin.
#[derive(Clone, Debug)]
pub(super) struct Canary {
    /// How many.
    pub(super) steps: u32,
    pub(super) wait_ms: u64,
    /// The containers that have to go on running, and until when; known when the last of these steps is done.
    pub(super) runs: Vec<(ComponentId, ContainerRef)>,
    pub(super) until_ms: Option<u64>,
}

/// The moves for one processor, in order.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The processor, for a standby the one that it stands by for.
    pub(super) group: ProcessorId,
    pub(super) intent: Intent,
    /// It is only needed while this container is there.
    pub(super) only_while: Option<(ComponentId, ContainerRef)>,
    pub(super) retries: u32,
    /// How often it was tried in vain.
    pub(super) tries: u32,
}

/// The intent for a processor.
#[derive(Clone, Debug)]
pub(super) enum Intent {
    Place {
        processor: ProcessorId,
        destination: Destination,
    },
    /// It leaves the host where it is.
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

/// One thing to do.
#[derive(Clone, Debug)]
pub(super) enum Move {
    /// A container goes elsewhere or starts anew.
    Act { component: ComponentId, kind: ActionKind, or_elsewhere: bool, change: Arc<ComponentChange> },
    /// A standby goes away from where it is, as far as standbys are kept apart, and a container comes to its place; or
    /// goes elsewhere, if it does not get that.
    HandOver { standby: ComponentId, component: ComponentId, or_elsewhere: bool },
    /// A container comes to the place of this standby, which the processor has no more.
    ReplaceStandby { number: u32, component: ComponentId },
    /// The processor has this standby from now on.
    StartStandby { number: u32 },
    /// The standby goes to this host, if it is not there.
    BringStandby { number: u32, host: Arc<str> },
    /// The standby has to run, and to have read all state.
    AwaitStandby { number: u32, has_to_catch_up: bool },
    /// The processor has this standby no more.
    StopStandby { number: u32 },
}

/// A step that goes on.
#[derive(Clone, Debug)]
pub(super) struct RunningStep {
    pub(super) step: Step,
    /// What is left to do of it, what goes on included.
    pub(super) left: VecDeque<Move>,
    /// Standbys that it started.
    pub(super) started: Vec<u32>,
    /// What was said of the container that comes to its standby's place, while that one goes elsewhere.
    pub(super) early: Option<(ActionStatus, String)>,
    pub(super) stage: RunStage,
}

/// The event that a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunStage {
    /// Its container does not run yet.
    AwaitingContainer { until_ms: u64 },
    /// The answer of a placement action.
    Acting(ActionId),
    /// The answer of the action on a standby; then that of the one on the container that comes to its place.
    HandingOver { standby: ActionId, heir: ActionId },
    /// A standby that is to run, or to have read all state.
    Standby { component: ComponentId, until_ms: u64, has_to_catch_up: bool },
    /// The time at which it is tried again.
    Pausing { until_ms: u64 },
    /// A standby that is to be gone.
    Gone { component: ComponentId, until_ms: u64 },
}

impl RunStage {
    /// Until when it is waited for; `None` if an answer tells.
    pub(super) fn until_ms(self) -> Option<u64> {
        match self {
            Self::AwaitingContainer { until_ms }
            | Self::Standby { until_ms, .. }
            | Self::Pausing { until_ms }
            | Self::Gone { until_ms, .. } => Some(until_ms),
            Self::Acting(_) | Self::HandingOver { .. } => None,
        }
    }

    /// What is waited for, and what is said if that was in vain.
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
    /// A step that concerns this processor, or the one that it stands by for.
    pub(super) fn new(processor: &ProcessorId, intent: Intent) -> Self {
        Self { group: processor.active(), intent, only_while: None, retries: 0, tries: 0 }
    }

    /// How long it pauses before it is tried again: the longer, the more often that was in vain. What went wrong may
    /// take a while to go away.
    pub(super) fn pause_ms(&self) -> u64 {
        const PAUSE_MS: u64 = 1_000;
        PAUSE_MS << self.tries.saturating_sub(1).min(6)
    }
}

impl Move {
    /// Whether it is a placement action of the service below.
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
    /// A step of which nothing is done yet.
    pub(super) fn new(step: Step) -> Self {
        let stage = RunStage::AwaitingContainer { until_ms: 0 };
        Self { step, left: VecDeque::new(), started: Vec::new(), early: None, stage }
    }
}

impl Batch {
    /// One that goes on after a failure.
    pub(super) fn new(pace: Pace, drains: Option<Drain>) -> Self {
        Self { pace, is_rolling: false, canary: None, drains, stalled_since_ms: None }
    }
}

impl Plan {
    pub(super) fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    pub(super) fn percent_done(&self) -> u32 {
        let done = u64::from(self.succeeded) + u64::from(self.failed);
        u32::try_from(done * 100 / u64::from(self.steps.max(1))).unwrap_or(100)
    }

    pub(super) fn tally(&self) -> String {
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
