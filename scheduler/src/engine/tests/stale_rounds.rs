//! Rounds of preemption whose victims got another standing between the plan and its commit.

use super::hand::Hand;
use super::rounds::owed;
use crate::facts::{DisruptionBudget, DisruptionLimit, PreemptionCost};
use crate::ids::ContainerId;

impl Hand {
    fn running(&self) -> Vec<ContainerId> {
        self.engine.read(|view| view.containers().map(|(id, _)| id).collect())
    }

    /// The round that is wanted comes to the committer behind all other messages.
    fn make_round(&mut self) {
        let batch = self.parts.proposers[0].propose().expect("a round is wanted");
        self.parts.proposers[0].send(batch).expect("the committer lives");
    }
}

#[test]
fn a_stale_round_takes_no_container_that_costs_never() {
    let (mut hand, _) = owed();
    let running = hand.running();
    // On their way, but not seen by the round.
    hand.engine.handle().set_preemption_costs(running.iter().map(|id| (*id, PreemptionCost::Never))).unwrap();
    hand.make_round();
    hand.expect_preempted(0);
    assert_eq!(hand.running(), running);
}

/// A container ends by itself between the plan and its commit, so only one more may.
#[test]
fn a_stale_round_leaves_every_budget_met() {
    let (mut hand, _) = owed();
    let running = hand.running();
    let loser = hand.engine.read(|view| view.container(running[0]).unwrap().application);
    let budget = DisruptionBudget::new(4, DisruptionLimit::MaxUnavailable(2));
    hand.engine.handle().set_disruption_budgets(loser, vec![budget]).unwrap();
    hand.commit();
    let plan = hand.engine.preemption_plan(&Default::default());
    let victims: Vec<_> =
        plan.preemptions.iter().flat_map(|one| &one.victims).map(|one| one.container).collect();
    let other = running.iter().find(|id| !victims.contains(id)).unwrap();
    hand.engine.handle().stop_container(*other).unwrap();
    hand.make_round();
    hand.expect_preempted(1);
}
