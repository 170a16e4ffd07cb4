//! Rounds of preemption between whose plan and commit the victims got another standing, or a gang's turn is overdue.

use super::hand::Hand;
use super::rounds::{owed, owed_between, preempting_between, preempting_by};
use super::{leaf, memory};
use crate::change::{ApplicationSpec, AskSpec, GangSpec};
use crate::clock::ManualClock;
use crate::config::{Capacity, Percent, QueueConfig, WithinQueuePolicy};
use crate::engine::gangs::search_for_gang;
use crate::facts::{DisruptionBudget, DisruptionLimit, PreemptionCost};
use crate::ids::{ContainerId, GangId};
use crate::propose::{ProposalBatch, Work};

/// A leaf that is guaranteed this percentage of its parent.
fn part(name: &str, percent: u32) -> QueueConfig {
    QueueConfig::leaf(name, Capacity::Percent(Percent::whole(percent))).with_user_limit_factor(None)
}

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

/// A container ends by itself between the plan and its commit, so only one more may. The guarantee of the loser's leaf,
/// a quarter, would let two more end.
#[test]
fn a_stale_round_leaves_every_budget_met() {
    let (mut hand, _) = owed_between([part("a", 25), part("b", 75)]);
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

/// The loser has no guarantee, but its parent has: half of the cluster. Other containers of the loser are stopped
/// between the plan and its commit, but have not ended. With one of them, only one victim may end; with three, the
/// parent is below its guarantee already, and none may.
#[test]
fn a_stale_round_takes_no_parent_below_its_guarantee() {
    for (stopped, preempted) in [(1, 1), (3, 0)] {
        let half = |children: Vec<QueueConfig>| leaf("p").with_children(children);
        let parent = half(vec![part("x", 0), part("y", 100)]);
        let (mut hand, clock) = preempting_between([parent, leaf("b")], 8);
        for (queue, count) in [("root.b", 2), ("root.p.x", 6), ("root.b", 2)] {
            let application = hand.application_in(queue);
            hand.ask(application, AskSpec::new(memory(1), count));
            hand.run_until_idle();
        }
        clock.set(1);
        hand.commit();
        let policy = hand.engine.shared.config.preemption.clone().unwrap().policy;
        let plan = hand.engine.preemption_plan(&policy);
        assert_eq!(plan.preemptions.len(), 2, "{plan}");
        let victims: Vec<_> = plan.preemptions.iter().flat_map(|one| &one.victims).collect();
        let loser = victims[0].application;
        let others: Vec<ContainerId> = hand.engine.read(|view| {
            let of_loser = view.containers().filter(|(_, one)| one.application == loser).map(|(id, _)| id);
            of_loser.filter(|id| victims.iter().all(|victim| victim.container != *id)).collect()
        });
        let batch = hand.parts.proposers[0].propose().expect("a round is wanted");
        for other in &others[..stopped] {
            hand.engine.handle().stop_container(*other).unwrap();
        }
        hand.parts.proposers[0].send(batch).expect("the committer lives");
        hand.expect_idle(8);
        assert_eq!(hand.engine.stats().preempted, preempted, "{stopped}");
    }
}

/// The round that is due, which plans one preemption.
fn round_of_one(hand: &mut Hand, clock: &ManualClock) -> Box<ProposalBatch> {
    clock.set(1);
    hand.commit();
    let batch = hand.parts.proposers[0].propose().expect("a round is wanted");
    let plan = hand.engine.last_preemption_plan().unwrap();
    assert_eq!(plan.preemptions.len(), 1, "{plan}");
    batch
}

/// Leaf `a` has the only node of three units, of which `b` is guaranteed two. An ask of `b` can only run there. Returns
/// the containers of `a` and the round that ends one of them.
fn one_victim() -> (Hand, Vec<ContainerId>, Box<ProposalBatch>) {
    let leaf = |name, amount| {
        let capacity = Capacity::Absolute(memory(amount));
        QueueConfig::leaf(name, capacity).with_user_limit_factor(None)
    };
    let (mut hand, clock) = preempting_between([leaf("a", 1), leaf("b", 2)], 3);
    let loser = hand.application_in("root.a");
    hand.ask(loser, AskSpec::new(memory(1), 3));
    hand.run_until_idle();
    let running = hand.running();
    let node = hand.engine.read(|view| view.container(running[0]).unwrap().node);
    let gainer = hand.application_in("root.b");
    hand.ask(gainer, AskSpec::new(memory(1), 1).on_hosts([node]).strictly_local());
    hand.run_until_idle();
    let batch = round_of_one(&mut hand, &clock);
    (hand, running, batch)
}

/// Another container of the loser ends by itself between the plan and its commit, and leaves room.
#[test]
fn a_stale_round_ends_no_container_whose_room_is_not_needed() {
    let (mut hand, running, batch) = one_victim();
    let plan = hand.engine.last_preemption_plan().unwrap();
    let victim = plan.preemptions[0].victims[0].container;
    let other = running.into_iter().find(|id| *id != victim).unwrap();
    hand.engine.handle().complete_container(other).unwrap();
    hand.parts.proposers[0].send(batch).expect("the committer lives");
    hand.expect_idle(3);
    assert_eq!(hand.engine.stats().preempted, 0);
    let gainer = hand
        .engine
        .read(|view| view.application(plan.preemptions[0].application).unwrap().containers().count());
    assert_eq!(gainer, 1);
}

/// The beneficiary's leaf gets containers elsewhere between the plan and its commit.
#[test]
fn a_stale_round_takes_nothing_for_a_leaf_that_has_its_guarantee() {
    for (others, preempted) in [(1, 1), (2, 0)] {
        let (mut hand, _, batch) = one_victim();
        hand.node("n1", others);
        let gainer = hand.application_in("root.b");
        hand.ask(gainer, AskSpec::new(memory(1), others as u32));
        hand.commit();
        let placed = hand.parts.proposers[1].propose().expect("the asks have room");
        hand.parts.proposers[1].send(placed).expect("the committer lives");
        hand.commit();
        hand.parts.proposers[0].send(batch).expect("the committer lives");
        hand.expect_idle(3 + others as usize);
        assert_eq!(hand.engine.stats().preempted, preempted, "{others}");
    }
}

/// An application of low priority is moved between the plan and its commit. In its new leaf it would not lose.
#[test]
fn a_stale_round_within_a_leaf_takes_nothing_from_another_leaf() {
    for (moves, preempted) in [(false, 1), (true, 0)] {
        let within = WithinQueuePolicy { max_part: Percent::ALL, ..WithinQueuePolicy::default() };
        let (mut hand, clock) = preempting_by([leaf("a"), leaf("b")], 4, |policy| {
            policy.within_queue = Some(within);
        });
        let low = hand.application();
        hand.ask(low, AskSpec::new(memory(1), 4));
        hand.run_until_idle();
        let high = ApplicationSpec::new("application", "root.a", "user").with_priority(1);
        let high = hand.engine.handle().submit_application(high, &hand.events).unwrap();
        hand.ask(high, AskSpec::new(memory(1), 1));
        hand.run_until_idle();
        let batch = round_of_one(&mut hand, &clock);
        if moves {
            let _answer = hand.engine.handle().move_application(low, "root.b").unwrap();
        }
        hand.parts.proposers[0].send(batch).expect("the committer lives");
        hand.expect_idle(4);
        assert_eq!(hand.engine.stats().preempted, preempted, "{moves}");
    }
}

/// Leaf `a` has the only node. Two gangs of leaf `b` wait for its guarantee, three units. One unit becomes free, which
/// the first gang holds. Its turn is overdue then, and a round is due.
fn overdue_turn_and_round() -> (Hand, [GangId; 2]) {
    let (mut hand, clock) = preempting_between([part("a", 25), part("b", 75)], 4);
    let loser = hand.application_in("root.a");
    hand.ask(loser, AskSpec::new(memory(1), 4));
    hand.run_until_idle();
    let gangs = [3, 3].map(|units| hand.gang(units));
    hand.run_until_idle();
    let freed = hand.running()[0];
    hand.engine.handle().complete_container(freed).unwrap();
    hand.run_until_idle();
    assert!(hand.holds_room(gangs[0]));
    clock.set(hand.engine.shared.config.gather_limit_ms.unwrap());
    hand.commit();
    (hand, gangs)
}

impl Hand {
    /// A gang of leaf `b`: one container of this many units.
    fn gang(&self, units: i64) -> GangId {
        let application = self.application_in("root.b");
        let spec = GangSpec::new(application).with_role("worker", AskSpec::new(memory(units), 1));
        self.engine.handle().submit_gang(spec).unwrap().gang
    }

    fn waits(&self, gang: GangId) -> bool {
        self.engine.read(|view| view.gang(gang).is_some())
    }

    fn holds_room(&self, gang: GangId) -> bool {
        self.engine.shared_state().facts.holds_room(gang)
    }

    fn decide(&mut self, batch: Box<ProposalBatch>) {
        self.parts.proposers[1].send(batch).expect("the committer lives");
        self.commit();
    }
}

/// Otherwise the room goes to the other gang, and the committer rejects the round's request.
#[test]
fn no_turn_ends_between_a_round_and_its_commit() {
    for is_search_first in [false, true] {
        let (mut hand, [first, second]) = overdue_turn_and_round();
        let early = is_search_first.then(|| search_for_gang(&hand.engine.shared).unwrap());
        let round = hand.parts.proposers[0].propose().expect("a round is wanted");
        assert_eq!(hand.engine.last_preemption_plan().unwrap().gangs[0].gang, first);
        let search = early.or_else(|| hand.parts.proposers[1].propose()).expect("a turn is overdue");
        hand.decide(search);
        hand.decide(round);
        hand.expect_idle(2);
        assert_eq!(hand.engine.stats().preempted, 2);
        assert!(!hand.waits(first) && hand.waits(second));
    }
}

/// The turn ends once the round is over, even if nothing else changes.
#[test]
fn a_turn_that_a_round_kept_ends_after_it() {
    let (mut hand, [first, second]) = overdue_turn_and_round();
    let early = search_for_gang(&hand.engine.shared).unwrap();
    let mut round = hand.parts.proposers[0].propose().expect("a round is wanted");
    hand.decide(early);
    let search = hand.parts.proposers[1].propose().expect("other gangs could start");
    hand.decide(search);
    assert!(hand.holds_room(first), "the round keeps the turn");
    assert!(hand.parts.proposers[1].propose().is_none(), "no search is of use until the round is over");
    if let Work::Round(steps) = &mut round.work {
        // So only the end of the round can bring the search.
        steps.clear();
    }
    hand.decide(round);
    hand.expect_idle(3);
    assert!(!hand.holds_room(first) && hand.holds_room(second));
}

/// It needs none of the room that the round counts on.
#[test]
fn another_gang_starts_during_a_round() {
    for is_search_first in [false, true] {
        let (mut hand, [first, _]) = overdue_turn_and_round();
        hand.node("n1", 1);
        let small = hand.gang(1);
        hand.commit();
        let early = is_search_first.then(|| search_for_gang(&hand.engine.shared).unwrap());
        let round = hand.parts.proposers[0].propose().expect("a round is wanted");
        early.into_iter().for_each(|early| hand.decide(early));
        let search = hand.parts.proposers[1].propose().expect("a gang could start");
        hand.decide(search);
        assert!(!hand.waits(small) && hand.holds_room(first), "{is_search_first}");
        hand.decide(round);
    }
}
