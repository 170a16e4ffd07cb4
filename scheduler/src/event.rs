//! Events: the engine's messages to applications.

use std::fmt;

use thiserror::Error;

use crate::facts::{ApplicationEnd, EndCause, ExecutionType, Locality};
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId};
use crate::label::labels;
use crate::request::{CommitSeq, RejectReason};

/// Something that happened to an application, with the change that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The change's position in the log. After a [`resync`](crate::Handle::resync) events up to the
    /// resynchronisation's own position are already part of its answer.
    pub seq: CommitSeq,
    /// Whom it concerns.
    pub application: ApplicationId,
    /// The kind of the event.
    pub kind: EventKind,
}

impl Event {
    /// Whether the event is news to a reader who knows the state as of `known`. A refusal changes no state, so it
    /// always is.
    pub(crate) fn is_news(&self, known: CommitSeq) -> bool {
        let is_refusal =
            matches!(self.kind, EventKind::AskRefused { .. } | EventKind::ApplicationRefused { .. });
        self.seq > known || is_refusal
    }
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// A container was placed.
    Allocated {
        /// For which ask.
        ask: AskId,
        /// The new container.
        container: ContainerId,
        /// Where it is.
        node: NodeId,
        /// How near the node is to the hosts and racks that the ask named.
        locality: Locality,
    },
    /// A container that ran before the engine started is known to it again.
    ContainerRecovered {
        /// The ask that it was given when it was reported.
        ask: AskId,
        /// The container, from now on.
        container: ContainerId,
        /// Where it is.
        node: NodeId,
    },
    /// A container has another size from now on, which the [view](crate::view::View::container) says.
    ContainerResized {
        /// Which.
        container: ContainerId,
    },
    /// A container was demoted (opportunistic from now on), or promoted (guaranteed its size again).
    ExecutionTypeChanged {
        /// Which.
        container: ContainerId,
        /// Its execution type from now on.
        execution_type: ExecutionType,
    },
    /// A container is to be stopped. Its node should end its processes and confirm that with
    /// [`complete_container`](crate::Handle::complete_container).
    ContainerStopping {
        /// Which.
        container: ContainerId,
        /// Where it runs.
        node: NodeId,
        /// When the engine stops waiting for the confirmation.
        until_ms: u64,
        /// Why; it is the cause of the end once that is confirmed.
        cause: EndCause,
    },
    /// A container ended, by whichever cause.
    ContainerEnded {
        /// Which.
        container: ContainerId,
        /// Why.
        cause: EndCause,
    },
    /// Units of an ask will not be placed.
    AskCancelled {
        /// Which ask.
        ask: AskId,
        /// How many units.
        units: u32,
    },
    /// A node is reserved for one unit of an ask.
    Reserved {
        /// Which ask.
        ask: AskId,
        /// Which node.
        node: NodeId,
    },
    /// A reservation was dropped without being used.
    Unreserved {
        /// Which ask's.
        ask: AskId,
        /// On which node.
        node: NodeId,
    },
    /// The application was held back, and its asks may be served from now on. Applications that were never held back
    /// get no such event.
    ApplicationActivated,
    /// The application was ended, or its lifetime is over, and its containers are being stopped. Its asks are cancelled
    /// and new ones refused. [`ApplicationEnded`](Self::ApplicationEnded) follows when the last container has ended:
    /// its node confirmed that, was removed, or let `stop_timeout_ms` pass. Releasing each container ends it sooner.
    /// Only with [`stop_ended_applications`](crate::config::EngineConfig::stop_ended_applications).
    ApplicationEnding {
        /// How it will have ended.
        end: ApplicationEnd,
    },
    /// The application is over; no further events follow, but for refusals of asks that were sent too late. Those come
    /// until the application's place is taken by one with another stream. Later refusals are only in
    /// [`Handle::take_refusals`](crate::Handle::take_refusals).
    ApplicationEnded {
        /// How it ended.
        end: ApplicationEnd,
    },
    /// The engine could not take the application; no further events follow, but for refusals of its asks, which come
    /// for as long as after [`ApplicationEnded`](Self::ApplicationEnded).
    ApplicationRefused {
        /// Why.
        refusal: Refusal,
    },
    /// The engine could not take an ask.
    AskRefused {
        /// Which.
        ask: AskId,
        /// Why.
        refusal: Refusal,
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
} }

/// A call that the engine refused when it dealt with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The newest change of the state at that moment.
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

/// The thing that a call was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// Why a change that was sent could not be applied when its turn came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Refusal {
    /// The application has ended, or never was.
    #[error("the application has ended")]
    ApplicationEnded,
    /// The application was ended, and its last containers are being stopped: nothing about it can be changed.
    #[error("the application is ending: its last containers are being stopped")]
    ApplicationEnding,
    /// The node was removed meanwhile.
    #[error("the node is gone")]
    UnknownNode,
    /// The ask was satisfied or cancelled meanwhile.
    #[error("the ask is satisfied or cancelled")]
    UnknownAsk,
    /// The container has ended meanwhile.
    #[error("the container has ended")]
    UnknownContainer,
    /// A container cannot grow or be promoted: the addition does not fit; the reason is that of a proposal.
    #[error("the container cannot grow: {0}")]
    CannotGrow(RejectReason),
    /// The container has that execution type already.
    #[error("the container has that execution type already")]
    SameExecutionType,
    /// The container is opportunistic, so its size is not charged and cannot be changed.
    #[error("the container is opportunistic; promote it before it is given another size")]
    Opportunistic,
    /// The container is being stopped: it cannot be changed, and needs no second stop.
    #[error("the container is being stopped")]
    ContainerStopping,
    /// Too few of the node's devices have enough left.
    #[error("the node has not got the devices")]
    NoDevices,
    /// The reservation was fulfilled or dropped meanwhile.
    #[error("the reservation has ended")]
    UnknownReservation,
    /// The queue, or one above it, is stopped.
    #[error("the queue is stopped")]
    QueueStopped,
    /// The queue, one above it, or the user there has as many applications as may be.
    #[error("there are too many applications in the queue already")]
    TooManyApplications,
    /// With the application's use, a queue would be above its maximum.
    #[error("what the application uses does not fit below the maximum of the queue or one above it")]
    AboveMaximum,
    /// The queue is not a leaf, or not there.
    #[error("the queue takes no applications")]
    NotALeaf,
    /// The queue would have to be made, and is too deep or one too many.
    #[error("a queue that is not there is not made: there are too many, or it is too deep")]
    TooManyQueues,
    /// The queue is used, or was until a moment ago.
    #[error("the queue is in use")]
    QueueInUse,
    /// No queue has the name that the application requests, and no placement rule is about it.
    #[error("there is no such queue")]
    UnknownQueue,
    /// A placement rule rejects the application, or leaves it a default queue that takes none.
    #[error("a placement rule rejects the application")]
    RejectedByRule,
    /// The user may not submit applications to the queue.
    #[error("the user may not submit applications to the queue")]
    NotPermitted,
    /// The queue, or one above it, may not use the partition that is asked for.
    #[error("the queue may not use the partition")]
    PartitionNotAccessible,
    /// The identifier's slot is taken: the identifier did not come from this engine.
    #[error("the identifier is taken")]
    IdentifierTaken,
    /// An amount is negative or larger than the engine can add up, or a count is zero.
    #[error("an amount is out of range")]
    OutOfRange,
    /// The container would have nothing of any resource type, and the configuration does not allow that.
    #[error(
        "a container needs at least one resource; set `allow_empty` in [engine.allocation] to permit empty ones"
    )]
    EmptyContainer,
    /// The limits given for a queue do not fit its siblings.
    #[error("the queue's limits do not fit its siblings'")]
    InvalidLimits,
    /// Time does not run backwards.
    #[error("time does not run backwards")]
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
