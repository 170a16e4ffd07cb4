//! Separate views of a set: for a pass without its lease, and for the audit.

use super::PlacementSet;
use crate::config::NodeOrderKind;
use crate::ids::{NodeId, SetId};
use crate::place::Nodes;
use crate::place::candidates::Candidates;

impl PlacementSet {
    /// A separate view of the set for one pass, limited to `node` if there is one.
    pub(crate) fn confined(id: SetId, order: NodeOrderKind, nodes: Nodes<'_>, node: Option<NodeId>) -> Self {
        let mut set = Self::new(id, order);
        let Some(node) = node else {
            set.sync(nodes);
            return set;
        };
        set.candidates = Candidates::new(order, nodes.node_shards.positions(id));
        let (_, position) = nodes.node_shards.place_of(node, id.partition());
        set.refresh(nodes, position);
        set.seen = nodes.node_shards.change_count(id);
        set
    }

    /// Whether this view equals a rebuilt one (I12). The caller has synchronised it.
    pub(crate) fn equals_rebuilt(&self, nodes: Nodes<'_>) -> bool {
        let mut fresh = Self::new(self.id, self.candidates.order());
        fresh.sync(nodes);
        let (own, fresh) = (&self.candidates, &fresh.candidates);
        own.len() == fresh.len()
            && (0..own.len()).all(|position| {
                let (a, b) = (own.at(position), fresh.at(position));
                a.node == b.node && a.room == b.room && own.step_of(position) == fresh.step_of(position)
            })
    }
}
