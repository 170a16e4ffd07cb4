//! Apportion: a parallel global-scheduler engine for clusters.
//!
//! An [`Engine`] decides where containers run. A caller registers nodes and submits applications and asks
//! through a [`Handle`]; proposers read the state in parallel and make
//! [`ResourceAllocationCommitRequest`]s over [`PlacementSet`]s; one committer applies each of them whole or
//! not at all, and tells applications through [`EventStream`]s. `README.md` shows it in twenty lines,
//! `ARCHITECTURE.md` how it works.
//!
//! # What it promises
//!
//! * No I/O, no sockets, no clock, no randomness and no threads but those asked for; any number of engines in
//!   one process.
//! * A commit that adds use leaves every queue on its path and the user within their limits, and the node
//!   within what it has.
//! * A slow reader never holds the engine up; a caller is held back only when the engine cannot keep up.
//! * [`Replay`] makes the same state from the log, byte for byte. In [`Mode::Serial`] equal input makes an
//!   equal log.
//!
//! # Words
//!
//! *Partition*: nodes with one label. *Queue*: parent or leaf; leaves take applications. *Ask*: a request for
//! containers of one size, with a *priority*. *Container*: an *allocation* on a node. *Reservation*: a
//! node kept for an ask that fits nowhere now. *Guaranteed* and *maximum capacity*: what a queue is promised, and
//! what it may use at most. *User limit*: what one user may use in a leaf. *Locality*: *node-local*, *rack-local* or
//! *off-switch*, as near as a container is to what its ask named.

#![forbid(unsafe_code)]

mod audit;
mod backlog;
mod bits;
mod change;
mod clock;
mod commit;
pub mod config;
mod engine;
mod event;
mod explain;
mod facts;
mod ids;
mod in_flight;
mod label;
mod log;
pub mod nearest;
mod place;
mod propose;
mod replay;
mod request;
mod resource;
mod state;
mod stats;
pub mod sync;
mod timers;
mod view;

pub use audit::{AuditReport, Violation};
pub use change::{ApplicationSpec, AskSpec, Change, NodeSpec, RunningContainer};
pub use clock::{Clock, ManualClock};
pub use commit::ResourceAllocationCommitter;
pub use engine::{
    AttachedAsk, Attachment, Engine, EngineTiming, EventStream, GroupCommitter, Handle, Health, Lagging,
    Mode, NotSerial, PROPOSERS_MAX, Parts, PassError, Proposer, Recovery, Refusals, StartError, Step,
    SubmitError,
};
pub use event::{Event, EventKind, Refusal, Refused, Subject};
pub use explain::{
    ActivationLimit, Amounts, Blocker, DeviceShortage, Explanation, Funnel, KeptNode, LimitHolder,
    LimitReached, LocalityWait, PendingReason, Rejection, ReservedNode, Shortage, Stage, Standing,
    WhyPending,
};
pub use facts::{
    ApplicationEnd, AskTags, AttributeCondition, AttributeRule, AttributeTest, Blacklist, BlacklistUpdate,
    ContainerOnNode, EndCause, ExecutionType, Locality, LocalityPreference, Master, NodeAttributes,
    NodeState, Quota, StateDigest, Stopping, TagLimit, TagNamespace, TagScope,
};
pub use ids::{
    ApplicationId, AskId, ContainerId, InvalidId, NodeId, PartitionId, QueueId, RackId, ReservationId, SetId,
};
pub use log::{LogDigest, LogError, LogReader, LogSink, LoggedGroup, SharedLog};
pub use place::{BUCKETS, NodeOrder, PlacementSet, ScoredNode};
pub use propose::{PassScope, ProposalBatch};
pub use replay::Replay;
#[doc(hidden)]
pub use replay::fuzz_log;
pub use request::{
    AllocationProposal, CommitOutcome, CommitSeq, RejectReason, ReservationProposal,
    ResourceAllocationCommitRequest,
};
pub use resource::{
    AMOUNT_MAX, DEVICE_MILLI, DEVICES_MAX, DeviceNeed, Devices, Need, RESOURCE_TYPES_MAX, ResourceError,
    ResourceTypes, Resources, Room, SHARE_ONE, dominant_share, fits,
};
pub use stats::EngineStats;
pub use sync::Ticket;
pub use view::{
    ApplicationView, AskView, ContainerView, NodeView, PendingWithinLimits, QueueStatus, QueueView,
    ReservationView, View,
};

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct ReadmeExamples;
