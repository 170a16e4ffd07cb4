//! Groups of containers of which some have to keep running: those that a budget covers.

use smallvec::SmallVec;

use crate::facts::Facts;
use crate::ids::{ApplicationId, ContainerId};

/// Containers of which some have to keep running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum DisruptionGroup {
    /// Those that the application's budget at this place covers.
    Budget(ApplicationId, usize),
}

impl Facts {
    /// Whether any container is in a group.
    pub(crate) fn has_disruption_groups(&self) -> bool {
        !self.disruption.budgets.is_empty()
    }

    /// All groups.
    pub(crate) fn disruption_groups(&self) -> impl Iterator<Item = DisruptionGroup> {
        self.disruption.budgets.iter().flat_map(|(id, budgets)| {
            (0..budgets.len()).map(move |place| DisruptionGroup::Budget(*id, place))
        })
    }

    /// The groups of a running container.
    pub(crate) fn groups_of(&self, id: ContainerId) -> SmallVec<[DisruptionGroup; 2]> {
        let mut groups = SmallVec::new();
        let Some(container) = self.containers.get(id) else { return groups };
        let shape = self.shapes.at(container.shape);
        for (place, budget) in self.disruption_budgets(container.application).iter().enumerate() {
            if budget.covers(shape) {
                groups.push(DisruptionGroup::Budget(container.application, place));
            }
        }
        groups
    }

    /// The available containers of the group: those that run and are not being stopped.
    pub(crate) fn available_in(&self, group: DisruptionGroup) -> Vec<ContainerId> {
        let is_available = |id: &ContainerId| !self.stopping.contains_key(id);
        match group {
            DisruptionGroup::Budget(id, place) => {
                let Some(budget) = self.disruption_budgets(id).get(place) else { return Vec::new() };
                let covers = |id: &ContainerId| budget.covers(self.shapes.at(self.containers.at(*id).shape));
                let all = self.applications.at(id).containers.iter(&self.containers);
                all.filter(|id| is_available(id) && covers(id)).collect()
            }
        }
    }

    /// The number of containers of the group that have to stay available.
    pub(crate) fn least_in(&self, group: DisruptionGroup) -> u32 {
        match group {
            DisruptionGroup::Budget(id, place) => {
                self.disruption_budgets(id).get(place).map_or(0, |budget| budget.least())
            }
        }
    }
}
