//! The disruption budgets and the minima of gangs as the plan would leave them.

use rustc_hash::FxHashMap;

use super::candidates::Candidate;
use crate::facts::{DisruptionGroup, Facts};
use crate::ids::ContainerId;

/// How many containers of a group may still be taken.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// The available containers above the number that has to stay available, without the victims of the plan.
    spare: u32,
    /// Those of them that are announced. They may end at any time, so no others are taken in their place.
    announced: u32,
}

/// The groups in which some containers have to keep running. It counts the victims of all partitions.
#[derive(Clone, Debug, Default)]
pub(super) struct PlannedBudgets {
    left: FxHashMap<DisruptionGroup, Left>,
}

impl PlannedBudgets {
    pub(super) fn new(facts: &Facts) -> Self {
        let left = |group| {
            let is_announced = |id: &ContainerId| facts.notices.contains_key(id);
            let announced = facts.available_in(group).into_iter().filter(is_announced).count() as u32;
            Left { spare: facts.spare_in(group), announced }
        };
        Self { left: facts.disruption.groups().map(|group| (group, left(group))).collect() }
    }

    /// Whether no container has to keep running.
    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Whether the candidate may be taken after the `taken` ones.
    #[inline]
    pub(super) fn may_take(&self, facts: &Facts, candidate: &Candidate, taken: &[Candidate]) -> bool {
        self.is_empty() || self.has_spare(facts, candidate, taken)
    }

    #[cold]
    fn has_spare(&self, facts: &Facts, candidate: &Candidate, taken: &[Candidate]) -> bool {
        let is_announced = |of: &Candidate| facts.notices.contains_key(&of.container);
        facts.groups_of(candidate.container).into_iter().all(|group| {
            let Some(left) = self.left.get(&group) else { return true };
            let of_group = || taken.iter().filter(|one| facts.groups_of(one.container).contains(&group));
            let is_for_others = |announced: u32| if is_announced(candidate) { 0 } else { announced };
            let announced =
                left.announced.saturating_sub(of_group().filter(|one| is_announced(one)).count() as u32);
            left.spare > of_group().count() as u32 + is_for_others(announced)
        })
    }

    /// Whether all of these members of one gang may be taken together, as far as budgets are concerned.
    pub(super) fn may_take_all(&self, facts: &Facts, members: &[Candidate]) -> bool {
        let mut lost: FxHashMap<DisruptionGroup, (u32, u32)> = FxHashMap::default();
        for member in members {
            let is_announced = facts.notices.contains_key(&member.container);
            for group in facts.groups_of(member.container) {
                let (all, announced) = lost.entry(group).or_default();
                *all += 1;
                *announced += u32::from(is_announced);
            }
        }
        lost.iter().all(|(group, (all, announced))| match (group, self.left.get(group)) {
            (DisruptionGroup::Budget(..), Some(left)) => {
                left.spare >= all + left.announced.saturating_sub(*announced)
            }
            _ => true,
        })
    }

    /// Counts a victim.
    pub(super) fn take(&mut self, facts: &Facts, victim: &Candidate) {
        if self.is_empty() {
            return;
        }
        let is_announced = facts.notices.contains_key(&victim.container);
        for group in facts.groups_of(victim.container) {
            if let Some(left) = self.left.get_mut(&group) {
                left.spare = left.spare.saturating_sub(1);
                left.announced = left.announced.saturating_sub(is_announced.into());
            }
        }
    }
}
