//! The cost of a container as a victim of preemption.

use std::collections::btree_map::Entry;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::ids::ContainerId;
use crate::label::counted;

/// What the loss of a container costs its application, such as its age or the work since its last checkpoint.
///
/// Among equally many victims on a node, preemption takes the cheapest. The units are the embedder's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreemptionCost {
    /// So many units; 0 unless the embedder says otherwise.
    Units(u32),
    /// The container is never a victim.
    Never,
}

impl Default for PreemptionCost {
    fn default() -> Self {
        Self::Units(0)
    }
}

/// `4 units`, `never`.
impl fmt::Display for PreemptionCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Units(units) => f.write_str(&counted((*units).into(), "unit")),
            Self::Never => f.write_str("never"),
        }
    }
}

impl Facts {
    /// Whether some container has a cost.
    pub(crate) fn has_preemption_costs(&self) -> bool {
        !self.disruption.costs.is_empty()
    }

    /// What the loss of the container costs.
    pub(crate) fn preemption_cost(&self, container: ContainerId) -> PreemptionCost {
        if self.disruption.costs.is_empty() {
            return PreemptionCost::default();
        }
        self.disruption.costs.get(&container).copied().unwrap_or_default()
    }

    /// Whether the embedder lets preemption take the container at all.
    pub(crate) fn may_be_victim(&self, container: ContainerId) -> bool {
        self.preemption_cost(container) != PreemptionCost::Never
    }

    /// A container gets another cost.
    pub(crate) fn transition_set_cost(&mut self, container: ContainerId, cost: PreemptionCost) {
        match self.disruption.costs.entry(container) {
            Entry::Occupied(known) if cost == PreemptionCost::default() => drop(known.remove()),
            Entry::Occupied(mut known) => *known.get_mut() = cost,
            Entry::Vacant(_) if cost == PreemptionCost::default() => {}
            Entry::Vacant(vacant) => drop(vacant.insert(cost)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::{EngineConfig, QueueConfig};
    use crate::ids::SlotId;
    use crate::resource::ResourceTypes;

    /// A container that costs nothing is not listed.
    #[test]
    fn a_cost_holds_until_the_next_one() {
        let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
        let mut facts = Facts::empty(&Arc::new(config));
        let [none, some, more] = [0, 3, 5].map(PreemptionCost::Units);
        for cost in [none, some, more, PreemptionCost::Never, some, none, none] {
            facts.transition_set_cost(ContainerId::new(0, 0), cost);
            let known = facts.preemption_cost(ContainerId::new(0, 0));
            assert_eq!((known, facts.has_preemption_costs()), (cost, cost != none));
        }
    }

    #[test]
    fn never_is_above_all_units() {
        assert!(PreemptionCost::Never > PreemptionCost::Units(u32::MAX));
        let texts = [0, 1].map(|units| PreemptionCost::Units(units).to_string());
        assert_eq!(
            (texts, PreemptionCost::Never.to_string()),
            (["0 units".into(), "1 unit".into()], "never".into())
        );
    }
}
