//! The committer's own proposal for a starved ask.

use crate::facts::{Ask, Locality, Shape};
use crate::ids::{AskId, NodeId};
use crate::place::{ScoredNode, score};
use crate::request::ResourceAllocationCommitRequest;
use crate::state::State;

/// Proposes a container on the best node with room in the ask's partition, or else on a borrowed node. Ignores amounts
/// in flight: the committer decides this proposal before the batches that hold them. Limits must be computed.
pub(crate) fn propose_for_starved(state: &State, id: AskId) -> Option<ResourceAllocationCommitRequest> {
    let ask = state.facts.asks.get(id)?;
    let is_further_unit = state.facts.has_unreserved_unit(ask, 0);
    // A reservation that the ask may swap for the container. Its charge may be all that the container needs.
    let first = ask.reservations().first().filter(|_| state.facts.config.reservations.continue_looking);
    state.facts.shapes_of(id).find_map(|shape| {
        let shape = state.facts.shapes.at(shape);
        let (user, size) = (state.facts.applications.at(ask.application).user, &shape.need.resources);
        let swapped = first.filter(|_| shape.may_reserve());
        let keeps_all = is_further_unit && state.facts.tree.limits_admit(user, shape.share(), size, size);
        let may_have = keeps_all || swapped.is_some();
        let node = may_have.then(|| best_node(state, id, ask, shape)).flatten()?;
        Some(ResourceAllocationCommitRequest {
            unreserve: swapped.filter(|_| !keeps_all).copied().into_iter().collect(),
            ..ResourceAllocationCommitRequest::allocate(id, node)
        })
    })
}

fn best_node(state: &State, id: AskId, ask: &Ask, shape: &Shape) -> Option<NodeId> {
    let has_room =
        |node: &NodeId| state.facts.nodes.get(*node).is_some_and(|node| state.facts.can_take(shape, node));
    if shape.has_locality {
        let allowed = state.backlog.locality.allowed(&state.facts, id, ask);
        let preferred = state.node_shards.preferred_nodes(ask.preference(), allowed).find(has_room);
        if preferred.is_some() || allowed < Locality::OffSwitch {
            return preferred;
        }
    }
    let positions = state.node_shards.nodes_of(shape.partition).count();
    let score = |position: usize, id: NodeId| {
        let node = state.facts.nodes.at(id);
        let scored = ScoredNode { capacity: &node.capacity, free: &node.room.free, position, positions };
        (score(state.facts.config.node_order, &scored), position)
    };
    let all = state.node_shards.nodes_of(shape.partition).enumerate();
    all.filter(|(_, node)| has_room(node))
        .min_by_key(|(place, node)| score(*place, *node))
        .map(|(_, node)| node)
}
