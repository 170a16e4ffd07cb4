//! A log in a store: one file of the embedded database redb (feature `store-log`).
//!
//! | table | rows |
//! |---|---|
//! | `apportion_layout` | the version of these tables |
//! | `apportion_beginning` | the header, or the parts of the snapshot that replaced old groups |
//! | `apportion_unfinished` | the parts of a snapshot that a compaction is about to put there |
//! | `apportion_groups` | each group of changes as it stands in a log, by the number of its last change |
//!
//! Read one after the other, the beginning and the groups are one log. A group is one transaction, so a crash leaves
//! all of it or nothing.
//!
//! ```
//! # use apportion::config::{EngineConfig, QueueConfig};
//! # use apportion::store_log::{StoreLog, StoreLogOptions};
//! # use apportion::{Engine, ManualClock, Mode, NodeSpec, ResourceTypes};
//! # use std::sync::Arc;
//! # let path = std::env::temp_dir().join(format!("apportion-doc-{}.redb", std::process::id()));
//! # let config = || EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
//! fn start(log: StoreLog, config: EngineConfig) -> Result<Engine, Box<dyn std::error::Error>> {
//!     let (mode, clock) = (Mode::Background, Arc::new(ManualClock::new()));
//!     Ok(match log.contents()? {
//!         Some(contents) => Engine::recover(contents, mode, clock, Some(Box::new(log)))?.0,
//!         None => Engine::start(config, mode, clock, Some(Box::new(log)))?,
//!     })
//! }
//!
//! let log = StoreLog::open(&path, StoreLogOptions::default())?;
//! let compactor = log.compactor();
//! let engine = start(log, config())?;
//! let size = engine.handle().resources(&[("memory_mib", 1_024)])?;
//! let node = engine.handle().add_node(NodeSpec::new("alpha", size))?;
//! assert!(compactor.compact()?.is_some());
//! drop(engine);
//! // The same call after the next start, or after a crash:
//! let engine = start(StoreLog::open(&path, StoreLogOptions::default())?, config())?;
//! assert_eq!(engine.handle().node("alpha"), Some(node));
//! # drop(engine);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backend;
mod compact;
mod file;
mod rows;
mod store;
#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use compact::StoreCompactor;
use serde::{Deserialize, Serialize};
use store::{LAYOUT_VERSION, Store};
use thiserror::Error;

pub use crate::log::{Compacted, Durability};
use crate::log::{LogEnd, LogError, LogSink, LoggedGroup, reader_of};

/// How a [`StoreLog`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreLogOptions {
    /// The failure that an announced change survives.
    pub durability: Durability,
}

impl Default for StoreLogOptions {
    fn default() -> Self {
        Self { durability: Durability::BeforeEvents }
    }
}

/// Why a file cannot be used as a log.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreLogError {
    /// The file system or the store failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file of the store.
        path: PathBuf,
        /// The failure.
        error: io::Error,
    },
    /// Another process, or another part of this one, has the store open.
    #[error("{}: the store is in use by another writer", path.display())]
    InUse {
        /// The file of the store.
        path: PathBuf,
    },
    /// The tables are of another version.
    #[error(
        "{}: version {found} of the log's tables is not readable; {}",
        path.display(),
        reader_of(*.found, LAYOUT_VERSION, LAYOUT_VERSION)
    )]
    Version {
        /// The file of the store.
        path: PathBuf,
        /// The version found.
        found: u8,
    },
    /// The store does not match its checksums, or contradicts itself.
    #[error("{}: the store is damaged: {problem}", path.display())]
    Damaged {
        /// The file of the store.
        path: PathBuf,
        /// The first problem found.
        problem: String,
    },
    /// The file is not a log, or the log is damaged.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl StoreLogError {
    fn of(path: &Path, error: impl Into<redb::Error>) -> Self {
        let path = path.to_owned();
        match error.into() {
            redb::Error::DatabaseAlreadyOpen | redb::Error::LockProtocolMismatch => Self::InUse { path },
            redb::Error::Corrupted(problem) => Self::Damaged { path, problem },
            redb::Error::Io(error) => Self::Io { path, error },
            error @ (redb::Error::TableTypeMismatch { .. }
            | redb::Error::TypeDefinitionChanged { .. }
            | redb::Error::TableIsMultimap(_)
            | redb::Error::TableDoesNotExist(_)) => Self::Damaged { path, problem: error.to_string() },
            error => Self::Io { path, error: io::Error::other(error) },
        }
    }
}

/// A log in a store, and the only writer to it.
#[derive(Debug)]
pub struct StoreLog {
    store: Arc<Store>,
    options: StoreLogOptions,
    has_begun: bool,
    /// The bytes appended that may not be on the disk.
    unsynced_bytes: u64,
}

impl StoreLog {
    /// Opens the log in this file, or makes an empty one. Reads all of the file to check it, once.
    ///
    /// # Errors
    /// If another writer has the store, it is of another version, it is damaged, or the file system fails.
    pub fn open(path: impl AsRef<Path>, options: StoreLogOptions) -> Result<Self, StoreLogError> {
        let is_synced = options.durability != Durability::None;
        Ok(Self::on(Store::open(path.as_ref(), is_synced)?, options))
    }

    fn on(store: Store, options: StoreLogOptions) -> Self {
        Self { store: Arc::new(store), options, has_begun: false, unsynced_bytes: 0 }
    }

    /// The bytes of the log for [`Engine::recover`](crate::Engine::recover), or `None` if there is no group of
    /// changes. Then [`Engine::start`](crate::Engine::start) begins a log.
    ///
    /// # Errors
    /// If the store is damaged or fails.
    pub fn contents(&self) -> Result<Option<impl Read + use<>>, StoreLogError> {
        self.store.contents().map_err(|error| self.failed(error))
    }

    /// A compactor for this log, for any thread.
    #[must_use]
    pub fn compactor(&self) -> StoreCompactor {
        StoreCompactor { store: Arc::downgrade(&self.store) }
    }

    fn failed(&self, error: redb::Error) -> StoreLogError {
        StoreLogError::of(&self.store.path, error)
    }

    /// Whether the store keeps the next group in memory, until a later one makes both durable.
    fn write_later(&mut self, bytes: usize) -> bool {
        self.unsynced_bytes += bytes as u64;
        let durability = self.options.durability;
        matches!(durability, Durability::Grouped { .. }) && !durability.is_due(self.unsynced_bytes)
    }
}

impl LogSink for StoreLog {
    fn start(&mut self, header: &[u8]) -> io::Result<()> {
        if self.contents().map_err(io::Error::other)?.is_some() {
            return Err(io::Error::other("the store already has a log; open it with `Engine::recover`"));
        }
        self.store.begin(header).map_err(|error| io::Error::other(self.failed(error)))?;
        self.has_begun = true;
        Ok(())
    }

    fn resume(&mut self, end: LogEnd) -> io::Result<()> {
        self.store.cut(end.last).map_err(|error| io::Error::other(self.failed(error)))?;
        self.has_begun = true;
        Ok(())
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        if !self.has_begun {
            return Err(io::Error::other("the log has not begun"));
        }
        let durability = match self.write_later(group.frame().len()) {
            true => redb::Durability::None,
            false => redb::Durability::Immediate,
        };
        let appended = self.store.append(group.last(), group.frame(), durability);
        appended.map_err(|error| io::Error::other(self.failed(error)))?;
        if matches!(durability, redb::Durability::Immediate) {
            self.unsynced_bytes = 0;
        }
        Ok(())
    }

    fn is_required(&self) -> bool {
        self.options.durability == Durability::BeforeEvents
    }
}

impl Drop for StoreLog {
    fn drop(&mut self) {
        if self.unsynced_bytes > 0 {
            // There is no caller to tell of a failure.
            let _ = self.store.sync();
        }
    }
}
