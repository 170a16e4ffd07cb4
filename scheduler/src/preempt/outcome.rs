//! The outcome for a unit in the plan: its preemption, or the reason why there is none.

use super::amounts::debt;
use super::beneficiaries::Due;
use super::candidates::Candidate;
use super::planned_use::Part;
use super::planner::{PlannedPlace, Planner};
use super::{Preemption, PreemptionRule, UnhelpedReason, Victim};
use crate::ids::QueueId;
use crate::resource::Resources;

impl Planner<'_> {
    /// Why a container of this size finds no victims.
    pub(super) fn reason_without_victims(&self, size: &Resources, part: Part) -> UnhelpedReason {
        let has = |amount: &Resources| size.types().any(|index| size[index] > 0 && amount[index] > 0);
        let leaves = || self.branches.iter().filter(|branch| branch.is_leaf());
        if self.planned_use.may_take_some(size, part) {
            UnhelpedReason::NoVictims
        } else if self.takings.iter().any(|takings| has(&takings.of_round)) {
            UnhelpedReason::RoundSpent
        } else if leaves().any(|branch| !branch.is_exempt && has(&debt(branch))) {
            UnhelpedReason::DeadZone
        } else if leaves().any(|branch| has(&branch.untouchable)) {
            UnhelpedReason::Exempt
        } else {
            UnhelpedReason::NothingToTake
        }
    }

    /// Whether the leaf is owed this much. Otherwise says why it gets nothing; no reason is given if it is owed
    /// nothing that helps. `too_little` is the reason if it is owed less than this.
    pub(super) fn check_owed(
        &self,
        leaf: QueueId,
        size: &Resources,
        too_little: UnhelpedReason,
    ) -> Result<(), Option<UnhelpedReason>> {
        let (branch, used) = (&self.branches[leaf.index()], self.planned_use.queue(leaf).without_losses);
        if used.can_grow(size, &branch.ideal) {
            return Ok(());
        }
        let is_owed = size.types().all(|index| size[index] <= 0 || branch.kept()[index] > used[index]);
        Err(match used.can_grow(size, &branch.kept()) {
            _ if !is_owed => None,
            true => Some(self.reason_without_victims(size, Part::OfRound)),
            false => Some(too_little),
        })
    }

    /// The rule by which the leaf may have this much more.
    pub(super) fn rule(&self, leaf: QueueId, size: &Resources) -> PreemptionRule {
        let guaranteed = &self.branches[leaf.index()].guaranteed;
        match self.planned_use.queue(leaf).without_losses.can_grow(size, guaranteed) {
            true => PreemptionRule::Guarantee,
            false => PreemptionRule::Balance,
        }
    }

    /// The units of the ask that the leaf is still owed.
    pub(super) fn owed_units(&self, leaf: QueueId, due: &Due) -> u32 {
        let (size, queue_use) = (self.size(due), self.planned_use.queue(leaf));
        let owed = self.branches[leaf.index()].kept().saturating_sub(&queue_use.without_losses);
        let units = size.types().filter(|index| size[*index] > 0).map(|index| owed[index] / size[index]);
        u32::try_from(units.min().unwrap_or(0)).unwrap_or(u32::MAX)
    }

    pub(super) fn size(&self, due: &Due) -> Resources {
        let facts = &self.state.facts;
        facts.shapes.at(facts.asks.at(due.ask).shape).need.resources
    }

    /// The preemption of a unit that was placed.
    pub(super) fn preemption(
        &self,
        leaf: QueueId,
        due: &Due,
        place: &PlannedPlace,
        rule: PreemptionRule,
    ) -> Preemption {
        Preemption {
            ask: due.ask,
            application: due.application,
            queue: self.path(leaf),
            node: self.sites.all[place.site].node,
            reservation: place.reservation,
            victims: place.choice.victims.iter().map(|victim| self.victim(victim)).collect(),
            rule,
        }
    }

    pub(super) fn victim(&self, victim: &Candidate) -> Victim {
        let facts = &self.state.facts;
        Victim {
            container: victim.container,
            application: victim.application,
            queue: self.path(victim.leaf),
            size: facts.config.resources.amounts(&facts.shapes.at(victim.shape).need.resources),
        }
    }

    /// The path of a leaf.
    pub(super) fn path(&self, leaf: QueueId) -> String {
        self.state.facts.queue(leaf).path.to_string()
    }
}
