//! Long-running services on top of a cluster manager.
//!
//! The crate decides where instances of a service should run. Whatever it needs of the cluster goes through
//! one trait, [`ClusterClient`], with an implementation for the Apportion engine and a fake for tests; a
//! third one makes it run on any other manager.

#![forbid(unsafe_code)]

mod client;
mod engine_client;
mod fake;

pub use client::{
    Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest, NodeReport, RequestId,
};
pub use engine_client::EngineClient;
pub use fake::FakeCluster;
