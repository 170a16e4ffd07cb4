//! Headroom that earlier queues block.
//!
//! Passes block headroom for asks that they found at a limit. This module derives it from the pending asks, so that
//! a log explains as the engine does.

use rustc_hash::FxHashSet;

use super::limits::{Blocker, Level, limit_of_user};
use crate::facts::{Application, Ask, Facts};
use crate::ids::{LeafUserId, PartitionId, QueueId, ShapeId};
use crate::resource::Resources;
use crate::state::State;

/// The blocker of an ask within all limits: a queue above it has headroom, but an earlier sibling on the
/// path waits for that headroom.
pub(super) fn headroom_blocker(state: &State, ask: &Ask) -> Option<Blocker> {
    let facts = &state.facts;
    let (shape, application) = (facts.shapes.at(ask.shape), facts.applications.at(ask.application));
    let (partition, size) = (shape.partition, &shape.need.resources);
    let blocking = blocking_asks(state, partition);
    if blocking.is_empty() {
        return None;
    }
    let chain = &facts.queue(application.leaf).chain;
    let mut blocked = Resources::ZERO;
    let mut blocked_for = None;
    for pair in chain.windows(2).rev() {
        let (above, below) = (pair[0], pair[1]);
        let key = |queue| {
            let level = level(state, queue, partition);
            let last_served = facts.queue(queue).quota(partition).last_served;
            facts.tree.queue_key(queue, partition, &level, last_served, || facts.tree.demand_priority(queue))
        };
        for asks in &blocking {
            let sibling = asks.child_of(facts, above);
            if let Some(first) = sibling.filter(|first| *first != below && key(*first) < key(below)) {
                blocked += asks.size;
                blocked_for = Some(first);
            }
        }
        let quota = facts.queue(above).quota(partition);
        let in_flight = state.in_flight.queues.load(above, partition);
        if !blocked.is_zero() && !quota.admits(&(quota.used + in_flight + blocked), size) {
            // Blocked headroom never exceeds the headroom.
            let limit = (quota.maximum - blocked).max(&(quota.used + in_flight));
            let level = Level { used: quota.used, in_flight, limit };
            let path = |queue: QueueId| &*facts.queue(queue).path;
            return Some(Blocker::BlockedHeadroom {
                blocked_for: blocked_for.map(|queue| path(queue).to_owned()).unwrap_or_default(),
                reached: level.reached(state, path(above), size),
            });
        }
    }
    None
}

fn level(state: &State, queue: QueueId, partition: PartitionId) -> Resources {
    state.facts.queue(queue).quota(partition).used + state.in_flight.queues.load(queue, partition)
}

/// Equal asks of one user that block headroom for one container.
struct BlockingAsks {
    leaf: QueueId,
    /// The queue whose limit blocks them.
    limited: QueueId,
    size: Resources,
}

impl BlockingAsks {
    /// The child of `queue` through which they wait for room in it or above it, if they do.
    fn child_of(&self, facts: &Facts, queue: QueueId) -> Option<QueueId> {
        let chain = &facts.queue(self.leaf).chain;
        let place = chain.iter().position(|above| *above == queue)?;
        let limited = chain.iter().position(|above| *above == self.limited)?;
        (limited <= place).then(|| chain.get(place + 1).copied()).flatten()
    }
}

/// All asks blocked at the limit of a queue above their leaf. More headroom there would help them, because no leaf
/// may use more than the queues above it.
fn blocking_asks(state: &State, partition: PartitionId) -> Vec<BlockingAsks> {
    let facts = &state.facts;
    let mut seen: FxHashSet<(LeafUserId, ShapeId)> = FxHashSet::default();
    let mut blocking = Vec::new();
    for (_, ask) in facts.asks.iter() {
        let shape = facts.shapes.at(ask.shape);
        let Application { leaf, user, is_active, .. } = *facts.applications.at(ask.application);
        let is_unreserved = ask.outstanding() as usize > ask.reservations().len();
        if shape.partition != partition || !is_active || !is_unreserved || !seen.insert((user, ask.shape)) {
            continue;
        }
        let size = shape.need.resources;
        let is_full = |queue: &&QueueId| {
            let quota = facts.queue(**queue).quota(partition);
            !quota.admits(&level(state, **queue, partition), &size)
        };
        let limited = facts.queue(leaf).chain.iter().rev().find(is_full);
        if let Some(&limited) = limited.filter(|limited| **limited != leaf)
            && limit_of_user(state, user, shape).is_none()
            && state.some_node_could_hold(shape)
        {
            blocking.push(BlockingAsks { leaf, limited, size });
        }
    }
    blocking
}
