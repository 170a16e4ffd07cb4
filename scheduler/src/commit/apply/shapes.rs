//! Shapes that asks and containers come to have.

use super::Applier;
use crate::facts::{Lodging, Shape};
use crate::ids::ShapeId;

impl Applier<'_> {
    /// The number of the shape, which gets a user more.
    pub(super) fn intern(&mut self, shape: &Shape) -> ShapeId {
        let state = &mut *self.state;
        let (id, is_new) = state.facts.shapes.intern(shape);
        if is_new {
            let sets = state.roster.sets(shape.partition);
            state.backlog.reset_shape(id, shape.partition, sets, state.version);
            if shape.lodging == Lodging::Lodger {
                self.intern_twins(id, shape);
            }
        }
        id
    }

    /// Gives a new shape, whose asks may be guests, its twins.
    fn intern_twins(&mut self, own: ShapeId, shape: &Shape) {
        for partition in self.state.facts.lending.clone() {
            let twin = self.intern(&shape.twin(partition));
            self.state.facts.shapes.add_twin(own, twin);
            self.state.backlog.link_twin(own, twin);
        }
    }
}
