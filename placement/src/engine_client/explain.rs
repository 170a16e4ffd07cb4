//! The engine's explanations, translated for a service.

use apportion::explain::{Explanation, Funnel, PendingReason, Stage};

use crate::client::{Obstacle, Unserved};

pub(super) fn unserved(explanation: &Explanation) -> Option<Unserved> {
    let why = explanation.pending()?;
    Some(Unserved { obstacle: obstacle(why.reason, &why.funnel), text: explanation.to_string() })
}

fn obstacle(reason: PendingReason, funnel: &Funnel) -> Obstacle {
    match reason {
        // A full cluster fills its root queue as well. A queue limit is the cause only if nodes have room.
        PendingReason::QueueLimit | PendingReason::UserLimit if !has_room(funnel) => Obstacle::NoRoom,
        PendingReason::Inactive
        | PendingReason::QueueLimit
        | PendingReason::UserLimit
        | PendingReason::BlockedHeadroom => Obstacle::Queue,
        PendingReason::TagLimit => Obstacle::Apart,
        PendingReason::Runnable => Obstacle::None,
        PendingReason::NoNodeLargeEnough if funnel.at(Stage::TooSmall) > 0 => Obstacle::TooLarge,
        PendingReason::NoNodeLargeEnough => Obstacle::NoNode,
        PendingReason::NoRoom
        | PendingReason::HoldsReservation
        | PendingReason::WaitsForHosts
        | PendingReason::WaitsForGang
        | PendingReason::QueuesFull => Obstacle::NoRoom,
    }
}

fn has_room(funnel: &Funnel) -> bool {
    [Stage::Fits, Stage::ReservedForOther, Stage::InFlight].into_iter().any(|stage| funnel.at(stage) > 0)
}
