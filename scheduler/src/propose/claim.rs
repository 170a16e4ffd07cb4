//! Claims: reserving a node for an ask that fits nowhere now.

use super::batch::{Observation, Proposals};
use super::pick::{Pick, Picker};
use super::queue_walk::Candidate;
use super::scratch::{Scratch, ShapeStatus};
use crate::commit::ResourceAllocationCommitRequest;
use crate::facts::Shape;
use crate::resource::{fits, missing_share};

impl Picker<'_> {
    /// Claims a node of the set for the ask, if no set of the partition has room for its shape and the ask
    /// has waited long enough. Otherwise there is nothing for the shape in this pass.
    pub(super) fn claim(
        &mut self,
        candidate: &Candidate,
        shape: &Shape,
        scratch: &mut Scratch,
        proposals: &mut Proposals,
    ) -> Pick {
        let facts = &self.state.facts;
        let is_nowhere_else =
            self.state.backlog.is_last_open(candidate.shape, self.set.id()) && !self.fits_out_of_scope(shape);
        let Some(delay_ms) = facts.config.reservations.delay_ms.filter(|_| is_nowhere_else) else {
            return give_up(candidate, scratch);
        };
        let due_ms = facts.asks.at(candidate.pending.ask).pending_since_ms.saturating_add(delay_ms);
        if due_ms > facts.now_ms {
            proposals.observations.push(Observation::ReserveLater { shape: candidate.shape, at_ms: due_ms });
            return give_up(candidate, scratch);
        }
        if scratch.shape_status(candidate.shape) == ShapeStatus::Open {
            scratch.set_shape_status(candidate.shape, ShapeStatus::MayReserve);
            proposals.observations.push(Observation::ReserveTried { shape: candidate.shape });
        }
        let reserved = facts.partitions[shape.partition.index()].reserved_nodes + self.claims;
        let node =
            (reserved < facts.reserved_nodes_max(shape.partition)).then(|| self.nearest_to_fitting(shape));
        let Some(position) = node.flatten() else { return give_up(candidate, scratch) };
        let node = self.set.node(position);
        if !self.take(self.unit_of(&candidate.pending)) {
            return Pick::Skipped;
        }
        proposals.requests.push(ResourceAllocationCommitRequest::reserve(candidate.pending.ask, node));
        self.set.withdraw(position);
        self.claims += 1;
        Pick::Claimed
    }

    /// The candidate node that lacks least of what the shape needs and could hold it when empty.
    fn nearest_to_fitting(&self, shape: &Shape) -> Option<usize> {
        let could_hold = |position: &usize| {
            self.set.node_if_candidate(*position).is_some_and(|id| {
                let facts = &self.state.facts;
                let node = facts.nodes.at(id);
                fits(&shape.need, &node.empty_room())
                    && facts.breach_with(shape, node, self.set.given_tags()).is_none()
            })
        };
        let lacks = |position: &usize| missing_share(&shape.need.resources, &self.set.free_at(*position));
        (0..self.set.positions()).filter(could_hold).min_by_key(|position| (lacks(position), *position))
    }
}

/// There is nothing for the shape in this pass.
pub(super) fn give_up(candidate: &Candidate, scratch: &mut Scratch) -> Pick {
    scratch.set_shape_status(candidate.shape, ShapeStatus::Closed);
    Pick::NoRoom
}
