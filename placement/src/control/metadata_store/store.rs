//! The contract of a store of requests, responses and deployments.

use std::fmt::Debug;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use super::message::{PlacementRequest, PlacementResponse};
use super::message_error::MessageError;
use crate::control::job_record::JobRecord;

/// The default limit of requests in a store, unreadable ones included.
pub const REQUESTS_MAX: u64 = 1_000_000;
/// The most bytes of a key in [`Change::PutRawRequest`].
pub const KEY_MAX: usize = 1_024;

/// One run of one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployment {
    /// Its id; requests address it by this. At most [`ID_MAX`](super::ID_MAX) bytes.
    pub id: String,
    /// The job that runs. At most [`ID_MAX`](super::ID_MAX) bytes.
    pub job: String,
    /// The start time, in milliseconds since the epoch.
    pub started_ms: u64,
    /// Whether it is the latest run of its job.
    pub is_current: bool,
}

/// A change to a store. [`ControlStore::apply`] makes several together.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Adds a request. Replaces an unreadable value under its key.
    PutRequest(PlacementRequest),
    /// Adds bytes that another program wrote as a request. Readable bytes under their own key are a
    /// [`PutRequest`](Self::PutRequest). Other bytes are kept as unreadable, and replace an unreadable
    /// value under the same key.
    PutRawRequest {
        /// The key, normally `<uuid>.ContainerPlacementRequestMessage`; at most [`KEY_MAX`] bytes.
        key: String,
        /// The value.
        bytes: Vec<u8>,
    },
    /// Adds a response, or replaces the previous one. A terminal response stays; then this changes nothing.
    PutResponse(PlacementResponse),
    /// Deletes a request if it exists.
    DeleteRequest(Uuid),
    /// Deletes a response if it exists.
    DeleteResponse(Uuid),
    /// Deletes the unreadable value under this key if it exists.
    DeleteBad(String),
    /// Adds a deployment, or replaces the one with the same id.
    PutDeployment(Deployment),
    /// Deletes the deployment with this id if it exists.
    DeleteDeployment(String),
    /// Records a part of a job that a request changed. Replaces the earlier record of that part. Changes
    /// nothing if the deployment is not current.
    PutJobRecord {
        /// The deployment that carried out the request.
        deployment: String,
        /// The changed part.
        record: JobRecord,
    },
    /// Deletes all records of the job of this name.
    DeleteJobRecords(String),
}

/// A value among the requests that is not a readable request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadEntry {
    /// Its key, for [`Change::DeleteBad`].
    pub key: String,
    /// The uuid to answer: from the key, otherwise from the message, if either could be read.
    pub uuid: Option<Uuid>,
    /// The deployment that it names; empty if unreadable or longer than an id may be.
    pub deployment_id: String,
    /// The processor that it names; empty under the same conditions.
    pub processor_id: String,
    /// The problem.
    pub error: MessageError,
}

/// A page of requests, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Unreadable values in the order of keys. Only the first page has them, up to its limit. Delete them
    /// to see the rest.
    pub bad: Vec<BadEntry>,
    /// The requests in the order of timestamps, then of uuids.
    pub requests: Vec<PlacementRequest>,
    /// The position after which the next page begins; `None` on the last page.
    pub next: Option<(u64, Uuid)>,
}

/// The numbers of values in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Readable requests.
    pub requests: u64,
    /// Responses.
    pub responses: u64,
    /// Unreadable values among the requests.
    pub bad: u64,
}

/// Why a store refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ControlStoreError {
    /// The store has no room for another request.
    #[error(
        "the store is full: it holds {max} requests, unreadable ones included; delete some, or allow more"
    )]
    Full {
        /// Its limit.
        max: u64,
    },
    /// A request or response with this uuid exists, and stays as it is.
    #[error("there is a request or response of {0} already; a new request needs a new uuid")]
    Duplicate(Uuid),
    /// The message breaks a bound, so it could not be read again.
    #[error("it cannot be stored: {0}")]
    Message(#[from] MessageError),
    /// A text outside a message is too long.
    #[error("{what} has {bytes} bytes; {max} are allowed")]
    TooLong {
        /// The text.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The most bytes allowed.
        max: usize,
    },
    /// The store holds a value that it never wrote.
    #[error("the store is damaged: in {table}: {reason}; restore it from a copy")]
    Damaged {
        /// The table.
        table: &'static str,
        /// The damage found.
        reason: String,
    },
    /// The storage below failed. Either all changes or none were made; which of the two is unknown. A store
    /// in a file has to be opened again.
    #[error("the store cannot be {action}: {reason}")]
    Storage {
        /// The failed operation: `read` or `written`.
        action: &'static str,
        /// The reason.
        reason: String,
    },
}

/// A store of requests and responses. Threads may share it: a reader sees all changes of one
/// [`apply`](Self::apply) or none.
pub trait ControlStore: Send + Sync + Debug {
    /// Makes these changes in order, all of them or none. After `Ok` they are as durable as the store's
    /// medium.
    ///
    /// # Errors
    /// If the store refuses a change: a uuid that has a request or response
    /// ([`ControlStoreError::Duplicate`]), no room ([`ControlStoreError::Full`]), or a text beyond its
    /// bound. A refusal changes nothing.
    fn apply(&self, changes: &[Change]) -> Result<(), ControlStoreError>;

    /// Returns the request with this uuid.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn request(&self, uuid: Uuid) -> Result<Option<PlacementRequest>, ControlStoreError>;

    /// Returns the response with this uuid.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn response(&self, uuid: Uuid) -> Result<Option<PlacementResponse>, ControlStoreError>;

    /// Returns at most `limit` requests after this position, oldest first. The first page has at most
    /// `limit` unreadable values as well. The cost depends on the result, not on the size of the store.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn requests(&self, after: Option<(u64, Uuid)>, limit: usize) -> Result<Page, ControlStoreError>;

    /// Returns at most `limit` responses after this uuid, in the order of uuids.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn responses(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<PlacementResponse>, ControlStoreError>;

    /// Returns the deployment with this id.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn deployment(&self, id: &str) -> Result<Option<Deployment>, ControlStoreError>;

    /// Returns all deployments in the order of ids.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn deployments(&self) -> Result<Vec<Deployment>, ControlStoreError>;

    /// Returns the records of the job with this name: the latest state of each part that requests changed.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn job_records(&self, job: &str) -> Result<Vec<JobRecord>, ControlStoreError>;

    /// Returns the numbers of values.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn counts(&self) -> Result<Counts, ControlStoreError>;

    /// Counts the calls of [`apply`](Self::apply) since the store was opened that brought requests,
    /// unreadable ones included. To miss no request, take this number, read the requests, then wait for a
    /// higher number.
    fn written(&self) -> u64;

    /// Waits until [`written`](Self::written) exceeds `seen` or `timeout` has passed, and returns the
    /// count.
    fn wait_for_write(&self, seen: u64, timeout: Duration) -> u64;
}
