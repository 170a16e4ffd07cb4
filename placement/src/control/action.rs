//! Actions that a job can be asked for.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use uuid::Uuid;

use super::processor::ProcessorId;
use crate::application::{ComponentChange, ContainerAction};

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
    /// Takes an earlier request back.
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

/// A request to a job, and its time limit.
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
    pub const EXPIRES_AFTER_MS: u64 = ContainerAction::EXPIRES_AFTER_MS;

    /// This action with the usual limits.
    #[must_use]
    pub fn new(action: JobAction) -> Self {
        Self { action, expires_after_ms: Self::EXPIRES_AFTER_MS, retries: 0 }
    }
}

/// The name of an action in messages, permissions and counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActionName {
    /// A container goes somewhere.
    Move,
    /// It starts anew where it is: also a `MOVE` to `LAST_SEEN`.
    Restart,
    /// It is stopped first: also a `MOVE` to `FORCE_RESTART_LAST_SEEN`.
    ForceRestart,
    /// It takes the place of its standby: also a `MOVE` to `STANDBY`.
    MoveToStandby,
    /// A standby more.
    StartStandby,
    /// A standby less.
    StopStandby,
    /// All containers leave a host.
    DrainHost,
    /// They may come to it again.
    ReadmitHost,
    /// Some containers leave a host.
    RelieveHost,
    /// Containers start anew one after another.
    RollingRestart,
    /// A request is taken back.
    Cancel,
}

impl ActionName {
    /// All that there are.
    pub const ALL: [Self; 11] = [
        Self::Move,
        Self::Restart,
        Self::ForceRestart,
        Self::MoveToStandby,
        Self::StartStandby,
        Self::StopStandby,
        Self::DrainHost,
        Self::ReadmitHost,
        Self::RelieveHost,
        Self::RollingRestart,
        Self::Cancel,
    ];

    /// Whether messages leave the processor out.
    pub(super) const fn is_about_many(self) -> bool {
        matches!(
            self,
            Self::DrainHost | Self::ReadmitHost | Self::RelieveHost | Self::RollingRestart | Self::Cancel
        )
    }

    /// Whether messages name a host, or a word in its place.
    pub(super) const fn names_host(self) -> bool {
        matches!(self, Self::Move | Self::DrainHost | Self::ReadmitHost | Self::RelieveHost)
    }

    /// As it is written in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Move => "MOVE",
            Self::Restart => "RESTART",
            Self::ForceRestart => "FORCE_RESTART",
            Self::MoveToStandby => "MOVE_TO_STANDBY",
            Self::StartStandby => "START_STANDBY",
            Self::StopStandby => "STOP_STANDBY",
            Self::DrainHost => "DRAIN_HOST",
            Self::ReadmitHost => "READMIT_HOST",
            Self::RelieveHost => "RELIEVE_HOST",
            Self::RollingRestart => "ROLLING_RESTART",
            Self::Cancel => "CANCEL",
        }
    }
}

impl fmt::Display for ActionName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl JobAction {
    /// What it is called, however the message called it.
    #[must_use]
    pub fn name(&self) -> ActionName {
        match self {
            Self::Place { destination, .. } => match destination {
                Destination::LastSeen => ActionName::Restart,
                Destination::ForceRestartLastSeen => ActionName::ForceRestart,
                Destination::Standby => ActionName::MoveToStandby,
                Destination::Host(_) | Destination::AnyHost => ActionName::Move,
            },
            Self::StartStandby { .. } => ActionName::StartStandby,
            Self::StopStandby { .. } => ActionName::StopStandby,
            Self::DrainHost { .. } => ActionName::DrainHost,
            Self::ReadmitHost { .. } => ActionName::ReadmitHost,
            Self::RelieveHost { .. } => ActionName::RelieveHost,
            Self::RollingRestart(_) => ActionName::RollingRestart,
            Self::Cancel { .. } => ActionName::Cancel,
        }
    }

    /// Whether it is over at once, and may be what others wait for.
    pub(super) fn makes_room(&self) -> bool {
        matches!(self, Self::Cancel { .. } | Self::ReadmitHost { .. })
    }

    /// The processor that it is about, if it is about one: actions on one processor and its standbys wait for each
    /// other.
    #[must_use]
    pub fn processor(&self) -> Option<&ProcessorId> {
        match self {
            Self::Place { processor, .. } | Self::StartStandby { processor } => Some(processor),
            Self::StopStandby { standby } => Some(standby),
            _ => None,
        }
    }
}
