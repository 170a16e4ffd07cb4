//! Stores to test with, and messages to put into them.

use std::error::Error;
use std::sync::Arc;

use apportion_placement::control::{
    Change, ControlStore, ControlStoreError, MemoryControlStore, PlacementRequest, PlacementResponse,
    RedbControlStore, StatusCode,
};
use serde_json::Map;
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) type TestResult = Result<(), Box<dyn Error>>;

/// The most requests that a test's store takes.
pub(crate) const REQUESTS_MAX: u64 = 12;

/// A store, and the folder of its file.
pub(crate) struct Bed {
    pub(crate) store: Arc<dyn ControlStore>,
    folder: Option<TempDir>,
}

impl Bed {
    pub(crate) fn memory() -> Self {
        let store = MemoryControlStore::new().with_requests_max(REQUESTS_MAX);
        Self { store: Arc::new(store), folder: None }
    }

    pub(crate) fn redb() -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let store = open(&folder)?;
        Ok(Self { store, folder: Some(folder) })
    }

    /// The same store after a restart of its process. A store in memory stays open.
    pub(crate) fn reopened(self) -> Result<Self, Box<dyn Error>> {
        let Some(folder) = self.folder else { return Ok(self) };
        drop(self.store);
        let store = open(&folder)?;
        Ok(Self { store, folder: Some(folder) })
    }

    pub(crate) fn apply(&self, changes: &[Change]) -> Result<(), ControlStoreError> {
        self.store.apply(changes)
    }

    pub(crate) fn put(&self, requests: &[PlacementRequest]) -> Result<(), ControlStoreError> {
        self.apply(&requests.iter().cloned().map(Change::PutRequest).collect::<Vec<_>>())
    }

    /// The numbers of requests, responses and unreadable values.
    pub(crate) fn counts(&self) -> Result<(u64, u64, u64), ControlStoreError> {
        let counts = self.store.counts()?;
        Ok((counts.requests, counts.responses, counts.bad))
    }
}

fn open(folder: &TempDir) -> Result<Arc<dyn ControlStore>, Box<dyn Error>> {
    Ok(Arc::new(RedbControlStore::open(folder.path().join("control.redb"))?.with_requests_max(REQUESTS_MAX)))
}

pub(crate) fn uuid(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

/// A request without optional fields.
pub(crate) fn plain(number: u128, timestamp_ms: u64) -> PlacementRequest {
    PlacementRequest {
        uuid: uuid(number),
        deployment_id: "app-1".to_owned(),
        processor_id: "0".to_owned(),
        destination_host: "host-2".to_owned(),
        request_expiry_ms: None,
        timestamp_ms,
        action: None,
        parameters: Map::new(),
        principal: None,
    }
}

/// A request with all fields.
pub(crate) fn full(number: u128, timestamp_ms: u64) -> PlacementRequest {
    let mut parameters = Map::new();
    parameters.insert("batch".to_owned(), 3.into());
    parameters.insert("ratio".to_owned(), 0.1.into());
    parameters.insert("hosts".to_owned(), vec!["ä\"\n", "b"].into());
    parameters.insert("nothing".to_owned(), serde_json::Value::Null);
    PlacementRequest {
        request_expiry_ms: Some(30_000),
        action: Some("DRAIN_HOST".to_owned()),
        parameters,
        principal: Some("ann".to_owned()),
        ..plain(number, timestamp_ms)
    }
}

pub(crate) fn accepted(request: &PlacementRequest) -> PlacementResponse {
    request.answer(StatusCode::Accepted, "it goes there", request.timestamp_ms + 1)
}
