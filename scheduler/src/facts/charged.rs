//! The amounts that the ledger moves at a time.

use crate::ids::{ApplicationId, LeafUserId, NodeId, PartitionId, QueueId, ShapeId};
use crate::resource::Resources;

/// The objects whose use a transition changed, and the amount: enough to find the lanes that it wakes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charged {
    pub(crate) application: ApplicationId,
    pub(crate) leaf: QueueId,
    pub(crate) user: LeafUserId,
    pub(crate) partition: PartitionId,
    pub(crate) node: NodeId,
    pub(crate) shape: ShapeId,
    pub(crate) resources: Resources,
    /// Whether the shape has tags.
    pub(crate) is_tagged: bool,
}

/// The use and demand of an application in one partition.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    /// Use by its containers and reservations.
    pub(crate) used: Resources,
    /// Use by its reservations.
    pub(crate) reserved: Resources,
    /// The amount of its outstanding asks.
    pub(crate) pending: Resources,
    pub(crate) containers: i64,
}
