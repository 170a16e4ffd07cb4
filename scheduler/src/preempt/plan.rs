//! The plan of one round, partition by partition.

use super::amounts::{all_to_take, to_take};
use super::budgets::PlannedBudgets;
use super::exempt::unknown_exempt;
use super::gangs::Planners;
use super::ideal::{Surplus, assign};
use super::planned_use::Takings;
use super::planner::Planner;
use super::tree::{Branch, branches};
use super::{PartitionShares, PreemptionPlan, PreemptionPolicy, QueueShares};
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
        let of_round = to_take(&branches, &total, policy);
        let takings = Takings { of_round, all: all_to_take(&branches, policy) };
        plan.partitions.push(shares(state, partition, &branches, &takings.of_round));
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

fn shares(
    state: &State,
    partition: PartitionId,
    branches: &[Branch],
    to_take: &[Resources],
) -> PartitionShares {
    let amounts = |resources: &Resources| state.facts.config.resources.amounts(resources);
    let rows = state.facts.tree.queues.iter().zip(branches).zip(to_take);
    let row = |((queue, branch), to_take): ((&Queue, &Branch), &Resources)| QueueShares {
        path: queue.path.to_string(),
        guaranteed: amounts(&branch.guaranteed),
        used: amounts(&branch.used),
        pending: amounts(&branch.pending),
        ideal: amounts(&branch.ideal),
        to_take: amounts(to_take),
    };
    let queues = rows.filter(|((queue, _), _)| queue.is_present).map(row).collect();
    PartitionShares { partition: state.partition_name(partition).to_owned(), queues }
}
