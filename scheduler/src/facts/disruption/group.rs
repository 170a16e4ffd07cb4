//! Groups of containers. Some of each group have to keep running: a budget covers the group, or it is a role of a gang.

use smallvec::SmallVec;

use super::Disruption;
use crate::facts::Facts;
use crate::ids::{ApplicationId, ContainerId, GangId};

/// A group in which some containers have to keep running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum DisruptionGroup {
    /// Those that the application's budget at this place covers.
    Budget(ApplicationId, usize),
    /// The members of the role at this place of a started gang.
    Role(GangId, usize),
}

impl Disruption {
    /// Whether any container is in a group.
    pub(crate) fn has_groups(&self) -> bool {
        !self.budgets.is_empty() || !self.started.is_empty()
    }

    /// All groups.
    pub(crate) fn groups(&self) -> impl Iterator<Item = DisruptionGroup> {
        let budgets = self.budgets.iter().flat_map(|(id, budgets)| {
            (0..budgets.len()).map(move |place| DisruptionGroup::Budget(*id, place))
        });
        let gangs = self.started.iter();
        let roles = gangs
            .flat_map(|(id, gang)| (0..gang.roles.len()).map(move |place| DisruptionGroup::Role(*id, place)));
        budgets.chain(roles)
    }

    /// The number of containers of the group that have to stay available.
    fn least_in(&self, group: DisruptionGroup) -> u32 {
        match group {
            DisruptionGroup::Budget(id, place) => {
                self.budgets_of(id).get(place).map_or(0, |budget| budget.least())
            }
            DisruptionGroup::Role(id, place) => {
                let role = self.started_gang(id).and_then(|gang| gang.roles.get(place));
                role.map_or(0, |role| role.minimum)
            }
        }
    }
}

impl Facts {
    /// The groups in which the container counts as available.
    pub(crate) fn groups_of(&self, id: ContainerId) -> SmallVec<[DisruptionGroup; 2]> {
        let mut groups = SmallVec::new();
        let Some(container) = self.containers.get(id).filter(|_| self.is_available(id)) else {
            return groups;
        };
        let shape = self.shapes.at(container.shape);
        for (place, budget) in self.disruption.budgets_of(container.application).iter().enumerate() {
            if budget.covers(shape) {
                groups.push(DisruptionGroup::Budget(container.application, place));
            }
        }
        if let Some((gang, place)) = self.disruption.role_of(id) {
            groups.push(DisruptionGroup::Role(gang, place));
        }
        groups
    }

    /// Whether the container runs and is not being stopped. Placeholders and opportunistic containers that wait at a
    /// node do not work.
    fn is_available(&self, id: ContainerId) -> bool {
        !self.stopping.contains_key(&id) && !self.is_waiting(id) && self.placeholders.of(id).is_none()
    }

    /// The available containers of the group.
    pub(crate) fn available_in(&self, group: DisruptionGroup) -> Vec<ContainerId> {
        let is_available = |id: &ContainerId| self.is_available(*id);
        match group {
            DisruptionGroup::Budget(id, place) => {
                let Some(budget) = self.disruption.budgets_of(id).get(place) else { return Vec::new() };
                let covers = |id: &ContainerId| budget.covers(self.shapes.at(self.containers.at(*id).shape));
                let all = self.applications.at(id).containers.iter(&self.containers);
                all.filter(|id| is_available(id) && covers(id)).collect()
            }
            DisruptionGroup::Role(id, place) => {
                let role = self.disruption.started_gang(id).and_then(|gang| gang.roles.get(place));
                role.into_iter().flat_map(|role| &role.members).copied().filter(is_available).collect()
            }
        }
    }

    /// The available containers of the group above the number that has to stay available.
    pub(crate) fn spare_in(&self, group: DisruptionGroup) -> u32 {
        (self.available_in(group).len() as u32).saturating_sub(self.disruption.least_in(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{DisruptionBudget, DisruptionLimit};
    use crate::ids::SlotId;

    #[test]
    fn budgets_make_groups() {
        let (mut disruption, application) = (Disruption::default(), ApplicationId::new(0, 0));
        assert!(!disruption.has_groups());
        disruption.transition_set_budgets(
            application,
            &[DisruptionBudget::new(3, DisruptionLimit::MaxUnavailable(1))],
        );
        assert!(disruption.has_groups());
        assert_eq!(disruption.groups().collect::<Vec<_>>(), [DisruptionGroup::Budget(application, 0)]);
        disruption.transition_set_budgets(application, &[]);
        assert!(!disruption.has_groups());
    }
}
