//! The promises of a store of requests, responses and deployments.

use std::fmt::Debug;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use super::message::{PlacementRequest, PlacementResponse};
use super::message_error::MessageError;
use crate::control::job_record::JobRecord;

/// How many requests a store takes if it is not told otherwise, unreadable ones included.
pub const REQUESTS_MAX: u64 = 1_000_000;
/// How many bytes a key of [`Change::PutRawRequest`] may have.
pub const KEY_MAX: usize = 1_024;

/// One run of one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployment {
    /// Its name, by which requests find it. At most [`ID_MAX`](super::ID_MAX) bytes.
    pub id: String,
    /// The job that it is a run of. At most [`ID_MAX`](super::ID_MAX) bytes.
    pub job: String,
    /// When it was started, in milliseconds since the epoch.
    pub started_ms: u64,
    /// Whether no later run of the job has taken its place.
    pub is_current: bool,
}

/// One of the changes that are made together.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Adds a request. In the place of an unreadable value under its key, if there is one.
    PutRequest(PlacementRequest),
    /// Adds whatever somebody else takes for a request. If it can be read and has its own key it is one, and this is
    /// [`PutRequest`](Self::PutRequest); otherwise it is unreadable, and in the place of another unreadable value under
    /// the same key.
    PutRawRequest {
        /// The key, `<uuid>.ContainerPlacementRequestMessage` if all is well; at most [`KEY_MAX`] bytes.
        key: String,
        /// What stands under it.
        bytes: Vec<u8>,
    },
    /// Adds a response, in the place of the one before. If that was a last word it stays, and this changes nothing.
    PutResponse(PlacementResponse),
    /// Deletes a request, if it is there.
    DeleteRequest(Uuid),
    /// Deletes a response, if it is there.
    DeleteResponse(Uuid),
    /// Deletes the unreadable value under this key, if it is there.
    DeleteBad(String),
    /// Adds a deployment, in the place of the one with the same id.
    PutDeployment(Deployment),
    /// Deletes the deployment of this id, if it is there.
    DeleteDeployment(String),
    /// Adds what a request has left of a job, in the place of what was known of the same part of it. A deployment that
    /// is not current has nothing to say any more: of such a one this changes nothing.
    PutJobRecord {
        /// The deployment of the job that has carried out the request.
        deployment: String,
        /// The part.
        record: JobRecord,
    },
    /// Deletes all records of the job of this name.
    DeleteJobRecords(String),
}

/// A value that is no request, though it stands where requests do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadEntry {
    /// Its key, with which it can be deleted.
    pub key: String,
    /// Whom to answer: the uuid in its key, otherwise the one in the message, if that much could be read.
    pub uuid: Option<Uuid>,
    /// The deployment that it names; empty if that could not be read, or is longer than an id may be.
    pub deployment_id: String,
    /// The processor that it names, likewise.
    pub processor_id: String,
    /// What is wrong with it.
    pub error: MessageError,
}

/// Some of the requests, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// What could not be read, in the order of keys. Only the first page has it, and no more than its limit: the rest
    /// comes when these are deleted.
    pub bad: Vec<BadEntry>,
    /// The requests in the order of their times, those of the same time in the order of their uuids.
    pub requests: Vec<PlacementRequest>,
    /// Behind which request the next page begins; none if there are no more.
    pub next: Option<(u64, Uuid)>,
}

/// How many values there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests that can be read.
    pub requests: u64,
    /// Responses.
    pub responses: u64,
    /// Values that are no requests, though they stand where requests do.
    pub bad: u64,
}

impl Counts {
    /// How many keys there are in all.
    #[must_use]
    pub fn keys(self) -> u64 {
        self.requests.saturating_add(self.responses).saturating_add(self.bad)
    }
}

/// Why a store did not do as it was told.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ControlStoreError {
    /// There is no room for one more request.
    #[error(
        "the store is full: it holds {max} requests, unreadable ones included; delete some, or allow more"
    )]
    Full {
        /// How many it takes.
        max: u64,
    },
    /// Somebody has asked under this uuid before, and that stays as it is.
    #[error("there is a request or response of {0} already; a new request needs a new uuid")]
    Duplicate(Uuid),
    /// It could not be read again.
    #[error("it cannot be stored: {0}")]
    Message(#[from] MessageError),
    /// A text that is no part of a message is too long.
    #[error("{what} has {bytes} bytes; {max} are allowed")]
    TooLong {
        /// What it is.
        what: &'static str,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// The store holds something that it never wrote.
    #[error("the store is damaged: in {table}: {reason}; restore it from a copy")]
    Damaged {
        /// Where.
        table: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// What is below the store failed. The changes are there all together or not at all, which of the two is not known;
    /// a store in a file has to be opened again.
    #[error("the store cannot be {action}: {reason}")]
    Storage {
        /// What was to be done: `read` or `written`.
        action: &'static str,
        /// What went wrong.
        reason: String,
    },
}

/// Where requests wait to be carried out and responses to be read. Several threads may use one at a time: who reads
/// sees all changes of an [`apply`](Self::apply) or none.
pub trait ControlStore: Send + Sync + Debug {
    /// Makes these changes one after the other, all of them or none. When this returns without an error they are there
    /// for good, as far as the store's medium is.
    ///
    /// # Errors
    /// If one of them is refused: a request under a uuid that has a request or response
    /// ([`ControlStoreError::Duplicate`]), one more than the store takes ([`ControlStoreError::Full`]), or something
    /// that breaks its bounds. After these nothing has changed.
    fn apply(&self, changes: &[Change]) -> Result<(), ControlStoreError>;

    /// The request of this uuid.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn request(&self, uuid: Uuid) -> Result<Option<PlacementRequest>, ControlStoreError>;

    /// The response of this uuid.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn response(&self, uuid: Uuid) -> Result<Option<PlacementResponse>, ControlStoreError>;

    /// At most `limit` requests that come after this one, oldest first, and on the first page at most as many
    /// unreadable values. It costs what it returns, however much there is.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn requests(&self, after: Option<(u64, Uuid)>, limit: usize) -> Result<Page, ControlStoreError>;

    /// At most `limit` responses that come after this one, in the order of uuids.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn responses(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<PlacementResponse>, ControlStoreError>;

    /// The deployment of this id.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn deployment(&self, id: &str) -> Result<Option<Deployment>, ControlStoreError>;

    /// All deployments, in the order of ids.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn deployments(&self) -> Result<Vec<Deployment>, ControlStoreError>;

    /// What requests have left of the job of this name: each part that they changed, as it was left.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn job_records(&self, job: &str) -> Result<Vec<JobRecord>, ControlStoreError>;

    /// How many values there are.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn counts(&self) -> Result<Counts, ControlStoreError>;

    /// How many times [`apply`](Self::apply) brought requests, unreadable ones included, since the store was opened.
    /// Whoever takes this number before they read the requests, and then waits for a higher one, misses nothing.
    fn written(&self) -> u64;

    /// Waits until [`written`](Self::written) is higher than `seen`, but no longer than `timeout`, and returns it.
    fn wait_for_write(&self, seen: u64, timeout: Duration) -> u64;
}
