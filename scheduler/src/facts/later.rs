//! The part of a snapshot that its first version does not have.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::gang::{WaitingGangs, held_asks};
use super::held_room::HeldRooms;
use super::placeholders::Placeholders;
use super::{Disruption, Facts, FactsImage, NodeQueues, PreemptionNotice};
use crate::ids::ContainerId;

/// The facts of newer features. They stand at the end of a snapshot, so that an older one is read as one in which
/// they are empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LaterFacts {
    pub(super) notices: BTreeMap<ContainerId, PreemptionNotice>,
    pub(super) gangs: WaitingGangs,
    pub(super) disruption: Disruption,
    pub(super) placeholders: Placeholders,
    pub(super) node_queues: NodeQueues,
    pub(super) held_rooms: HeldRooms,
}

impl LaterFacts {
    /// Whether everything that they refer to is in the image, and no ask is held twice.
    pub(super) fn is_coherent(&self, image: &FactsImage) -> bool {
        let roles = || self.gangs.values().flat_map(|gang| gang.roles.iter().map(move |role| (gang, role)));
        self.notices.keys().all(|id| image.has_container(*id))
            && self.gangs.values().all(|gang| !gang.roles.is_empty())
            && roles().all(|(gang, role)| image.application_of(role.ask) == Some(gang.application))
            && held_asks(&self.gangs).len() == roles().count()
            && self.disruption.is_coherent(image)
            && self.placeholders.is_coherent(image)
            && image.are_node_queues_coherent(&self.node_queues)
            && self.held_rooms.iter().all(|(partition, held)| {
                let asks = || {
                    held.nodes.values().flatten().map(|place| place.ask).chain(held.counts.keys().copied())
                };
                let is_its = |ask| {
                    self.gangs
                        .get(&held.gang)
                        .is_some_and(|gang| gang.roles.iter().any(|role| role.ask == ask))
                };
                image.has_partition(*partition)
                    && held.nodes.keys().all(|node| image.has_live_node(*node))
                    && asks().all(is_its)
            })
    }
}

impl Facts {
    pub(crate) fn later(&self) -> LaterFacts {
        LaterFacts {
            notices: self.notices.clone(),
            gangs: self.gangs.clone(),
            disruption: self.disruption.clone(),
            placeholders: self.placeholders.clone(),
            node_queues: self.node_queues.clone(),
            held_rooms: self.held_rooms.clone(),
        }
    }
}
