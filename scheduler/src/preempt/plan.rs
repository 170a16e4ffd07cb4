//! The plan of one round, partition by partition.

use super::amounts::{all_to_take, to_take};
use super::budgets::PlannedBudgets;
use super::exempt::unknown_exempt;
use super::gangs::Planners;
use super::ideal::{Surplus, assign};
use super::planned_use::Takings;
use super::planner::Planner;
use super::tree::{Branch, branches};
use super::{PartitionAmounts, PreemptionPlan, PreemptionPolicy, QueueAmounts};
use crate::facts::Queue;
use crate::ids::PartitionId;
use crate::request::CommitSeq;
use crate::resource::Resources;
use crate::state::State;

/// The plan for the present state.
pub(crate) fn plan(state: &State, policy: &PreemptionPolicy) -> PreemptionPlan {
    let mut plan = PreemptionPlan {
        seq: CommitSeq(state.facts.changes),
        now_ms: state.facts.now_ms,
        partitions: Vec::new(),
        gangs: Vec::new(),
        preemptions: Vec::new(),
        unhelped: Vec::new(),
        unknown_exempt: unknown_exempt(&state.facts, policy),
    };
    let mut amounts = Vec::new();
    for partition in state.partitions() {
        let mut branches = branches(&state.facts, partition, policy);
        assign(&mut branches, if policy.balances { Surplus::Balanced } else { Surplus::Kept });
        let total = state.facts.tree.partitions[partition.index()].capacity;
        let of_round = to_take(&branches, &total, policy).into_iter();
        let takings = of_round.zip(all_to_take(&branches, policy));
        let takings: Vec<_> = takings.map(|(of_round, all)| Takings { of_round, all }).collect();
        plan.partitions.push(amounts_of(state, partition, &branches, &takings));
        amounts.push((branches, takings));
    }
    let all = state.partitions().zip(&amounts);
    let all =
        all.map(|(partition, (branches, takings))| Planner::new(state, partition, branches, takings, policy));
    let mut planners = Planners::new(all.collect());
    planners.of(PartitionId::DEFAULT).planned_use.budgets = PlannedBudgets::new(&state.facts);
    planners.run_gangs(state, &mut plan);
    for partition in state.partitions() {
        let planner = planners.of(partition);
        planner.run(&mut plan);
        planner.run_within(&mut plan);
    }
    plan
}

fn amounts_of(
    state: &State,
    partition: PartitionId,
    branches: &[Branch],
    takings: &[Takings],
) -> PartitionAmounts {
    let amounts = |resources: &Resources| state.facts.config.resources.amounts(resources);
    let rows = state.facts.tree.queues.iter().zip(branches).zip(takings);
    let row = |((queue, branch), takings): ((&Queue, &Branch), &Takings)| QueueAmounts {
        path: queue.path.to_string(),
        guaranteed: amounts(&branch.guaranteed),
        used: amounts(&branch.used),
        pending: amounts(&branch.pending),
        ideal: amounts(&branch.ideal),
        to_take: amounts(&takings.of_round),
    };
    let queues = rows.filter(|((queue, _), _)| queue.is_present).map(row).collect();
    PartitionAmounts { partition: state.partition_name(partition).to_owned(), queues }
}
