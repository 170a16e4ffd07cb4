//! The reason why an ask is pending, as one word.

use serde::{Deserialize, Serialize};

use super::headroom::headroom_blocker;
use super::limits::{Blocker, first_limit};
use super::nodes::NodeFilter;
use crate::facts::Ask;
use crate::ids::AskId;
use crate::state::State;

/// Why an ask is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingReason {
    /// No node that meets its conditions could hold it, even when empty.
    NoNodeLargeEnough,
    /// Its application waits for activation.
    Inactive,
    /// A queue on its path would exceed its maximum.
    QueueLimit,
    /// Its user would exceed the user limit, or a user or group its limit in a queue.
    UserLimit,
    /// An earlier queue blocks the headroom left in its queues.
    BlockedHeadroom,
    /// It holds a reservation on a node and waits for that node's room.
    HoldsReservation,
    /// It waits for the hosts or racks it names.
    WaitsForHosts,
    /// Every node with room is at the ask's limit of containers with a tag.
    TagLimit,
    /// No node has room for it now.
    NoRoom,
    /// A pass will look at it, or its proposal is being decided.
    Runnable,
    /// Its gang has not started.
    WaitsForGang,
    /// It is opportunistic, and the queues of all nodes that could hold it are full.
    QueuesFull,
}

/// Finds the reason. Looks at as many of the nodes that the ask may use as it needs.
pub(crate) fn pending_reason(state: &State, id: AskId, ask: &Ask) -> PendingReason {
    let filter = NodeFilter::new(state, id, ask);
    if !filter.nodes().any(|(id, node)| filter.could_hold(id, node)) {
        return PendingReason::NoNodeLargeEnough;
    }
    if !state.facts.applications.at(ask.application).is_active {
        return PendingReason::Inactive;
    }
    if state.facts.gang_of(id).is_some() {
        return PendingReason::WaitsForGang;
    }
    if !ask.reservations().is_empty() {
        return PendingReason::HoldsReservation;
    }
    match filter.unless_lent(first_limit(state, ask)) {
        None => {}
        Some(Blocker::QueueMaximum(_)) => return PendingReason::QueueLimit,
        Some(_) => return PendingReason::UserLimit,
    }
    let mut reason = PendingReason::NoRoom;
    for (id, node) in filter.nodes().filter(|(id, node)| filter.has_room(*id, node)) {
        if filter.is_near(id, node) {
            let is_blocked = filter.unless_lent(headroom_blocker(state, ask)).is_some();
            return if is_blocked { PendingReason::BlockedHeadroom } else { PendingReason::Runnable };
        }
        reason = PendingReason::WaitsForHosts;
    }
    let is_capped = || filter.nodes().any(|(id, node)| filter.is_capped(id, node));
    if reason == PendingReason::NoRoom && is_capped() { PendingReason::TagLimit } else { reason }
}
