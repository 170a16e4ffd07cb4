//! Checks whether an application may move to another leaf.

use super::admit::takes_application;
use crate::event::Refusal;
use crate::facts::{Destination, Facts};
use crate::ids::{ApplicationId, PartitionId, QueueId};
use crate::state::State;

/// Whether the leaf takes the application with all its containers: it is running, has room for one more application,
/// and no queue exceeds its maximum. User limits do not matter: a user above its limit gets no more containers. Limits
/// must be computed.
pub(super) fn may_move(state: &State, id: ApplicationId, leaf: QueueId) -> Result<(), Refusal> {
    let facts = &state.facts;
    let application = facts.applications.at(id);
    if !facts.tree.queues.get(leaf.index()).is_some_and(|queue| queue.is_leaf) {
        return Err(Refusal::NotALeaf);
    }
    if leaf == application.leaf {
        return Ok(());
    }
    let old = facts.queue(application.leaf);
    takes_application(
        facts,
        &Destination::Leaf(leaf),
        &facts.user(application.user).name,
        Some(application.leaf),
    )?;
    let asks = state.backlog.asks_of(id);
    let of_asks = asks.iter().map(|ask| facts.shapes.at(facts.asks.at(*ask).shape).partition);
    if !of_asks
        .chain(opportunistic_partitions(facts, id))
        .all(|partition| facts.queue(leaf).may_use(partition))
    {
        return Err(Refusal::PartitionNotAccessible);
    }
    let loads = facts.loads_of(id, &asks);
    for queue in facts.queue(leaf).chain.iter().filter(|queue| !old.chain.contains(queue)) {
        for (quota, load) in facts.queue(*queue).quota.iter().zip(&loads) {
            if !quota.admits(&quota.used, &load.used) {
                return Err(Refusal::AboveMaximum);
            }
        }
    }
    Ok(())
}

/// The partitions of the application's opportunistic asks, and of its containers that wait in queues of nodes. Waiting
/// containers are charged nothing, so the check of maxima does not see them.
fn opportunistic_partitions(facts: &Facts, id: ApplicationId) -> Vec<PartitionId> {
    let asks = facts.node_queues.asks.values().filter(|ask| ask.application == id);
    let of_asks = asks.map(|ask| ask.shape.partition);
    let containers = facts.applications.at(id).containers.iter(&facts.containers);
    let waiting =
        containers.filter(|container| !facts.opportunistic.is_empty() && facts.is_waiting(*container));
    let of_waiting = waiting.map(|container| facts.shapes.at(facts.containers.at(container).shape).partition);
    of_asks.chain(of_waiting).collect()
}
