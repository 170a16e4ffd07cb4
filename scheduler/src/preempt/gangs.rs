//! Preemption for gangs that wait: room for the whole minimum, or nothing.
//!
//! Gangs come before single containers, in the order in which they are tried. A part of what a gang needs is of no
//! use. So a round may take for it all that leaves owe. Neither the part for natural termination nor the most of a
//! round holds it back. The plan tries one member after another as if they were single containers, in all partitions
//! of the gang. It takes everything back if one of them finds no room.
//!
//! # What is not there
//!
//! * A gang that could be packed only by another order of its roles is not helped.

use smallvec::SmallVec;

use super::candidates::Candidate;
use super::planned_use::Part;
use super::planner::Planner;
use super::victims::Wanted;
use super::{GangPreemption, PlannedMember, PreemptionPlan, PreemptionRule, Unhelped, UnhelpedReason};
use crate::facts::{GangTopology, HeldRole, WaitingGang};
use crate::ids::{GangId, PartitionId, QueueId, RackId};
use crate::resource::Resources;
use crate::state::State;

/// A partition of the gang, and why its leaf may have the room of others there.
#[derive(Clone, Copy)]
struct PartitionRule {
    partition: PartitionId,
    /// Without one it gets free room only.
    rule: Option<PreemptionRule>,
}

/// The members that a trial places, and their victims.
#[derive(Default)]
struct Trial {
    members: Vec<PlannedMember>,
    victims: Vec<Candidate>,
}

/// The plans of all partitions. One of them has the disruption budgets, which all share.
pub(super) struct Planners<'a> {
    pub(super) all: Vec<Planner<'a>>,
    with_budgets: usize,
}

impl<'a> Planners<'a> {
    /// The first plan has the budgets.
    pub(super) fn new(all: Vec<Planner<'a>>) -> Self {
        Self { all, with_budgets: 0 }
    }

    /// The plan of a partition, with the budgets.
    pub(super) fn of(&mut self, partition: PartitionId) -> &mut Planner<'a> {
        let budgets = std::mem::take(&mut self.all[self.with_budgets].planned_use.budgets);
        self.with_budgets = partition.index();
        let planner = &mut self.all[partition.index()];
        planner.planned_use.budgets = budgets;
        planner
    }

    /// Adds the preemptions for gangs, and the gangs that get nothing.
    pub(super) fn run_gangs(&mut self, state: &'a State, plan: &mut PreemptionPlan) {
        let facts = &state.facts;
        for id in facts.gangs_in_order() {
            let gang = &facts.gangs[&id];
            let application = facts.applications.at(gang.application);
            if !application.is_active {
                continue;
            }
            match self.serve(id, application.leaf, gang) {
                Ok(preemption) if preemption.victims.is_empty() => {}
                Ok(preemption) => plan.gangs.push(preemption),
                Err(None) => {}
                Err(Some(reason)) => {
                    let Some(ask) = gang.roles.first().map(|role| role.ask) else { continue };
                    let units = u32::try_from(gang.minimum()).unwrap_or(u32::MAX);
                    let queue = facts.queue(application.leaf).path.to_string();
                    plan.unhelped.push(Unhelped { ask, queue, units, reason });
                }
            }
        }
    }

    /// The preemption for the gang, or why there is none. No reason is given if its leaf is owed nothing.
    fn serve(
        &mut self,
        id: GangId,
        leaf: QueueId,
        gang: &WaitingGang,
    ) -> Result<GangPreemption, Option<UnhelpedReason>> {
        let facts = self.all[0].planned_use.facts;
        let (mut rules, mut not_owed) = (Vec::new(), None);
        for partition in facts.partitions_wanted(gang) {
            let (planner, size) = (&self.all[partition.index()], facts.minimum_of(gang, partition));
            let owed = planner.check_owed(leaf, &size, UnhelpedReason::LessThanMinimum);
            let rule = owed.is_ok().then(|| planner.rule(leaf, &size));
            rules.push(PartitionRule { partition, rule });
            not_owed = not_owed.or(owed.err());
        }
        if let Some(reason) = not_owed.filter(|_| rules.iter().all(|of| of.rule.is_none())) {
            return Err(reason);
        }
        let trial = self.try_places(leaf, gang, &rules).map_err(Some)?;
        let is_balance = rules.iter().any(|of| of.rule == Some(PreemptionRule::Balance));
        Ok(GangPreemption {
            gang: id,
            application: gang.application,
            queue: facts.queue(leaf).path.to_string(),
            members: trial.members,
            victims: trial.victims.iter().map(|victim| self.all[0].victim(victim)).collect(),
            rule: if is_balance { PreemptionRule::Balance } else { PreemptionRule::Guarantee },
        })
    }

    /// Tries the racks in turn for a gang that has to be on one, and all nodes for others.
    fn try_places(
        &mut self,
        leaf: QueueId,
        gang: &WaitingGang,
        rules: &[PartitionRule],
    ) -> Result<Trial, UnhelpedReason> {
        let facts = self.all[0].planned_use.facts;
        let racks: Vec<Option<RackId>> = match gang.topology {
            GangTopology::SameRack => facts.rack_ids().map(Some).collect(),
            _ => vec![None],
        };
        let mut reason = UnhelpedReason::NoNode;
        for rack in racks {
            match self.try_place(leaf, gang, rack, rules) {
                Ok(trial) => return Ok(trial),
                Err(UnhelpedReason::NoNode) => {}
                Err(other) => reason = other,
            }
        }
        Err(reason)
    }

    /// Counts all members as started, in one partition after another, or none.
    fn try_place(
        &mut self,
        leaf: QueueId,
        gang: &WaitingGang,
        rack: Option<RackId>,
        rules: &[PartitionRule],
    ) -> Result<Trial, UnhelpedReason> {
        let (mut trial, mut result, mut begun) = (Trial::default(), Ok(()), Vec::new());
        for &PartitionRule { partition, rule } in rules {
            let planner = self.of(partition);
            begun.push((partition, planner.planned_use.clone()));
            planner.sites.begin_trial();
            result = planner.try_gang(leaf, gang, rack, rule, &mut trial);
            if result.is_err() {
                break;
            }
        }
        // The first one had the budgets when the trial began.
        for (partition, before) in begun.into_iter().rev() {
            let planner = self.of(partition);
            if result.is_ok() {
                planner.sites.keep_trial();
            } else {
                planner.sites.undo_trial();
                planner.planned_use = before;
                // Losses were computed for what the trial left, and may be smaller again.
                planner.suitable_nodes.clear();
            }
        }
        result.map(|()| trial)
    }
}

impl Planner<'_> {
    /// Counts the members in this partition as started, one after another.
    fn try_gang(
        &mut self,
        leaf: QueueId,
        gang: &WaitingGang,
        rack: Option<RackId>,
        rule: Option<PreemptionRule>,
        trial: &mut Trial,
    ) -> Result<(), UnhelpedReason> {
        let facts = &self.state.facts;
        self.give_back_held_room(gang);
        let is_here =
            |role: &&HeldRole| facts.shapes.at(facts.asks.at(role.ask).shape).partition == self.partition;
        for role in gang.roles.iter().filter(is_here).collect::<Vec<_>>() {
            for _ in 0..role.minimum {
                let (member, victims) = self.try_member(leaf, gang, role, rack, rule)?;
                trial.members.push(member);
                trial.victims.extend(victims);
            }
        }
        Ok(())
    }

    /// Counts the room that the gang holds as free, because its members use it.
    fn give_back_held_room(&mut self, gang: &WaitingGang) {
        let facts = &self.state.facts;
        let id = gang.roles.first().and_then(|role| facts.gang_of(role.ask));
        for (partition, node, place) in id.into_iter().flat_map(|id| facts.places_of(id)) {
            if partition != self.partition {
                continue;
            }
            self.planned_use.charge(gang.application, &(Resources::ZERO - place.amount));
            if let Some(site) = self.sites.of_node(node) {
                let planned = self.sites.change(site);
                facts.give(&mut planned.room, place);
                facts.give(&mut planned.later, place);
            }
        }
    }

    fn try_member(
        &mut self,
        leaf: QueueId,
        gang: &WaitingGang,
        role: &HeldRole,
        rack: Option<RackId>,
        rule: Option<PreemptionRule>,
    ) -> Result<(PlannedMember, SmallVec<[Candidate; 4]>), UnhelpedReason> {
        let facts = &self.state.facts;
        let application = facts.applications.at(gang.application);
        let shape = facts.shapes.at(facts.asks.at(role.ask).shape);
        let shortage = self.planned_use.shortage(leaf, &shape.need.resources);
        if shortage.scope == Some(leaf) || !self.planned_use.user_admits(application, shape) {
            return Err(UnhelpedReason::Limit);
        }
        let of_rule = rule.unwrap_or(PreemptionRule::Guarantee);
        let wanted =
            Wanted { shortage, part: Part::All, ..Wanted::between_leaves(leaf, &shape.need, of_rule) };
        let (site, choice) = self.on_open_node(&wanted, role.ask, rack)?;
        if rule.is_none() && !choice.victims.is_empty() {
            return Err(UnhelpedReason::LessThanMinimum);
        }
        self.start(shape, site, &choice.victims);
        let node = self.sites.all[site].node;
        self.planned_use.give(gang.application, shape, node, &shape.need.resources);
        Ok((PlannedMember { ask: role.ask, node }, choice.victims))
    }
}
