//! Explanations and plans, computed when a caller asks for them.

use super::Engine;
use crate::explain::{Explanation, Standing};
use crate::ids::AskId;
use crate::preempt::{PreemptionPlan, PreemptionPolicy, plan};

impl Engine {
    /// Explains why an ask is pending, whether preemption will help, or how it ended. The engine is blocked while
    /// this looks at the nodes of the ask's partition.
    #[must_use]
    pub fn explain(&self, ask: AskId) -> Explanation {
        let (mut explanation, beneficiary) = self.read(|view| (view.explain(ask), view.beneficiary(ask)));
        if let Standing::Pending(why) = &mut explanation.standing {
            why.preemption = why.preemption.or_else(|| self.shared.round.outlook(beneficiary));
        }
        explanation
    }

    /// Plans one round of preemption without carrying it out. The engine is blocked while this copies the state, which
    /// takes as much memory again until the plan is made.
    #[must_use]
    pub fn preemption_plan(&self, policy: &PreemptionPolicy) -> PreemptionPlan {
        let copy = self.read(|view| view.copy_of_state());
        plan(&copy, policy)
    }

    /// The plan of the last round of preemption that the engine made by its
    /// [configuration](crate::config::EngineConfig::preemption); `None` before the first.
    #[must_use]
    pub fn last_preemption_plan(&self) -> Option<PreemptionPlan> {
        self.shared.round.last_plan()
    }
}
