//! What can be asked of a job.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use uuid::Uuid;

use super::processor::ProcessorId;
use crate::application::ComponentChange;

/// Something to be done with containers of a running job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobAction {
    /// One container goes somewhere, or starts anew.
    Place {
        /// Whose.
        processor: ProcessorId,
        /// Where.
        destination: Destination,
    },
    /// A standby more of a processor.
    StartStandby {
        /// Whose.
        processor: ProcessorId,
    },
    /// A standby less.
    StopStandby {
        /// Which.
        standby: ProcessorId,
    },
    /// All containers of the job leave a host, and none comes to it any more.
    DrainHost {
        /// The host.
        host: Arc<str>,
        /// How many at once, and how many may be down.
        pace: Pace,
    },
    /// Containers may come again to a host that was drained.
    ReadmitHost {
        /// The host.
        host: Arc<str>,
    },
    /// Some of the job's containers leave a host that has too many.
    RelieveHost {
        /// The host.
        host: Arc<str>,
        /// How many of them.
        containers: u32,
        /// How many at once, and how many may be down.
        pace: Pace,
    },
    /// Containers start anew one after another, some of them first.
    RollingRestart(RollingRestart),
    /// What was asked for before is taken back.
    Cancel {
        /// Which.
        request: Uuid,
    },
}

/// Where a container goes (Samza's `destinationHost`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To this host; it starts anew there if that is where it is.
    Host(Arc<str>),
    /// To any host but its own.
    AnyHost,
    /// It starts anew where it is, or where it was last. A place there is found before it is stopped.
    LastSeen,
    /// It is stopped, and started again like one that ended by itself.
    ForceRestartLastSeen,
    /// To the host of its standby, which goes elsewhere before.
    Standby,
}

/// How fast an action on many containers goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// So many containers at once.
    pub at_once: NonZeroU32,
    /// Another container is only begun with while fewer of the job's containers than this are down, or may go down.
    pub disruption_budget: NonZeroU32,
}

/// Containers that start anew where they are; one for which there is no room beside itself goes elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RollingRestart {
    /// Which; `None` for all, standbys too.
    pub processors: Option<BTreeSet<ProcessorId>>,
    /// How many at once, and how many may be down.
    pub pace: Pace,
    /// So many first.
    pub canaries: u32,
    /// The others follow if those first ones run for this long.
    pub canary_wait_ms: u64,
    /// Whether containers are stopped before a place for them is found.
    pub stops_first: bool,
    /// What they come back as.
    pub change: ComponentChange,
}

/// What is asked of a job, and how long it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRequest {
    /// What.
    pub action: JobAction,
    /// How long a place for a container may be looked for, or a container waited for.
    pub expires_after_ms: u64,
    /// How often a container with which it came to nothing is tried again.
    pub retries: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { at_once: NonZeroU32::MIN, disruption_budget: NonZeroU32::MIN }
    }
}

impl JobRequest {
    /// How long a place may be looked for unless someone says otherwise (Samza's request timeout).
    pub const EXPIRES_AFTER_MS: u64 = 5_000;

    /// This action with the usual limits.
    #[must_use]
    pub fn new(action: JobAction) -> Self {
        Self { action, expires_after_ms: Self::EXPIRES_AFTER_MS, retries: 0 }
    }
}

impl JobAction {
    /// Its name on the wire and in counters.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Place { destination: Destination::LastSeen, .. } => "RESTART",
            Self::Place { destination: Destination::ForceRestartLastSeen, .. } => "FORCE_RESTART",
            Self::Place { destination: Destination::Standby, .. } => "MOVE_TO_STANDBY",
            Self::Place { .. } => "MOVE",
            Self::StartStandby { .. } => "START_STANDBY",
            Self::StopStandby { .. } => "STOP_STANDBY",
            Self::DrainHost { .. } => "DRAIN_HOST",
            Self::ReadmitHost { .. } => "READMIT_HOST",
            Self::RelieveHost { .. } => "RELIEVE_HOST",
            Self::RollingRestart(_) => "ROLLING_RESTART",
            Self::Cancel { .. } => "CANCEL",
        }
    }

    /// Whether it is over at once, and may be what others wait for.
    pub(super) fn makes_room(&self) -> bool {
        matches!(self, Self::Cancel { .. } | Self::ReadmitHost { .. })
    }

    /// Whether containers with which it came to nothing can be tried again.
    pub(super) fn may_be_tried_again(&self) -> bool {
        !self.makes_room()
    }

    /// The processor that it is about, if it is about one: actions on one processor and its standbys wait for each other.
    #[must_use]
    pub fn processor(&self) -> Option<&ProcessorId> {
        match self {
            Self::Place { processor, .. } | Self::StartStandby { processor } => Some(processor),
            Self::StopStandby { standby } => Some(standby),
            _ => None,
        }
    }
}
