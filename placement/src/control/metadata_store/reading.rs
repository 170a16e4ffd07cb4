//! Reads from a store in two steps: copies rows from one snapshot, then parses them.

use uuid::Uuid;

use super::changes::bad_entry;
use super::message::{PlacementRequest, PlacementResponse};
use super::store::{ControlStoreError, Counts, Deployment, Page};
use super::tables::{Row, Table, View, job_key, time_key, time_of};
use crate::control::job_record::JobRecord;

/// Records of jobs read per call.
const ROWS: usize = 1_024;

/// The rows of a page, not yet parsed.
pub(super) struct PageRows {
    bad: Vec<Row>,
    requests: Vec<Row>,
    has_more: bool,
}

impl PageRows {
    pub(super) fn of(
        view: &impl View,
        after: Option<(u64, Uuid)>,
        limit: usize,
    ) -> Result<Self, ControlStoreError> {
        let bad = if after.is_none() { view.rows(Table::Bad, None, limit)? } else { Vec::new() };
        let after = after.map(|(timestamp_ms, uuid)| time_key(timestamp_ms, uuid));
        let after = after.as_ref().map(<[u8; 24]>::as_slice);
        let mut requests = view.rows(Table::Requests, after, limit.saturating_add(1))?;
        let has_more = requests.len() > limit;
        requests.truncate(limit);
        Ok(Self { bad, requests, has_more })
    }

    pub(super) fn page(self) -> Result<Page, ControlStoreError> {
        let bad = self.bad.into_iter().map(|(key, value)| bad_entry(key, &value));
        let requests = self.requests.iter().map(|(_, bytes)| read_request(bytes));
        let (bad, requests) = (bad.collect::<Result<_, _>>()?, requests.collect::<Result<Vec<_>, _>>()?);
        let last = requests.last().filter(|_| self.has_more);
        let next = last.map(|request| (request.timestamp_ms, request.uuid));
        Ok(Page { bad, requests, next })
    }
}

/// Returns the bytes of a request.
pub(super) fn request(view: &impl View, uuid: Uuid) -> Result<Option<Vec<u8>>, ControlStoreError> {
    match time_of(view, uuid)? {
        Some(timestamp_ms) => view.get(Table::Requests, &time_key(timestamp_ms, uuid)),
        None => Ok(None),
    }
}

pub(super) fn read_request(bytes: &[u8]) -> Result<PlacementRequest, ControlStoreError> {
    PlacementRequest::read(bytes).map_err(|error| Table::Requests.damaged(&error))
}

pub(super) fn read_response(bytes: &[u8]) -> Result<PlacementResponse, ControlStoreError> {
    PlacementResponse::read(bytes).map_err(|error| Table::Responses.damaged(&error))
}

pub(super) fn read_responses(rows: &[Row]) -> Result<Vec<PlacementResponse>, ControlStoreError> {
    rows.iter().map(|(_, bytes)| read_response(bytes)).collect()
}

pub(super) fn read_deployment(bytes: &[u8]) -> Result<Deployment, ControlStoreError> {
    serde_json::from_slice(bytes).map_err(|error| Table::Deployments.damaged(&error))
}

pub(super) fn read_deployments(rows: &[Row]) -> Result<Vec<Deployment>, ControlStoreError> {
    rows.iter().map(|(_, bytes)| read_deployment(bytes)).collect()
}

/// Returns the rows of all records of one job.
pub(super) fn job_rows(view: &impl View, job: &str) -> Result<Vec<Row>, ControlStoreError> {
    let prefix = job_key(job);
    let mut found = Vec::new();
    let mut after = prefix.clone();
    loop {
        let rows = view.rows(Table::JobRecords, Some(&after), ROWS)?;
        let is_last = rows.len() < ROWS;
        let (theirs, others): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|(key, _)| key.starts_with(&prefix));
        found.extend(theirs);
        match found.last() {
            Some((last, _)) if !is_last && others.is_empty() => after.clone_from(last),
            _ => return Ok(found),
        }
    }
}

pub(super) fn read_job_records(rows: &[Row]) -> Result<Vec<JobRecord>, ControlStoreError> {
    let record =
        |(_, bytes): &Row| serde_json::from_slice(bytes).map_err(|error| Table::JobRecords.damaged(&error));
    rows.iter().map(record).collect()
}

pub(super) fn counts(view: &impl View) -> Result<Counts, ControlStoreError> {
    Ok(Counts {
        requests: view.len(Table::Requests)?,
        responses: view.len(Table::Responses)?,
        bad: view.len(Table::Bad)?,
    })
}
