//! Lanes: the pending asks of one user with one shape in one leaf, in the leaf's application order.
//!
//! All asks of a lane are blocked alike: by the user's limit, a queue's maximum, or the lack of room for the shape. So
//! the committer parks lanes and closes shapes as a whole, and a leaf with a million pending asks has a handful of
//! lanes.

use super::applications::{LaneApplications, Place};
use super::pending::PendingAsks;
use crate::facts::PartitionShare;
use crate::ids::{LaneId, LeafUserId, QueueId, ShapeId};

#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) leaf: QueueId,
    pub(crate) user: LeafUserId,
    pub(crate) shape: ShapeId,
    /// The share on which passes look at its asks. Asks that may borrow nodes are in a lane of their own shape and in
    /// one lane of each borrowed variant.
    pub(crate) share: PartitionShare,
    /// Applications with asks in this lane.
    pub(crate) order: LaneApplications,
    /// The application under which its leaf lists the lane: the first one, while the lane is runnable.
    pub(super) listed: Option<Place>,
}

impl Lane {
    pub(super) fn new(leaf: QueueId, user: LeafUserId, shape: ShapeId, share: PartitionShare) -> Self {
        Self { leaf, user, shape, share, order: LaneApplications::default(), listed: None }
    }

    /// Whether passes look at it: it has asks and is not parked.
    pub(super) fn is_runnable(&self) -> bool {
        self.listed.is_some()
    }
}

/// One application's asks in one lane.
#[derive(Clone, Debug)]
pub(crate) struct ApplicationLane {
    pub(crate) lane: LaneId,
    /// The shape of the lane.
    pub(super) shape: ShapeId,
    pub(crate) asks: PendingAsks,
}
