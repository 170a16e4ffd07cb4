//! Interns the shapes of asks and containers.

use super::Applier;
use crate::facts::{Borrowing, Shape};
use crate::ids::ShapeId;

impl Applier<'_> {
    /// Returns the id of the shape, and counts one more user of it.
    pub(super) fn intern(&mut self, shape: &Shape) -> ShapeId {
        let state = &mut *self.state;
        let (id, is_new) = state.facts.shapes.intern(shape);
        if is_new {
            let sets = state.node_shards.sets(shape.partition);
            state.backlog.reset_shape(id, shape.partition, sets, state.version);
            if shape.borrowing == Borrowing::Allowed {
                self.intern_variants(id, shape);
            }
        }
        id
    }

    /// Gives a new shape, whose asks may borrow nodes, its borrowed variants.
    fn intern_variants(&mut self, own: ShapeId, shape: &Shape) {
        for partition in self.state.facts.lending.clone() {
            let variant = self.intern(&shape.variant(partition));
            self.state.facts.shapes.add_variant(own, variant);
            self.state.backlog.link_variant(own, variant);
        }
    }
}
