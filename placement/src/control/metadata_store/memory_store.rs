//! A store in memory; its contents end with the process.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use parking_lot::Mutex;
use uuid::Uuid;

use super::changes;
use super::message::{PlacementRequest, PlacementResponse};
use super::reading::{self, PageRows};
use super::signal::Signal;
use super::store::{Change, ControlStore, ControlStoreError, Counts, Deployment, Page, REQUESTS_MAX};
use super::tables::{Edit, Row, Table, View};
use crate::control::job_record::JobRecord;

/// A store in memory, for tests and for services whose requests need not outlive them. It holds the same
/// bytes as a store in a file, and refuses the same changes.
#[derive(Debug)]
pub struct MemoryControlStore {
    tables: Mutex<MemoryTables>,
    signal: Signal,
    requests_max: u64,
}

impl Default for MemoryControlStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryControlStore {
    /// Returns an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self { tables: Mutex::default(), signal: Signal::default(), requests_max: REQUESTS_MAX }
    }

    /// Limits the store to this many requests, unreadable ones included.
    #[must_use]
    pub fn with_requests_max(mut self, requests_max: u64) -> Self {
        self.requests_max = requests_max;
        self
    }
}

impl ControlStore for MemoryControlStore {
    fn apply(&self, changes: &[Change]) -> Result<(), ControlStoreError> {
        let mut tables = self.tables.lock();
        let made = changes::make(&mut *tables, changes, self.requests_max);
        tables.end(made.is_ok());
        drop(tables);
        if made? {
            self.signal.raise();
        }
        Ok(())
    }

    fn request(&self, uuid: Uuid) -> Result<Option<PlacementRequest>, ControlStoreError> {
        let bytes = reading::request(&*self.tables.lock(), uuid)?;
        bytes.as_deref().map(reading::read_request).transpose()
    }

    fn response(&self, uuid: Uuid) -> Result<Option<PlacementResponse>, ControlStoreError> {
        let bytes = self.tables.lock().get(Table::Responses, uuid.as_bytes())?;
        bytes.as_deref().map(reading::read_response).transpose()
    }

    fn requests(&self, after: Option<(u64, Uuid)>, limit: usize) -> Result<Page, ControlStoreError> {
        let rows = PageRows::of(&*self.tables.lock(), after, limit)?;
        rows.page()
    }

    fn responses(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<PlacementResponse>, ControlStoreError> {
        let after = after.as_ref().map(|uuid| uuid.as_bytes().as_slice());
        let rows = self.tables.lock().rows(Table::Responses, after, limit)?;
        reading::read_responses(&rows)
    }

    fn deployment(&self, id: &str) -> Result<Option<Deployment>, ControlStoreError> {
        let bytes = self.tables.lock().get(Table::Deployments, id.as_bytes())?;
        bytes.as_deref().map(reading::read_deployment).transpose()
    }

    fn deployments(&self) -> Result<Vec<Deployment>, ControlStoreError> {
        let rows = self.tables.lock().rows(Table::Deployments, None, usize::MAX)?;
        reading::read_deployments(&rows)
    }

    fn job_records(&self, job: &str) -> Result<Vec<JobRecord>, ControlStoreError> {
        let rows = reading::job_rows(&*self.tables.lock(), job)?;
        reading::read_job_records(&rows)
    }

    fn counts(&self) -> Result<Counts, ControlStoreError> {
        reading::counts(&*self.tables.lock())
    }

    fn written(&self) -> u64 {
        self.signal.written()
    }

    fn wait_for_write(&self, seen: u64, timeout: Duration) -> u64 {
        self.signal.wait(seen, timeout)
    }
}

/// The tables, and an undo list of the changes since the last [`end`](Self::end).
#[derive(Debug, Default)]
struct MemoryTables {
    tables: [BTreeMap<Vec<u8>, Vec<u8>>; Table::ALL.len()],
    undo: Vec<(Table, Vec<u8>, Option<Vec<u8>>)>,
}

impl MemoryTables {
    /// Keeps the changes since the last call, or undoes them.
    fn end(&mut self, is_kept: bool) {
        let undo = std::mem::take(&mut self.undo);
        if is_kept {
            return;
        }
        for (table, key, before) in undo.into_iter().rev() {
            let rows = &mut self.tables[table as usize];
            match before {
                Some(value) => rows.insert(key, value),
                None => rows.remove(&key),
            };
        }
    }
}

impl View for MemoryTables {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, ControlStoreError> {
        Ok(self.tables[table as usize].get(key).cloned())
    }

    fn rows(&self, table: Table, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, ControlStoreError> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = self.tables[table as usize].range::<[u8], _>((from, Bound::Unbounded));
        Ok(rows.take(limit).map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn len(&self, table: Table) -> Result<u64, ControlStoreError> {
        Ok(self.tables[table as usize].len() as u64)
    }
}

impl Edit for MemoryTables {
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), ControlStoreError> {
        let before = self.tables[table as usize].insert(key.to_vec(), value.to_vec());
        self.undo.push((table, key.to_vec(), before));
        Ok(())
    }

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), ControlStoreError> {
        if let Some(before) = self.tables[table as usize].remove(key) {
            self.undo.push((table, key.to_vec(), Some(before)));
        }
        Ok(())
    }
}
