//! The committer's own proposal, for an ask that was unlucky too often.

use crate::commit::ResourceAllocationCommitRequest;
use crate::facts::{Application, Ask, Facts, Locality, Shape};
use crate::ids::{AskId, NodeId, QueueId};
use crate::place::{NodeOrder, ScoredNode};
use crate::state::State;

/// A container for the ask on the best node of its whole partition, if any has room. What others have in flight does
/// not count: this is decided before they are. Limits must be settled.
pub(crate) fn propose_rescue(state: &State, id: AskId) -> Option<ResourceAllocationCommitRequest> {
    let ask = state.facts.asks.get(id)?;
    let shape = state.facts.shapes.at(ask.shape);
    let is_claimed = ask.reservations.len() >= ask.outstanding() as usize;
    if is_claimed && !state.facts.config.reservations.continue_looking {
        return None;
    }
    // What a claim holds already may be all that it takes: that is left to the one who decides.
    if ask.reservations.is_empty() && !is_within_limits(&state.facts, ask, shape) {
        return None;
    }
    let node = best_node(state, id, ask, shape)?;
    Some(ResourceAllocationCommitRequest::allocate(id, node))
}

/// Whether the limits of queues and user leave a container, before all nodes are looked at for it.
fn is_within_limits(facts: &Facts, ask: &Ask, shape: &Shape) -> bool {
    let Application { leaf, user, .. } = *facts.applications.at(ask.application);
    let (partition, size) = (shape.partition, &shape.need.resources);
    let admits = |queue: &QueueId| {
        let quota = facts.queue(*queue).quota(partition);
        quota.admits(&quota.used, size)
    };
    facts.queue(leaf).chain.iter().all(admits)
        && facts.accounts_admit(user, partition, size)
        && facts.user_may_use(user, partition, size, size)
}

fn best_node(state: &State, id: AskId, ask: &Ask, shape: &Shape) -> Option<NodeId> {
    let has_room =
        |node: &NodeId| state.facts.nodes.get(*node).is_some_and(|node| state.facts.can_take(shape, node));
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
