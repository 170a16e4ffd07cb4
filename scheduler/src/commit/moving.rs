//! Checks whether an application may move to another leaf.

use super::admit::takes_application;
use crate::event::Refusal;
use crate::facts::Destination;
use crate::ids::{ApplicationId, QueueId};
use crate::state::State;

/// Whether the leaf takes the application with all its containers: it is running, has room for one more application,
/// and no queue exceeds its maximum. User limits do not matter: a user above its limit gets no more containers. Limits
/// must be computed.
pub(super) fn may_move(state: &State, id: ApplicationId, leaf: QueueId) -> Result<(), Refusal> {
    let facts = &state.facts;
    let application = facts.applications.at(id);
    if !facts.queues.get(leaf.index()).is_some_and(|queue| queue.is_leaf) {
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
    let mut partitions = asks.iter().map(|ask| facts.shapes.at(facts.asks.at(*ask).shape).partition);
    if !partitions.all(|partition| facts.queue(leaf).may_use(partition)) {
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
