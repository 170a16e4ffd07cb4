//! Calls about the victims of preemption with an unknown identifier.

use apportion::preempt::{DisruptionBudget, DisruptionLimit, PreemptionCost};

use super::answers::*;
use super::rows::{Row, row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        row(
            "set_preemption_cost",
            "container",
            |w| listed(w, w.handle.set_preemption_cost(w.unknown_ids.container, PreemptionCost::Never)),
            container_refused,
        ),
        row(
            "set_preemption_costs",
            "container",
            |w| {
                let cost = (w.unknown_ids.container, PreemptionCost::Never);
                listed(w, w.handle.set_preemption_costs([cost]))
            },
            container_refused,
        ),
        row(
            "set_disruption_budgets",
            "application",
            |w| {
                let budget = DisruptionBudget::new(2, DisruptionLimit::MinAvailable(1));
                listed(w, w.handle.set_disruption_budgets(w.unknown_ids.application, vec![budget]))
            },
            application_refused,
        ),
        row(
            "confirm_preemption",
            "container",
            |w| listed(w, w.handle.confirm_preemption(w.unknown_ids.container)),
            container_refused,
        ),
    ]
}
