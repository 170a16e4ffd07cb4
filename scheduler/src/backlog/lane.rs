//! Lanes: the pending asks of one user with one shape in one leaf, in the leaf's application order.
//!
//! All asks of a lane are blocked alike: by the user's limit, a queue's maximum, or the lack of room for the shape. So
//! the committer parks lanes and closes shapes as a whole, and a leaf with a million pending asks has a handful of
//! lanes.

use std::ops::{Index, IndexMut};

use rustc_hash::FxHashMap;

use super::applications::LaneApplications;
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
}

impl Lane {
    pub(super) fn new(leaf: QueueId, user: LeafUserId, shape: ShapeId, share: PartitionShare) -> Self {
        Self { leaf, user, shape, share, order: LaneApplications::default() }
    }
}

/// All lanes. An empty lane stays until its shape's slot gets another shape.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes {
    slots: Vec<Lane>,
    vacant: Vec<LaneId>,
    by_user_and_shape: FxHashMap<(LeafUserId, ShapeId), LaneId>,
}

impl Lanes {
    /// The lane of the user's asks with this shape.
    #[inline]
    pub(super) fn of(&self, user: LeafUserId, shape: ShapeId) -> Option<LaneId> {
        self.by_user_and_shape.get(&(user, shape)).copied()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = LaneId> {
        self.by_user_and_shape.values().copied()
    }

    /// Adds a lane that does not exist yet.
    pub(super) fn add(&mut self, lane: Lane) -> LaneId {
        let id = self.vacant.pop().unwrap_or(LaneId(self.slots.len() as u32));
        self.by_user_and_shape.insert((lane.user, lane.shape), id);
        if id.index() == self.slots.len() {
            self.slots.push(lane);
        } else {
            self.slots[id.index()] = lane;
        }
        id
    }

    /// Removes a lane without asks.
    pub(super) fn remove(&mut self, id: LaneId) {
        let lane = &self[id];
        debug_assert!(lane.order.is_empty(), "{id} has asks");
        self.by_user_and_shape.remove(&(lane.user, lane.shape));
        self.vacant.push(id);
    }
}

impl Index<LaneId> for Lanes {
    type Output = Lane;

    fn index(&self, id: LaneId) -> &Lane {
        &self.slots[id.index()]
    }
}

impl IndexMut<LaneId> for Lanes {
    fn index_mut(&mut self, id: LaneId) -> &mut Lane {
        &mut self.slots[id.index()]
    }
}

/// A lane in which an application has asks, and these asks.
#[derive(Clone, Debug)]
pub(crate) struct ApplicationLane {
    pub(crate) lane: LaneId,
    /// The shape of the lane. An application has one leaf and one user, so it is in one lane of each shape.
    pub(super) shape: ShapeId,
    pub(crate) asks: PendingAsks,
}
