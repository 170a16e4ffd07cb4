//! Preemption for gangs that wait: room for the whole minimum, or nothing.
//!
//! Gangs come before single containers, in the order in which they are tried. A part of what a gang needs is of no
//! use. So a round may take for it all that leaves owe: neither the part for natural termination nor the most of a
//! round holds it back. The plan tries one member after another as if they were single containers, and takes
//! everything back if one of them finds no room.
//!
//! # What is not there
//!
//! * A gang with roles in several partitions is not helped.
//! * A gang that could be packed only by another order of its roles is not helped.

use smallvec::SmallVec;

use super::candidates::Candidate;
use super::planner::Planner;
use super::victims::Wanted;
use super::{GangPreemption, PlannedMember, PreemptionPlan, PreemptionRule, Unhelped, UnhelpedReason};
use crate::facts::{GangTopology, HeldRole, WaitingGang};
use crate::ids::{GangId, QueueId, RackId};
use crate::resource::Resources;

/// What a trial places, and whose room it uses.
#[derive(Default)]
struct Trial {
    members: Vec<PlannedMember>,
    victims: Vec<Candidate>,
}

impl Planner<'_> {
    /// Adds the preemptions for gangs of the partition, and the gangs that get nothing.
    pub(super) fn run_gangs(&mut self, plan: &mut PreemptionPlan) {
        let facts = &self.state.facts;
        for id in facts.gangs_in_order() {
            let gang = &facts.gangs[&id];
            let application = facts.applications.at(gang.application);
            if !application.is_active || facts.only_partition_of(gang) != Some(self.partition) {
                continue;
            }
            match self.serve_gang(id, application.leaf, gang) {
                Ok(preemption) if preemption.victims.is_empty() => {}
                Ok(preemption) => plan.gangs.push(preemption),
                Err(None) => {}
                Err(Some(reason)) => {
                    let Some(ask) = gang.roles.first().map(|role| role.ask) else { continue };
                    let units = u32::try_from(gang.minimum()).unwrap_or(u32::MAX);
                    plan.unhelped.push(Unhelped { ask, queue: self.path(application.leaf), units, reason });
                }
            }
        }
    }

    /// The preemption for the gang, or why there is none. No reason is given if its leaf is owed nothing.
    fn serve_gang(
        &mut self,
        id: GangId,
        leaf: QueueId,
        gang: &WaitingGang,
    ) -> Result<GangPreemption, Option<UnhelpedReason>> {
        let size = self.state.facts.minimum_of(gang, self.partition);
        self.check_owed(leaf, &size, UnhelpedReason::LessThanMinimum)?;
        let rule = self.rule(leaf, &size);
        let trial = self.try_places(leaf, gang, rule).map_err(Some)?;
        Ok(GangPreemption {
            gang: id,
            application: gang.application,
            queue: self.path(leaf),
            members: trial.members,
            victims: trial.victims.iter().map(|victim| self.victim(victim)).collect(),
            rule,
        })
    }

    /// Tries the racks in turn for a gang that has to be on one, and all nodes for others.
    fn try_places(
        &mut self,
        leaf: QueueId,
        gang: &WaitingGang,
        rule: PreemptionRule,
    ) -> Result<Trial, UnhelpedReason> {
        let racks: Vec<Option<RackId>> = match gang.topology {
            GangTopology::SameRack => self.state.facts.rack_ids().map(Some).collect(),
            _ => vec![None],
        };
        let mut reason = UnhelpedReason::NoNode;
        for rack in racks {
            let before = self.planned_use.clone();
            self.sites.begin_trial();
            self.planned_use.takes_all = true;
            let result = self.try_gang(leaf, gang, (rack, rule));
            self.planned_use.takes_all = false;
            self.sites.end_trial(result.is_ok());
            match result {
                Ok(trial) => return Ok(trial),
                Err(UnhelpedReason::NoNode) => {}
                Err(other) => reason = other,
            }
            self.planned_use = before;
            // Losses were computed for what the trial left, and may be smaller again.
            self.suitable_nodes.clear();
        }
        Err(reason)
    }

    /// Counts all members as started, one after another.
    fn try_gang(
        &mut self,
        leaf: QueueId,
        gang: &WaitingGang,
        place: (Option<RackId>, PreemptionRule),
    ) -> Result<Trial, UnhelpedReason> {
        let mut trial = Trial::default();
        self.give_back_held_room(gang);
        for role in &gang.roles {
            for _ in 0..role.minimum {
                let (member, victims) = self.try_member(leaf, gang, role, place)?;
                trial.members.push(member);
                trial.victims.extend(victims);
            }
        }
        Ok(trial)
    }

    /// The room that the gang holds is there for its members.
    fn give_back_held_room(&mut self, gang: &WaitingGang) {
        let facts = &self.state.facts;
        let id = gang.roles.first().and_then(|role| facts.gang_of(role.ask));
        for (partition, node, place) in id.into_iter().flat_map(|id| facts.places_of(id)) {
            if partition != self.partition {
                continue;
            }
            self.planned_use.charge(gang.application, &(Resources::ZERO - place.amount));
            if let Some(site) = self.sites.of_node(node) {
                let site = self.sites.change(site);
                facts.give(&mut site.room, place);
                facts.give(&mut site.later, place);
            }
        }
    }

    fn try_member(
        &mut self,
        leaf: QueueId,
        gang: &WaitingGang,
        role: &HeldRole,
        (rack, rule): (Option<RackId>, PreemptionRule),
    ) -> Result<(PlannedMember, SmallVec<[Candidate; 4]>), UnhelpedReason> {
        let facts = &self.state.facts;
        let ask = facts.asks.at(role.ask);
        let (application, shape) = (facts.applications.at(gang.application), facts.shapes.at(ask.shape));
        let shortage = self.planned_use.shortage(leaf, &shape.need.resources);
        if shortage.scope == Some(leaf) || !self.planned_use.user_admits(application, shape) {
            return Err(UnhelpedReason::Limit);
        }
        let wanted = Wanted { shortage, ..Wanted::between_leaves(leaf, &shape.need, rule) };
        let (site, choice) = self.on_open_node(&wanted, role.ask, (ask, shape), rack)?;
        self.start(shape, site, &choice.victims);
        let node = self.sites.all[site].node;
        self.planned_use.give(gang.application, shape, node, &shape.need.resources);
        Ok((PlannedMember { ask: role.ask, node }, choice.victims))
    }
}
