//! When passes look at asks on borrowed nodes: once the asks' own partition cannot serve them.
//!
//! An ask that may borrow nodes is in a lane of its own shape and in one lane of each borrowed variant. A lane of a
//! borrowed variant is *due*, and makes sets wanted, only while its own lane cannot be served. Then no set of the own
//! partition has room for the shape, or a limit there blocks it. An event that makes the own lane worth a look ends
//! that in the same critical section.
//!
//! A borrowed variant opens and closes in the lender's sets like any shape. Units in flight and outstanding are counted
//! by ask, so an ask never gets more than it wants. While it could be placed, a set of the own partition or sets of
//! lenders are wanted for the ask, so I13 holds.
//!
//! A pass over a lender's set looks at borrowing asks in a second walk, and only if the first walk proposed nothing. So
//! all requests of a batch borrow, or none does. Commits check only that the node is lent to the ask
//! (`Facts::shape_on`) and the limits. The partition's total replaces the maxima of queues and users
//! (`QueueTree::queue_admits`, `QueueTree::user_may_use`). Whether the ask could be served in its own partition is a
//! matter of order, which commits do not check. A borrowing ask reserves nothing, and a reserved unit never borrows.
//! Single steps record no observations, so their passes ask the facts instead (`propose/borrowed.rs`).

use super::{Backlog, Count, Lane, WaitKey};
use crate::ids::{LaneId, LeafUserId, ShapeId};

/// The demand for a borrowed variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BorrowedDemand {
    /// The own shape of its asks.
    pub(super) own: ShapeId,
    /// The own shape fits nowhere in its partition, so all of its lanes are due.
    pub(super) are_all_due: bool,
    /// The number of runnable lanes that are due in any case, because a limit blocks their own lanes.
    pub(super) ahead: u32,
}

impl BorrowedDemand {
    /// Whether any of its runnable lanes is due.
    pub(super) fn is_due(self) -> bool {
        self.are_all_due || self.ahead > 0
    }
}

impl Backlog {
    /// Lets asks of the shape borrow nodes as this variant. There are no such asks yet.
    pub(crate) fn link_variant(&mut self, own: ShapeId, variant: ShapeId) {
        self.unlink_variant(variant);
        let borrowed = BorrowedDemand { own, are_all_due: self.is_closed_everywhere(own), ahead: 0 };
        self.change_demand(variant, |demand| demand.borrowed = Some(borrowed));
        self.demand_mut(own).variants.push(variant);
    }

    /// Separates the variant from its former own shape, if it had one: containers may keep a borrowed variant when the
    /// own shape is gone.
    pub(super) fn unlink_variant(&mut self, variant: ShapeId) {
        if let Some(borrowed) = self.demand(variant).borrowed {
            self.demand[borrowed.own.index()].variants.retain(|other| *other != variant);
        }
    }

    /// Whether passes may look at the lane now. A lane of a borrowed variant has to be due.
    pub(crate) fn is_due(&self, lane: LaneId) -> bool {
        let lane = self.lane(lane);
        let Some(borrowed) = self.demand(lane.shape).borrowed else { return true };
        borrowed.are_all_due || self.is_own_at_limit(lane.user, lane.shape)
    }

    /// The shape of the asks that may be placed as this shape.
    pub(crate) fn own_shape(&self, shape: ShapeId) -> ShapeId {
        self.demand(shape).borrowed.map_or(shape, |borrowed| borrowed.own)
    }

    /// Calls `act` with each borrowed variant. Most shapes have none.
    #[inline]
    pub(super) fn for_each_variant(&mut self, own: ShapeId, mut act: impl FnMut(&mut Self, ShapeId)) {
        for place in 0..self.demand[own.index()].variants.len() {
            let variant = self.demand[own.index()].variants[place];
            act(self, variant);
        }
    }

    /// Updates the borrowed variants after the shape was opened or closed in its partition.
    pub(super) fn tell_borrowed(&mut self, own: ShapeId) {
        let are_all_due = self.is_closed_everywhere(own);
        self.for_each_variant(own, |backlog, variant| {
            let tell = |borrowed: &mut BorrowedDemand| borrowed.are_all_due = are_all_due;
            backlog.change_demand(variant, |demand| demand.borrowed.iter_mut().for_each(tell));
        });
    }

    /// Updates the borrowed lanes of a lane after it began or ceased to wait for the key.
    pub(super) fn count_ahead_of(&mut self, own: LaneId, key: WaitKey, count: Count) {
        if !key.is_limit() {
            return;
        }
        let (user, shape) = (self.lane(own).user, self.lane(own).shape);
        self.for_each_variant(shape, |backlog, variant| {
            let lane = backlog.lanes.of(user, variant);
            if lane.is_some_and(|lane| backlog.runnable.contains(lane)) {
                backlog.count_ahead(variant, count);
            }
        });
    }

    /// Counts a lane that began or ceased to be runnable, if it is due because of its own lane's limit.
    #[inline]
    pub(super) fn count_if_ahead(&mut self, lane: LaneId, count: Count) {
        let lane = self.lane(lane);
        if self.is_ahead(lane) {
            self.count_ahead(lane.shape, count);
        }
    }

    /// Whether the lane is a borrowed lane that is due because of its own lane's limit.
    pub(super) fn is_ahead(&self, lane: &Lane) -> bool {
        lane.share.is_borrowed && self.is_own_at_limit(lane.user, lane.shape)
    }

    /// Counts one more, or one less, runnable lane that is due because of its own lane's limit.
    fn count_ahead(&mut self, variant: ShapeId, count: Count) {
        let count = |borrowed: &mut BorrowedDemand| count.add_to(&mut borrowed.ahead);
        self.change_demand(variant, |demand| demand.borrowed.iter_mut().for_each(count));
    }

    /// Whether a limit blocks the own lane of a borrowed lane.
    fn is_own_at_limit(&self, user: LeafUserId, variant: ShapeId) -> bool {
        let own = self.lanes.of(user, self.own_shape(variant));
        own.and_then(|own| self.waits.key_of(own)).is_some_and(WaitKey::is_limit)
    }
}
