//! Actions of a job, as requests name them.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use uuid::Uuid;

use super::processor::ProcessorId;
use crate::application::{ComponentChange, ContainerAction};

/// An action on containers of a running job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobAction {
    /// Moves or restarts one container.
    Place {
        /// The processor or standby.
        processor: ProcessorId,
        /// The destination.
        destination: Destination,
    },
    /// Adds a standby to a processor.
    StartStandby {
        /// The processor.
        processor: ProcessorId,
    },
    /// Removes a standby.
    StopStandby {
        /// The standby.
        standby: ProcessorId,
    },
    /// Moves all containers of the job off a host, and keeps the host free afterwards.
    DrainHost {
        /// The host.
        host: Arc<str>,
        /// How many containers move at once, and how many may be down.
        pace: Pace,
    },
    /// Ends the effect of a drain: containers may return to the host.
    ReadmitHost {
        /// The host.
        host: Arc<str>,
    },
    /// Moves some of the job's containers off an overloaded host.
    RelieveHost {
        /// The host.
        host: Arc<str>,
        /// The number of containers to move.
        containers: u32,
        /// How many containers move at once, and how many may be down.
        pace: Pace,
    },
    /// Restarts containers one after another, canaries first.
    RollingRestart(RollingRestart),
    /// Cancels an earlier request.
    Cancel {
        /// The request.
        request: Uuid,
    },
}

/// The destination of a container (Samza's `destinationHost`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// This host. A container that is there already restarts there.
    Host(Arc<str>),
    /// Any host but its own.
    AnyHost,
    /// Its present or last host: it restarts there. The job finds a place before it stops the container.
    LastSeen,
    /// Its present or last host. The container is stopped first, then restarted as if it had ended by
    /// itself.
    ForceRestartLastSeen,
    /// The host of its standby. The standby moves elsewhere first.
    Standby,
}

/// How fast an action on many containers goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The most containers worked on at once.
    pub at_once: NonZeroU32,
    /// A step begins only while fewer of the job's containers than this are down or may go down.
    pub disruption_budget: NonZeroU32,
}

/// Restarts containers in place. A container without room beside itself restarts elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RollingRestart {
    /// The processors and standbys to restart; `None` for all, standbys included.
    pub processors: Option<BTreeSet<ProcessorId>>,
    /// How many containers restart at once, and how many may be down.
    pub pace: Pace,
    /// The number of containers that restart first.
    pub canaries: u32,
    /// The other containers follow after the canaries have run for this long.
    pub canary_wait_ms: u64,
    /// Whether a container is stopped before a place for its successor is found.
    pub stops_first: bool,
    /// The version or size that the containers restart with.
    pub change: ComponentChange,
}

/// A request to a job, and its time limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRequest {
    /// The action.
    pub action: JobAction,
    /// Time limit for finding a place for a container, and for waiting for a container.
    pub expires_after_ms: u64,
    /// How often a failed step is retried.
    pub retries: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { at_once: NonZeroU32::MIN, disruption_budget: NonZeroU32::MIN }
    }
}

impl JobRequest {
    /// The default time limit for finding a place (Samza's request timeout).
    pub const EXPIRES_AFTER_MS: u64 = ContainerAction::EXPIRES_AFTER_MS;

    /// Creates a request with the default limits.
    #[must_use]
    pub fn new(action: JobAction) -> Self {
        Self { action, expires_after_ms: Self::EXPIRES_AFTER_MS, retries: 0 }
    }
}

/// The name of an action in messages, permissions and counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActionName {
    /// Moves a container.
    Move,
    /// Restarts a container in place: also a `MOVE` to `LAST_SEEN`.
    Restart,
    /// Stops a container first, then restarts it: also a `MOVE` to `FORCE_RESTART_LAST_SEEN`.
    ForceRestart,
    /// Moves a processor to the place of its standby: also a `MOVE` to `STANDBY`.
    MoveToStandby,
    /// Adds a standby.
    StartStandby,
    /// Removes a standby.
    StopStandby,
    /// Moves all containers off a host.
    DrainHost,
    /// Lets containers return to a host.
    ReadmitHost,
    /// Moves some containers off a host.
    RelieveHost,
    /// Restarts containers one after another.
    RollingRestart,
    /// Cancels a request.
    Cancel,
}

impl ActionName {
    /// Every action.
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

    /// Returns whether its messages name no processor.
    pub(super) const fn is_about_many(self) -> bool {
        matches!(
            self,
            Self::DrainHost | Self::ReadmitHost | Self::RelieveHost | Self::RollingRestart | Self::Cancel
        )
    }

    /// Returns whether its messages name a host, or a word in place of one.
    pub(super) const fn names_host(self) -> bool {
        matches!(self, Self::Move | Self::DrainHost | Self::ReadmitHost | Self::RelieveHost)
    }

    /// Returns its name in messages.
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
    /// Returns its canonical name, whichever form the message used.
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

    /// Returns whether it ends at once and may unblock other requests.
    pub(super) fn makes_room(&self) -> bool {
        matches!(self, Self::Cancel { .. } | Self::ReadmitHost { .. })
    }

    /// Returns the processor concerned, if there is exactly one. Actions on one processor and its standbys
    /// wait for each other.
    #[must_use]
    pub fn processor(&self) -> Option<&ProcessorId> {
        match self {
            Self::Place { processor, .. } | Self::StartStandby { processor } => Some(processor),
            Self::StopStandby { standby } => Some(standby),
            _ => None,
        }
    }
}
