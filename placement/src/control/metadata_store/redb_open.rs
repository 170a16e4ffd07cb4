//! Opens a redb file. A file of this format is opened, an empty one becomes a store, and any other one
//! stays as it is.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use redb::{
    Database, DatabaseError, ReadableTable, StorageError, TableDefinition, TableHandle, WriteTransaction,
};
use thiserror::Error;

use super::redb_tables::RedbEdit;
use crate::directory_sync::sync_directory;

/// The version that this release writes. A file of version 1 lacks job records; opening adds their table.
pub const FORMAT_VERSION: u64 = 2;

/// The table with the version of the format.
const FORMAT: TableDefinition<'static, &str, u64> = TableDefinition::new("format");
const VERSION: &str = "version";

/// Why a file was not opened. Its contents are unchanged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenStoreError {
    /// The folder of the file does not exist.
    #[error("{} cannot be made: there is no folder {}; make it first", path.display(), parent.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// The missing folder.
        parent: PathBuf,
    },
    /// The file is open in this process or another.
    #[error("{} is open elsewhere; a store can be open only once: close the other one first", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// A later release wrote the file.
    #[error("{} is of version {found}; this release reads version {FORMAT_VERSION}: take a later one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// The file is not a control store.
    #[error("{} is not a control store: {reason}; name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// A description of the file.
        reason: String,
    },
    /// The file was a store, but another program changed it or its disk failed.
    #[error("{} is damaged: {reason}; restore it from a copy", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage found.
        reason: String,
    },
    /// The operating system refused.
    #[error("{} cannot be opened: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

pub(super) fn open(path: &Path) -> Result<Database, OpenStoreError> {
    let parent = folder_of(path);
    if !parent.is_dir() {
        return Err(OpenStoreError::NoFolder { path: path.to_owned(), parent: parent.to_owned() });
    }
    let is_new = !path.exists();
    let mut builder = Database::builder();
    // redb may panic later on a damaged file that was opened without this check.
    builder.set_check_integrity_on_open(true);
    let database = builder.create(path).map_err(|error| refused(path, error))?;
    prepare(&database, path)?;
    if is_new {
        sync_directory(parent).map_err(|source| OpenStoreError::Io { path: path.to_owned(), source })?;
    }
    Ok(database)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Creates missing tables if the file is a store or empty.
fn prepare(database: &Database, path: &Path) -> Result<(), OpenStoreError> {
    let failed = |error: redb::Error| failed(path, error);
    let transaction = database.begin_write().map_err(|error| failed(error.into()))?;
    match version(&transaction).map_err(failed)? {
        Found::Version(FORMAT_VERSION) => return transaction.abort().map_err(|error| failed(error.into())),
        Found::Version(found) if found > FORMAT_VERSION => {
            return Err(OpenStoreError::Newer { path: path.to_owned(), found });
        }
        Found::Version(0) => return Err(foreign(path, "it is of version 0, which never was".to_owned())),
        Found::Others(name) => {
            return Err(foreign(path, format!("it is a database with the table `{name}` and no version")));
        }
        Found::Nothing | Found::Version(_) => make(&transaction).map_err(failed)?,
    }
    transaction.commit().map_err(|error| failed(error.into()))
}

/// The contents of a file.
enum Found {
    Version(u64),
    Nothing,
    /// Tables of another program; the name of one of them.
    Others(String),
}

fn version(transaction: &WriteTransaction) -> Result<Found, redb::Error> {
    let names: Vec<String> = transaction.list_tables()?.map(|table| table.name().to_owned()).collect();
    if names.iter().any(|name| name == FORMAT.name()) {
        let version = transaction.open_table(FORMAT)?.get(VERSION)?.map(|version| version.value());
        return Ok(version.map_or_else(|| Found::Others(FORMAT.name().to_owned()), Found::Version));
    }
    Ok(names.into_iter().next().map_or(Found::Nothing, Found::Others))
}

fn make(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    transaction.open_table(FORMAT)?.insert(VERSION, FORMAT_VERSION)?;
    RedbEdit::of(transaction)?;
    Ok(())
}

fn foreign(path: &Path, reason: String) -> OpenStoreError {
    OpenStoreError::Foreign { path: path.to_owned(), reason }
}

fn refused(path: &Path, error: DatabaseError) -> OpenStoreError {
    let path = path.to_owned();
    match error {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
            OpenStoreError::Locked { path }
        }
        DatabaseError::UpgradeRequired(version) => {
            foreign(&path, format!("it is a redb file of the old format {version}"))
        }
        // redb returns this error for a file without its magic number.
        DatabaseError::Storage(StorageError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
            foreign(&path, error.to_string())
        }
        other => failed(&path, other.into()),
    }
}

fn failed(path: &Path, error: redb::Error) -> OpenStoreError {
    let path = path.to_owned();
    match error {
        redb::Error::Corrupted(reason) => OpenStoreError::Damaged { path, reason },
        redb::Error::Io(source) => OpenStoreError::Io { path, source },
        wrong @ (redb::Error::TableTypeMismatch { .. } | redb::Error::TableIsMultimap(_)) => {
            foreign(&path, wrong.to_string())
        }
        other => OpenStoreError::Io { path, source: io::Error::other(other) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_in_the_current_folder() {
        assert_eq!(folder_of(Path::new("store")), Path::new("."));
        assert_eq!(folder_of(Path::new("folder/store")), Path::new("folder"));
        assert_eq!(folder_of(Path::new("/store")), Path::new("/"));
    }
}
