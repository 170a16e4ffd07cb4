//! A plan as JSON with the host names of its nodes, and the gangs that end as a whole.

use std::collections::{BTreeMap, BTreeSet};

use apportion::preempt::{PreemptionPlan, Victim};
use apportion::view::View;
use apportion::{ApplicationId, AskId, Change, ContainerId, GangId, NodeId};
use serde_json::Value;

use super::helped::helped;
use super::losses::losses;
use crate::cli::log_input::gang_of_first;

/// The gangs of a log, with their asks.
#[derive(Debug)]
pub(in crate::cli) struct Gangs(BTreeMap<GangId, (ApplicationId, Vec<AskId>)>);

impl Gangs {
    /// The gangs of the state with which a log begins.
    pub(in crate::cli) fn new(view: &View<'_>) -> Self {
        Self(view.gang_asks().into_iter().map(|of| (of.gang, (of.application, of.asks))).collect())
    }

    pub(in crate::cli) fn record(&mut self, change: &Change) {
        let Change::GangSubmitted { asks, spec } = change else { return };
        if let Some(gang) = asks.first().and_then(|first| gang_of_first(*first)) {
            self.0.insert(gang, (spec.application, asks.clone()));
        }
    }

    /// For each start of the plan, gangs first, the gangs that end as a whole for it.
    pub(super) fn ended(&self, view: &View<'_>, plan: &PreemptionPlan) -> Vec<Vec<GangId>> {
        let mut left: BTreeMap<GangId, BTreeSet<ContainerId>> = BTreeMap::new();
        for (gang, (application, asks)) in &self.0 {
            let running = view.application(*application).into_iter().flat_map(|found| found.containers());
            let members = running.filter(|container| asks.contains(&container.ask));
            left.insert(*gang, members.map(|member| member.container).collect());
        }
        let of_gangs = plan.gangs.iter().map(|gang| &gang.victims);
        let starts = of_gangs.chain(plan.preemptions.iter().map(|preemption| &preemption.victims));
        starts.map(|victims| take(&mut left, victims)).collect()
    }
}

fn take(left: &mut BTreeMap<GangId, BTreeSet<ContainerId>>, victims: &[Victim]) -> Vec<GangId> {
    let mut ended = Vec::new();
    for (gang, members) in left {
        let before = members.len();
        victims.iter().for_each(|victim| _ = members.remove(&victim.container));
        if before > 0 && members.is_empty() {
            ended.push(*gang);
        }
    }
    ended
}

/// The plan as JSON, with a `host` for each node, the gangs that end, and what queues lose to each other.
pub(in crate::cli) fn json(
    plan: &PreemptionPlan,
    view: &View<'_>,
    gangs: &Gangs,
) -> Result<Value, serde_json::Error> {
    let mut ended = gangs.ended(view, plan).into_iter();
    let mut value = serde_json::to_value(plan)?;
    for (index, gang) in plan.gangs.iter().enumerate() {
        let entry = &mut value["gangs"][index];
        for (place, member) in gang.members.iter().enumerate() {
            entry["members"][place]["host"] = host(view, member.node).into();
        }
        add_ended(entry, ended.next())?;
    }
    for (index, start) in plan.preemptions.iter().enumerate() {
        let entry = &mut value["preemptions"][index];
        entry["host"] = host(view, start.node).into();
        add_ended(entry, ended.next())?;
    }
    value["losses"] = serde_json::to_value(losses(&helped(plan, view, gangs), view))?;
    Ok(value)
}

fn add_ended(entry: &mut Value, ended: Option<Vec<GangId>>) -> Result<(), serde_json::Error> {
    if let Some(ended) = ended.filter(|ended| !ended.is_empty()) {
        entry["ended_gangs"] = serde_json::to_value(ended)?;
    }
    Ok(())
}

pub(super) fn host(view: &View<'_>, node: NodeId) -> String {
    view.node(node).map_or_else(|| node.to_string(), |node| node.name().to_owned())
}
