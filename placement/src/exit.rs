//! How containers end, in YARN's numbers.

use serde::{Deserialize, Serialize};

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerExit {
    /// The process's exit status, or one of YARN's negative numbers.
    pub status: i32,
    /// The host's diagnostics.
    pub diagnostics: String,
}

/// Conclusions from the end of a container about the component and the host (spec 1.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainerOutcome {
    /// It ended and nothing failed: all was well, it was given back, or it was taken back with its node or by the
    /// manager.
    Completed,
    /// It failed.
    Failed,
    /// It used more than it asked for.
    LimitsExceeded,
    /// Its host's disks failed. What is lost with its node has [completed](Self::Completed).
    NodeFailure,
    /// It was taken back for somebody more deserving.
    Preempted,
}

impl ContainerExit {
    /// The process ended by itself and all was well.
    pub const SUCCESS: i32 = 0;
    /// The container was taken back with its node or by the manager.
    pub const ABORTED: i32 = -100;
    /// The host's disks failed.
    pub const DISKS_FAILED: i32 = -101;
    /// The container was taken back for somebody more deserving.
    pub const PREEMPTED: i32 = -102;
    /// Too much virtual memory.
    pub const KILLED_EXCEEDED_VMEM: i32 = -103;
    /// Too much memory.
    pub const KILLED_EXCEEDED_PMEM: i32 = -104;
    /// The service gave it back.
    pub const KILLED_BY_APPMASTER: i32 = -105;
    /// The manager ended it.
    pub const KILLED_BY_RESOURCEMANAGER: i32 = -106;
    /// Its application ended.
    pub const KILLED_AFTER_APP_COMPLETION: i32 = -107;

    /// An end with this status and nothing to say.
    #[must_use]
    pub fn of(status: i32) -> Self {
        Self { status, diagnostics: String::new() }
    }

    /// The end in a few words.
    #[must_use]
    pub fn describe(&self) -> String {
        if self.diagnostics.is_empty() {
            format!("exit status {}", self.status)
        } else {
            format!("exit status {}: {}", self.status, self.diagnostics)
        }
    }

    /// Whether the container ended because it could not stay where it was (Samza's exits that lead to a failover).
    #[must_use]
    pub fn takes_place_away(&self) -> bool {
        matches!(self.status, Self::ABORTED | Self::DISKS_FAILED | Self::PREEMPTED)
    }

    /// The conclusions about component and host.
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
