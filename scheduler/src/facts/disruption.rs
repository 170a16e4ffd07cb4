//! What holds preemption back: the costs of containers, disruption budgets, and the minima of gangs that have started.

mod budget;
mod cost;
mod group;
mod started;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

pub use budget::{DisruptionBudget, DisruptionLimit, InvalidBudget};
pub use cost::PreemptionCost;
pub(crate) use group::DisruptionGroup;
pub(crate) use started::StartedGang;

use super::FactsImage;
use crate::ids::{ApplicationId, AskId, ContainerId, GangId};

/// A gang that has started, and the place of a role in it.
type RoleOf = (GangId, usize);

/// What holds preemption back. Empty in an engine that uses none of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Disruption {
    /// The costs of containers, without those that cost nothing.
    pub(super) costs: BTreeMap<ContainerId, PreemptionCost>,
    /// The budgets of applications that have some.
    pub(super) budgets: BTreeMap<ApplicationId, Vec<DisruptionBudget>>,
    /// The gangs that have started and have running members.
    pub(super) started: BTreeMap<GangId, StartedGang>,
    /// The roles of members. They follow from the gangs.
    #[serde(skip)]
    members: FxHashMap<ContainerId, RoleOf>,
    /// The roles of asks. They follow from the gangs.
    #[serde(skip)]
    asks: FxHashMap<AskId, RoleOf>,
}

impl Disruption {
    /// Whether it knows any container.
    #[inline]
    pub(super) fn knows_containers(&self) -> bool {
        self.costs.len() | self.members.len() != 0
    }

    /// Forgets a container that has ended.
    #[cold]
    pub(super) fn forget(&mut self, container: ContainerId) {
        self.costs.remove(&container);
        self.remove_member(container);
    }

    /// Forgets an application that has ended.
    pub(super) fn forget_application(&mut self, application: ApplicationId) {
        self.budgets.remove(&application);
    }

    /// The containers that it knows.
    pub(crate) fn known_containers(&self) -> impl Iterator<Item = ContainerId> {
        self.costs.keys().chain(self.members.keys()).copied()
    }

    /// Whether everything that it refers to is in the image.
    pub(super) fn is_coherent(&self, image: &FactsImage) -> bool {
        self.costs.keys().all(|id| image.has_container(*id))
            && self.budgets.iter().all(|(id, budgets)| {
                image.has_application(*id)
                    && !budgets.is_empty()
                    && DisruptionBudget::check_all(budgets).is_ok()
            })
            && self.started.values().all(|gang| gang.is_coherent(image))
    }
}
