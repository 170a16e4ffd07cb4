//! Reserving a node for an ask that fits nowhere now.
//!
//! When a pass finds no room in the last open set of a shape, the shape's asks reserve in their order. Each reserves
//! the node that lacks least. The first ask whose wait is shorter than the delay ends that: no ask of the shape behind
//! it reserves in this pass. `reserved_nodes_max` bounds a partition's reserved nodes. A pass tries again when:
//!
//! * a reservation ends, or an ask may reserve one more node than before;
//! * a node becomes a candidate or grows;
//! * a lane of such a shape is woken.
//!
//! A reserved node is not a candidate for other asks. The reservation is charged to queue and user, not to the node.
//! When the node has room the reservation is *ready*, and the next pass over the set fulfils it in one request.
//! `fulfil.rs` says what happens if another node has room first. With `continue_looking` off, a reservation is only
//! fulfilled on its own node.
//!
//! In the compatible mode, a pass confined to one node reserves it even if other nodes have room. Any other pass
//! reserves the last node in order. After the reservations, the walk looks at unreserved units only. In the compatible
//! mode it also looks at asks whose re-reservations let them reserve one more node. A shape with reservations is wanted
//! in every set in which it is open, whether or not its lanes are parked. The committer drops a reservation with its
//! ask, by age, or when the node stops being a candidate or can never serve the ask.

use super::batch::{Observation, Proposals};
use super::pick::{Pick, Picker};
use super::queue_walk::NextAsk;
use super::scratch::{Scratch, ShapeStatus};
use crate::facts::Shape;
use crate::request::ResourceAllocationCommitRequest;

impl Picker<'_> {
    /// Reserves a node of the set for the ask, if the policy allows it and the ask has waited long enough. Otherwise
    /// closes the shape for this pass.
    pub(super) fn reserve(
        &mut self,
        next: &NextAsk,
        shape: &Shape,
        scratch: &mut Scratch,
        proposals: &mut Proposals,
    ) -> Pick {
        if !shape.may_reserve() {
            return close_shape(next, scratch);
        }
        let facts = &self.state.facts;
        let may_reserve = self.reserves_at_once()
            || self.state.backlog.is_last_open(next.shape, self.set.id()) && !self.fits_out_of_scope(shape);
        let Some(delay_ms) = facts.config.reservations.delay_ms.filter(|_| may_reserve) else {
            return close_shape(next, scratch);
        };
        let due_ms = facts.asks.at(next.pending.ask).pending_since_ms.saturating_add(delay_ms);
        if due_ms > facts.now_ms {
            proposals.observations.push(Observation::ReserveLater { shape: next.shape, at_ms: due_ms });
            return close_shape(next, scratch);
        }
        if scratch.shape_status(next.shape) == ShapeStatus::Open {
            scratch.set_shape_status(next.shape, ShapeStatus::MayReserve);
        }
        let reserved = facts.tree.partitions[shape.partition.index()].reserved_nodes + self.reservations;
        let node =
            (reserved < facts.reserved_nodes_max(shape.partition)).then(|| self.set.reservable(facts, shape));
        let Some(position) = node.flatten() else {
            proposals.observations.push(Observation::ReserveTried { shape: next.shape });
            return close_shape(next, scratch);
        };
        let node = self.set.node(position);
        if !self.take(self.unit_of(&next.pending)) {
            return Pick::InFlight;
        }
        proposals.requests.push(ResourceAllocationCommitRequest::reserve(next.pending.ask, node));
        self.set.withdraw(position);
        self.reservations += 1;
        Pick::Reserved
    }

    /// As in YARN, a pass confined to one node reserves it even if another node has room.
    fn reserves_at_once(&self) -> bool {
        self.is_confined() && self.state.facts.config.semantics.reserves_at_once()
    }
}

/// Closes the shape for the rest of the pass.
pub(super) fn close_shape(next: &NextAsk, scratch: &mut Scratch) -> Pick {
    scratch.set_shape_status(next.shape, ShapeStatus::Closed);
    Pick::NoRoom
}
