//! Durability, compaction and locks of the logs on a disk, `file_log` and `store_log`.

use std::thread;

use serde::{Deserialize, Serialize};

use crate::request::CommitSeq;

/// The failure that an announced change survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// The end of the process, but no crash of the machine: the operating system chooses when to write to the disk.
    None,
    /// A crash of the machine costs no more than the last groups with this many bytes together. In a folder, the end
    /// of the process costs nothing. There the file system may keep a later one of these groups and lose an earlier
    /// one. Then the log is damaged, and `file_log::repair` cuts it off. In a store, the end of the process by a
    /// signal or an abort costs as much as a crash of the machine.
    Grouped {
        /// The disk is behind by less than this.
        bytes: u64,
    },
    /// A crash of the machine: each group is on the disk before its events and answers. If that fails, the engine ends
    /// without announcing the group.
    BeforeEvents,
}

impl Durability {
    /// Whether the disk must catch up if it is behind by this many bytes.
    pub(crate) fn is_due(self, unsynced_bytes: u64) -> bool {
        match self {
            Self::None => false,
            Self::Grouped { bytes } => unsynced_bytes >= bytes,
            Self::BeforeEvents => true,
        }
    }
}

/// A snapshot that replaced the groups before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// The last change in the snapshot.
    pub last: CommitSeq,
    /// The length of the whole log before.
    pub bytes_before: u64,
    /// The length of the whole log after.
    pub bytes_after: u64,
}

/// Takes a lock, or returns `None` if another process keeps it. A process that was killed may hold its lock for a
/// moment longer, so the function tries many times.
pub(crate) fn take_lock<T, E>(mut take: impl FnMut() -> Result<Option<T>, E>) -> Result<Option<T>, E> {
    const TRIES: u32 = 1_000;
    for _ in 1..TRIES {
        if let Some(taken) = take()? {
            return Ok(Some(taken));
        }
        thread::yield_now();
    }
    take()
}
