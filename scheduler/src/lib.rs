//! Apportion: a parallel global-scheduler engine for clusters.
//!
//! An [`Engine`] decides where containers run. A caller registers nodes and submits applications and asks through a
//! [`Handle`]. Proposers read the state in parallel and make [`ResourceAllocationCommitRequest`]s over
//! [`PlacementSet`](place::PlacementSet)s. One committer applies each request whole or not at all, and sends events
//! to applications through [`EventStream`]s. The book in the repository explains how to embed an engine.
//!
//! ```
//! use std::sync::Arc;
//!
//! use apportion::config::{EngineConfig, QueueConfig};
//! use apportion::event::EventKind;
//! use apportion::{ApplicationSpec, AskSpec, Engine, Mode, NodeSpec, ResourceTypes, SystemClock};
//!
//! let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
//! let engine = Engine::start(config, Mode::Background, Arc::new(SystemClock::new()), None)?;
//! let handle = engine.handle();
//! let capacity = handle.resources(&[("memory_mib", 8_192), ("vcore_milli", 8_000)])?;
//! handle.add_node(NodeSpec::new("alpha", capacity))?;
//!
//! let events = handle.event_stream(1_000);
//! let job = handle.submit_application(ApplicationSpec::new("job", "root.default", "ann"), &events)?;
//! let size = handle.resources(&[("memory_mib", 1_024), ("vcore_milli", 1_000)])?;
//! handle.submit_ask(job, AskSpec::new(size, 1))?;
//!
//! let event = events.wait_next()?.ok_or("the engine was shut down")?;
//! assert!(matches!(event.kind, EventKind::Allocated { .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map
//!
//! | concept | types |
//! |---|---|
//! | start, threads, time | [`Engine`], [`Mode`], [`Clock`], [`SystemClock`], [`ManualClock`] |
//! | settings | [`config::EngineConfig`], [`config::QueueConfig`], [`config::Reconfiguration`] |
//! | amounts | [`ResourceTypes`], [`Resources`], [`resource::Devices`] |
//! | calls and their answers | [`Handle`], [`Ticket`], [`engine::SubmitError`], [`event::Refusal`] |
//! | nodes | [`NodeSpec`], [`NodeId`], [`PartitionId`], [`RunningContainer`] |
//! | agents of nodes | [`nodes::ResourceTracker`], [`nodes::NodeDirectives`], [`nodes::NodeSession`] |
//! | applications and asks | [`ApplicationSpec`], [`AskSpec`], [`AskOfKind`], [`AttributeRule`], [`TagLimit`] |
//! | containers that start together | [`Handle::submit_gang`], [`gang::GangSpec`], [`Handle::submit_ask_of_group`] |
//! | leftover room | [`AskSpec::opportunistic`], [`config::OpportunisticPolicy`] |
//! | events | [`EventStream`], [`event::EventKind`], [`EndCause`], [`engine::Lagging`] |
//! | the state | [`view::View`], [`StateDigest`], [`AuditReport`] |
//! | why an ask waits | [`Engine::explain`], [`explain::Explanation`], [`explain::PendingReason`] |
//! | plans of preemption | [`Engine::preemption_plan`], [`preempt::PreemptionPlan`], [`preempt::PreemptionPolicy`] |
//! | limits on preemption | [`preempt::PreemptionCost`], [`preempt::DisruptionBudget`] |
//! | figures | [`EngineStats`], [`engine::Health`], [`engine::EngineTiming`] |
//! | log, recovery, replay | [`log::LogSink`], `file_log::FileLog`, `store_log::StoreLog`, [`Engine::recover`], [`replay::Replay`], [`Change`] |
//! | proposals by hand | [`ResourceAllocationCommitRequest`], [`CommitOutcome`], [`engine::Proposer`] |
//!
//! | feature | adds |
//! |---|---|
//! | `async` | event streams as `futures::Stream`s; tickets are futures without it |
//! | `file-log` | a log in a folder: segments, a lock against a second writer, compaction |
//! | `fuzz` | the body of the fuzz target for logs; not for users |
//! | `metrics` | all figures under documented names, for any exporter |
//! | `model` | a runner, primitives and a log in memory, to model-check an embedding program together with the engine |
//! | `store-log` | a log in a store: one file of the embedded database redb, with compaction |
//! | `tracing` | spans and events for the `tracing` facade; the module [`engine`] lists them |
//!
//! # What it promises
//!
//! * No I/O (except with the features `file-log`, `store-log` and `model`), no sockets, no randomness. No clock and no
//!   threads except those given or requested. Any number of engines in one process.
//! * A commit that adds use leaves the user and every queue on its path within their limits, and the node within
//!   its capacity.
//! * A slow reader never blocks the engine. A caller is blocked only while the engine cannot keep up.
//! * [`Replay`](replay::Replay) makes the same state from the log, byte for byte. In [`Mode::Serial`] equal input
//!   gives an equal log.
//!
//! # Words
//!
//! *Partition*: nodes with one label. *Queue*: parent or leaf; leaves take applications. *Ask*: a request for
//! containers of one size, with a *priority*. *Container*: an *allocation* on a node. *Reservation*: a node kept
//! for an ask that fits nowhere now. *Guaranteed* and *maximum capacity*: the capacity that a queue is promised,
//! and the most that it may use. *User limit*: the most that one user may use in a leaf. *Locality*: *node-local*,
//! *rack-local* or *off-switch*, the distance of a container from the hosts and racks that its ask named.

#![forbid(unsafe_code)]

mod audit;
mod backlog;
mod bits;
mod change;
mod clock;
mod commit;
pub mod config;
pub mod engine;
pub mod event;
pub mod explain;
mod facts;
#[cfg(feature = "file-log")]
pub mod file_log;
pub mod gang;
mod ids;
mod in_flight;
mod label;
pub mod log;
#[cfg(feature = "metrics")]
pub mod metrics;
mod min_heap;
#[cfg(feature = "model")]
pub mod model;
pub mod nearest;
pub mod nodes;
pub mod place;
pub mod preempt;
mod propose;
pub mod replay;
pub mod request;
pub mod resource;
mod state;
mod stats;
#[cfg(feature = "store-log")]
pub mod store_log;
#[cfg(feature = "model")]
pub mod sync;
#[cfg(not(feature = "model"))]
#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "embedders name the rest, with the feature `model`"
)]
mod sync;
mod timers;
pub mod view;

pub use audit::{AuditReport, Violation};
pub use change::{ApplicationSpec, AskOfKind, AskSpec, Change, NodeSpec, RunningContainer};
pub use clock::{Clock, ManualClock, SystemClock};
pub use engine::{Engine, EventStream, Handle, Mode};
pub use facts::{
    ApplicationEnd, AskTags, AttributeCondition, AttributeRule, AttributeTest, Blacklist, BlacklistUpdate,
    ContainerOnNode, EndCause, ExecutionType, Locality, LocalityPreference, Master, NodeAttributes,
    NodeState, Quota, StateDigest, Stopping, TagLimit, TagNamespace, TagScope,
};
pub use ids::{
    ApplicationId, AskId, AskKindId, ContainerId, GangId, InvalidId, NodeId, PartitionId, QueueId, RackId,
    ReservationId, SetId,
};
pub use propose::{PassScope, ProposalBatch};
pub use request::{CommitOutcome, CommitSeq, ResourceAllocationCommitRequest};
pub use resource::{ResourceTypes, Resources};
pub use stats::EngineStats;
pub use sync::Ticket;

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct ReadmeExamples;
