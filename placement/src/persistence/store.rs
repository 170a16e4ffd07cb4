//! Where history files are kept.

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

/// What a store was to do when it failed.
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
    /// Removing what writers left that did not come to an end.
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

/// Why a store did not do what it was asked for.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no such file.
    #[error("there is no file {name}")]
    Missing {
        /// The file.
        name: String,
    },
    /// There is such a file already.
    #[error("there is a file {name} already")]
    Exists {
        /// The file.
        name: String,
    },
    /// The name would lead elsewhere.
    #[error("{name:?} is no name of a file: it has to be a plain one, without folders")]
    BadName {
        /// The name.
        name: String,
    },
    /// What the files are in failed.
    #[error("{action} {what} failed: {source}")]
    Io {
        /// What the store was to do.
        action: StoreAction,
        /// To what: a file's name, or where all of them are.
        what: String,
        /// What went wrong.
        source: io::Error,
    },
}

/// Whatever can hold history files: a folder, or an object store. Several threads may use one at a time.
pub trait HistoryStore: Send + Sync {
    /// The whole files there are, in any order; none if there is no place for them yet.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn list(&self) -> Result<Vec<StoredFile>, StoreError>;

    /// What is in a file.
    ///
    /// # Errors
    /// If there is no such file, or it cannot be read.
    fn read(&self, name: &str) -> Result<Vec<u8>, StoreError>;

    /// Adds a file. When this returns it is there for good; if it never returns, the file is there whole or not at all.
    ///
    /// # Errors
    /// If there is one of this name, which stays as it is, or it cannot be written. After [`StoreError::Io`] the file
    /// may be there all the same, then whole.
    fn write_atomically(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Deletes a file.
    ///
    /// # Errors
    /// If there is no such file, or it cannot be deleted.
    fn delete(&self, name: &str) -> Result<(), StoreError>;

    /// Removes what writers left that did not come to an end, and says how much that was. Only while nobody writes. A
    /// store that leaves nothing behind has nothing to do.
    ///
    /// # Errors
    /// If something is left that cannot be removed.
    fn sweep(&self) -> Result<usize, StoreError> {
        Ok(0)
    }
}
