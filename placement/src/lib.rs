//! Long-running services on top of a cluster manager: instances return to their previous hosts.
//!
//! A service uses the cluster through one trait, [`ClusterClient`]. The crate implements it for the
//! Apportion engine and for a [fake](FakeCluster); another implementation runs services on another manager.
//! [`ApplicationState`] decides which containers a service requests and releases, as a pure function of its
//! events.
//!
//! | module | purpose |
//! |---|---|
//! | `client` | the interface to a cluster manager; `engine_client` and `fake` implement it |
//! | `application` | decides: state and event in, operations out |
//! | `history` | role history: past and present hosts of components |
//! | `service` | carries out operations |
//! | `persistence` | writes and reads history files |
//! | `instance` | definitions, folders, locks and commands of application instances |
//! | `control` | moves and restarts containers of running jobs: processors and standbys in `job`, durable requests and responses in `metadata_store`, the control plane in `plane` |

#![forbid(unsafe_code)]

mod application;
mod client;
mod component;
pub mod control;
mod directory_sync;
mod engine_client;
mod exit;
mod exit_code;
mod fake;
mod history;
pub mod instance;
mod persistence;
mod service;
mod status;

pub use application::{
    ActionId, ActionKind, ActionStatus, AllocationOutcome, AntiAffinity, ApplicationState, ComponentChange,
    ContainerAction, HandOver, Inconsistency, Operation, ServiceEvent, ServiceSettings,
};
pub use client::{
    Allocation, Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest, Dismissal, Launch,
    NodeReport, Obstacle, RequestId, RunningContainer, Unserved,
};
pub use component::{
    ApartGroup, ComponentId, ComponentSpec, FaultDomain, HealthThreshold, PlacementPolicy, RetryPolicy,
    UnknownPolicy,
};
pub use engine_client::{EngineClient, NodeCommand};
pub use exit::{ContainerExit, ContainerOutcome};
pub use fake::{FakeClient, FakeCluster, Fault, SharedFakeCluster};
pub use history::{COMPONENT_ID_MAX, InstanceState, ThawReport};
#[doc(hidden)]
pub use persistence::fuzz_history;
pub use persistence::{
    DirectoryStore, HistoryEntry, HistoryFile, HistorySaver, HistoryStore, HistoryWarning, LoadReport,
    LoadedHistory, PurgeError, PurgeReport, ReadHistory, ReadHistoryError, SaveError, SavedHistory,
    SaverError, SaverStats, SkipReason, SkippedFile, StoreAction, StoreError, StoredFile, WriteHistoryError,
    history_name, history_name_ms, is_history_name, keep_last, load_and_purge, load_newest, purge_before,
    read_history, save_now, write_history,
};
pub use service::{ActionProgress, NotRunning, Service};
pub use status::{
    ComponentCounters, ComponentStatus, ContainerStatus, Failure, OutstandingCause, OutstandingStatus,
    ServiceStatus,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

#[cfg(doctest)]
#[doc = include_str!("../CONTROL.md")]
struct ControlExamples;
