//! Exits of containers, with YARN's exit statuses.

use serde::{Deserialize, Serialize};

/// The exit of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerExit {
    /// The process's exit status, or one of YARN's negative statuses.
    pub status: i32,
    /// The host's diagnostics.
    pub diagnostics: String,
}

/// The effect of an exit on the component's and the host's counters (spec 1.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainerOutcome {
    /// It ended without a failure: it succeeded, was released, was lost with its node, or was ended by the
    /// manager.
    Completed,
    /// It failed.
    Failed,
    /// It exceeded its resources.
    LimitsExceeded,
    /// Its host's disks failed. A container lost with its node has [completed](Self::Completed).
    NodeFailure,
    /// It was preempted.
    Preempted,
}

impl ContainerExit {
    /// The process ended by itself and succeeded.
    pub const SUCCESS: i32 = 0;
    /// The container was lost with its node or taken back by the manager.
    pub const ABORTED: i32 = -100;
    /// The host's disks failed.
    pub const DISKS_FAILED: i32 = -101;
    /// The container was preempted.
    pub const PREEMPTED: i32 = -102;
    /// The container exceeded its virtual memory.
    pub const KILLED_EXCEEDED_VMEM: i32 = -103;
    /// The container exceeded its memory.
    pub const KILLED_EXCEEDED_PMEM: i32 = -104;
    /// The service released it.
    pub const KILLED_BY_APPMASTER: i32 = -105;
    /// The manager ended it.
    pub const KILLED_BY_RESOURCEMANAGER: i32 = -106;
    /// Its application ended.
    pub const KILLED_AFTER_APP_COMPLETION: i32 = -107;

    /// Creates an exit with this status, without diagnostics.
    #[must_use]
    pub fn of(status: i32) -> Self {
        Self { status, diagnostics: String::new() }
    }

    /// Describes the exit in a few words.
    #[must_use]
    pub fn describe(&self) -> String {
        if self.diagnostics.is_empty() {
            format!("exit status {}", self.status)
        } else {
            format!("exit status {}: {}", self.status, self.diagnostics)
        }
    }

    /// Returns whether the container lost its place (Samza's exits that lead to a failover).
    #[must_use]
    pub fn takes_place_away(&self) -> bool {
        matches!(self.status, Self::ABORTED | Self::DISKS_FAILED | Self::PREEMPTED)
    }

    /// Returns the effect on the counters.
    #[must_use]
    pub fn outcome(&self) -> ContainerOutcome {
        match self.status {
            Self::SUCCESS
            | Self::ABORTED
            | Self::KILLED_BY_APPMASTER
            | Self::KILLED_BY_RESOURCEMANAGER
            | Self::KILLED_AFTER_APP_COMPLETION => ContainerOutcome::Completed,
            Self::DISKS_FAILED => ContainerOutcome::NodeFailure,
            Self::PREEMPTED => ContainerOutcome::Preempted,
            Self::KILLED_EXCEEDED_VMEM | Self::KILLED_EXCEEDED_PMEM => ContainerOutcome::LimitsExceeded,
            _ => ContainerOutcome::Failed,
        }
    }
}
