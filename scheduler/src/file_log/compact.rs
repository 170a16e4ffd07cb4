//! Compaction: a snapshot in place of old segments.

use std::io::BufWriter;
use std::path::Path;

use super::folder::{Folder, Name};
use super::{COMPACTOR_LOCK, Compacted, FileLogError};
use crate::replay::Replay;

/// Shortens a log beside its writer. It reads the segments that the writer has finished, and never the state of the
/// engine, so the engine does not wait for it.
#[derive(Debug)]
pub struct Compactor {
    folder: Folder,
}

impl Compactor {
    /// A compactor for the log in this folder, for any thread or process.
    ///
    /// # Errors
    /// If there is no such folder, or it cannot be used.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, FileLogError> {
        Ok(Self { folder: Folder::existing(folder.as_ref())? })
    }

    /// Replaces all finished segments by a snapshot; `None` if there is none. Takes about as long as a recovery.
    ///
    /// # Errors
    /// If another compactor is at work, a writer has opened the log and not begun, a finished segment is damaged, or
    /// the file system fails. On an error the log is unchanged.
    pub fn compact(&self) -> Result<Option<Compacted>, FileLogError> {
        let _lock = self.folder.lock(COMPACTOR_LOCK)?;
        let segments = self.folder.files()?.into_iter().filter(|name| matches!(name, Name::Segment(_)));
        let [.., number, _] = segments.map(Name::number).collect::<Vec<_>>()[..] else { return Ok(None) };
        let bytes_before = self.folder.bytes()?;
        let mut replay = Replay::read(self.folder.read(number)?, None)?;
        self.folder.put_snapshot(number, |file| replay.write_snapshot(BufWriter::new(file)))?;
        Ok(Some(Compacted { last: replay.seq(), bytes_before, bytes_after: self.folder.bytes()? }))
    }
}
