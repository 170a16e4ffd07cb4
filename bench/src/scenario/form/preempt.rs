//! Plans of preemption in a scenario file.

use std::collections::BTreeMap;

use apportion::preempt::{PreemptionRule, UnhelpedReason, WithinQueueOrder};
use serde::Deserialize;

use super::{ContainersForm, NamesForm, ShareForm};

/// Running containers, and the cost of their loss.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct CostForm {
    pub(in crate::scenario) of: ContainersForm,
    pub(in crate::scenario) cost: CostValue,
}

/// A number of units, or `never`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub(in crate::scenario) enum CostValue {
    Units(u32),
    Word(CostWord),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::scenario) enum CostWord {
    Never,
}

/// The new budgets of an application. They replace all present ones.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct BudgetsForm {
    pub(in crate::scenario) application: String,
    pub(in crate::scenario) budgets: Vec<BudgetForm>,
    pub(in crate::scenario) refused: Option<String>,
}

/// A budget with one of the two limits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct BudgetForm {
    pub(in crate::scenario) tag: Option<String>,
    pub(in crate::scenario) desired: u32,
    pub(in crate::scenario) min_available: Option<u32>,
    pub(in crate::scenario) max_unavailable: Option<u32>,
}

/// The policy of a plan, and what the plan should say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct PlanForm {
    #[serde(default)]
    pub(in crate::scenario) policy: PolicyForm,
    pub(in crate::scenario) expect: PlanWanted,
}

/// A policy; omitted values are YARN's.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct PolicyForm {
    pub(in crate::scenario) dead_zone: Option<ShareForm>,
    pub(in crate::scenario) natural_termination: Option<ShareForm>,
    pub(in crate::scenario) per_round: Option<ShareForm>,
    #[serde(default)]
    pub(in crate::scenario) exempt: NamesForm,
    #[serde(default)]
    pub(in crate::scenario) exempt_applications: NamesForm,
    #[serde(default)]
    pub(in crate::scenario) exempt_tags: NamesForm,
    #[serde(default)]
    pub(in crate::scenario) balances: bool,
    pub(in crate::scenario) within_queue: Option<WithinQueueForm>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct WithinQueueForm {
    pub(in crate::scenario) order: WithinQueueOrder,
    pub(in crate::scenario) minimum_use: Option<ShareForm>,
    pub(in crate::scenario) max_part: Option<ShareForm>,
    #[serde(default)]
    pub(in crate::scenario) exempt: NamesForm,
}

/// The expectations of a plan. Each given one is complete: nothing else may be in the plan.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct PlanWanted {
    /// The number of containers that would end, by leaf.
    pub(in crate::scenario) victims: Option<BTreeMap<String, usize>>,
    /// The same by ask.
    pub(in crate::scenario) victims_of: Option<BTreeMap<String, usize>>,
    /// The same by node.
    pub(in crate::scenario) victims_on: Option<BTreeMap<String, usize>>,
    /// The number of containers that each ask would get.
    pub(in crate::scenario) helped: Option<BTreeMap<String, usize>>,
    /// The number of these containers, by the rule that gives them.
    pub(in crate::scenario) rules: Option<BTreeMap<PreemptionRule, usize>>,
    /// The asks that would get nothing although their queues are owed more.
    pub(in crate::scenario) unhelped: Option<BTreeMap<String, UnhelpedForm>>,
    /// The exempt paths that no queue has.
    pub(in crate::scenario) unknown_exempt: Option<NamesForm>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct UnhelpedForm {
    pub(in crate::scenario) reason: UnhelpedReason,
    pub(in crate::scenario) units: Option<u32>,
}
