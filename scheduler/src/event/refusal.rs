//! Refused calls: what they were about, and why.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ids::{ApplicationId, AskId, ContainerId, GangId, NodeId};
use crate::label::labels;
use crate::request::{CommitSeq, RejectReason};
use crate::resource::AMOUNT_MAX;

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
    /// A gang.
    Gang(GangId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(id) => id.fmt(f),
            Self::Application(id) => id.fmt(f),
            Self::Ask(id) => id.fmt(f),
            Self::Container(id) => id.fmt(f),
            Self::Gang(id) => id.fmt(f),
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
    #[error("the queue, or one above it, is stopped and takes no applications")]
    QueueStopped,
    /// The queue, a queue above it, or the user in it has its maximum of applications.
    #[error("too many applications: the queue, a queue above it or the user has its maximum")]
    TooManyApplications,
    /// With the application's use, a queue would exceed its maximum.
    #[error("the application's use does not fit below the maximum of the queue or of a queue above it")]
    AboveMaximum,
    /// The queue is not a leaf, or does not exist.
    #[error("the queue takes no applications: it does not exist or is not a leaf")]
    NotALeaf,
    /// The queue would have to be created, but would be too deep or one queue too many.
    #[error("the queue cannot be created: it would be too deep or one queue too many")]
    TooManyQueues,
    /// The queue was not auto-created, is in use, or was until a moment ago.
    #[error("only an auto-created queue that was unused for long enough is removed")]
    QueueInUse,
    /// No queue has the requested name, and no mapping rule applies.
    #[error("the requested queue does not exist, or its short name is ambiguous; give the path of a leaf")]
    UnknownQueue,
    /// A mapping rule rejects the application, or its default queue takes no applications.
    #[error("a mapping rule rejects the application")]
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
    /// An amount or a count is out of range, or the description of a gang or a budget is invalid.
    #[error(
        "an amount is not within 0 to {AMOUNT_MAX}, a count is zero or too large, or a gang or budget is invalid"
    )]
    OutOfRange,
    /// The configuration has no partition of this number.
    #[error("the configuration has no such partition")]
    UnknownPartition,
    /// No handle of this engine gave out the number of the rack.
    #[error("the rack is not from this engine; get it with `Handle::rack`")]
    UnknownRack,
    /// The engine has as many nodes as it can count.
    #[error("the engine has its maximum of nodes")]
    TooManyNodes,
    /// The container would have zero of every resource type, and the configuration does not allow that.
    #[error(
        "a container needs at least one resource; set `allow_empty` in [engine.allocation] to permit empty ones"
    )]
    EmptyContainer,
    /// With the change of a queue or of the whole tree, the configuration would be invalid.
    #[error("the new configuration of queues is invalid")]
    #[serde(alias = "invalid_limits")]
    InvalidConfiguration,
    /// The new time is before the engine's time.
    #[error("the new time is before the engine's time")]
    TimeBackwards,
    /// The gang has started or ended.
    #[error("the gang has started or ended, or this engine never had it")]
    UnknownGang,
    /// The gang is known, but holds no room there, or its time is not over.
    #[error("the gang holds no room there, or its time is not over")]
    GangNotDue,
    /// The node has no room that the gang may hold for the ask: the room, a limit or another gang is in the way.
    #[error("the gang may hold no room on the node for the ask: too little room, a limit, or another gang")]
    NoRoomToHold,
    /// The gang's minimum is larger than a queue's maximum.
    #[error("the gang's minimum is above the maximum of the queue or of a queue above it")]
    GangAboveMaximum,
    /// The gang's minimum is larger than the cluster.
    #[error("the gang's minimum does not fit on all nodes together, even if they were empty")]
    GangAboveCluster,
    /// Only an announced victim of preemption can be confirmed. The announcement may have been taken back.
    #[error("the container is not announced as a victim of preemption, or not any more")]
    NotAnnounced,
    /// No gang of the application has a task group with this name.
    #[error("the application has no such task group")]
    UnknownTaskGroup,
    /// Another gang of the application waits with, or has placeholders of, a task group of the same name.
    #[error("another gang of the application uses a task group of the same name")]
    TaskGroupInUse,
    /// The engine queues no opportunistic containers.
    #[error(
        "the engine queues no opportunistic containers; add the table [engine.opportunistic] to its configuration"
    )]
    NoOpportunistic,
    /// The container that runs an application is always guaranteed.
    #[error("the container that runs its application cannot be opportunistic")]
    OpportunisticMaster,
    /// The real containers of a task group take the places of placeholders, which are guaranteed.
    #[error("the containers of a task group cannot be opportunistic")]
    OpportunisticTaskGroup,
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
    UnknownPartition => "unknown_partition",
    UnknownRack => "unknown_rack",
    TooManyNodes => "too_many_nodes",
    InvalidConfiguration => "invalid_configuration",
    TimeBackwards => "time_backwards",
    EmptyContainer => "empty_container",
    UnknownGang => "unknown_gang",
    GangNotDue => "gang_not_due",
    NoRoomToHold => "no_room_to_hold",
    GangAboveMaximum => "gang_above_maximum",
    GangAboveCluster => "gang_above_cluster",
    NotAnnounced => "not_announced",
    UnknownTaskGroup => "unknown_task_group",
    TaskGroupInUse => "task_group_in_use",
    NoOpportunistic => "no_opportunistic",
    OpportunisticMaster => "opportunistic_master",
    OpportunisticTaskGroup => "opportunistic_task_group",
} }
