//! Reserving a node for an ask that fits nowhere now.

use super::batch::{Observation, Proposals};
use super::pick::{Pick, Picker};
use super::queue_walk::NextAsk;
use super::scratch::{Scratch, ShapeStatus};
use crate::config::Semantics;
use crate::facts::{Borrowing, Shape};
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
        if shape.borrowing == Borrowing::Borrowed {
            return give_up(next, scratch);
        }
        let facts = &self.state.facts;
        let may_reserve = self.reserves_at_once()
            || self.state.backlog.is_last_open(next.shape, self.set.id()) && !self.fits_out_of_scope(shape);
        let Some(delay_ms) = facts.config.reservations.delay_ms.filter(|_| may_reserve) else {
            return give_up(next, scratch);
        };
        let due_ms = facts.asks.at(next.pending.ask).pending_since_ms.saturating_add(delay_ms);
        if due_ms > facts.now_ms {
            proposals.observations.push(Observation::ReserveLater { shape: next.shape, at_ms: due_ms });
            return give_up(next, scratch);
        }
        if scratch.shape_status(next.shape) == ShapeStatus::Open {
            scratch.set_shape_status(next.shape, ShapeStatus::MayReserve);
        }
        let reserved = facts.partitions[shape.partition.index()].reserved_nodes + self.reservations;
        let node =
            (reserved < facts.reserved_nodes_max(shape.partition)).then(|| self.set.reservable(facts, shape));
        let Some(position) = node.flatten() else {
            proposals.observations.push(Observation::ReserveTried { shape: next.shape });
            return give_up(next, scratch);
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
        self.is_confined() && self.state.facts.config.semantics == Semantics::YarnCompatible
    }
}

/// Closes the shape for the rest of the pass.
pub(super) fn give_up(next: &NextAsk, scratch: &mut Scratch) -> Pick {
    scratch.set_shape_status(next.shape, ShapeStatus::Closed);
    Pick::NoRoom
}
