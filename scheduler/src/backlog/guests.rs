//! When asks are looked at as guests: once their own partition has had its chance.
//!
//! An ask that may be a guest stands in a lane of its own shape and in one of each twin. A lane of a twin is *due*, and
//! counts as something that a set wants, only while its own lane is of no use: no set of the own partition has room for
//! the shape, or a limit there is in the way. Whatever makes the own lane worth a look again ends that in the same
//! critical section.
//!
//! In prose such containers are *borrowed*: they use idle nodes of a partition that is not exclusive. Code says
//! guest.
//!
//! A twin opens and closes in the lender's sets like any shape. Units in flight and outstanding are counted by ask,
//! so an ask never gets more than it wants. Either a set of the own partition is wanted for the ask, or sets of
//! lenders are, so I13 holds.
//!
//! A pass over a lender's set looks at borrowing asks in a second walk, and only if the first walk proposed
//! nothing. So all requests of a batch borrow, or none does. Commits check only that the node is lent to the ask
//! (`Facts::shape_on`) and the limits, which for borrowed containers are the partition's total
//! (`Facts::queue_admits`, `Facts::user_limit`). Whether the ask could be served at home is a matter of order,
//! which commits do not check. A borrowing ask reserves nothing, and a reserved unit never borrows. Single steps
//! record no observations, so their passes ask the facts instead (`propose/guests.rs`).

use smallvec::SmallVec;

use super::{Backlog, LaneState};
use crate::ids::{LaneId, LeafUserId, ShapeId};

/// What is known of a twin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GuestDemand {
    /// The shape that its asks have.
    pub(super) own: ShapeId,
    /// That fits nowhere in its partition.
    pub(super) is_due: bool,
    /// How many runnable lanes are due anyway, since a limit is in the way of their own lanes.
    pub(super) ahead: u32,
}

impl Backlog {
    /// Asks of the shape may be guests as its twin from now on. Nobody has such asks yet.
    pub(crate) fn link_twin(&mut self, own: ShapeId, twin: ShapeId) {
        self.unlink_twin(twin);
        let is_due = self.is_closed_everywhere(own);
        let guest = GuestDemand { own, is_due, ahead: 0 };
        self.change_demand(twin, |demand| demand.guest = Some(guest));
        self.demand_mut(own).twins.push(twin);
    }

    /// Whoever has been served as this shape until now, if anybody, is so no more: containers may keep a twin when its own
    /// shape is gone.
    pub(super) fn unlink_twin(&mut self, twin: ShapeId) {
        if let Some(own) = self.own_if_guest(twin) {
            self.demand[own.index()].twins.retain(|other| *other != twin);
        }
    }

    /// Whether the lane is one of guests who may be looked at now.
    pub(crate) fn is_due(&self, lane: LaneId) -> bool {
        let lane = self.lane(lane);
        let Some(guest) = self.demand(lane.shape).guest else { return true };
        guest.is_due || self.is_own_at_limit(lane.user, lane.shape)
    }

    /// The shape that asks have which may be placed as this one.
    pub(crate) fn own_shape(&self, shape: ShapeId) -> ShapeId {
        self.own_if_guest(shape).unwrap_or(shape)
    }

    /// The same, if the shape is a twin.
    pub(super) fn own_if_guest(&self, shape: ShapeId) -> Option<ShapeId> {
        self.demand(shape).guest.map(|guest| guest.own)
    }

    /// Most often none: then nothing is allocated.
    #[inline]
    pub(super) fn twins_of(&self, own: ShapeId) -> SmallVec<[ShapeId; 1]> {
        SmallVec::from_slice(&self.demand[own.index()].twins)
    }

    /// The shape is open somewhere in its partition, or no longer.
    pub(super) fn tell_guests(&mut self, own: ShapeId) {
        let is_due = self.is_closed_everywhere(own);
        for twin in self.twins_of(own) {
            self.change_demand(twin, |demand| {
                if let Some(guest) = &mut demand.guest {
                    guest.is_due = is_due;
                }
            });
        }
    }

    /// A limit is in the way of the lane of this user and shape, or no longer.
    pub(super) fn tell_guest_lanes(&mut self, user: LeafUserId, own: ShapeId, is_at_limit: bool) {
        for twin in self.twins_of(own) {
            let lane = self.lane_of.get(&(user, twin));
            if lane.is_some_and(|lane| self.lane(*lane).state == LaneState::Runnable) {
                self.count_ahead(twin, is_at_limit);
            }
        }
    }

    /// One runnable lane more, or less, is due by its own lane's limit.
    pub(super) fn count_ahead(&mut self, twin: ShapeId, more: bool) {
        self.change_demand(twin, |demand| {
            if let Some(guest) = &mut demand.guest {
                guest.ahead = if more { guest.ahead + 1 } else { guest.ahead - 1 };
            }
        });
    }

    /// Whether a limit is in the way of the own lane of a guest lane.
    pub(super) fn is_own_at_limit(&self, user: LeafUserId, twin: ShapeId) -> bool {
        let own = self.lane_of.get(&(user, self.own_shape(twin)));
        own.is_some_and(|own| self.lane(*own).state.is_at_limit())
    }
}
