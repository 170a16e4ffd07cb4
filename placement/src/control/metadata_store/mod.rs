//! The durable side of a control plane for placements: who asks leaves a request in a [`ControlStore`], who decides
//! leaves a response there, and both may come and go meanwhile.
//!
//! Messages have the form of Apache Samza's container placement service, with three fields more; what its store lets
//! happen and this one does not: two writers under one uuid overwriting each other, one unreadable value stopping the
//! reading of all, changes that belong together done by half, and a store that grows for ever. Nothing in here has a
//! clock; uuids are made by [`PlacementClient`] alone.

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
