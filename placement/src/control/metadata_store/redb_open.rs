//! Opening a redb file: it is a store of this version, or becomes one, or stays as it is.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use redb::{
    Database, DatabaseError, ReadableTable, StorageError, TableDefinition, TableHandle, WriteTransaction,
};
use thiserror::Error;

use super::redb_tables::RedbEdit;

/// The version that is written. Version 1 had no records of jobs; such a file gets them when it is opened.
pub const FORMAT_VERSION: u64 = 2;

/// The table that says what the others are.
const FORMAT: TableDefinition<'static, &str, u64> = TableDefinition::new("format");
const VERSION: &str = "version";

/// Why a file was not opened. What is in it is what was in it before.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenStoreError {
    /// There is no folder for it.
    #[error("{} cannot be made: there is no folder {}; make it first", path.display(), parent.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// The folder that should be there.
        parent: PathBuf,
    },
    /// Somebody has it open, in this process or another.
    #[error("{} is open elsewhere; a store is open once at a time: stop the other, or ask it", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// A later release has written it.
    #[error("{} is of version {found}; this release reads version {FORMAT_VERSION}: take a later one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// It is something else.
    #[error("{} is no control store: {reason}; name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is.
        reason: String,
    },
    /// It was a store before somebody else changed it, or its disk failed.
    #[error("{} is damaged: {reason}; restore it from a copy", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The system has refused.
    #[error("{} cannot be opened: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
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
    // A file that is opened on trust may make redb panic later.
    builder.set_check_integrity_on_open(true);
    let database = builder.create(path).map_err(|error| refused(path, error))?;
    prepare(&database, path)?;
    if is_new {
        sync_folder(parent).map_err(|source| OpenStoreError::Io { path: path.to_owned(), source })?;
    }
    Ok(database)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A new file survives a loss of power only with its name.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(folder)?.sync_all() {
        // Some file systems cannot sync folders, and see to it themselves.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

/// Sees to it that all tables are there, if the file is a store or nothing yet.
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

/// What a file is.
enum Found {
    Version(u64),
    Nothing,
    /// A table of something else.
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
        // So redb calls a file that does not begin as its own do.
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
