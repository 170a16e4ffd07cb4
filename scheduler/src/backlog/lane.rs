//! Lanes: the pending asks of one user with one shape in one leaf, in the leaf's application order.
//!
//! What blocks one ask of a lane blocks all of them: no room for the shape, the user's limit, a queue's
//! maximum. So a lane is what gets parked, and a leaf with a million pending asks has a handful of lanes.

use super::applications::{LaneApplications, Place};
use super::pending::PendingAsks;
use crate::facts::PartitionShare;
use crate::ids::{LaneId, LeafUserId, LimitUsageId, QueueId, ShapeId};
use crate::resource::Resources;

/// Why no ask of a lane can be placed anywhere at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParkReason {
    /// Every outstanding unit is proposed and not yet decided.
    AllInFlight,
    /// This queue (the leaf or an ancestor) would exceed its maximum.
    QueueLimit(QueueId),
    /// Earlier queues block the headroom of a queue above.
    BlockedHeadroom,
    /// A user or group would exceed its limit in a queue on the way up.
    HolderLimit(LimitUsageId),
    /// The user would exceed the user limit, which is its own.
    UserLimit,
    /// The user would exceed its share of this leaf, which moves with what any user of the leaf gets, wants or gives
    /// back.
    UserShare(QueueId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneState {
    /// No asks.
    Empty,
    /// Worth a look by a pass over a set in which the shape is open.
    Runnable,
    Parked(ParkReason),
}

impl LaneState {
    /// Whether a limit is in the way.
    pub(super) fn is_at_limit(self) -> bool {
        matches!(self, Self::Parked(reason) if reason != ParkReason::AllInFlight)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) leaf: QueueId,
    pub(crate) user: LeafUserId,
    pub(crate) shape: ShapeId,
    /// Where its asks are looked at; those that may borrow nodes stand in a lane of their own shape and in one of each
    /// borrowed variant.
    pub(crate) share: PartitionShare,
    /// Applications with asks in this lane.
    pub(crate) order: LaneApplications,
    pub(crate) state: LaneState,
    /// The state version in which units last came back to this lane or new ones arrived. A pass that saw
    /// an older version cannot park it.
    pub(crate) woken_at: u64,
    /// Under which application its leaf lists it: the first, while it is runnable.
    pub(super) listed: Option<Place>,
    /// The headroom that it blocks, while it is parked at a queue's limit.
    pub(super) blocks: Resources,
}

impl Lane {
    pub(super) fn new(leaf: QueueId, user: LeafUserId, shape: ShapeId, share: PartitionShare) -> Self {
        Self {
            leaf,
            user,
            shape,
            share,
            order: LaneApplications::default(),
            state: LaneState::Empty,
            woken_at: 0,
            listed: None,
            blocks: Resources::ZERO,
        }
    }
}

/// One application's asks in one lane.
#[derive(Clone, Debug)]
pub(crate) struct ApplicationLane {
    pub(crate) lane: LaneId,
    pub(crate) asks: PendingAsks,
}
