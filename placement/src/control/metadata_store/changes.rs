//! Makes the changes of one [`apply`](super::ControlStore::apply) in order. If it refuses one, the caller
//! undoes all of them.

use uuid::Uuid;

use super::fields;
use super::keys::{request_key, uuid_of_request_key};
use super::message::{ID_MAX, MESSAGE_MAX, PlacementRequest, PlacementResponse};
use super::message_error::{MessageError, MessageProblem, excerpt};
use super::reading;
use super::store::{BadEntry, Change, ControlStoreError, Deployment, KEY_MAX};
use super::tables::{Edit, Table, job_record_key, time_key, time_of};
use super::wire::too_long;
use crate::control::job_record::JobRecord;

/// Makes the changes. Returns whether they brought requests.
pub(super) fn make(
    tables: &mut impl Edit,
    changes: &[Change],
    requests_max: u64,
) -> Result<bool, ControlStoreError> {
    let mut brings_requests = false;
    for change in changes {
        make_one(tables, change, requests_max)?;
        brings_requests |= matches!(change, Change::PutRequest(_) | Change::PutRawRequest { .. });
    }
    Ok(brings_requests)
}

fn make_one(tables: &mut impl Edit, change: &Change, max: u64) -> Result<(), ControlStoreError> {
    match change {
        Change::PutRequest(request) => put_request(tables, request, &request.write()?, max),
        Change::PutRawRequest { key, bytes } => put_raw(tables, key, bytes, max),
        Change::PutResponse(response) => put_response(tables, response),
        Change::DeleteRequest(uuid) => delete_request(tables, *uuid),
        Change::DeleteResponse(uuid) => tables.remove(Table::Responses, uuid.as_bytes()),
        Change::DeleteBad(key) => tables.remove(Table::Bad, key.as_bytes()),
        Change::PutDeployment(deployment) => put_deployment(tables, deployment),
        Change::DeleteDeployment(id) => tables.remove(Table::Deployments, id.as_bytes()),
        Change::PutJobRecord { deployment, record } => put_job_record(tables, deployment, record),
        Change::DeleteJobRecords(job) => {
            let rows = reading::job_rows(tables, job)?;
            rows.iter().try_for_each(|(key, _)| tables.remove(Table::JobRecords, key))
        }
    }
}

fn put_request(
    tables: &mut impl Edit,
    request: &PlacementRequest,
    bytes: &[u8],
    max: u64,
) -> Result<(), ControlStoreError> {
    let uuid = request.uuid;
    refuse_duplicate(tables, uuid)?;
    tables.remove(Table::Bad, request_key(uuid).as_bytes())?;
    refuse_beyond(tables, max)?;
    tables.put(Table::Requests, &time_key(request.timestamp_ms, uuid), bytes)?;
    tables.put(Table::Times, uuid.as_bytes(), &request.timestamp_ms.to_be_bytes())
}

/// A uuid keeps its first outcome: neither another request nor an unreadable value replaces it.
fn refuse_duplicate(tables: &impl Edit, uuid: Uuid) -> Result<(), ControlStoreError> {
    let is_known = tables.get(Table::Times, uuid.as_bytes())?.is_some()
        || tables.get(Table::Responses, uuid.as_bytes())?.is_some();
    if is_known { Err(ControlStoreError::Duplicate(uuid)) } else { Ok(()) }
}

/// Stores a response, unless the stored one is terminal: no answer follows a terminal answer.
fn put_response(tables: &mut impl Edit, response: &PlacementResponse) -> Result<(), ControlStoreError> {
    let bytes = response.write()?;
    let key = response.uuid.as_bytes();
    let before = tables.get(Table::Responses, key)?.as_deref().map(reading::read_response).transpose()?;
    match before {
        Some(before) if before.status_code.is_terminal() => Ok(()),
        _ => tables.put(Table::Responses, key, &bytes),
    }
}

/// Refuses a value if the store is full. Unreadable messages count as well.
fn refuse_beyond(tables: &impl Edit, max: u64) -> Result<(), ControlStoreError> {
    let count = tables.len(Table::Requests)?.saturating_add(tables.len(Table::Bad)?);
    if count < max { Ok(()) } else { Err(ControlStoreError::Full { max }) }
}

fn put_raw(tables: &mut impl Edit, key: &str, bytes: &[u8], max: u64) -> Result<(), ControlStoreError> {
    refuse_longer("the key", key, KEY_MAX)?;
    match read_raw(key, bytes) {
        // Writes the request again, so that the store holds its own form.
        Ok(request) => put_request(tables, &request, &request.write()?, max),
        Err(_) => put_bad(tables, key, bytes, max),
    }
}

/// Reads the request under a key. Fails if the bytes are not a request, or if the key is not the request's
/// own.
fn read_raw(key: &str, bytes: &[u8]) -> Result<PlacementRequest, MessageError> {
    let request = PlacementRequest::read(bytes)?;
    let wrong = |problem| MessageError { uuid: Some(request.uuid), problem };
    match uuid_of_request_key(key) {
        Some(uuid) if uuid == request.uuid => Ok(request),
        Some(uuid) => Err(wrong(MessageProblem::KeyOfAnother { key: uuid })),
        None => Err(wrong(MessageProblem::Key { key: excerpt(key) })),
    }
}

fn put_bad(tables: &mut impl Edit, key: &str, bytes: &[u8], max: u64) -> Result<(), ControlStoreError> {
    if let Some(uuid) = uuid_of_request_key(key) {
        refuse_duplicate(tables, uuid)?;
    }
    if tables.get(Table::Bad, key.as_bytes())?.is_none() {
        refuse_beyond(tables, max)?;
    }
    tables.put(Table::Bad, key.as_bytes(), &bad_value(bytes))
}

/// Returns the length, followed by the bytes if they are not too long: unreadable values must not fill the
/// store.
fn bad_value(bytes: &[u8]) -> Vec<u8> {
    let kept = if bytes.len() > MESSAGE_MAX { &[] } else { bytes };
    [&(bytes.len() as u64).to_be_bytes(), kept].concat()
}

/// Turns a value of [`bad_value`] back into an entry.
pub(super) fn bad_entry(key: Vec<u8>, value: &[u8]) -> Result<BadEntry, ControlStoreError> {
    let key = String::from_utf8(key).map_err(|error| Table::Bad.damaged(&error))?;
    let (length, bytes) =
        value.split_first_chunk().ok_or_else(|| Table::Bad.damaged(&"a value without its length"))?;
    let length = u64::from_be_bytes(*length);
    let error = if length == bytes.len() as u64 {
        read_raw(&key, bytes).err().ok_or_else(|| Table::Bad.damaged(&"a request that can be read"))?
    } else {
        MessageError { uuid: None, problem: too_long(length) }
    };
    let [deployment_id, processor_id] = fields::readable_ids(bytes, ["deploymentId", "processorId"]);
    Ok(BadEntry { uuid: uuid_of_request_key(&key).or(error.uuid), key, deployment_id, processor_id, error })
}

fn delete_request(tables: &mut impl Edit, uuid: Uuid) -> Result<(), ControlStoreError> {
    let Some(timestamp_ms) = time_of(tables, uuid)? else { return Ok(()) };
    tables.remove(Table::Requests, &time_key(timestamp_ms, uuid))?;
    tables.remove(Table::Times, uuid.as_bytes())
}

fn put_deployment(tables: &mut impl Edit, deployment: &Deployment) -> Result<(), ControlStoreError> {
    refuse_longer("a deployment's id", &deployment.id, ID_MAX)?;
    refuse_longer("a deployment's job", &deployment.job, ID_MAX)?;
    let bytes = serde_json::to_vec(deployment).map_err(|error| Table::Deployments.damaged(&error))?;
    tables.put(Table::Deployments, deployment.id.as_bytes(), &bytes)
}

fn put_job_record(
    tables: &mut impl Edit,
    deployment: &str,
    record: &JobRecord,
) -> Result<(), ControlStoreError> {
    let known = tables.get(Table::Deployments, deployment.as_bytes())?;
    let known = known.as_deref().map(reading::read_deployment).transpose()?;
    let Some(known) = known.filter(|known| known.is_current) else { return Ok(()) };
    let bytes = serde_json::to_vec(record).map_err(|error| Table::JobRecords.damaged(&error))?;
    tables.put(Table::JobRecords, &job_record_key(&known.job, record), &bytes)
}

fn refuse_longer(what: &'static str, text: &str, max: usize) -> Result<(), ControlStoreError> {
    let bytes = text.len();
    if bytes <= max { Ok(()) } else { Err(ControlStoreError::TooLong { what, bytes, max }) }
}
