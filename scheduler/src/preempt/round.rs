//! One round of preemption in a running engine: the steps that carry out a plan.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::plan::plan;
use super::{Preemption, PreemptionNotice, PreemptionPlan, PreemptionRule};
use crate::config::PreemptionRounds;
use crate::facts::Facts;
use crate::ids::{ContainerId, PartitionId, QueueId};
use crate::propose::RoundStep;
use crate::request::ResourceAllocationCommitRequest;
use crate::resource::Resources;
use crate::state::State;

/// The plan for the present state, and the steps that carry it out. Victims whose time has come end first, because other
/// preemptions of the plan may count on their room.
pub(crate) fn round(state: &State, rounds: &PreemptionRounds) -> (PreemptionPlan, Vec<RoundStep>) {
    let plan = plan(state, &rounds.policy);
    if rounds.observe_only {
        return (plan, Vec::new());
    }
    let wait_ms = rounds.max_wait_before_kill_ms;
    let mut steps = Vec::new();
    for preemption in plan.preemptions.iter().filter(|one| is_due(state, one, wait_ms)) {
        steps.push(RoundStep::Preempt(preemption.request(), preemption.rule));
    }
    for preemption in plan.preemptions.iter().filter(|one| !is_due(state, one, wait_ms)) {
        announce(state, preemption, wait_ms, &mut steps);
    }
    withdraw(state, &plan, wait_ms, &mut steps);
    (plan, steps)
}

/// Whether the embedder lets preemption take all of these victims. Their costs may have changed since the plan.
pub(crate) fn are_victims_allowed(facts: &Facts, request: &ResourceAllocationCommitRequest) -> bool {
    !facts.has_preemption_costs() || request.release.iter().all(|id| facts.may_be_victim(*id))
}

/// Whether no leaf falls below its guarantee by these victims. The plan saw to that, but containers may have ended since. As
/// in the plan, a leaf that is below its guarantee of one type may lose more of it with a container that frees another.
/// Within a leaf, what one application loses another one gets.
pub(crate) fn keeps_guarantees(
    facts: &Facts,
    request: &ResourceAllocationCommitRequest,
    rule: PreemptionRule,
) -> bool {
    if matches!(rule, PreemptionRule::ApplicationPriority | PreemptionRule::UserLimit) {
        return true;
    }
    let mut lost: SmallVec<[(QueueId, PartitionId, Resources); 4]> = SmallVec::new();
    for container in request.release.iter().filter_map(|id| facts.containers.get(*id)) {
        let leaf = facts.applications.at(container.application).leaf;
        let shape = facts.shapes.at(container.shape);
        match lost.iter_mut().find(|(of, partition, _)| (*of, *partition) == (leaf, shape.partition)) {
            Some((_, _, sum)) => *sum += shape.need.resources,
            None => lost.push((leaf, shape.partition, shape.need.resources)),
        }
    }
    lost.iter().all(|(leaf, partition, lost)| {
        let quota = facts.queue(*leaf).quota(*partition);
        let running = quota.used - quota.reserved - stopping(facts, *leaf, *partition);
        let stays = |index: usize| running[index] - lost[index] >= quota.guaranteed[index];
        let is_below = |index: usize| running[index] < quota.guaranteed[index];
        lost.types().any(|index| lost[index] > 0 && stays(index))
            && lost.types().all(|index| lost[index] <= 0 || stays(index) || is_below(index))
    })
}

/// The amounts of the leaf's containers that are being stopped.
fn stopping(facts: &Facts, leaf: QueueId, partition: PartitionId) -> Resources {
    let of_leaf = facts.stopping.keys().filter_map(|id| facts.containers.get(*id)).filter(|container| {
        facts.applications.at(container.application).leaf == leaf
            && facts.shapes.at(container.shape).partition == partition
    });
    of_leaf.map(|container| facts.shapes.at(container.shape).need.resources).sum()
}

/// Whether every victim was announced and its time has come.
fn is_due(state: &State, preemption: &Preemption, wait_ms: u64) -> bool {
    let notices = &state.facts.notices;
    let is_due =
        |id: &ContainerId| notices.get(id).is_some_and(|notice| notice.kill_ms <= state.facts.now_ms);
    wait_ms == 0 || preemption.victims.iter().all(|victim| is_due(&victim.container))
}

fn announce(state: &State, preemption: &Preemption, wait_ms: u64, steps: &mut Vec<RoundStep>) {
    let kill_ms = state.facts.now_ms.saturating_add(wait_ms);
    let notice = PreemptionNotice { ask: preemption.ask, rule: preemption.rule, kill_ms };
    let new = preemption.victims.iter().map(|victim| victim.container);
    let new = new.filter(|id| !state.facts.notices.contains_key(id));
    steps.extend(new.map(|id| RoundStep::Announce(id, notice)));
}

/// Takes back announcements of containers that the plan has not named for as long as they were announced. So a container that
/// is named again meanwhile keeps its time.
fn withdraw(state: &State, plan: &PreemptionPlan, wait_ms: u64, steps: &mut Vec<RoundStep>) {
    let victims = plan.preemptions.iter().flat_map(|preemption| &preemption.victims);
    let named: BTreeSet<ContainerId> = victims.map(|victim| victim.container).collect();
    let is_over = |notice: &PreemptionNotice| notice.kill_ms.saturating_add(wait_ms) <= state.facts.now_ms;
    let over = state.facts.notices.iter().filter(|(id, notice)| is_over(notice) && !named.contains(id));
    steps.extend(over.map(|(id, _)| RoundStep::Withdraw(*id)));
}
