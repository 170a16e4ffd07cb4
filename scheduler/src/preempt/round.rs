//! One round of preemption in a running engine: the steps that carry out a plan.

use std::collections::BTreeSet;

use super::plan::plan;
use super::{Preemption, PreemptionNotice, PreemptionPlan};
use crate::config::PreemptionRounds;
use crate::ids::ContainerId;
use crate::propose::RoundStep;
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
