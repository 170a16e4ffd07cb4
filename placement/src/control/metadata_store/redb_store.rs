//! A store in a file.

use std::path::Path;
use std::time::Duration;

use redb::Database;
use uuid::Uuid;

use super::changes;
use super::message::{PlacementRequest, PlacementResponse};
use super::reading::{self, PageRows};
use super::redb_open::{self, OpenStoreError};
use super::redb_tables::{RedbEdit, RedbView, written};
use super::signal::Signal;
use super::store::{Change, ControlStore, ControlStoreError, Counts, Deployment, Page, REQUESTS_MAX};
use super::tables::{Table, View};
use crate::control::job_record::JobRecord;

/// A store in a file of redb. Changes that [`apply`](ControlStore::apply) made survive the end of the
/// process and a loss of power. Each apply waits for the disk once, so many changes together cost little
/// more than one. Readers never wait.
#[derive(Debug)]
pub struct RedbControlStore {
    database: Database,
    signal: Signal,
    requests_max: u64,
}

impl RedbControlStore {
    /// Opens the store in this file. Creates it if the file is missing or empty. Reads and checks the whole
    /// file, and undoes an unfinished apply of the previous process.
    ///
    /// # Errors
    /// If the folder does not exist, the file is open elsewhere, or it is not a store of this version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenStoreError> {
        let database = redb_open::open(path.as_ref())?;
        Ok(Self { database, signal: Signal::default(), requests_max: REQUESTS_MAX })
    }

    /// Limits the store to this many requests, unreadable ones included. Requests already stored stay.
    #[must_use]
    pub fn with_requests_max(mut self, requests_max: u64) -> Self {
        self.requests_max = requests_max;
        self
    }

    fn view(&self) -> Result<RedbView, ControlStoreError> {
        RedbView::of(&self.database)
    }
}

impl ControlStore for RedbControlStore {
    fn apply(&self, changes: &[Change]) -> Result<(), ControlStoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        // An early return drops the transaction, which undoes it.
        let transaction = self.database.begin_write().map_err(written)?;
        let mut tables = RedbEdit::of(&transaction).map_err(written)?;
        let brings_requests = changes::make(&mut tables, changes, self.requests_max)?;
        drop(tables);
        transaction.commit().map_err(written)?;
        if brings_requests {
            self.signal.raise();
        }
        Ok(())
    }

    fn request(&self, uuid: Uuid) -> Result<Option<PlacementRequest>, ControlStoreError> {
        let bytes = reading::request(&self.view()?, uuid)?;
        bytes.as_deref().map(reading::read_request).transpose()
    }

    fn response(&self, uuid: Uuid) -> Result<Option<PlacementResponse>, ControlStoreError> {
        let bytes = self.view()?.get(Table::Responses, uuid.as_bytes())?;
        bytes.as_deref().map(reading::read_response).transpose()
    }

    fn requests(&self, after: Option<(u64, Uuid)>, limit: usize) -> Result<Page, ControlStoreError> {
        PageRows::of(&self.view()?, after, limit)?.page()
    }

    fn responses(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<PlacementResponse>, ControlStoreError> {
        let after = after.as_ref().map(|uuid| uuid.as_bytes().as_slice());
        reading::read_responses(&self.view()?.rows(Table::Responses, after, limit)?)
    }

    fn deployment(&self, id: &str) -> Result<Option<Deployment>, ControlStoreError> {
        let bytes = self.view()?.get(Table::Deployments, id.as_bytes())?;
        bytes.as_deref().map(reading::read_deployment).transpose()
    }

    fn deployments(&self) -> Result<Vec<Deployment>, ControlStoreError> {
        reading::read_deployments(&self.view()?.rows(Table::Deployments, None, usize::MAX)?)
    }

    fn job_records(&self, job: &str) -> Result<Vec<JobRecord>, ControlStoreError> {
        let rows = reading::job_rows(&self.view()?, job)?;
        reading::read_job_records(&rows)
    }

    fn counts(&self) -> Result<Counts, ControlStoreError> {
        reading::counts(&self.view()?)
    }

    fn written(&self) -> u64 {
        self.signal.written()
    }

    fn wait_for_write(&self, seen: u64, timeout: Duration) -> u64 {
        self.signal.wait(seen, timeout)
    }
}
