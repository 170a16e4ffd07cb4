//! A plan as text: how much queues lose to each other, then the asks that are helped, and then those that are not.

use std::collections::BTreeMap;

use apportion::preempt::{PreemptionPlan, Unhelped, UnhelpedReason};
use apportion::view::View;

use super::helped::{Helped, helped};
use super::losses::losses;
use super::named::Gangs;
use crate::report::{count_text, counted};

const HINT: &str = "; --limit 0 shows all";

/// Names at most `limit` of each kind. The kinds are pairs of queues, helped asks, their containers in all, the
/// victims of one container, and queues and asks that are not helped. Each ask has at least one container named.
pub(in crate::cli) fn text(plan: &PreemptionPlan, view: &View<'_>, gangs: &Gangs, limit: usize) -> String {
    let all = helped(plan, view, gangs);
    let mut summary = vec![head(plan)];
    summary.extend(limited(losses(&all, view).iter(), limit, ["loss", "losses"], ToString::to_string));
    let each = places_of_each(&all, limit);
    let asks = limited(all.iter(), limit, ["ask", "asks"], |one| one.text(each, limit, HINT));
    let mut unhelped =
        limited(by_reason(plan).iter(), limit, ["line", "lines"], |group| group_text(group, limit));
    unhelped.extend(plan.unknown_exempt.iter().map(ToString::to_string));
    let blocks = [summary, asks, unhelped].into_iter().filter(|block| !block.is_empty());
    blocks.map(|block| block.join("\n")).collect::<Vec<_>>().join("\n\n")
}

/// The most places that each ask may name, so that all asks shown name at most `limit` of them, but at least one each.
fn places_of_each(all: &[Helped<'_>], limit: usize) -> usize {
    let shown = &all[..all.len().min(limit)];
    let named = |each: usize| shown.iter().map(|one| one.places().min(each)).sum::<usize>();
    if named(usize::MAX) <= limit {
        return usize::MAX;
    }
    (1..).take_while(|each| named(*each) <= limit).last().unwrap_or(1)
}

/// The first sentence of the plan: how many containers start and end.
fn head(plan: &PreemptionPlan) -> String {
    plan.to_string().lines().next().unwrap_or_default().to_owned()
}

/// The lines up to the limit, and how many others there are.
pub(in crate::cli) fn limited<T>(
    all: impl ExactSizeIterator<Item = T>,
    limit: usize,
    [one, several]: [&str; 2],
    text: impl FnMut(T) -> String,
) -> Vec<String> {
    let left_out = all.len().saturating_sub(limit);
    let mut lines: Vec<String> = all.take(limit).map(text).collect();
    if left_out > 0 {
        let noun = if left_out == 1 { one } else { several };
        lines.push(format!("... and {} more {noun}{HINT}", count_text(left_out as u64)));
    }
    lines
}

/// The asks of each queue that get nothing for the same reason, in the order of the plan.
fn by_reason(plan: &PreemptionPlan) -> Vec<Vec<&Unhelped>> {
    let mut places: BTreeMap<(&str, UnhelpedReason), usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&Unhelped>> = Vec::new();
    for unhelped in &plan.unhelped {
        let place = *places.entry((&unhelped.queue, unhelped.reason)).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(unhelped);
    }
    groups
}

/// `2 asks of root.a: nothing for 3 containers. This round takes no more of what it lacks.`, and below it the asks.
fn group_text(group: &[&Unhelped], limit: usize) -> String {
    let (queue, reason) = match group {
        [] => return String::new(),
        [one] => return one.to_string(),
        [first, ..] => (&first.queue, first.reason),
    };
    let units = group.iter().map(|one| u64::from(one.units)).sum();
    let (asks, units) = (counted(group.len() as u64, "ask"), counted(units, "container"));
    let mut each: Vec<String> = group
        .iter()
        .take(limit)
        .map(|one| format!("{} ({})", one.ask, counted(one.units.into(), "container")))
        .collect();
    if group.len() > limit {
        each.push(format!("... and {} more{HINT}", count_text((group.len() - limit) as u64)));
    }
    format!("{asks} of {queue}: nothing for {units}. {reason}\n  {}", each.join(", "))
}
