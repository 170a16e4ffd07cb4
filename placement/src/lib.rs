//! Long-running services on top of a cluster manager.
//!
//! Whatever a service needs of the cluster goes through one trait, [`ClusterClient`], with an implementation for
//! the Apportion engine and a fake for tests; a third one makes services run on any other manager.

#![forbid(unsafe_code)]

mod client;
mod engine_client;
mod fake;

pub use client::{
    Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest, NodeReport, RequestId,
};
pub use engine_client::EngineClient;
pub use fake::FakeCluster;
