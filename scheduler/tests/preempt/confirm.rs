//! Victims that may end before their time.

use apportion::ContainerId;
use apportion::event::{Refusal, Subject};
use apportion::preempt::PreemptionCost;

use crate::rounds::{INTERVAL_MS, Running, WAIT_MS, modes, rounds};

impl Running {
    fn announced(&self) -> Vec<ContainerId> {
        let all = |view: &apportion::view::View<'_>| -> Vec<_> {
            view.containers().filter(|(_, one)| one.preemption.is_some()).map(|(id, _)| id).collect()
        };
        self.engine.read(|view| all(view))
    }
}

#[test]
fn a_confirmed_victim_ends_in_the_next_round() {
    for mode in modes() {
        let (cluster, _) = Running::full(mode, rounds());
        let a = cluster.demand("root.a", 10);
        cluster.run_to(INTERVAL_MS);
        let announced = cluster.announced();
        assert_eq!(announced.len(), 10, "{mode:?}");
        for container in &announced[..4] {
            cluster.engine.handle().confirm_preemption(*container).unwrap();
        }
        cluster.run_until_quiet();
        assert_eq!(cluster.events(), [10, 0, 0], "{mode:?}: a round has to find that they are still needed");
        cluster.run_to(2 * INTERVAL_MS);
        assert_eq!((cluster.events(), cluster.running(a)), ([0, 0, 4], 4), "{mode:?}");
        assert!(announced[..4].iter().all(|id| !cluster.announced().contains(id)));
        cluster.run_to(WAIT_MS);
        assert_eq!(cluster.events(), [0, 0, 0], "{mode:?}: the others keep their time");
        cluster.run_to(2 * INTERVAL_MS + WAIT_MS);
        assert_eq!(cluster.events(), [0, 0, 6], "{mode:?}");
        cluster.expect_replay_equal();
    }
}

/// A victim is spared if no ask needs its room any more, although it was confirmed.
#[test]
fn a_confirmed_victim_that_is_not_needed_is_spared() {
    let (cluster, [_, c]) = Running::full(apportion::Mode::Serial, rounds());
    let a = cluster.demand("root.a", 1);
    cluster.run_to(INTERVAL_MS);
    let victim = cluster.announced()[0];
    let handle = cluster.engine.handle();
    handle.confirm_preemption(victim).unwrap();
    handle.end_application(a, apportion::ApplicationEnd::Killed).unwrap();
    cluster.run_to(2 * INTERVAL_MS + WAIT_MS);
    assert_eq!((cluster.events(), cluster.running(c)), ([1, 1, 0], 40));
    cluster.expect_replay_equal();
}

/// The round after the beneficiary has gone withdraws what was announced for it. Other announcements stay.
#[test]
fn victims_are_spared_by_the_next_round_once_nobody_wants_their_room() {
    for mode in modes() {
        let (cluster, _) = Running::full(mode, rounds());
        let gone = cluster.demand("root.a", 3);
        cluster.run_to(INTERVAL_MS);
        cluster.demand("root.a", 4);
        cluster.run_to(2 * INTERVAL_MS);
        assert_eq!((cluster.events(), cluster.announced().len()), ([7, 0, 0], 7), "{mode:?}");
        cluster.engine.handle().end_application(gone, apportion::ApplicationEnd::Killed).unwrap();
        cluster.run_to(3 * INTERVAL_MS);
        assert_eq!((cluster.events(), cluster.announced().len()), ([0, 3, 0], 4), "{mode:?}");
        cluster.expect_replay_equal();
    }
}

/// The application learns at once that the victim stays, and the round after it takes another one.
#[test]
fn an_announced_victim_that_costs_never_is_spared_at_once() {
    for mode in modes() {
        let (cluster, _) = Running::full(mode, rounds());
        cluster.demand("root.a", 1);
        cluster.run_to(INTERVAL_MS);
        let victim = cluster.announced()[0];
        cluster.engine.handle().set_preemption_cost(victim, PreemptionCost::Never).unwrap();
        cluster.run_until_quiet();
        assert_eq!((cluster.events(), cluster.announced()), ([1, 1, 0], vec![]), "{mode:?}");
        cluster.run_to(2 * INTERVAL_MS);
        let next = cluster.announced();
        assert!(next.len() == 1 && next[0] != victim, "{mode:?}: {next:?}");
        cluster.expect_replay_equal();
    }
}

#[test]
fn only_announced_victims_are_confirmed() {
    let (cluster, _) = Running::full(apportion::Mode::Serial, rounds());
    cluster.demand("root.a", 1);
    cluster.run_to(INTERVAL_MS);
    let handle = cluster.engine.handle();
    let (victim, all) = (cluster.announced()[0], |view: &apportion::view::View<'_>| -> Vec<_> {
        view.containers().map(|(id, _)| id).collect()
    });
    let others: Vec<_> =
        cluster.engine.read(|view| all(view)).into_iter().filter(|id| *id != victim).collect();
    handle.complete_container(others[0]).unwrap();
    handle.confirm_preemption(others[0]).unwrap();
    handle.confirm_preemption(others[1]).unwrap();
    cluster.run_until_quiet();
    let refused: Vec<_> = handle.take_refusals().list.iter().map(|one| (one.subject, one.refusal)).collect();
    let expected = [
        (Subject::Container(others[0]), Refusal::UnknownContainer),
        (Subject::Container(others[1]), Refusal::NotAnnounced),
    ];
    assert_eq!(refused, expected);
}
