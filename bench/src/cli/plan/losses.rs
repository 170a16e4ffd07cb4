//! How much queues lose to each other, by rule.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use apportion::Resources;
use apportion::preempt::PreemptionRule;
use apportion::resource::Amounts;
use apportion::view::View;
use serde::Serialize;

use super::helped::{Beneficiary, Helped, because};
use crate::report::counted;

/// What one queue loses to another by one rule.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Loss {
    /// The queue that loses containers.
    queue: String,
    /// The queue of the asks that get the room.
    to: String,
    rule: PreemptionRule,
    size: Amounts,
    containers: usize,
    /// The number of asks that get the room, without those of gangs.
    asks: usize,
    /// The number of gangs that get the room.
    gangs: usize,
}

#[derive(Default)]
struct Sum {
    size: Resources,
    containers: usize,
    beneficiaries: BTreeSet<Beneficiary>,
}

/// All losses, the one of the most containers first.
pub(super) fn losses(all: &[Helped<'_>], view: &View<'_>) -> Vec<Loss> {
    let types = view.resource_types();
    let mut sums: BTreeMap<(&str, &str, PreemptionRule), Sum> = BTreeMap::new();
    for helped in all {
        for victim in helped.victims() {
            let key = (victim.queue.as_str(), helped.queue, helped.rule);
            let sum = sums.entry(key).or_default();
            // The plan names only types of the view.
            sum.size += types.resources(&victim.size.iter().collect::<Vec<_>>()).unwrap_or_default();
            sum.containers += 1;
            sum.beneficiaries.insert(helped.beneficiary);
        }
    }
    let loss = |((queue, to, rule), sum): ((&str, &str, PreemptionRule), Sum)| Loss {
        queue: queue.to_owned(),
        to: to.to_owned(),
        rule,
        size: types.amounts(&sum.size),
        containers: sum.containers,
        asks: sum.beneficiaries.iter().filter(|one| matches!(one, Beneficiary::Ask(_))).count(),
        gangs: sum.beneficiaries.iter().filter(|one| matches!(one, Beneficiary::Gang(_))).count(),
    };
    let mut losses: Vec<Loss> = sums.into_iter().map(loss).collect();
    losses.sort_by_key(|loss| Reverse(loss.containers));
    losses
}

/// `root.b loses 3 containers (3 GiB) to 2 asks of root.a, because root.a is below its guarantee`.
impl Display for Loss {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { queue, to, rule, size, containers, asks, gangs } = self;
        let containers = counted(*containers as u64, "container");
        let named = [(*asks, "ask"), (*gangs, "gang")].into_iter().filter(|(count, _)| *count > 0);
        let named: Vec<String> = named.map(|(count, noun)| counted(count as u64, noun)).collect();
        let asks = named.join(" and ");
        let because = because(*rule, to);
        match queue == to {
            true => write!(f, "Within {queue}, {containers} ({size}) end for {asks}, because {because}"),
            false => write!(f, "{queue} loses {containers} ({size}) to {asks} of {to}, because {because}"),
        }
    }
}
