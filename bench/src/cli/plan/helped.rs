//! What a plan starts for an ask or a gang, and which containers end for it on which hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use apportion::preempt::{GangPreemption, Preemption, PreemptionPlan, PreemptionRule, Victim};
use apportion::view::View;
use apportion::{AskId, GangId, NodeId};

use super::named::{Gangs, host};
use crate::report::{count_text, counted};

/// The starts of one ask by one rule, or the start of a gang.
#[derive(Debug)]
pub(in crate::cli) struct Helped<'p> {
    pub(in crate::cli) beneficiary: Beneficiary,
    pub(super) queue: &'p str,
    pub(super) rule: PreemptionRule,
    /// The number of containers that start.
    containers: usize,
    /// The number of hosts on which they start.
    hosts: usize,
    places: Vec<Place<'p>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cli) enum Beneficiary {
    Ask(AskId),
    Gang(GangId),
}

/// A host, and the containers that end for one start there, or for all of a gang.
#[derive(Debug)]
struct Place<'p> {
    host: String,
    victims: Vec<&'p Victim>,
    /// The gangs that end as a whole then.
    ended: Vec<GangId>,
}

/// All starts of the plan in its order: gangs, and then asks. The starts of an ask by one rule are together.
pub(in crate::cli) fn helped<'p>(
    plan: &'p PreemptionPlan,
    view: &View<'_>,
    gangs: &Gangs,
) -> Vec<Helped<'p>> {
    let mut ended = gangs.ended(view, plan).into_iter();
    let mut all: Vec<Helped<'p>> = Vec::new();
    for gang in &plan.gangs {
        all.push(Helped::of_gang(gang, view, ended.next().unwrap_or_default()));
    }
    let mut places: BTreeMap<(AskId, PreemptionRule), (usize, BTreeSet<NodeId>)> = BTreeMap::new();
    for start in &plan.preemptions {
        let (place, nodes) = places.entry((start.ask, start.rule)).or_insert_with(|| {
            all.push(Helped::of_ask(start));
            (all.len() - 1, BTreeSet::new())
        });
        nodes.insert(start.node);
        let helped = &mut all[*place];
        helped.containers += 1;
        helped.hosts = nodes.len();
        helped.places.push(Place {
            host: host(view, start.node),
            victims: start.victims.iter().collect(),
            ended: ended.next().unwrap_or_default(),
        });
    }
    all
}

impl<'p> Helped<'p> {
    fn of_ask(start: &'p Preemption) -> Self {
        Self {
            beneficiary: Beneficiary::Ask(start.ask),
            queue: &start.queue,
            rule: start.rule,
            containers: 0,
            hosts: 0,
            places: Vec::new(),
        }
    }

    fn of_gang(gang: &'p GangPreemption, view: &View<'_>, ended: Vec<GangId>) -> Self {
        let mut by_node: BTreeMap<Option<NodeId>, Vec<&Victim>> = BTreeMap::new();
        for victim in &gang.victims {
            let node = view.container(victim.container).map(|container| container.node);
            by_node.entry(node).or_default().push(victim);
        }
        let place = |(node, victims): (Option<NodeId>, Vec<&'p Victim>)| Place {
            host: node.map_or_else(|| "an unknown host".to_owned(), |node| host(view, node)),
            victims,
            ended: Vec::new(),
        };
        let mut places: Vec<Place<'p>> = by_node.into_iter().map(place).collect();
        if let Some(last) = places.last_mut() {
            last.ended = ended;
        }
        let nodes: BTreeSet<NodeId> = gang.members.iter().map(|member| member.node).collect();
        Self {
            beneficiary: Beneficiary::Gang(gang.gang),
            queue: &gang.queue,
            rule: gang.rule,
            containers: gang.members.len(),
            hosts: nodes.len(),
            places,
        }
    }

    pub(super) fn victims(&self) -> impl Iterator<Item = &'p Victim> {
        self.places.iter().flat_map(|place| &place.victims).copied()
    }

    /// The number of lines about places, if all of them are named.
    pub(super) fn places(&self) -> usize {
        self.places.len()
    }

    /// `ask-3 of root.a on n0, because root.a is below its guarantee: container-7 of root.b (1 GiB)`, or, with several
    /// places, a line for each of them below the first. At most `places_max` places and `victims_max` victims of each
    /// are named. The hint says how to see the others.
    pub(in crate::cli) fn text(&self, places_max: usize, victims_max: usize, hint: &str) -> String {
        let Self { queue, rule, .. } = self;
        let because = because(*rule, queue);
        let containers = counted(self.containers as u64, "container");
        let who = match self.beneficiary {
            Beneficiary::Ask(ask) => format!("{ask} of {queue}"),
            Beneficiary::Gang(gang) => format!("{containers} of {gang} of {queue}"),
        };
        if let ([place], 1) = (self.places.as_slice(), self.hosts) {
            return format!("{who} on {}, because {because}: {}", place.host, place.text(victims_max, hint));
        }
        let hosts = counted(self.hosts as u64, "host");
        let mut text = match self.beneficiary {
            Beneficiary::Ask(_) => format!("{who}, because {because}: {containers} on {hosts}"),
            Beneficiary::Gang(_) => format!("{who} on {hosts}, because {because}:"),
        };
        for place in self.places.iter().take(places_max) {
            _ = write!(text, "\n  on {}: {}", place.host, place.text(victims_max, hint));
        }
        let left_out = self.places.len().saturating_sub(places_max) as u64;
        if left_out > 0 {
            let places = match self.beneficiary {
                Beneficiary::Ask(_) => counted(left_out, "more container"),
                Beneficiary::Gang(_) => counted(left_out, "more host"),
            };
            _ = write!(text, "\n  ... and {places}{hint}");
        }
        text
    }
}

impl Place<'_> {
    fn text(&self, victims_max: usize, hint: &str) -> String {
        let shown = self.victims.iter().take(victims_max).map(ToString::to_string);
        let mut text = shown.collect::<Vec<_>>().join(", ");
        let left_out = self.victims.len().saturating_sub(victims_max) as u64;
        if left_out > 0 {
            _ = write!(text, ", ... and {} more{hint}", count_text(left_out));
        }
        self.ended.iter().fold(text, |text, gang| format!("{text}; with them all of {gang} ends"))
    }
}

/// Why the beneficiary in `queue` may have the room: the clause behind `because`, in a sentence about the beneficiary
/// or about a victim.
pub(in crate::cli) fn because(rule: PreemptionRule, queue: &str) -> String {
    match rule {
        PreemptionRule::Guarantee => format!("{queue} is below its guarantee"),
        PreemptionRule::Balance => {
            format!("{queue} has a smaller share of what is left beyond the guarantees")
        }
        PreemptionRule::ApplicationPriority => "the asking application has a higher priority".to_owned(),
        PreemptionRule::UserLimit => "the asking user is within the user limit".to_owned(),
        _ => "of a rule that this program does not know".to_owned(),
    }
}
