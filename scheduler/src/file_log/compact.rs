//! Compaction: a snapshot in place of old segments.

use std::fs::File;
use std::io::BufWriter;

use super::folder::{Folder, Name};
use super::{COMPACTOR_LOCK, FileLogError};
use crate::replay::Replay;
use crate::request::CommitSeq;

/// Shortens a log beside its writer. It reads the segments that the writer has finished, and never the state of the
/// engine, so the engine does not wait for it.
#[derive(Debug)]
pub struct Compactor {
    folder: Folder,
    /// Held from the first compaction on, against another compactor.
    lock: Option<File>,
}

/// A snapshot that replaced segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// The last change in the snapshot.
    pub last: CommitSeq,
    /// The length of the whole log before and after.
    pub bytes: (u64, u64),
}

impl Compactor {
    pub(super) fn new(folder: Folder) -> Self {
        Self { folder, lock: None }
    }

    /// Replaces all finished segments by a snapshot; `None` if there is none. Takes about as long as a recovery.
    ///
    /// # Errors
    /// If another compactor is at work or the writer has not begun, a finished segment is damaged, or the file system fails. The log is then as
    /// before.
    pub fn compact(&mut self) -> Result<Option<Compacted>, FileLogError> {
        if self.lock.is_none() {
            self.lock = Some(self.folder.lock(COMPACTOR_LOCK)?);
        }
        let segments = self.folder.files()?.into_iter().filter(|name| matches!(name, Name::Segment(_)));
        let [.., number, _] = segments.map(Name::number).collect::<Vec<_>>()[..] else { return Ok(None) };
        let before = self.folder.bytes()?;
        let mut replay = Replay::read(self.folder.read(number)?, None)?;
        self.folder.put_snapshot(number, |file| replay.write_snapshot(BufWriter::new(file)))?;
        Ok(Some(Compacted { last: replay.seq(), bytes: (before, self.folder.bytes()?) }))
    }
}
