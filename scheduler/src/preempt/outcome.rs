//! What the plan says about a unit: its taking, or why there is none.

use super::amounts::owed;
use super::beneficiaries::Due;
use super::planner::Planner;
use super::sites::Candidate;
use super::victims::Choice;
use super::{PreemptionRule, Taking, UnhelpedReason, Victim};
use crate::ids::{QueueId, ReservationId};
use crate::resource::Resources;

impl Planner<'_> {
    /// Why a container of this size finds no victims.
    pub(super) fn reason_without_victims(&self, size: &Resources) -> UnhelpedReason {
        let has = |amount: &Resources| size.types().any(|index| size[index] > 0 && amount[index] > 0);
        let leaves = || self.branches.iter().filter(|branch| branch.is_leaf());
        let books = (0..self.branches.len() as u32).map(|index| self.books.queue(QueueId(index)));
        if books.into_iter().any(|book| has(&book.to_take)) {
            UnhelpedReason::NoVictims
        } else if self.to_take.iter().any(has) {
            UnhelpedReason::RoundSpent
        } else if leaves().any(|branch| !branch.is_exempt && has(&owed(branch))) {
            UnhelpedReason::DeadZone
        } else if leaves().any(|branch| branch.is_exempt && has(&branch.above_guarantee())) {
            UnhelpedReason::Exempt
        } else {
            UnhelpedReason::NothingToTake
        }
    }

    /// The rule by which the leaf may have one more unit of the ask.
    pub(super) fn rule(&self, leaf: QueueId, due: &Due) -> PreemptionRule {
        let guaranteed = &self.branches[leaf.index()].guaranteed;
        match self.books.queue(leaf).claimed.can_grow(&self.size(due), guaranteed) {
            true => PreemptionRule::Guarantee,
            false => PreemptionRule::Balance,
        }
    }

    /// The units of the ask that the leaf is still owed.
    pub(super) fn owed_units(&self, leaf: QueueId, due: &Due) -> u32 {
        let (size, book) = (self.size(due), self.books.queue(leaf));
        let owed = self.branches[leaf.index()].kept().saturating_sub(&book.claimed);
        let units = size.types().filter(|index| size[*index] > 0).map(|index| owed[index] / size[index]);
        u32::try_from(units.min().unwrap_or(0)).unwrap_or(u32::MAX)
    }

    pub(super) fn size(&self, due: &Due) -> Resources {
        let facts = &self.state.facts;
        facts.shapes.at(facts.asks.at(due.ask).shape).need.resources
    }

    /// The taking of a unit that was placed.
    pub(super) fn taking(
        &self,
        leaf: QueueId,
        due: &Due,
        (site, choice, reservation): (usize, &Choice, Option<ReservationId>),
        rule: PreemptionRule,
    ) -> Taking {
        let facts = &self.state.facts;
        let victim = |victim: &Candidate| Victim {
            container: victim.container,
            application: victim.application,
            queue: self.path(victim.leaf),
            size: facts.config.resources.amounts(&facts.shapes.at(victim.shape).need.resources),
        };
        Taking {
            ask: due.ask,
            application: due.application,
            queue: self.path(leaf),
            node: self.sites.all[site].node,
            reservation,
            victims: choice.victims.iter().map(victim).collect(),
            rule,
        }
    }

    /// The path of a leaf.
    pub(super) fn path(&self, leaf: QueueId) -> String {
        self.state.facts.queue(leaf).path.to_string()
    }
}
