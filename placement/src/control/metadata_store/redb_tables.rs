//! The tables of a redb file.

use std::ops::Bound;

use redb::{
    ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageError, TableDefinition,
    TableError, WriteTransaction,
};

use super::store::ControlStoreError;
use super::tables::{Edit, Row, Table, View};

/// Tables of bytes; redb orders rows by the bytes of their keys.
type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;

fn definition(table: Table) -> Definition {
    TableDefinition::new(table.name())
}

fn failed_as(action: &'static str, error: impl Into<redb::Error>) -> ControlStoreError {
    match error.into() {
        redb::Error::Corrupted(reason) => ControlStoreError::Damaged { table: "its file", reason },
        other => ControlStoreError::Storage { action, reason: other.to_string() },
    }
}

fn read(error: impl Into<redb::Error>) -> ControlStoreError {
    failed_as("read", error)
}

pub(super) fn written(error: impl Into<redb::Error>) -> ControlStoreError {
    failed_as("written", error)
}

/// A snapshot of the tables; later writes do not show.
pub(super) struct RedbView(ReadTransaction);

impl RedbView {
    pub(super) fn of(database: &redb::Database) -> Result<Self, ControlStoreError> {
        database.begin_read().map(Self).map_err(read)
    }
}

impl View for RedbView {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, ControlStoreError> {
        get(&self.0.open_table(definition(table)).map_err(read)?, key)
    }

    fn rows(&self, table: Table, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, ControlStoreError> {
        rows(&self.0.open_table(definition(table)).map_err(read)?, after, limit)
    }

    fn len(&self, table: Table) -> Result<u64, ControlStoreError> {
        self.0.open_table(definition(table)).map_err(read)?.len().map_err(read)
    }
}

type OpenTable<'a> = redb::Table<'a, &'static [u8], &'static [u8]>;

/// The tables within a write transaction, visible to no reader.
pub(super) struct RedbEdit<'a>([OpenTable<'a>; Table::ALL.len()]);

impl<'a> RedbEdit<'a> {
    /// Opens all tables, and creates missing ones.
    pub(super) fn of(transaction: &'a WriteTransaction) -> Result<Self, TableError> {
        let [requests, times, responses, bad, deployments, job_records] = Table::ALL.map(definition);
        Ok(Self([
            transaction.open_table(requests)?,
            transaction.open_table(times)?,
            transaction.open_table(responses)?,
            transaction.open_table(bad)?,
            transaction.open_table(deployments)?,
            transaction.open_table(job_records)?,
        ]))
    }
}

impl View for RedbEdit<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, ControlStoreError> {
        get(&self.0[table as usize], key)
    }

    fn rows(&self, table: Table, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, ControlStoreError> {
        rows(&self.0[table as usize], after, limit)
    }

    fn len(&self, table: Table) -> Result<u64, ControlStoreError> {
        self.0[table as usize].len().map_err(read)
    }
}

impl Edit for RedbEdit<'_> {
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), ControlStoreError> {
        self.0[table as usize].insert(key, value).map(drop).map_err(written)
    }

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), ControlStoreError> {
        self.0[table as usize].remove(key).map(drop).map_err(written)
    }
}

fn get(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    key: &[u8],
) -> Result<Option<Vec<u8>>, ControlStoreError> {
    let value = table.get(key).map_err(read)?;
    Ok(value.map(|value| value.value().to_vec()))
}

fn rows(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Row>, ControlStoreError> {
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let range = table.range::<&[u8]>((from, Bound::Unbounded)).map_err(read)?;
    let row = |row: Result<_, StorageError>| match row {
        Ok((key, value)) => owned(&key, &value),
        Err(error) => Err(read(error)),
    };
    range.take(limit).map(row).collect()
}

type Guard<'a> = redb::AccessGuard<'a, &'static [u8]>;

fn owned(key: &Guard<'_>, value: &Guard<'_>) -> Result<Row, ControlStoreError> {
    Ok((key.value().to_vec(), value.value().to_vec()))
}
