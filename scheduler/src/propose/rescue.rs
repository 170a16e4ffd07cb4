//! The committer's own proposal, for an ask that was unlucky too often.

use crate::commit::ResourceAllocationCommitRequest;
use crate::facts::{Ask, Locality, Shape};
use crate::ids::{AskId, NodeId};
use crate::place::{NodeOrder, ScoredNode};
use crate::state::State;

/// A container for the ask on the best node of its whole partition, if any has room. What others have in flight does
/// not count: this is decided before they are. Limits are left to the one who decides.
pub(crate) fn propose_rescue(state: &State, id: AskId) -> Option<ResourceAllocationCommitRequest> {
    let ask = state.facts.asks.get(id)?;
    let shape = state.facts.shapes.at(ask.shape);
    let node = best_node(state, id, ask, shape)?;
    Some(ResourceAllocationCommitRequest::allocate(id, node))
}

fn best_node(state: &State, id: AskId, ask: &Ask, shape: &Shape) -> Option<NodeId> {
    let has_room = |node: &NodeId| state.facts.nodes.get(*node).is_some_and(|node| node.can_take(shape));
    if shape.located {
        let allowed = state.backlog.waiting.allowed(&state.facts, id, ask);
        let wished = state.roster.wished_for(&ask.wishes, allowed).find(has_room);
        if wished.is_some() || allowed < Locality::OffSwitch {
            return wished;
        }
    }
    let positions = state.roster.nodes_of(shape.partition).count();
    let score = |position: usize, id: NodeId| {
        let node = state.facts.nodes.at(id);
        let scored = ScoredNode { capacity: &node.capacity, free: &node.room.free, position, positions };
        (state.facts.config.node_order.score(&scored), position)
    };
    let all = state.roster.nodes_of(shape.partition).enumerate();
    all.filter(|(_, node)| has_room(node))
        .min_by_key(|(place, node)| score(*place, *node))
        .map(|(_, node)| node)
}
