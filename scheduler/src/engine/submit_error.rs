//! Why a handle refuses a call at once.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::shared::Closed;
use crate::change::InvalidGang;
use crate::facts::InvalidBudget;
use crate::ids::{AskKindId, PartitionId};
use crate::nearest::hint;
use crate::resource::{DEVICE_MILLI, DEVICES_MAX, ResourceError};

/// Why a submission failed. A failed submission leaves no trace in the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SubmitError {
    /// The engine is shut down.
    #[error("the engine is shut down")]
    Closed,
    /// A node with this name is registered.
    #[error(
        "a node named `{name}` is registered already; change it with `update_node`, compare its containers with \
         `reconcile_node`, or remove it with `remove_node` first"
    )]
    DuplicateNode {
        /// The name.
        name: String,
    },
    /// A name that is empty, or would break a line.
    #[error("{name:?} names no node; a name has at least one character and no control characters")]
    NodeName {
        /// The name.
        name: String,
    },
    /// No queue has this path.
    #[error("unknown queue `{path}`{}", hint(.nearest.as_deref()))]
    UnknownQueue {
        /// The path given.
        path: String,
        /// The known path closest to it.
        nearest: Option<String>,
    },
    /// The queue is a parent.
    #[error("queue `{path}` is not a leaf; applications go to leaf queues")]
    NotALeaf {
        /// The path of the queue.
        path: String,
    },
    /// No partition has this name.
    #[error("unknown partition `{name}`{}", hint(.nearest.as_deref()))]
    UnknownPartition {
        /// The name given.
        name: String,
        /// The known name closest to it.
        nearest: Option<String>,
    },
    /// The engine has no partition with this number.
    #[error(
        "{partition} is unknown; the partitions of this engine are {} to {last}, and `Handle::partition` finds one by \
         its name",
        PartitionId::DEFAULT
    )]
    UnknownPartitionId {
        /// The number given.
        partition: PartitionId,
        /// The largest known number.
        last: PartitionId,
    },
    /// A wrong resource type or amount.
    #[error(transparent)]
    Resource(#[from] ResourceError),
    /// More devices than a node can have, a share above a whole device, or none.
    #[error(
        "devices: a count of {count} with {milli} milli each is not possible; up to {DEVICES_MAX} devices, with 1 to \
         {DEVICE_MILLI} milli each, are"
    )]
    Devices {
        /// The number of devices.
        count: u8,
        /// The share of each device, in thousandths.
        milli: u16,
    },
    /// A container larger than the configuration allows.
    #[error("a container has at most {maximum} of {name}, not {amount}")]
    ContainerTooLarge {
        /// The resource type.
        name: String,
        /// The amount requested.
        amount: i64,
        /// The largest amount allowed.
        maximum: i64,
    },
    /// A container with zero of every resource type.
    #[error(
        "a container needs at least one resource; set `allow_empty` in [engine.allocation] to permit empty ones"
    )]
    EmptyContainer,
    /// An ask for no containers.
    #[error("an ask is for at least one container")]
    NothingAsked,
    /// A kind of asks that this engine does not know.
    #[error("no {kind} is registered; `register_ask_kind` returns the kinds of this engine")]
    UnknownAskKind {
        /// The kind.
        kind: AskKindId,
    },
    /// A tag with an empty name, in the ask or in a limit.
    #[error("a tag has a name; this one is empty")]
    EmptyTag,
    /// An ask that limits its own containers to none.
    #[error("at most 0 of its own tag `{tag}` would let no container of the ask run; 1 keeps them apart")]
    NoneOfOwnTag {
        /// The tag.
        tag: String,
    },
    /// An ask that is strictly local but names no host or rack.
    #[error("an ask that is strictly local names at least one host or rack")]
    NothingNamed,
    /// An opportunistic ask, although the engine queues no opportunistic containers.
    #[error(
        "the engine queues no opportunistic containers; add the table [engine.opportunistic] to its configuration"
    )]
    NoOpportunistic,
    /// An opportunistic ask for the container that runs its application.
    #[error("the container that runs its application cannot be opportunistic")]
    OpportunisticMaster,
    /// A gang that makes no sense.
    #[error(transparent)]
    Gang(#[from] InvalidGang),
    /// Disruption budgets that make no sense.
    #[error(transparent)]
    Budget(#[from] InvalidBudget),
}

impl From<Closed> for SubmitError {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}
