//! The base of both stores: tables of bytes in the order of their keys.

use std::fmt;

use uuid::Uuid;

use super::store::ControlStoreError;
use crate::control::job_record::JobRecord;

/// The tables of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    /// Requests under their times and uuids, so that the oldest come first.
    Requests,
    /// The times of requests under their uuids.
    Times,
    /// Responses under their uuids.
    Responses,
    /// What is no request, under the key where it stood.
    Bad,
    /// Deployments under their ids.
    Deployments,
    /// What requests left of jobs, under the jobs' names and what it is about.
    JobRecords,
}

impl Table {
    pub(super) const ALL: [Self; 6] =
        [Self::Requests, Self::Times, Self::Responses, Self::Bad, Self::Deployments, Self::JobRecords];

    /// Its name, in files too.
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

/// A key and what stands under it.
pub(super) type Row = (Vec<u8>, Vec<u8>);

/// Tables as they are at one moment.
pub(super) trait View {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, ControlStoreError>;

    /// At most `limit` rows behind this key.
    fn rows(&self, table: Table, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, ControlStoreError>;

    fn len(&self, table: Table) -> Result<u64, ControlStoreError>;
}

/// Tables while they are changed.
pub(super) trait Edit: View {
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), ControlStoreError>;

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), ControlStoreError>;
}

/// In the order of bytes these are in the order of times, then uuids.
pub(super) fn time_key(timestamp_ms: u64, uuid: Uuid) -> [u8; 24] {
    let mut key = [0; 24];
    key[..8].copy_from_slice(&timestamp_ms.to_be_bytes());
    key[8..].copy_from_slice(uuid.as_bytes());
    key
}

/// Before the keys of a job's records, and of no other's.
pub(super) fn job_key(job: &str) -> Vec<u8> {
    [&(job.len() as u64).to_be_bytes(), job.as_bytes()].concat()
}

/// The key of a job's record.
pub(super) fn job_record_key(job: &str, record: &JobRecord) -> Vec<u8> {
    let part = match record {
        JobRecord::HostsKeptFree(_) => "hosts".to_owned(),
        JobRecord::Processor(processor) => format!("processor/{}", processor.id),
    };
    [job_key(job), part.into_bytes()].concat()
}

/// The time of a request, as it is in [`Table::Times`].
pub(super) fn time_of(view: &impl View, uuid: Uuid) -> Result<Option<u64>, ControlStoreError> {
    let Some(bytes) = view.get(Table::Times, uuid.as_bytes())? else { return Ok(None) };
    let time = bytes.try_into().map(u64::from_be_bytes);
    time.map(Some).map_err(|_| Table::Times.damaged(&"a time that has not eight bytes"))
}
