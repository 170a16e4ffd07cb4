//! The common base of both stores: tables of bytes in the order of their keys.

use std::fmt;

use uuid::Uuid;

use super::store::ControlStoreError;
use crate::control::job_record::JobRecord;

/// The tables of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    /// Requests by time and uuid, so that the oldest come first.
    Requests,
    /// The times of requests by uuid.
    Times,
    /// Responses by uuid.
    Responses,
    /// Unreadable values by their original key.
    Bad,
    /// Deployments by id.
    Deployments,
    /// Records of jobs by job name and part.
    JobRecords,
}

impl Table {
    pub(super) const ALL: [Self; 6] =
        [Self::Requests, Self::Times, Self::Responses, Self::Bad, Self::Deployments, Self::JobRecords];

    /// Returns its name, which is also its name in a file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Requests => "samza-place-container-v1/requests",
            Self::Times => "samza-place-container-v1/times",
            Self::Responses => "samza-place-container-v1/responses",
            Self::Bad => "samza-place-container-v1/bad",
            Self::Deployments => "samza-place-container-v1/deployments",
            Self::JobRecords => "samza-place-container-v1/job-records",
        }
    }

    pub(super) fn damaged(self, reason: &dyn fmt::Display) -> ControlStoreError {
        ControlStoreError::Damaged { table: self.name(), reason: reason.to_string() }
    }
}

/// A key and its value.
pub(super) type Row = (Vec<u8>, Vec<u8>);

/// A snapshot of the tables.
pub(super) trait View {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, ControlStoreError>;

    /// Returns at most `limit` rows after this key.
    fn rows(&self, table: Table, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, ControlStoreError>;

    fn len(&self, table: Table) -> Result<u64, ControlStoreError>;
}

/// Tables that can be changed.
pub(super) trait Edit: View {
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), ControlStoreError>;

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), ControlStoreError>;
}

/// Returns the key of a request. Its byte order is the order of time, then uuid.
pub(super) fn time_key(timestamp_ms: u64, uuid: Uuid) -> [u8; 24] {
    let mut key = [0; 24];
    key[..8].copy_from_slice(&timestamp_ms.to_be_bytes());
    key[8..].copy_from_slice(uuid.as_bytes());
    key
}

/// Returns the common prefix of the keys of a job's records; no other job's keys have it.
pub(super) fn job_key(job: &str) -> Vec<u8> {
    [&(job.len() as u64).to_be_bytes(), job.as_bytes()].concat()
}

/// Returns the key of a job's record.
pub(super) fn job_record_key(job: &str, record: &JobRecord) -> Vec<u8> {
    let part = match record {
        JobRecord::HostsKeptFree(_) => "hosts".to_owned(),
        JobRecord::Processor(processor) => format!("processor/{}", processor.id),
    };
    [job_key(job), part.into_bytes()].concat()
}

/// Returns the time of a request from [`Table::Times`].
pub(super) fn time_of(view: &impl View, uuid: Uuid) -> Result<Option<u64>, ControlStoreError> {
    let Some(bytes) = view.get(Table::Times, uuid.as_bytes())? else { return Ok(None) };
    let time = bytes.try_into().map(u64::from_be_bytes);
    time.map(Some).map_err(|_| Table::Times.damaged(&"a time that has not eight bytes"))
}
