//! Reserving a node for an ask that fits nowhere now.

use super::batch::{Observation, Proposals};
use super::pick::{Pick, Picker};
use super::queue_walk::NextAsk;
use super::scratch::{Scratch, ShapeStatus};
use crate::config::Semantics;
use crate::facts::Shape;
use crate::request::ResourceAllocationCommitRequest;
use crate::resource::{fits, missing_share};

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
        let node = (reserved < facts.reserved_nodes_max(shape.partition)).then(|| self.reservable(shape));
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

    /// The position of the node to reserve, among candidates that could hold the shape when empty. Prefers the node
    /// that lacks least of the shape's need, or in the compatible mode the last one in order.
    fn reservable(&self, shape: &Shape) -> Option<usize> {
        let could_hold = |position: &usize| {
            self.set.node_if_candidate(*position).is_some_and(|id| {
                let facts = &self.state.facts;
                let node = facts.nodes.at(id);
                // A reservation on a node with held room would wait for a gang.
                fits(&shape.need, &node.empty_room())
                    && !facts.holds_room_on(node)
                    && facts.breach_with(shape, node, Some(self.set.given_tags())).is_none()
            })
        };
        let reservable = (0..self.set.positions()).filter(could_hold);
        if self.state.facts.config.semantics == Semantics::YarnCompatible {
            return reservable.max_by_key(|position| (self.set.step_of(*position), *position));
        }
        let lacks = |position: &usize| missing_share(&shape.need.resources, &self.set.free_at(*position));
        reservable.min_by_key(|position| (lacks(position), *position))
    }
}

/// Closes the shape for the rest of the pass.
pub(super) fn give_up(next: &NextAsk, scratch: &mut Scratch) -> Pick {
    scratch.set_shape_status(next.shape, ShapeStatus::Closed);
    Pick::NoRoom
}
