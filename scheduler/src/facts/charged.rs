//! What the ledger moves at a time.

use crate::ids::{ApplicationId, LeafUserId, NodeId, PartitionId, QueueId, ShapeId};
use crate::resource::Resources;

/// What a transition took from or gave back to: enough to find who is woken by it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charged {
    pub(crate) application: ApplicationId,
    pub(crate) leaf: QueueId,
    pub(crate) user: LeafUserId,
    pub(crate) partition: PartitionId,
    pub(crate) node: NodeId,
    pub(crate) shape: ShapeId,
    pub(crate) resources: Resources,
    /// The shape has tags.
    pub(crate) is_tagged: bool,
}

/// What an application has in one partition.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    /// What its containers and reservations hold.
    pub(crate) used: Resources,
    /// What its reservations hold.
    pub(crate) reserved: Resources,
    /// What its asks want.
    pub(crate) pending: Resources,
    pub(crate) containers: i64,
}
