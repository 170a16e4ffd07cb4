//! One round of preemption in a running engine: the steps that carry out a plan.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::plan;
use super::{GangPreemption, Preemption, PreemptionNotice, PreemptionPlan, PreemptionRule, Victim};
use crate::config::PreemptionRounds;
use crate::facts::Ask;
use crate::ids::{AskId, ContainerId};
use crate::propose::RoundStep;
use crate::request::ResourceAllocationCommitRequest;
use crate::state::State;

/// The plan for the present state, and the steps that carry it out. Victims whose time has come end first, because
/// other preemptions of the plan may count on their room.
pub(crate) fn round(state: &State, rounds: &PreemptionRounds) -> (PreemptionPlan, Vec<RoundStep>) {
    let plan = plan(state, &rounds.policy);
    if rounds.observe_only {
        return (plan, Vec::new());
    }
    let wait_ms = rounds.max_wait_before_kill_ms;
    let mut steps = Vec::new();
    for start in starts(&plan).filter(|start| is_due(state, start, wait_ms)) {
        steps.push(RoundStep::Preempt(start.request(), start.rule()));
    }
    for start in starts(&plan).filter(|start| !is_due(state, start, wait_ms)) {
        announce(state, &start, wait_ms, &mut steps);
    }
    withdraw(state, &plan, wait_ms, &mut steps);
    (plan, steps)
}

/// A gang or a container that the plan starts in place of victims.
#[derive(Clone, Copy)]
enum Start<'a> {
    Gang(&'a GangPreemption),
    Container(&'a Preemption),
}

/// In the order in which they hold.
fn starts(plan: &PreemptionPlan) -> impl Iterator<Item = Start<'_>> {
    plan.gangs.iter().map(Start::Gang).chain(plan.preemptions.iter().map(Start::Container))
}

impl<'a> Start<'a> {
    fn victims(self) -> &'a [Victim] {
        match self {
            Self::Gang(gang) => &gang.victims,
            Self::Container(container) => &container.victims,
        }
    }

    fn ask(self) -> Option<AskId> {
        match self {
            Self::Gang(gang) => gang.members.first().map(|member| member.ask),
            Self::Container(container) => Some(container.ask),
        }
    }

    fn rule(self) -> PreemptionRule {
        match self {
            Self::Gang(gang) => gang.rule,
            Self::Container(container) => container.rule,
        }
    }

    fn request(self) -> ResourceAllocationCommitRequest {
        match self {
            Self::Gang(gang) => gang.request(),
            Self::Container(container) => container.request(),
        }
    }
}

/// Whether every victim was announced and its time has come.
fn is_due(state: &State, start: &Start<'_>, wait_ms: u64) -> bool {
    let notices = &state.facts.notices;
    let is_due =
        |id: &ContainerId| notices.get(id).is_some_and(|notice| notice.kill_ms <= state.facts.now_ms);
    wait_ms == 0 || start.victims().iter().all(|victim| is_due(&victim.container))
}

fn announce(state: &State, start: &Start<'_>, wait_ms: u64, steps: &mut Vec<RoundStep>) {
    let Some(ask) = start.ask() else { return };
    let kill_ms = state.facts.now_ms.saturating_add(wait_ms);
    let notice = PreemptionNotice { ask: state.facts.beneficiary(ask), rule: start.rule(), kill_ms };
    let new = start.victims().iter().map(|victim| victim.container);
    let new = new.filter(|id| !state.facts.notices.contains_key(id));
    steps.extend(new.map(|id| RoundStep::Announce(id, notice)));
}

/// Takes back announcements of containers that the plan does not name. This happens at once if the ask wants nothing
/// any more or, before the kill time, if the plan names enough announced victims for it. Otherwise it happens
/// `wait_ms` after the kill time, because a round names only a part of the owed amount, not always the same
/// containers. A container that is named again meanwhile keeps its kill time. Otherwise the ask would wait again.
fn withdraw(state: &State, plan: &PreemptionPlan, wait_ms: u64, steps: &mut Vec<RoundStep>) {
    let facts = &state.facts;
    let victims = starts(plan).flat_map(|start| start.victims());
    let named: BTreeSet<ContainerId> = victims.map(|victim| victim.container).collect();
    let served = served(state, plan);
    let wanted = |id: AskId| facts.asks.get(id).map_or(0, Ask::outstanding);
    let is_needless = |notice: &PreemptionNotice| {
        let has_time = notice.kill_ms > facts.now_ms;
        let served = served.get(&notice.ask).filter(|_| has_time).copied().unwrap_or(0);
        wanted(notice.ask) <= served
    };
    let is_over = |notice: &PreemptionNotice| {
        is_needless(notice) || notice.kill_ms.saturating_add(wait_ms) <= facts.now_ms
    };
    let over = facts.notices.iter().filter(|(id, notice)| !named.contains(id) && is_over(notice));
    steps.extend(over.map(|(id, _)| RoundStep::Withdraw(*id)));
}

/// The units of each ask that have announced victims. A gang is served as a whole.
fn served(state: &State, plan: &PreemptionPlan) -> BTreeMap<AskId, u32> {
    let mut served = BTreeMap::new();
    let is_announced = |victim: &Victim| state.facts.notices.contains_key(&victim.container);
    for start in starts(plan).filter(|start| start.victims().iter().all(is_announced)) {
        let Some(ask) = start.ask() else { continue };
        let units = if matches!(start, Start::Gang(_)) { u32::MAX } else { 1 };
        let known = served.entry(state.facts.beneficiary(ask)).or_insert(0u32);
        *known = known.saturating_add(units);
    }
    served
}
