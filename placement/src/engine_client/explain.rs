//! What the engine's explanations mean to a service.

use apportion::{Explanation, Funnel, PendingReason, Stage};

use crate::client::{Obstacle, Unserved};

pub(super) fn unserved(explanation: &Explanation) -> Option<Unserved> {
    let why = explanation.pending()?;
    Some(Unserved { obstacle: obstacle(why.reason, &why.funnel), text: explanation.to_string() })
}

fn obstacle(reason: PendingReason, funnel: &Funnel) -> Obstacle {
    match reason {
        PendingReason::Inactive
        | PendingReason::QueueLimit
        | PendingReason::UserLimit
        | PendingReason::RoomKept => Obstacle::Queue,
        PendingReason::TagLimit => Obstacle::Apart,
        PendingReason::Runnable => Obstacle::None,
        PendingReason::NoNodeLargeEnough if funnel.at(Stage::TooSmall) > 0 => Obstacle::TooLarge,
        PendingReason::NoNodeLargeEnough => Obstacle::NoNode,
        PendingReason::NoRoom | PendingReason::HoldsReservation | PendingReason::WaitsForHosts => {
            Obstacle::NoRoom
        }
    }
}
