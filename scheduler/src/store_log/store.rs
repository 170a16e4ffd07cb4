//! The tables of a log, and the transactions on them.

use std::io::{self, ErrorKind};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use redb::backends::FileBackend;
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageBackend,
    StorageError, TableDefinition, TableError, WriteTransaction,
};

use super::StoreLogError;
use super::backend::Backend;
use super::file;
use super::rows::Rows;
use crate::log::{HEADER, LogError, is_whole_frame, take_lock};
use crate::request::CommitSeq;
use crate::sync::Mutex;

/// The version of these tables.
pub(super) const LAYOUT_VERSION: u8 = 1;
const LAYOUT: TableDefinition<'_, (), u8> = TableDefinition::new("apportion_layout");

type Bytes = TableDefinition<'static, u64, &'static [u8]>;
/// The header, or the parts of a snapshot by their numbers.
const BEGINNING: Bytes = TableDefinition::new("apportion_beginning");
/// The parts of a snapshot that is not whole.
const UNFINISHED: Bytes = TableDefinition::new("apportion_unfinished");
/// The frames, by the number of their last change.
const GROUPS: Bytes = TableDefinition::new("apportion_groups");

/// The engine waits while a part of a snapshot of this many bytes is written.
const PART_BYTES: usize = if cfg!(test) { 100 } else { 1 << 20 };
/// A log is written once and read once, so a larger cache would not help.
const CACHE_BYTES: usize = 64 << 20;

/// A result of the store. [`StoreLogError::of`] tells damage from a failing medium.
type Done<T> = Result<T, redb::Error>;

#[derive(Debug)]
pub(super) struct Store {
    database: Database,
    pub(super) path: PathBuf,
    /// Held by a compaction.
    pub(super) compaction: Mutex<()>,
}

impl Store {
    pub(super) fn open(path: &Path, is_synced: bool) -> Result<Self, StoreLogError> {
        let open_file = || -> Result<Backend, DatabaseError> {
            Ok(Backend { file: FileBackend::new(file::open(path)?)?, is_synced })
        };
        let opened = take_lock(|| match open_file().and_then(open_database) {
            Err(DatabaseError::DatabaseAlreadyOpen) => Ok(None),
            opened => opened.map(Some),
        });
        let database = match opened {
            Ok(Some(database)) => database,
            Ok(None) => return Err(StoreLogError::of(path, DatabaseError::DatabaseAlreadyOpen)),
            Err(DatabaseError::Storage(StorageError::Io(error)))
                if error.kind() == ErrorKind::InvalidData =>
            {
                return Err(LogError::NotALog.into());
            }
            Err(error) => return Err(StoreLogError::of(path, error)),
        };
        Self::of(database, path)
    }

    /// The log in this store. Removes a snapshot that a crash has left unfinished.
    pub(super) fn of(database: Database, path: &Path) -> Result<Self, StoreLogError> {
        let store = Self { database, path: path.to_owned(), compaction: Mutex::new(()) };
        let layout = store.layout().map_err(|error| StoreLogError::of(path, error))?;
        match layout {
            Layout::Empty => {}
            Layout::Version(LAYOUT_VERSION) => {
                store.remove_unfinished().map_err(|error| StoreLogError::of(path, error))?;
            }
            Layout::Version(found) => return Err(StoreLogError::Version { path: path.to_owned(), found }),
            Layout::Other => return Err(LogError::NotALog.into()),
        }
        Ok(store)
    }

    fn layout(&self) -> Done<Layout> {
        let transaction = self.database.begin_read()?;
        match transaction.open_table(LAYOUT) {
            Ok(table) => Ok(table.get(())?.map_or(Layout::Other, |version| Layout::Version(version.value()))),
            Err(TableError::TableDoesNotExist(_)) => {
                let is_empty = transaction.list_tables()?.next().is_none();
                Ok(if is_empty { Layout::Empty } else { Layout::Other })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Applies all of a change to the store or, on an error, nothing.
    fn write<T>(
        &self,
        durability: redb::Durability,
        change: impl FnOnce(&WriteTransaction) -> Done<T>,
    ) -> Done<T> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(durability)?;
        let done = change(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }

    /// Begins a log, in place of any that has no group.
    pub(super) fn begin(&self, header: &[u8]) -> Done<()> {
        self.write(redb::Durability::Immediate, |transaction| {
            for table in [BEGINNING, UNFINISHED, GROUPS] {
                transaction.delete_table(table)?;
            }
            transaction.open_table(LAYOUT)?.insert((), LAYOUT_VERSION)?;
            transaction.open_table(BEGINNING)?.insert(0, header)?;
            transaction.open_table(GROUPS)?;
            Ok(())
        })
    }

    pub(super) fn append(&self, last: CommitSeq, frame: &[u8], durability: redb::Durability) -> Done<()> {
        self.write(durability, |transaction| {
            transaction.open_table(GROUPS)?.insert(last.0, frame)?;
            Ok(())
        })
    }

    /// Makes all groups durable.
    pub(super) fn sync(&self) -> Done<()> {
        self.write(redb::Durability::Immediate, |_| Ok(()))
    }

    /// Removes the groups behind this change.
    pub(super) fn cut(&self, last: u64) -> Done<()> {
        if matches!(self.layout()?, Layout::Empty) {
            return Err(io::Error::other("the store has no log").into());
        }
        self.write(redb::Durability::Immediate, |transaction| {
            let behind = (Bound::Excluded(last), Bound::Unbounded);
            Ok(transaction.open_table(GROUPS)?.retain_in::<u64, _>(behind, |_, _| false)?)
        })
    }

    /// The bytes of the log, or `None` if it has neither a snapshot nor a group.
    pub(super) fn contents(&self) -> Done<Option<Rows>> {
        if matches!(self.layout()?, Layout::Empty) {
            return Ok(None);
        }
        let transaction = self.database.begin_read()?;
        let (beginning, groups) = (transaction.open_table(BEGINNING)?, transaction.open_table(GROUPS)?);
        let damaged = |problem: &str| redb::Error::Corrupted(problem.to_owned());
        let (_, header) = beginning.first()?.ok_or_else(|| damaged("the log has no header"))?;
        match groups.last()? {
            // Transactions are atomic, so a crash cannot leave a part of a group.
            Some((_, frame)) if !is_whole_frame(frame.value()) => Err(damaged("the last group is not whole")),
            // A header of any version.
            None if header.value().starts_with(&HEADER[..HEADER.len() - 1]) => Ok(None),
            _ => Ok(Some(Rows::new(beginning.range_owned::<u64>(..)?, groups.range_owned::<u64>(..)?))),
        }
    }

    /// Whether there are groups behind the header or the snapshot.
    pub(super) fn has_groups(&self) -> Done<bool> {
        match self.layout()? {
            Layout::Empty => Ok(false),
            _ => Ok(!self.database.begin_read()?.open_table(GROUPS)?.is_empty()?),
        }
    }

    /// Puts a snapshot in place of the groups up to this change. The engine waits for the last transaction, and for
    /// one of the others at a time.
    pub(super) fn replace(&self, last: CommitSeq, snapshot: &[u8]) -> Done<()> {
        self.remove_unfinished()?;
        for (number, part) in (0..).zip(snapshot.chunks(PART_BYTES)) {
            self.write(redb::Durability::None, |transaction| {
                transaction.open_table(UNFINISHED)?.insert(number, part)?;
                Ok(())
            })?;
        }
        self.write(redb::Durability::Immediate, |transaction| {
            transaction.delete_table(BEGINNING)?;
            transaction.rename_table(UNFINISHED, BEGINNING)?;
            Ok(transaction.open_table(GROUPS)?.retain_in(..=last.0, |_, _| false)?)
        })
    }

    fn remove_unfinished(&self) -> Done<()> {
        self.write(redb::Durability::None, |transaction| {
            transaction.delete_table(UNFINISHED)?;
            Ok(())
        })
    }
}

/// Checks all that a process has left in the store, because the store panics on some damage that it meets later.
pub(super) fn open_database(backend: impl StorageBackend) -> Result<Database, DatabaseError> {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
    builder.create_with_backend(backend)
}

/// The tables that a store has.
enum Layout {
    Empty,
    Version(u8),
    Other,
}
