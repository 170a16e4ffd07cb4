//! A log in a folder (feature `file-log`).
//!
//! | file | contents |
//! |---|---|
//! | `lock`, `lock.compactor` | held by the one writer, and by a compaction |
//! | `snapshot-0000000003.log` | the state at the end of segment 3, in place of the segments up to there |
//! | `segment-0000000004.log` | groups of changes; a segment that is long enough is followed by another |
//!
//! Read one after the other, the snapshot and the segments are one log.
//!
//! ```
//! # use apportion::config::{EngineConfig, QueueConfig};
//! # use apportion::file_log::{FileLog, FileLogOptions};
//! # use apportion::{Engine, ManualClock, Mode, NodeSpec, ResourceTypes};
//! # use std::sync::Arc;
//! # let folder = std::env::temp_dir().join(format!("apportion-doc-{}", std::process::id()));
//! # let config = || EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
//! fn start(log: FileLog, config: EngineConfig) -> Result<Engine, Box<dyn std::error::Error>> {
//!     let (mode, clock) = (Mode::Background, Arc::new(ManualClock::new()));
//!     Ok(match log.contents()? {
//!         Some(contents) => Engine::recover(contents, mode, clock, Some(Box::new(log)))?.0,
//!         None => Engine::start(config, mode, clock, Some(Box::new(log)))?,
//!     })
//! }
//!
//! let engine = start(FileLog::open(&folder, FileLogOptions::default())?, config())?;
//! let size = engine.handle().resources(&[("memory_mib", 1_024)])?;
//! let node = engine.handle().add_node(NodeSpec::new("alpha", size))?;
//! drop(engine);
//! // The same call after the next start, or after a crash:
//! let engine = start(FileLog::open(&folder, FileLogOptions::default())?, config())?;
//! assert_eq!(engine.handle().node("alpha"), Some(node));
//! # drop(engine);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compact;
mod disk;
mod folder;
mod repair;
#[cfg(test)]
mod tests;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use compact::Compactor;
use disk::DiskFile;
use folder::{Folder, Lock, Name};
pub use repair::{Repaired, repair};

pub use crate::log::{Compacted, Durability};
use crate::log::{HEADER, LogEnd, LogError, LogReader, LogSink, LoggedGroup};

/// The name of the lock that the writer holds.
const LOCK: &str = "lock";
/// The name of the lock that a compaction holds.
const COMPACTOR_LOCK: &str = "lock.compactor";

/// How a [`FileLog`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLogOptions {
    /// The failure that an announced change survives.
    pub durability: Durability,
    /// A segment of at least this many bytes is followed by another. A [`Compactor`] replaces whole segments.
    pub segment_bytes: u64,
}

impl Default for FileLogOptions {
    fn default() -> Self {
        Self { durability: Durability::BeforeEvents, segment_bytes: 64 << 20 }
    }
}

/// Why a folder cannot be used as a log.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileLogError {
    /// The file system failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The failure.
        error: io::Error,
    },
    /// There is no log in this place.
    #[error("{}: there is no log", path.display())]
    NoLog {
        /// The folder.
        path: PathBuf,
    },
    /// A file is in the place of the folder.
    #[error("{}: this is a file; a log is a folder", path.display())]
    NotAFolder {
        /// The file.
        path: PathBuf,
    },
    /// Another process, or another part of this one, writes to the log or compacts it.
    #[error("{}: the log is in use by another writer", path.display())]
    InUse {
        /// The lock file.
        path: PathBuf,
    },
    /// A file of the log is missing.
    #[error("{}: the log has no segment {missing}, although a later one is there", path.display())]
    Gap {
        /// The folder.
        path: PathBuf,
        /// The number of the missing segment.
        missing: u64,
    },
    /// The log is damaged.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// A log in a folder, and the only writer to it.
#[derive(Debug)]
pub struct FileLog {
    folder: Folder,
    options: FileLogOptions,
    _lock: Lock,
    /// Held until the writer has begun: until then, positions in the log must not change.
    compactor_lock: Option<Lock>,
    segment: Option<Segment>,
    /// The bytes written that may not be on the disk.
    unsynced_bytes: u64,
}

#[derive(Debug)]
struct Segment {
    number: u64,
    file: DiskFile,
    bytes: u64,
}

impl FileLog {
    /// Opens the log in this folder, or makes an empty one.
    ///
    /// # Errors
    /// If another writer has it, a compaction is under way, a segment is missing, or the file system fails.
    pub fn open(folder: impl AsRef<Path>, options: FileLogOptions) -> Result<Self, FileLogError> {
        let folder = Folder::open(folder.as_ref())?;
        let lock = folder.lock(LOCK)?;
        let compactor_lock = Some(folder.lock(COMPACTOR_LOCK)?);
        folder.tidy()?;
        folder.check_order()?;
        Ok(Self { folder, options, _lock: lock, compactor_lock, segment: None, unsynced_bytes: 0 })
    }

    /// The bytes of the log for [`Engine::recover`](crate::Engine::recover), or `None` if no group of changes is whole.
    /// Then [`Engine::start`](crate::Engine::start) begins a log.
    ///
    /// # Errors
    /// If the file system fails, or the files are not a log.
    pub fn contents(&self) -> Result<Option<impl Read + use<>>, FileLogError> {
        if matches!(self.folder.files()?.first(), Some(Name::Snapshot(_))) {
            return Ok(Some(self.folder.read(u64::MAX)?));
        }
        let first = LogReader::new(self.folder.read(u64::MAX)?).and_then(|mut reader| reader.next_change());
        match first.map(|first| first.is_some()) {
            Ok(true) => Ok(Some(self.folder.read(u64::MAX)?)),
            Ok(false) => Ok(None),
            // A crash may have interrupted the first group. A second segment would mean that it was whole.
            Err(LogError::Torn { last: 0, .. }) if self.folder.files()?.len() == 1 => Ok(None),
            Err(LogError::NotALog) if self.has_part_of_header()? => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a crash cut the header, so that these are its first bytes and not another program's. A file system may
    /// keep the length of a file and not its contents: then zeros are in their place.
    fn has_part_of_header(&self) -> Result<bool, FileLogError> {
        let mut bytes = Vec::new();
        let (folder, most) = (&self.folder, HEADER.len() as u64 + 1);
        folder.read(u64::MAX)?.take(most).read_to_end(&mut bytes).map_err(io_error(folder.root()))?;
        let written = bytes.iter().zip(HEADER).take_while(|(is, should)| **is == *should).count();
        Ok(bytes.len() <= HEADER.len() && bytes[written..].iter().all(|byte| *byte == 0))
    }

    fn begin_segment(&mut self, number: u64) -> io::Result<()> {
        let file = self.folder.create(Name::Segment(number))?;
        self.segment = Some(Segment { number, file, bytes: 0 });
        Ok(())
    }

    /// Goes on with another segment if the present one is long enough.
    fn rotate(&mut self) -> io::Result<()> {
        let Some(segment) = &self.segment else { return Err(io::Error::other("the log has not begun")) };
        // Each segment has a group, so that a log with a second segment has a whole group.
        if segment.bytes < self.options.segment_bytes.max(HEADER.len() as u64 + 1) {
            return Ok(());
        }
        let next = segment.number + 1;
        self.sync()?;
        self.begin_segment(next)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(segment) = &mut self.segment else { return Err(io::Error::other("the log has not begun")) };
        segment.file.write_all(bytes)?;
        segment.bytes += bytes.len() as u64;
        self.unsynced_bytes += bytes.len() as u64;
        if self.options.durability.is_due(self.unsynced_bytes) { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        if let Some(segment) = self.segment.as_ref().filter(|_| self.unsynced_bytes > 0) {
            segment.file.sync_data()?;
            self.unsynced_bytes = 0;
        }
        Ok(())
    }
}

/// The bytes of the log in this folder, for a [`LogReader`] or a [`Replay`](crate::replay::Replay). Takes no lock, so
/// an engine may go on writing: the last group may then be incomplete, and a compaction may take files away.
///
/// # Errors
/// If there is no log, a segment is missing, or the file system fails.
pub fn read(folder: &Path) -> Result<impl Read + use<>, FileLogError> {
    let folder = Folder::existing(folder)?;
    folder.check_order()?;
    match folder.files()?.is_empty() {
        true => Err(folder.no_log()),
        false => folder.read(u64::MAX),
    }
}

impl LogSink for FileLog {
    fn start(&mut self, header: &[u8]) -> io::Result<()> {
        if self.contents().map_err(io::Error::other)?.is_some() {
            return Err(io::Error::other("the folder already has a log; open it with `Engine::recover`"));
        }
        self.folder.clear()?;
        self.begin_segment(1)?;
        self.write(header)?;
        // A file system may keep a group and not the header before it.
        self.sync()?;
        self.compactor_lock = None;
        Ok(())
    }

    fn resume(&mut self, end: LogEnd) -> io::Result<()> {
        if end.at < self.folder.last_begins_at().map_err(io::Error::other)? {
            let damaged = LogError::Damaged { at: end.at, last: end.last };
            return Err(io::Error::other(damaged));
        }
        self.segment = Some(self.folder.cut(end.at).map_err(io::Error::other)?);
        self.compactor_lock = None;
        Ok(())
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        self.rotate()?;
        self.write(group.frame())
    }

    fn is_required(&self) -> bool {
        self.options.durability == Durability::BeforeEvents
    }
}

impl Drop for FileLog {
    fn drop(&mut self) {
        // There is no caller to tell of a failure.
        let _ = self.sync();
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> FileLogError + use<'_> {
    move |error| FileLogError::Io { path: path.to_owned(), error }
}
