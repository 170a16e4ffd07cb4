//! Gangs that have started as victims: down to their minimum, or as a whole.

#![allow(clippy::disallowed_types, reason = "the log outlives its engine, as a file does")]

use apportion::gang::GangSpec;
use apportion::preempt::{DisruptionBudget, DisruptionLimit, PreemptionCost, PreemptionPlan, UnhelpedReason};
use apportion::replay::Replay;
use apportion::{ApplicationId, AskSpec, Resources};

use crate::rounds::{INTERVAL_MS, Running, modes, rounds};
use crate::{Cluster, at_once, queue, reasons, victims};

const ONE: &[i64] = &[1];

/// Two queues with these guarantees. The first runs a gang of six on six nodes, of which two workers and the master
/// must be there, if the minimum says so.
fn with_gang(guarantees: [i64; 2], minimum: u32) -> (Cluster, ApplicationId) {
    let [a, b] = guarantees;
    let cluster = Cluster::new([queue("a", &[a], None), queue("b", &[b], None)]);
    cluster.nodes(6, ONE);
    let application = cluster.application("root.a");
    let one = |count| AskSpec::new(Resources::new(ONE), count);
    let gang = GangSpec::new(application).with_role("master", one(1)).with_role_of_at_least(
        "worker",
        one(5),
        minimum,
    );
    cluster.engine.handle().submit_gang(gang).unwrap();
    cluster.run();
    assert_eq!(cluster.running(application), 6);
    (cluster, application)
}

fn counts(plan: &PreemptionPlan) -> Vec<usize> {
    plan.preemptions.iter().map(|one| one.victims.len()).collect()
}

/// Three workers may go one by one. The next plan takes the rest together, and its room serves two more beneficiaries.
#[test]
fn members_above_the_minimum_go_first_and_the_rest_together() {
    let (cluster, gang) = with_gang([0, 6], 2);
    cluster.demand("root.b", ONE, 6);
    let plan = cluster.plan(&at_once());
    assert_eq!(counts(&plan), [1, 1, 1], "{plan}");
    assert_eq!(reasons(&plan), [UnhelpedReason::DisruptionBudget]);
    cluster.execute(&plan);
    assert_eq!(cluster.running(gang), 3);
    let plan = cluster.plan(&at_once());
    assert_eq!((counts(&plan), reasons(&plan)), (vec![3], vec![]), "{plan}");
    cluster.execute(&plan);
    cluster.run();
    assert_eq!(cluster.running(gang), 0);
    assert!(cluster.plan(&at_once()).unhelped.is_empty());
}

/// Single containers are taken first, although they are older and dearer. The gang ends once its leaf owes all of it.
#[test]
fn a_gang_ends_as_a_whole_only_if_nothing_else_helps() {
    let cluster = Cluster::new([queue("a", &[0], None), queue("b", &[4], None)]);
    cluster.nodes(4, ONE);
    let single = cluster.demand("root.a", ONE, 2);
    cluster.run();
    let gang = cluster.application("root.a");
    let two = AskSpec::new(Resources::new(ONE), 2);
    cluster.engine.handle().submit_gang(GangSpec::new(gang).with_role("worker", two)).unwrap();
    cluster.run();
    let costs = cluster.containers(single).into_iter().map(|id| (id, PreemptionCost::Units(9)));
    cluster.engine.handle().set_preemption_costs(costs).unwrap();
    for (units, of_single, of_gang) in [(1, 1, 0), (1, 2, 0), (1, 2, 0), (1, 2, 2)] {
        cluster.demand("root.b", ONE, units);
        let plan = cluster.plan(&at_once());
        let taken = victims(&plan, |one| one.application);
        let taken = [single, gang].map(|id| taken.get(&id).copied().unwrap_or(0));
        assert_eq!(taken, [of_single, of_gang], "{plan}");
    }
}

/// As a whole the gang has more than its leaf owes, or would take its leaf below the guarantee. Or a budget, a cost
/// or an exempt tag keeps a member.
#[test]
fn a_gang_that_may_not_end_as_a_whole_stays() {
    for (guarantee, minimum, demand, has_budget, has_cost, expected) in [
        (0, 5, 6, false, false, vec![6]),
        (0, 5, 5, false, false, vec![]),
        (1, 5, 6, false, false, vec![]),
        (0, 5, 6, true, false, vec![]),
        (0, 5, 6, false, true, vec![]),
        (2, 1, 6, false, false, vec![1, 1, 1, 1]),
    ] {
        let (cluster, gang) = with_gang([guarantee, 6 - guarantee], minimum);
        if has_budget {
            let budget = DisruptionBudget::new(6, DisruptionLimit::MaxUnavailable(5));
            cluster.engine.handle().set_disruption_budgets(gang, vec![budget]).unwrap();
        }
        if has_cost {
            let member = cluster.containers(gang)[3];
            cluster.engine.handle().set_preemption_cost(member, PreemptionCost::Never).unwrap();
        }
        cluster.demand("root.b", ONE, demand);
        let plan = cluster.plan(&at_once());
        assert_eq!(counts(&plan), expected, "{guarantee} {minimum} {demand} {has_budget} {has_cost}: {plan}");
        cluster.execute(&plan);
    }
}

/// A gang without members is over: a container of its asks that comes later is an ordinary one.
#[test]
fn a_gang_is_over_without_members() {
    let (cluster, gang) = with_gang([0, 6], 5);
    let handle = cluster.engine.handle();
    handle.complete_containers(cluster.containers(gang)).unwrap();
    cluster.ask(gang, ONE, 6);
    cluster.run();
    assert_eq!(cluster.running(gang), 6);
    cluster.demand("root.b", ONE, 3);
    let plan = cluster.plan(&at_once());
    assert_eq!(counts(&plan), [1, 1, 1], "{plan}");
}

/// Rounds announce and end the whole gang. Log and snapshot know its members.
#[test]
fn rounds_end_a_gang_as_a_whole() {
    for mode in modes() {
        let mut at_once =
            apportion::config::PreemptionRounds { max_wait_before_kill_ms: INTERVAL_MS, ..rounds() };
        at_once.policy.exempt = ["root.b".to_owned()].into();
        let (cluster, [_, c]) = Running::full(mode, at_once);
        let handle = cluster.engine.handle();
        handle.end_application(c, apportion::ApplicationEnd::Killed).unwrap();
        cluster.run_until_quiet();
        let gang = cluster.demand("root.c", 0);
        let workers = AskSpec::new(Resources::new(ONE), 12);
        handle.submit_gang(GangSpec::new(gang).with_role_of_at_least("worker", workers, 10)).unwrap();
        let others = cluster.demand("root.c", 28);
        cluster.run_until_quiet();
        let others: Vec<_> = cluster
            .engine
            .read(|view| view.application(others).unwrap().containers().map(|one| one.container).collect());
        assert_eq!((cluster.running(gang), others.len()), (12, 28), "{mode:?}");
        handle.set_preemption_costs(others.into_iter().map(|id| (id, PreemptionCost::Never))).unwrap();
        let a = cluster.demand("root.a", 12);
        cluster.run_to(INTERVAL_MS);
        assert_eq!(cluster.events(), [2, 0, 0], "{mode:?}: two are above the minimum");
        let bytes = cluster.log.bytes();
        let mut replay = Replay::read(&bytes[..], None).unwrap();
        let mut snapshot = Vec::new();
        replay.write_snapshot(&mut snapshot).unwrap();
        let mut again = Replay::read(&snapshot[..], None).unwrap();
        assert_eq!(again.digest(), cluster.engine.digest(), "{mode:?}");
        let policy = crate::at_once();
        assert_eq!(
            again.view().preemption_plan(&policy),
            cluster.engine.preemption_plan(&policy),
            "{mode:?}"
        );
        cluster.run_to(3 * INTERVAL_MS);
        assert_eq!((cluster.events(), cluster.running(gang)), ([10, 0, 2], 10), "{mode:?}");
        cluster.run_to(5 * INTERVAL_MS);
        assert_eq!((cluster.events(), cluster.running(gang)), ([0, 0, 10], 0), "{mode:?}");
        assert_eq!(cluster.running(a), 12, "{mode:?}: the rest of the room serves the others");
        cluster.expect_replay_equal();
    }
}
