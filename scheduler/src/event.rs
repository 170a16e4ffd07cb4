//! Events: the engine's messages to applications.

mod text;

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::facts::{ApplicationEnd, EndCause, ExecutionType, Locality, PreemptionNotice};
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId};
use crate::label::labels;
use crate::request::{CommitSeq, RejectReason};

/// Something that happened to an application, with the change that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The change's position in the log. After a [`resync`](crate::Handle::resync) events up to the
    /// resynchronisation's own position are already part of its answer.
    pub seq: CommitSeq,
    /// The application that it concerns.
    pub application: ApplicationId,
    /// The kind of the event.
    pub kind: EventKind,
}

impl Event {
    /// Whether the event is new to a reader that knows the state as of `known`. A refusal changes no state, so it is
    /// always new.
    pub(crate) fn is_news(&self, known: CommitSeq) -> bool {
        let is_refusal =
            matches!(self.kind, EventKind::AskRefused { .. } | EventKind::ApplicationRefused { .. });
        self.seq > known || is_refusal
    }
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A container was placed.
    Allocated {
        /// The ask.
        ask: AskId,
        /// The new container.
        container: ContainerId,
        /// The node on which it runs.
        node: NodeId,
        /// How near the node is to the hosts and racks that the ask named.
        locality: Locality,
        /// The [number](crate::AskSpec::allocation_request_id) that the caller gave the ask.
        allocation_request_id: u64,
    },
    /// The engine took over a running container that its node reported.
    ContainerRecovered {
        /// The ask that the engine made for it when the node reported it.
        ask: AskId,
        /// The container's new identifier.
        container: ContainerId,
        /// The node on which it runs.
        node: NodeId,
        /// The number with which the node reported it.
        allocation_request_id: u64,
    },
    /// A container changed its size. The [view](crate::view::View::container) shows the new size.
    ContainerResized {
        /// The container.
        container: ContainerId,
    },
    /// A container was demoted to opportunistic, or promoted to guaranteed.
    ExecutionTypeChanged {
        /// The container.
        container: ContainerId,
        /// Its new execution type.
        execution_type: ExecutionType,
    },
    /// A container is to be stopped. Its node should end its processes and confirm that with
    /// [`complete_container`](crate::Handle::complete_container).
    ContainerStopping {
        /// The container.
        container: ContainerId,
        /// The node on which it runs.
        node: NodeId,
        /// When the engine stops waiting for the confirmation.
        until_ms: u64,
        /// The cause of the stop, which becomes the cause of the end once that is confirmed.
        cause: EndCause,
    },
    /// A container ended, for any cause.
    ContainerEnded {
        /// The container.
        container: ContainerId,
        /// The cause.
        cause: EndCause,
        /// The [number](crate::AskSpec::allocation_request_id) that the caller gave its ask.
        allocation_request_id: u64,
    },
    /// Units of an ask were cancelled.
    AskCancelled {
        /// The ask.
        ask: AskId,
        /// The number of units.
        units: u32,
    },
    /// A node is reserved for one unit of an ask.
    Reserved {
        /// The ask.
        ask: AskId,
        /// The node.
        node: NodeId,
    },
    /// A reservation was dropped unused.
    Unreserved {
        /// The ask.
        ask: AskId,
        /// The node.
        node: NodeId,
    },
    /// The application waited for activation, and its asks may be served from now on. Applications that never waited
    /// get no such event.
    ApplicationActivated,
    /// The application was ended or its lifetime is over, and its containers are being stopped. Its asks are cancelled,
    /// and new asks are refused. [`ApplicationEnded`](Self::ApplicationEnded) follows when the last container has
    /// ended: its node confirmed that, was removed, or let `stop_timeout_ms` pass. To end the application sooner,
    /// release each container. Only with
    /// [`stop_ended_applications`](crate::config::EngineConfig::stop_ended_applications).
    ApplicationEnding {
        /// How the application ends.
        end: ApplicationEnd,
    },
    /// The application has ended. No further events follow, except refusals of asks that were sent too late. These come
    /// until another application with another stream gets the slot. Later refusals are only in
    /// [`Handle::take_refusals`](crate::Handle::take_refusals).
    ApplicationEnded {
        /// How it ended.
        end: ApplicationEnd,
    },
    /// The engine refused the application. No further events follow, except refusals of its asks, which come as long as
    /// after [`ApplicationEnded`](Self::ApplicationEnded).
    ApplicationRefused {
        /// The reason.
        refusal: Refusal,
    },
    /// The engine refused an ask.
    AskRefused {
        /// The ask.
        ask: AskId,
        /// The reason.
        refusal: Refusal,
    },
    /// A container is to end for a queue that is owed its room. Until then the application may save its work, or give
    /// back other containers. The container ends with the cause
    /// [`Preempted`](crate::event::EndCause::Preempted).
    PreemptionAnnounced {
        /// The container.
        container: ContainerId,
        /// When it may end, for whom and why.
        notice: PreemptionNotice,
    },
    /// An announced container is spared: its room is not needed.
    PreemptionWithdrawn {
        /// The container.
        container: ContainerId,
    },
}

labels! { EventKind {
    Allocated => "allocated",
    ContainerRecovered => "container_recovered",
    ContainerResized => "container_resized",
    ExecutionTypeChanged => "execution_type_changed",
    ContainerStopping => "container_stopping",
    ContainerEnded => "container_ended",
    AskCancelled => "ask_cancelled",
    Reserved => "reserved",
    Unreserved => "unreserved",
    ApplicationActivated => "application_activated",
    ApplicationEnding => "application_ending",
    ApplicationEnded => "application_ended",
    ApplicationRefused => "application_refused",
    AskRefused => "ask_refused",
    PreemptionAnnounced => "preemption_announced",
    PreemptionWithdrawn => "preemption_withdrawn",
} }

/// A call that the engine refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The newest change of the state when the engine refused the call.
    pub seq: CommitSeq,
    /// The identifier that the call named.
    pub subject: Subject,
    /// The reason.
    pub refusal: Refusal,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.refusal)
    }
}

/// The subject of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Subject {
    /// A node.
    Node(NodeId),
    /// An application.
    Application(ApplicationId),
    /// An ask.
    Ask(AskId),
    /// A container.
    Container(ContainerId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(id) => id.fmt(f),
            Self::Application(id) => id.fmt(f),
            Self::Ask(id) => id.fmt(f),
            Self::Container(id) => id.fmt(f),
        }
    }
}

/// Why the engine refused a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The application has ended, or never existed.
    #[error("the application has ended, or this engine never had it")]
    ApplicationEnded,
    /// The application was ended, and its last containers are being stopped: nothing about it can be changed.
    #[error("the application is ending: its last containers are being stopped")]
    ApplicationEnding,
    /// The node was removed meanwhile.
    #[error("the node is gone, or this engine never had it")]
    UnknownNode,
    /// The ask was satisfied or cancelled meanwhile.
    #[error("the ask is satisfied or cancelled, or this engine never had it")]
    UnknownAsk,
    /// The container has ended meanwhile.
    #[error("the container has ended, or this engine never had it")]
    UnknownContainer,
    /// A container cannot grow or be promoted, because the addition does not fit. The reason is the one for a commit
    /// request.
    #[error("the container cannot grow: {0}")]
    CannotGrow(RejectReason),
    /// The container already has that execution type.
    #[error("the container has that execution type already")]
    SameExecutionType,
    /// The container is opportunistic, so its size is not charged and cannot be changed.
    #[error("the container is opportunistic; promote it before you resize it")]
    Opportunistic,
    /// The container is being stopped: it cannot be changed, and needs no second stop.
    #[error("the container is being stopped")]
    ContainerStopping,
    /// Too few of the node's devices have enough free.
    #[error("the node has too few free devices")]
    NoDevices,
    /// The reservation was fulfilled or dropped meanwhile.
    #[error("the reservation has ended")]
    UnknownReservation,
    /// The queue, or one above it, is stopped.
    #[error("the queue is stopped")]
    QueueStopped,
    /// The queue, a queue above it, or the user in it has its maximum of applications.
    #[error("too many applications: the queue, a queue above it or the user has its maximum")]
    TooManyApplications,
    /// With the application's use, a queue would exceed its maximum.
    #[error("the application's use does not fit below the maximum of the queue or of a queue above it")]
    AboveMaximum,
    /// The queue is not a leaf, or does not exist.
    #[error("the queue takes no applications")]
    NotALeaf,
    /// The queue would have to be created, but would be too deep or one queue too many.
    #[error("the queue cannot be created: it would be too deep or one queue too many")]
    TooManyQueues,
    /// The queue is used, or was until a moment ago.
    #[error("the queue is in use")]
    QueueInUse,
    /// No queue has the requested name, and no placement rule applies.
    #[error("there is no such queue")]
    UnknownQueue,
    /// A placement rule rejects the application, or its default queue takes no applications.
    #[error("a placement rule rejects the application")]
    RejectedByRule,
    /// The user may not submit applications to the queue.
    #[error("the user may not submit applications to the queue")]
    NotPermitted,
    /// The queue, or a queue above it, may not use the requested partition.
    #[error("the queue may not use the partition")]
    PartitionNotAccessible,
    /// The identifier's slot is taken: the identifier did not come from this engine.
    #[error("the identifier is taken; use one from this engine")]
    IdentifierTaken,
    /// An amount is negative or larger than the engine can add up, a count is zero, or a rack was never given out.
    #[error("an amount is out of range")]
    OutOfRange,
    /// The container would have zero of every resource type, and the configuration does not allow that.
    #[error(
        "a container needs at least one resource; set `allow_empty` in [engine.allocation] to permit empty ones"
    )]
    EmptyContainer,
    /// The limits given for a queue do not fit its siblings.
    #[error("the queue's limits do not fit its siblings'")]
    InvalidLimits,
    /// The new time is before the engine's time.
    #[error("the new time is before the engine's time")]
    TimeBackwards,
}

labels! { Refusal {
    ApplicationEnded => "application_ended",
    ApplicationEnding => "application_ending",
    UnknownNode => "unknown_node",
    UnknownAsk => "unknown_ask",
    UnknownContainer => "unknown_container",
    CannotGrow => "cannot_grow",
    SameExecutionType => "same_execution_type",
    Opportunistic => "opportunistic",
    ContainerStopping => "container_stopping",
    NoDevices => "no_devices",
    UnknownReservation => "unknown_reservation",
    QueueStopped => "queue_stopped",
    TooManyApplications => "too_many_applications",
    AboveMaximum => "above_maximum",
    NotALeaf => "not_a_leaf",
    TooManyQueues => "too_many_queues",
    QueueInUse => "queue_in_use",
    UnknownQueue => "unknown_queue",
    RejectedByRule => "rejected_by_rule",
    NotPermitted => "not_permitted",
    PartitionNotAccessible => "partition_not_accessible",
    IdentifierTaken => "identifier_taken",
    OutOfRange => "out_of_range",
    InvalidLimits => "invalid_limits",
    TimeBackwards => "time_backwards",
    EmptyContainer => "empty_container",
} }
