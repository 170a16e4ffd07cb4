//! Plans as short sentences.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use super::{
    GangPreemption, Preemption, PreemptionPlan, PreemptionRule, QueueAmounts, Unhelped, UnknownQueue, Victim,
};
use crate::ids::NodeId;
use crate::label::counted;
use crate::nearest::hint;

/// Writes one line for each preemption and each ask that is not helped.
impl Display for PreemptionPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let of_gangs: usize = self.gangs.iter().map(|gang| gang.victims.len()).sum();
        let victims: usize = self.preemptions.iter().map(|preemption| preemption.victims.len()).sum();
        let members: usize = self.gangs.iter().map(|gang| gang.members.len()).sum();
        let (started, ended) = (containers(members + self.preemptions.len()), containers(of_gangs + victims));
        let asks = counted(self.unhelped.len() as u64, "ask");
        let less = match self.unhelped.len() {
            1 => "gets less than its queue is owed",
            _ => "get less than their queues are owed",
        };
        write!(f, "{started} would start in place of {ended}; {asks} {less}.")?;
        self.gangs.iter().try_for_each(|gang| write!(f, "\n{gang}"))?;
        self.preemptions.iter().try_for_each(|preemption| write!(f, "\n{preemption}"))?;
        self.unhelped.iter().try_for_each(|unhelped| write!(f, "\n{unhelped}"))?;
        self.unknown_exempt.iter().try_for_each(|unknown| write!(f, "\n{unknown}"))
    }
}

/// `The policy exempts root.prdo, but there is no such queue; did you mean `root.prod`?`
impl Display for UnknownQueue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { path, nearest } = self;
        write!(f, "The policy exempts {path}, but there is no such queue{}", hint(nearest.as_deref()))
    }
}

/// `root.b: 6 GiB used, 4 GiB pending, 5 GiB guaranteed, 5 GiB fair; 1 GiB to take`.
impl Display for QueueAmounts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { path, guaranteed, used, pending, ideal, to_take } = self;
        write!(f, "{path}: {used} used, {pending} pending, {guaranteed} guaranteed, {ideal} fair")?;
        if to_take.is_empty() { Ok(()) } else { write!(f, "; {to_take} to take") }
    }
}

/// `ask-3 of root.a on node-1, because root.a is below its guarantee: container-7 of root.b (1 GiB)`.
impl Display for Preemption {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { ask, queue, node, rule, victims, .. } = self;
        write!(f, "{ask} of {queue} on {node}, because ")?;
        write_victims(f, *rule, queue, victims)
    }
}

/// `8 containers of gang-3 of root.a on 2 nodes, because root.a is below its guarantee: container-7 of root.b (1 GiB)`.
impl Display for GangPreemption {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { gang, queue, members, rule, victims, .. } = self;
        let nodes: BTreeSet<NodeId> = members.iter().map(|member| member.node).collect();
        let (members, nodes) = (containers(members.len()), counted(nodes.len() as u64, "node"));
        write!(f, "{members} of {gang} of {queue} on {nodes}, because ")?;
        write_victims(f, *rule, queue, victims)
    }
}

fn write_victims(
    f: &mut Formatter<'_>,
    rule: PreemptionRule,
    queue: &str,
    victims: &[Victim],
) -> fmt::Result {
    match rule {
        PreemptionRule::Guarantee => write!(f, "{queue} is below its guarantee: "),
        PreemptionRule::Balance => {
            write!(f, "{queue} has a smaller share of what is left beyond the guarantees: ")
        }
        PreemptionRule::ApplicationPriority => f.write_str("its application has a higher priority: "),
        PreemptionRule::UserLimit => f.write_str("its user is within the user limit: "),
    }?;
    for (place, victim) in victims.iter().enumerate() {
        write!(f, "{}{victim}", if place > 0 { ", " } else { "" })?;
    }
    Ok(())
}

/// `container-7 of root.b (1 GiB)`.
impl Display for Victim {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { container, queue, size, .. } = self;
        write!(f, "{container} of {queue} ({size})")
    }
}

/// `ask-4 of root.a: nothing for 2 containers. Only exempt queues use more than their fair amount of what it lacks.`
impl Display for Unhelped {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { ask, queue, units, reason } = self;
        write!(f, "{ask} of {queue}: nothing for {}. {reason}", containers(*units as usize))
    }
}

fn containers(count: usize) -> String {
    counted(count as u64, "container")
}
