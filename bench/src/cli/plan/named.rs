//! A plan with the host names of its nodes, and the gangs that end as a whole.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use apportion::preempt::{PreemptionPlan, Victim};
use apportion::view::View;
use apportion::{ApplicationId, AskId, Change, ContainerId, GangId, NodeId};
use serde_json::Value;

use crate::cli::log_input::gang_of_first;

/// The gangs of a log, with their asks.
#[derive(Debug, Default)]
pub(in crate::cli) struct Gangs(BTreeMap<GangId, (ApplicationId, Vec<AskId>)>);

impl Gangs {
    pub(in crate::cli) fn record(&mut self, change: &Change) {
        let Change::GangSubmitted { asks, spec } = change else { return };
        if let Some(gang) = asks.first().and_then(|first| gang_of_first(*first)) {
            self.0.insert(gang, (spec.application, asks.clone()));
        }
    }

    /// For each start of the plan, gangs first, the gangs of which nothing is left after it.
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

/// The text of the plan, with host names in place of the numbers of nodes.
pub(in crate::cli) fn text(plan: &PreemptionPlan, view: &View<'_>, gangs: &Gangs) -> String {
    let mut ended = gangs.ended(view, plan).into_iter();
    let mut lines: HashMap<String, String> = HashMap::new();
    let with_ended = |line: &str, ended: Option<Vec<GangId>>| {
        let each = ended.unwrap_or_default();
        each.iter().fold(line.to_owned(), |line, gang| format!("{line}; with them all of {gang} ends"))
    };
    for gang in &plan.gangs {
        let line = gang.to_string();
        let named = with_ended(&line, ended.next());
        lines.insert(line, named);
    }
    for start in &plan.preemptions {
        let line = start.to_string();
        let head = |node: &str| format!("{} of {} on {node}", start.ask, start.queue);
        let named = match line.strip_prefix(&head(&start.node.to_string())) {
            Some(rest) => head(&host(view, start.node)) + rest,
            None => line.clone(),
        };
        let named = with_ended(&named, ended.next());
        lines.insert(line, named);
    }
    let text = plan.to_string();
    text.lines().map(|line| lines.get(line).map_or(line, String::as_str)).collect::<Vec<_>>().join("\n")
}

/// The plan as JSON, with a `host` for each node and the gangs that end.
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
