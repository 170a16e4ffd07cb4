//! Admit: whether a change that somebody sent, or that stands in a log, makes sense in the present state.

use crate::change::{AskSpec, Change};
use crate::config::QueueState;
use crate::event::Refusal;
use crate::facts::{Facts, Queue};
use crate::ids::{ApplicationId, QueueId};
use crate::resource::{DEVICES_MAX, Resources};
use crate::state::State;

/// With at most this many nodes of at most [`AMOUNT_MAX`](crate::AMOUNT_MAX) no sum overflows.
const NODES_MAX: usize = 1 << 20;
/// What one leaf may have pending of one type; sums over thousands of leaves stay countable.
const PENDING_MAX: i64 = 1 << 50;
/// Racks are numbered where they are first named, so a few numbers may arrive ahead of their turn.
const RACKS_AHEAD_MAX: usize = 1 << 20;

/// Whether the change makes sense in the present state. Commit requests are judged by
/// [`accept`](super::accept::accept) instead.
pub(crate) fn admit(state: &State, change: &Change) -> Result<(), Refusal> {
    let facts = &state.facts;
    let ok = |condition: bool, refusal: Refusal| if condition { Ok(()) } else { Err(refusal) };
    match change {
        Change::Configured { .. } | Change::Committed { .. } | Change::Heartbeats { .. } => Ok(()),
        Change::TimeAdvanced { now_ms } => ok(*now_ms >= facts.now_ms, Refusal::TimeBackwards),
        Change::NodeAdded { node, rack, spec } => {
            let is_near = rack.index() < facts.racks.len() + RACKS_AHEAD_MAX;
            ok(is_near && spec.partition.index() < facts.partitions.len(), Refusal::OutOfRange)?;
            let is_counted = facts.config.resources.is_counted(&spec.capacity, spec.devices_milli());
            ok(is_counted && usize::from(spec.devices) <= DEVICES_MAX, Refusal::OutOfRange)?;
            ok(facts.nodes.len() < NODES_MAX, Refusal::OutOfRange)?;
            ok(facts.nodes.is_vacant(*node), Refusal::IdentifierTaken)
        }
        Change::NodeUpdated { node, capacity, .. } => {
            ok(facts.config.resources.check(capacity).is_ok(), Refusal::OutOfRange)?;
            ok(facts.nodes.get(*node).is_some(), Refusal::UnknownNode)
        }
        Change::NodeStateSet { node, .. }
        | Change::NodeSilenceSet { node, .. }
        | Change::NodeRemoved { node } => ok(facts.nodes.get(*node).is_some(), Refusal::UnknownNode),
        Change::ApplicationSubmitted { application, leaf, spec } => {
            ok(facts.queues.get(leaf.index()).is_some_and(Queue::is_leaf), Refusal::NotALeaf)?;
            ok(facts.applications.is_vacant(*application), Refusal::IdentifierTaken)?;
            takes_application(facts, *leaf, &spec.user)
        }
        Change::ApplicationEnded { application, .. } => {
            ok(facts.applications.get(*application).is_some(), Refusal::ApplicationEnded)
        }
        Change::AskSubmitted { application, ask, spec } => {
            let is_valid = spec.count > 0
                && spec.partition.index() < facts.partitions.len()
                && spec.devices.is_none_or(|need| need.is_valid())
                && facts.config.resources.is_counted(&spec.size, spec.devices_milli())
                && pending_stays_countable(facts, *application, spec);
            ok(is_valid, Refusal::OutOfRange)?;
            ok(facts.applications.get(*application).is_some(), Refusal::ApplicationEnded)?;
            ok(facts.asks.is_vacant(*ask), Refusal::IdentifierTaken)
        }
        Change::AskCancelled { ask, .. } => ok(facts.asks.get(*ask).is_some(), Refusal::UnknownAsk),
        Change::ContainerEnded { container, .. } => {
            ok(facts.containers.get(*container).is_some(), Refusal::UnknownContainer)
        }
        Change::QueueUpdated { queue, update } => {
            ok(state.check_queue_update(*queue, update).is_ok(), Refusal::InvalidLimits)
        }
        Change::ReservationExpired { reservation } => {
            ok(facts.reservations.get(*reservation).is_some(), Refusal::UnknownReservation)
        }
    }
}

/// Whether the leaf and the queues above take one application more of this user.
fn takes_application(facts: &Facts, leaf: QueueId, user: &str) -> Result<(), Refusal> {
    let is_full = |limit: Option<u32>, count: u32| limit.is_some_and(|limit| count >= limit);
    for queue in facts.queue(leaf).chain.iter().map(|id| facts.queue(*id)) {
        if queue.state == QueueState::Stopped {
            return Err(Refusal::QueueStopped);
        }
        if is_full(queue.application_limits.total, queue.applications) {
            return Err(Refusal::TooManyApplications);
        }
    }
    let queue = facts.queue(leaf);
    let of_user = queue.users.get(user).map_or(0, |user| facts.user(*user).applications);
    if is_full(queue.application_limits.per_user, of_user) {
        return Err(Refusal::TooManyApplications);
    }
    Ok(())
}

/// Whether what the leaf has pending can still be added up with this ask, of which the amounts are those of one container.
fn pending_stays_countable(facts: &Facts, application: ApplicationId, spec: &AskSpec) -> bool {
    const MOST: Resources = Resources::all(PENDING_MAX);
    let Some(application) = facts.applications.get(application) else { return true };
    let pending = facts.queue(application.leaf).quota(spec.partition).pending;
    spec.size.times(i64::from(spec.count)).within(&(MOST - pending))
}
