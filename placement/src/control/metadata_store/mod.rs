//! The durable side of a control plane. A client leaves a request in a [`ControlStore`]; the control plane
//! leaves a response there. Either may restart meanwhile.
//!
//! Messages have the form of Apache Samza's container placement service, with three more fields. Samza's
//! store has four faults that this one avoids:
//!
//! * Two writers under one uuid overwrite each other.
//! * One unreadable value stops all reading.
//! * Changes that belong together are made by half.
//! * The store grows without limit.
//!
//! No code here reads a clock. Only [`PlacementRequest::new`] makes uuids.

mod changes;
mod client;
mod fields;
mod keys;
mod memory_store;
mod message;
mod message_error;
mod reading;
mod redb_open;
mod redb_store;
mod redb_tables;
mod signal;
mod status_code;
mod store;
mod tables;
mod wire;

pub use client::{Listing, PlacementClient};
pub use keys::{NAMESPACE, request_key, response_key};
pub use memory_store::MemoryControlStore;
pub use message::{
    EXPLANATION_MAX, HOST_MAX, ID_MAX, MESSAGE_MAX, PARAMETERS_DEPTH_MAX, PARAMETERS_MAX, PlacementRequest,
    PlacementResponse, REQUEST_SUB_TYPE, RESPONSE_SUB_TYPE,
};
pub use message_error::{MessageError, MessageProblem};
pub use redb_open::{FORMAT_VERSION, OpenStoreError};
pub use redb_store::RedbControlStore;
pub use status_code::{StatusCode, UnknownStatusCode};
pub use store::{
    BadEntry, Change, ControlStore, ControlStoreError, Counts, Deployment, KEY_MAX, Page, REQUESTS_MAX,
};
