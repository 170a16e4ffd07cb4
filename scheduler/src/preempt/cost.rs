//! The order of candidates by their cost.

use super::candidates::Candidate;
use crate::facts::{Facts, PreemptionCost};
use crate::ids::NodeId;

/// Sorts the candidates of one class by cost, the cheapest first. Equally cheap candidates keep their order. Without
/// costs it keeps nothing, so that a plan over many containers makes no second list of them.
pub(super) struct ByCost<'a> {
    facts: &'a Facts,
    has_costs: bool,
    kept: Vec<(PreemptionCost, NodeId, Candidate)>,
}

impl<'a> ByCost<'a> {
    pub(super) fn new(facts: &'a Facts) -> Self {
        Self { facts, has_costs: facts.disruption.has_costs(), kept: Vec::new() }
    }

    /// Keeps the candidate, or gives it back if no container has a cost.
    pub(super) fn keep(&mut self, node: NodeId, candidate: Candidate) -> Option<(NodeId, Candidate)> {
        if !self.has_costs {
            return Some((node, candidate));
        }
        self.kept.push((self.facts.disruption.cost_of(candidate.container), node, candidate));
        None
    }

    /// Gives the kept candidates to `list`.
    pub(super) fn give(&mut self, mut list: impl FnMut(NodeId, Candidate)) {
        self.kept.sort_by_key(|(cost, ..)| *cost);
        self.kept.drain(..).for_each(|(_, node, candidate)| list(node, candidate));
    }
}

/// The sum of the victims' costs, in units.
pub(super) fn total_cost(facts: &Facts, victims: &[Candidate]) -> u64 {
    if !facts.disruption.has_costs() {
        return 0;
    }
    let units = |victim: &Candidate| match facts.disruption.cost_of(victim.container) {
        PreemptionCost::Units(units) => units.into(),
        PreemptionCost::Never => u64::MAX,
    };
    victims.iter().map(units).fold(0, u64::saturating_add)
}
