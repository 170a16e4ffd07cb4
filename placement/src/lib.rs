//! Long-running services on top of a cluster manager.
//!
//! Whatever a service needs of the cluster goes through one trait, [`ClusterClient`], with an implementation for
//! the Apportion engine and a fake for tests; a third one makes services run on any other manager.

#![forbid(unsafe_code)]

mod client;
mod component;
mod engine_client;
mod fake;
mod status;

pub use client::{
    Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest, NodeReport, RequestId,
};
pub use component::{ComponentId, ComponentSpec, HealthThreshold, PlacementPolicy, UnknownPolicy};
pub use engine_client::EngineClient;
pub use fake::FakeCluster;
pub use status::{
    ComponentCounters, ComponentStatus, Failure, OutstandingCause, OutstandingStatus, ServiceStatus,
};
