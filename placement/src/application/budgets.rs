//! The disruption budgets of a service, one for each group of components that has a limit.

use std::collections::BTreeMap;

use apportion::preempt::{DisruptionBudget, DisruptionLimit};

use super::ApplicationState;
use crate::component::ComponentSpec;

/// The tag of a group's containers.
pub(super) fn budget_tag(group: &str) -> String {
    format!("budget/{group}")
}

impl ApplicationState {
    /// Returns the budgets. A group without desired instances has none.
    #[must_use]
    pub fn disruption_budgets(&self) -> Vec<DisruptionBudget> {
        budgets_of(self.fleet.components.iter().map(|known| &known.spec))
    }
}

/// Returns the budgets of these components. A group without desired instances has none.
pub(crate) fn budgets_of<'a>(components: impl Iterator<Item = &'a ComponentSpec>) -> Vec<DisruptionBudget> {
    let mut groups: BTreeMap<&str, (u32, DisruptionLimit)> = BTreeMap::new();
    for spec in components {
        if let Some(limit) = spec.disruption {
            let (desired, _) = groups.entry(&spec.group).or_insert((0, limit));
            *desired = desired.saturating_add(spec.desired);
        }
    }
    let budget = |(group, (desired, limit)): (&str, (u32, DisruptionLimit))| {
        let limit = match limit {
            DisruptionLimit::MinAvailable(least) => DisruptionLimit::MinAvailable(least.min(desired)),
            other => other,
        };
        DisruptionBudget::new(desired, limit).of_tag(budget_tag(group))
    };
    groups.into_iter().filter(|(_, (desired, _))| *desired > 0).map(budget).collect()
}
