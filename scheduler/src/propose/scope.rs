//! The scope of a pass: one node or one leaf, if not all.

use serde::{Deserialize, Serialize};

use super::pick::Picker;
use super::queue_walk::QueueWalk;
use crate::facts::{Reservation, Shape};
use crate::ids::{NodeId, QueueId};

/// The scope of a pass: by default every node of its set and every ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassScope {
    /// Confines the pass to this node, as after its heartbeat in YARN.
    pub node: Option<NodeId>,
    /// Confines the pass to the asks of this leaf, which must be the engine's own. The limits above it still apply.
    pub leaf: Option<QueueId>,
}

impl QueueWalk<'_> {
    /// Whether the walk may enter the queue.
    pub(super) fn leads_on(&self, queue: QueueId) -> bool {
        self.limits.scope.leaf.is_none_or(|leaf| self.state.facts.queue(leaf).chain.contains(&queue))
    }
}

impl Picker<'_> {
    /// Whether the pass may serve the ask of this reservation.
    pub(super) fn may_fulfil(&self, reservation: &Reservation) -> bool {
        let ask = self.state.facts.asks.at(reservation.ask);
        let leaf = self.state.facts.applications.at(ask.application).leaf;
        self.scope.leaf.is_none_or(|only| only == leaf)
    }

    /// The same, on the reserved node.
    pub(super) fn may_fulfil_on_its_node(&self, reservation: &Reservation) -> bool {
        self.may_fulfil(reservation) && self.scope.node.is_none_or(|only| only == reservation.node)
    }

    /// Whether a node that the pass does not look at has room for the shape.
    pub(super) fn fits_out_of_scope(&self, shape: &Shape) -> bool {
        let has_room = |id: NodeId| self.state.facts.can_take(shape, self.state.facts.nodes.at(id));
        self.is_confined() && self.state.node_shards.nodes_of(shape.partition).any(has_room)
    }

    /// Whether the pass looks at one node alone.
    pub(super) fn is_confined(&self) -> bool {
        self.scope.node.is_some()
    }
}
