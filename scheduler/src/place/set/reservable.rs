//! The node of a set that a pass reserves for an ask that fits nowhere now.

use super::PlacementSet;
use crate::facts::{Facts, Shape};
use crate::resource::{fits, missing_share};

impl PlacementSet {
    /// The position of the node to reserve, among candidates that could hold the shape when empty. Prefers the node
    /// that lacks least of the shape's need, or in the compatible mode the last one in order.
    pub(crate) fn reservable(&self, facts: &Facts, shape: &Shape) -> Option<usize> {
        let could_hold = |position: &usize| {
            self.candidates.node(*position).is_some_and(|id| {
                let node = facts.nodes.at(id);
                // A reservation on a node with held room would wait for a gang.
                fits(&shape.need, &node.empty_room())
                    && !facts.holds_room_on(node)
                    && facts.breach_with(shape, node, Some(self.given_tags())).is_none()
            })
        };
        let reservable = (0..self.candidates.len()).filter(could_hold);
        if facts.config.semantics.reserves_last_node() {
            return reservable.max_by_key(|position| (self.candidates.step_of(*position), *position));
        }
        let lacks = |position: &usize| missing_share(&shape.need.resources, &self.candidates.free(*position));
        reservable.min_by_key(|position| (lacks(position), *position))
    }

    /// Removes a node from the view because this pass reserves it.
    pub(crate) fn withdraw(&mut self, position: usize) {
        self.candidates.remove(position);
        self.debited.push(position as u32);
    }
}
