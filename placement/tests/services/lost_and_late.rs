//! Callbacks that are lost, late, or for another action.

use apportion_placement::{
    ActionId, ActionKind, ActionStatus, Callback, ClusterClient, ComponentId, ComponentSpec, ContainerAction,
    ContainerExit, FakeCluster, Fault, HealthThreshold, InstanceState, PlacementPolicy, ServiceEvent,
};

use crate::support::{Bed, Cluster, Manager, cancels, component, host, on_both, requests, roles};

const DAY_MS: u64 = 86_400_000;

fn submit<M: Manager>(
    bed: &mut Bed<M>,
    container: Option<apportion_placement::ContainerRef>,
    kind: ActionKind,
) {
    let action = ContainerAction {
        container,
        expires_after_ms: 10_000,
        ..ContainerAction::new(ActionId(1), ComponentId(1), kind)
    };
    bed.service.submit(action, bed.now_ms);
}

fn last_word<M: Manager>(bed: &mut Bed<M>) -> Option<ActionStatus> {
    bed.service.take_answers().last().map(|answer| answer.status).filter(|status| status.is_terminal())
}

/// Makes this many turns without waiting for quiet. Returns how often the service sent requests.
fn turns<M: Manager>(bed: &mut Bed<M>, turns: usize) -> usize {
    let mut asked = 0;
    for _ in 0..turns {
        bed.manager().run_until_idle();
        asked += requests(&bed.tick()).len();
    }
    asked
}

on_both!(instances_that_have_to_be_apart_from_now_on_are);
/// The running containers carry no tag by which the manager could keep others apart.
fn instances_that_have_to_be_apart_from_now_on_are<M: Manager>() {
    let mut bed = Cluster::<M>::of(3, 8).start(vec![component(1, 1)], None);
    bed.run_until_idle();
    bed.change(|specs| {
        specs[0].policy = PlacementPolicy::AntiAffinity;
        specs[0].desired = 3;
    });
    let asked = turns(&mut bed, 50);
    assert!(asked < 5, "it asked {asked} times");
    assert_eq!(bed.hosts(1), [host(0), host(1), host(2)]);
}

on_both!(one_of_two_instances_leaves_when_they_have_to_be_apart);
fn one_of_two_instances_leaves_when_they_have_to_be_apart<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 2).start(vec![component(1, 2)], None);
    bed.run_until_idle();
    bed.manager().add_node(&host(1), "", "", 2);
    bed.run_until_idle();
    bed.change(|specs| specs[0].policy = PlacementPolicy::AntiAffinity);
    bed.run_until_idle();
    assert_eq!(bed.hosts(1), [host(0), host(1)]);
}

on_both!(a_renamed_component_keeps_apart_from_its_former_self);
fn a_renamed_component_keeps_apart_from_its_former_self<M: Manager>() {
    let spec = component(1, 1).with_policy(PlacementPolicy::AntiAffinity);
    let mut bed = Cluster::<M>::of(3, 8).start(vec![spec], None);
    bed.run_until_idle();
    bed.change(|specs| {
        specs[0].name = "other".into();
        specs[0].desired = 2;
    });
    let asked = turns(&mut bed, 50);
    assert!(asked < 4, "it asked {asked} times");
    assert_eq!(bed.status(1).live, 2);
}

on_both!(failures_after_the_end_of_a_window_are_of_the_next_one);
/// F15: also if the service was not called since the window ended.
fn failures_after_the_end_of_a_window_are_of_the_next_one<M: Manager>() {
    let spec = ComponentSpec { container_failure_threshold: Some(1), ..component(1, 5) };
    let mut bed = Cluster::<M>::of(5, 1)
        .with_settings(|settings| settings.failure_window_ms = Some(1_000))
        .start(vec![spec], None);
    bed.run_until_idle();
    let ended: Vec<_> =
        bed.containers(1).into_iter().map(|found| (found.container, ContainerExit::of(3))).collect();
    bed.service.handle(ServiceEvent::Callback(Callback::Completed(ended)), 1_500);
    assert!(bed.service.state().failure().is_some(), "five failures exceed the threshold of one");
}

on_both!(the_next_window_ends_in_the_future);
fn the_next_window_ends_in_the_future<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 1)
        .with_settings(|settings| settings.failure_window_ms = Some(1_000))
        .start(vec![component(1, 1)], None);
    bed.run_until_idle();
    bed.at(10_500);
    assert_eq!(bed.service.state().next_deadline_ms(), Some(11_001));
}

#[test]
fn a_request_that_is_taken_back_again_and_again_is_widened() {
    let mut specs = roles([1, 0, 0]);
    specs[0].escalate_after_ms = 30_000;
    let mut bed = Cluster::on(FakeCluster::new().granting_by_hand(), 2, 1).start(specs, None);
    let first = bed.manager().waiting().next().map(|request| request.id);
    let container = first.and_then(|first| bed.manager().grant(first, &host(0)).ok());
    let container = container.unwrap_or_else(|| panic!("a container"));
    bed.run_until_idle();
    bed.at(3_600_000);
    bed.end(container, 1);
    let begun_ms = bed.now_ms;
    while !bed.manager().waiting().any(|request| request.relax_locality) {
        let waits = bed.manager().waiting().next().map(|request| request.id);
        if let Some(request) = waits {
            assert_eq!(bed.manager().cancel(request), Ok(()));
        }
        bed.at(bed.now_ms + 10_000);
        assert!(bed.now_ms < begun_ms + 200_000, "it names the host still");
    }
}

#[test]
fn an_end_that_was_not_reported_is_found_out() {
    let mut bed = Cluster::on(FakeCluster::new(), 2, 2).start(vec![component(1, 2)], None);
    bed.run_until_idle();
    bed.manager().inject(Fault::LoseCallback);
    let container = bed.containers(1)[0].container;
    assert_eq!(bed.service.kill_container(container, 1), Ok(()));
    bed.run_until_idle();
    assert_eq!(bed.status(1).releasing, 1);
    let next_ms = bed.service.state().next_deadline_ms();
    assert!(
        next_ms.is_some_and(|next_ms| next_ms <= 60_001),
        "the next deadline wakes the caller: {next_ms:?}"
    );
    bed.at(60_001);
    bed.run_until_idle();
    assert_eq!((bed.status(1).live, bed.status(1).releasing), (2, 0));
}

#[test]
fn a_failed_stop_is_repeated() {
    let mut bed = Cluster::on(FakeCluster::new(), 1, 2).start(vec![component(1, 1)], None);
    bed.run_until_idle();
    bed.manager().inject(Fault::FailStop);
    bed.service.stop(1);
    bed.run_until_idle();
    assert_eq!(bed.service.state().container_count(), 1);
    bed.at(5_002);
    bed.run_until_idle();
    assert_eq!(bed.service.state().container_count(), 0);
}

on_both!(an_action_whose_replacement_never_says_that_it_runs_ends);
fn an_action_whose_replacement_never_says_that_it_runs_ends<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 1).starting_by_hand().start(vec![component(1, 1)], None);
    bed.run_until_idle();
    let first = bed.only(1).container;
    assert_eq!(bed.manager().report_started(first), Ok(()));
    bed.run_until_idle();
    submit(&mut bed, None, ActionKind::MoveElsewhere);
    bed.run_until_idle();
    let moved = bed.only(1).container;
    bed.at(DAY_MS);
    bed.run_until_idle();
    assert_eq!((last_word(&mut bed), bed.service.state().action_count()), (Some(ActionStatus::Failed), 0));
    assert_ne!(bed.only(1).container, moved, "it is asked for again");
}

on_both!(a_start_of_another_is_no_answer);
/// One instance is being restarted after a crash while another is restarted by an action.
fn a_start_of_another_is_no_answer<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 1).starting_by_hand().start(vec![component(1, 2)], None);
    bed.run_until_idle();
    for found in bed.containers(1) {
        assert_eq!(bed.manager().report_started(found.container), Ok(()));
    }
    bed.run_until_idle();
    bed.at(600_000);
    let both = bed.containers(1);
    bed.end(both[0].container, 1);
    bed.run_until_idle();
    let starting = |bed: &Bed<M>| {
        let mut starting =
            bed.containers(1).into_iter().filter(|found| found.state == InstanceState::Starting);
        starting.next().map(|found| found.container)
    };
    let crashed = starting(&bed).unwrap_or_else(|| panic!("it is being started"));
    submit(&mut bed, Some(both[1].container), ActionKind::StopAndRestart);
    bed.run_until_idle();
    assert_eq!(bed.manager().report_started(crashed), Ok(()));
    bed.run_until_idle();
    assert_eq!(last_word(&mut bed), None, "what was stopped does not run yet");
    let stopped = starting(&bed).unwrap_or_else(|| panic!("it is being started"));
    assert_eq!(bed.manager().report_started(stopped), Ok(()));
    bed.run_until_idle();
    assert_eq!(last_word(&mut bed), Some(ActionStatus::Succeeded));
}

#[test]
fn a_stop_that_fails_or_takes_too_long_leaves_no_reserved_container() {
    for fails in [true, false] {
        let mut bed = Cluster::on(FakeCluster::new(), 2, 1).start(vec![component(1, 1)], None);
        bed.run_until_idle();
        bed.manager().inject(if fails { Fault::FailStop } else { Fault::LoseCallback });
        let found = bed.only(1).container;
        if fails {
            submit(&mut bed, None, ActionKind::MoveElsewhere);
            bed.run_until_idle();
            assert_eq!(last_word(&mut bed), Some(ActionStatus::Failed));
            assert_eq!((bed.only(1).container, bed.only(1).state), (found, InstanceState::Live), "X5");
        } else {
            bed.manager().forget_faults();
            submit(&mut bed, None, ActionKind::MoveElsewhere);
            bed.manager().inject(Fault::LoseCallback);
            bed.tick();
            let next_ms = bed.service.state().next_deadline_ms();
            assert!(next_ms.is_some_and(|next_ms| next_ms <= 60_002), "{next_ms:?}");
            bed.at(60_003);
            bed.run_until_idle();
        }
        assert_eq!((bed.status(1).reserved, bed.status(1).live), (0, 1));
        assert_eq!(bed.service.client().manager.launched().count(), 1);
        assert_eq!(bed.service.state().container_count(), 1);
    }
}

#[test]
fn a_service_that_stops_takes_the_requests_of_its_actions_back() {
    let mut bed = Cluster::on(FakeCluster::new().granting_by_hand(), 2, 1).start(vec![component(1, 1)], None);
    let first = bed.manager().waiting().next().map(|request| request.id);
    assert!(first.is_some_and(|first| bed.manager().grant(first, &host(0)).is_ok()));
    bed.run_until_idle();
    submit(&mut bed, None, ActionKind::MoveElsewhere);
    assert_eq!(bed.manager().waiting().count(), 1);
    bed.service.stop(1);
    bed.run_until_idle();
    assert_eq!(bed.manager().waiting().count(), 0);
}

#[test]
fn an_instance_that_came_meanwhile_is_kept_apart_from() {
    let apart = component(1, 1).with_policy(PlacementPolicy::AntiAffinity);
    let mut bed = Cluster::on(FakeCluster::new().granting_by_hand(), 3, 2).start(vec![apart], None);
    let grant = |bed: &mut Bed<FakeCluster>, at: usize| {
        let last = bed.manager().waiting().last().map(|request| request.id);
        assert!(last.is_some_and(|last| bed.manager().grant(last, &host(at)).is_ok()));
    };
    grant(&mut bed, 0);
    bed.run_until_idle();
    submit(&mut bed, None, ActionKind::MoveTo(host(1).into()));
    let moves = bed.manager().waiting().last().map(|request| request.id);
    bed.flex(1, 2);
    grant(&mut bed, 1);
    bed.run_until_idle();
    assert!(moves.is_some_and(|moves| bed.manager().grant(moves, &host(1)).is_ok()));
    bed.run_until_idle();
    assert_eq!((last_word(&mut bed), bed.hosts(1)), (Some(ActionStatus::Failed), vec![host(0), host(1)]));
}

on_both!(a_component_that_is_well_again_has_its_whole_window);
/// Spec 1.12: two short periods with too few instances do not add up.
fn a_component_that_is_well_again_has_its_whole_window<M: Manager>() {
    let health = HealthThreshold { percent: 100, window_ms: 100_000, initial_delay_ms: 0 };
    let spec = ComponentSpec { health: Some(health), ..component(1, 1) };
    let mut bed = Cluster::<M>::of(1, 1).start(vec![spec], None);
    bed.run_until_idle();
    for round in 1..4_u64 {
        bed.at(round * 200_000);
        let container = bed.only(1).container;
        bed.end(container, ContainerExit::ABORTED);
        bed.at(round * 200_000 + 60_000);
        bed.run_until_idle();
        assert!(bed.service.state().failure().is_none(), "round {round}");
    }
}

on_both!(a_flex_forgets_recent_failures);
fn a_flex_forgets_recent_failures<M: Manager>() {
    let spec = ComponentSpec { container_failure_threshold: Some(1), ..component(1, 2) };
    let mut bed = Cluster::<M>::of(2, 4).start(vec![spec], None);
    bed.run_until_idle();
    for _ in 0..3 {
        let container = bed.containers(1)[0].container;
        bed.end(container, 1);
        bed.run_until_idle();
        assert!(bed.service.state().failure().is_none());
        bed.flex(1, 2);
        assert_eq!(bed.status(1).counters.failed_recently, 0);
    }
}

#[test]
fn requests_for_any_host_are_taken_back_before_those_for_a_former_one() {
    let mut bed = Cluster::on(FakeCluster::new().granting_by_hand(), 2, 4).start(roles([1, 0, 0]), None);
    let first = bed.manager().waiting().next().map(|request| request.id);
    assert!(first.is_some_and(|first| bed.manager().grant(first, &host(0)).is_ok()));
    bed.run_until_idle();
    let container = bed.only(0).container;
    bed.at(3_600_000);
    bed.end(container, ContainerExit::ABORTED);
    bed.flex(0, 3);
    assert_eq!(bed.manager().waiting().count(), 3);
    bed.flex(0, 1);
    bed.run_until_idle();
    let left: Vec<_> = bed.manager().waiting().map(|request| request.hosts.len()).collect();
    assert_eq!(left, [1], "the request for its former host");
}

#[test]
fn a_change_of_policy_renews_requests() {
    let mut bed = Cluster::on(FakeCluster::new().granting_by_hand(), 2, 4).start(roles([1, 0, 0]), None);
    bed.run_until_idle();
    let calls = bed.change(|specs| specs[0].policy = PlacementPolicy::AntiAffinity);
    assert_eq!((cancels(&calls), requests(&calls).len()), (1, 1));
    assert!(requests(&calls)[0].apart.is_some());
}

/// A request that the manager refused is not cancelled there.
#[test]
fn a_refused_request_is_not_cancelled_at_the_manager() {
    let mut bed = Cluster::on(FakeCluster::new().granting_by_hand(), 2, 4).start(roles([0, 0, 0]), None);
    bed.manager().inject(Fault::RefuseRequest);
    bed.flex(0, 1);
    let calls = bed.flex(0, 0);
    assert_eq!(cancels(&calls), 0);
    assert_eq!(bed.status(0).requested, 0);
}

on_both!(two_that_are_together_after_a_restart_of_the_master_do_not_stay_so);
/// F11: the previous master did not keep them apart.
fn two_that_are_together_after_a_restart_of_the_master_do_not_stay_so<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 2).start(vec![component(1, 2)], None);
    bed.run_until_idle();
    bed.manager().add_node(&host(1), "", "", 2);
    bed.run_until_idle();
    bed.next_master(|specs| specs[0].policy = PlacementPolicy::AntiAffinity);
    let mut bed = bed.restart_master();
    bed.run_until_idle();
    assert_eq!(bed.hosts(1), [host(0), host(1)]);
}
