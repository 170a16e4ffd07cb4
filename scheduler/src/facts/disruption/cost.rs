//! The cost of a container as a victim of preemption.

use std::collections::btree_map::Entry;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Disruption;
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

impl Disruption {
    /// Whether some container has a cost.
    pub(crate) fn has_costs(&self) -> bool {
        !self.costs.is_empty()
    }

    /// What the loss of the container costs.
    pub(crate) fn cost_of(&self, container: ContainerId) -> PreemptionCost {
        if self.costs.is_empty() {
            return PreemptionCost::default();
        }
        self.costs.get(&container).copied().unwrap_or_default()
    }

    /// Whether the embedder lets preemption take the container at all.
    pub(crate) fn may_be_victim(&self, container: ContainerId) -> bool {
        self.cost_of(container) != PreemptionCost::Never
    }

    /// A container gets another cost.
    pub(crate) fn transition_set_cost(&mut self, container: ContainerId, cost: PreemptionCost) {
        match self.costs.entry(container) {
            Entry::Occupied(known) if cost == PreemptionCost::default() => drop(known.remove()),
            Entry::Occupied(mut known) => *known.get_mut() = cost,
            Entry::Vacant(_) if cost == PreemptionCost::default() => {}
            Entry::Vacant(vacant) => drop(vacant.insert(cost)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SlotId;

    /// A container that costs nothing is not listed.
    #[test]
    fn a_cost_holds_until_the_next_one() {
        let mut disruption = Disruption::default();
        let [none, some, more] = [0, 3, 5].map(PreemptionCost::Units);
        for cost in [none, some, more, PreemptionCost::Never, some, none, none] {
            disruption.transition_set_cost(ContainerId::new(0, 0), cost);
            let known = disruption.cost_of(ContainerId::new(0, 0));
            assert_eq!((known, disruption.has_costs()), (cost, cost != none));
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
