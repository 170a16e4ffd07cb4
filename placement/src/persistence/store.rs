//! The store of history files.

use std::io;

use thiserror::Error;

/// A file that a store holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its name, without any folder.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// The action during which a store failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreAction {
    /// Listing its files.
    List,
    /// Reading a file.
    Read,
    /// Writing a file.
    Write,
    /// Deleting a file.
    Delete,
    /// Removing temporary files of unfinished writes.
    Sweep,
}

impl std::fmt::Display for StoreAction {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::List => "listing",
            Self::Read => "reading",
            Self::Write => "writing",
            Self::Delete => "deleting",
            Self::Sweep => "sweeping",
        })
    }
}

/// Why a store refused or failed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file does not exist.
    #[error("there is no file {name}")]
    Missing {
        /// The file.
        name: String,
    },
    /// The file exists already.
    #[error("there is a file {name} already")]
    Exists {
        /// The file.
        name: String,
    },
    /// The name is not a plain file name.
    #[error("{name:?} is not a file name: it has to be a plain one, without folders")]
    BadName {
        /// The name.
        name: String,
    },
    /// The medium failed.
    #[error("{action} {what} failed: {source}")]
    Io {
        /// The failed action.
        action: StoreAction,
        /// The file's name, or the place of all files.
        what: String,
        /// The reason.
        source: io::Error,
    },
}

/// A store of history files, such as a folder or an object store. Threads may share it.
pub trait HistoryStore: Send + Sync {
    /// Returns the whole files, in any order; none if the place does not exist yet.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn list(&self) -> Result<Vec<StoredFile>, StoreError>;

    /// Returns the contents of a file.
    ///
    /// # Errors
    /// If the file does not exist or cannot be read.
    fn read(&self, name: &str) -> Result<Vec<u8>, StoreError>;

    /// Adds a file. It is durable when this returns. If this never returns, the file is whole or absent.
    ///
    /// # Errors
    /// If a file of this name exists, which stays as it is, or if it cannot be written. After
    /// [`StoreError::Io`] the file may exist all the same, and is then whole.
    fn write_atomically(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Deletes a file.
    ///
    /// # Errors
    /// If the file does not exist or cannot be deleted.
    fn delete(&self, name: &str) -> Result<(), StoreError>;

    /// Removes temporary files of unfinished writes, and returns their number. Call it only while no write
    /// runs. A store without temporary files has nothing to do.
    ///
    /// # Errors
    /// If a temporary file cannot be removed.
    fn sweep(&self) -> Result<usize, StoreError> {
        Ok(0)
    }
}
