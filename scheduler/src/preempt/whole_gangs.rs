//! Gangs that have started as victims as a whole, when no other victims help.
//!
//! Fewer members than its minimum are of no use to a gang. So they are not taken one by one: either all of its
//! containers end in one commit, or none. The beneficiary starts on one of their nodes, and later beneficiaries of the
//! plan find the rest of the room. A gang may have more than a round takes, but no more than its leaf owes.

use smallvec::SmallVec;

use super::candidates::Candidate;
use super::planned_nodes::{PlannedNode, PlannedNodes};
use super::planned_use::PlannedUse;
use super::suitable_nodes::{SuitableNodes, meets_rule};
use super::victims::{Choice, Wanted};
use crate::facts::{Facts, Shape, StartedGang};
use crate::resource::{Resources, fits};

/// The gangs that may end for one container.
pub(super) struct WholeGangs<'a> {
    facts: &'a Facts,
    planned_use: &'a PlannedUse<'a>,
    sites: &'a PlannedNodes,
    wanted: &'a Wanted<'a>,
}

impl<'a> WholeGangs<'a> {
    pub(super) fn new(
        planned_use: &'a PlannedUse<'a>,
        sites: &'a PlannedNodes,
        wanted: &'a Wanted<'a>,
    ) -> Self {
        Self { facts: planned_use.facts, planned_use, sites, wanted }
    }

    /// The gang with the least loss, and the node on which the container starts.
    pub(super) fn best(&self, shape: &Shape, suitable: &SuitableNodes) -> Option<(usize, Choice)> {
        if self.wanted.within.is_some() {
            return None;
        }
        let gangs = self.facts.disruption.started_gangs();
        let may_lose_some = |gang: &StartedGang| {
            let leaf = |id| self.facts.applications.at(self.facts.containers.at(id).application).leaf;
            gang.members().next().is_some_and(|id| self.planned_use.may_lose_more(leaf(id), self.wanted.part))
        };
        let gangs = gangs.filter(|(_, gang)| may_lose_some(gang));
        let members = gangs.filter_map(|(_, gang)| self.members(gang)).filter(|all| self.may_lose(all));
        let choices = members.flat_map(|all| {
            let mut sites: Vec<usize> = all.iter().filter_map(|member| self.site_of(member)).collect();
            sites.sort_unstable();
            sites.dedup();
            let sites = sites.into_iter().filter(|site| suitable.includes(*site));
            sites.filter_map(|site| Some((site, self.on_node(shape, site, &all)?))).collect::<Vec<_>>()
        });
        choices.min_by_key(|(_, choice)| choice.loss)
    }

    /// All members that are not being stopped; `None` if some of them may not be taken.
    fn members(&self, gang: &StartedGang) -> Option<SmallVec<[Candidate; 4]>> {
        let facts = self.facts;
        let running = gang.members().filter(|id| !facts.stopping.contains_key(id));
        let candidate = |id| {
            let site = &self.sites.all[self.sites.of_node(facts.containers.at(id).node)?];
            site.candidates.iter().find(|candidate| candidate.container == id).copied()
        };
        running.map(candidate).collect()
    }

    fn site_of(&self, member: &Candidate) -> Option<usize> {
        self.sites.of_node(self.facts.containers.at(member.container).node)
    }

    /// Whether the leaf and the budgets admit the loss.
    fn may_lose(&self, members: &[Candidate]) -> bool {
        let Some(leaf) = members.first().map(|member| member.leaf) else { return false };
        leaf != self.wanted.leaf
            && self.wanted.is_in_scope(self.facts, leaf)
            && {
                let size = self.size_of(members);
                let needed = &self.wanted.need.resources;
                self.planned_use.may_lose_all(leaf, &size, needed, self.wanted.part)
                    && self.planned_use.parents_stay(leaf, &size, self.wanted.leaf, &[])
            }
            && self.planned_use.budgets.may_take_all(self.facts, members)
    }

    fn size_of(&self, members: &[Candidate]) -> Resources {
        members.iter().map(|member| self.facts.shapes.at(member.shape).need.resources).sum()
    }

    /// The loss of the gang, if the container fits on the node then.
    fn on_node(&self, shape: &Shape, site: usize, members: &[Candidate]) -> Option<Choice> {
        let node: &PlannedNode = &self.sites.all[site];
        let mut room = node.room;
        let is_here = |member: &&Candidate| self.site_of(member) == Some(site);
        let here: SmallVec<[Candidate; 4]> = members.iter().filter(is_here).copied().collect();
        for member in &here {
            room.give(&self.facts.shapes.at(member.shape).need, member.devices);
        }
        let freed = self.size_of(members);
        let is_enough = fits(self.wanted.need, &room) && self.wanted.shortage.amount.within(&freed);
        let choice = self.wanted.choice(self.facts, node, &freed, members.into());
        let of_node = Choice { victims: here, ..choice.clone() };
        (is_enough && meets_rule(shape, self.planned_use, &of_node, node.node)).then_some(choice)
    }
}
