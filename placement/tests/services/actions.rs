//! Placement actions: the scenarios of Samza's tests on one container (`samza.md` section 3), on the engine and on
//! the fake.

use apportion_placement::{
    ActionId, ActionKind, ActionStatus, ComponentId, ComponentSpec, ContainerAction, HistoryEntry,
    HistoryFile, InstanceState, PlacementPolicy, ServiceEvent,
};

use crate::support::{Bed, Cluster, Manager, cancels, component, host, on_both, releases, requests};

/// The time limit of a move.
const EXPIRES_AFTER_MS: u64 = 10_000;

/// A processor: a component with one container.
fn processor(id: u32) -> ComponentSpec {
    component(id, 1)
}

fn act<M: Manager>(bed: &mut Bed<M>, action: u64, id: u32, kind: ActionKind) {
    let action = ContainerAction {
        expires_after_ms: EXPIRES_AFTER_MS,
        ..ContainerAction::new(ActionId(action), ComponentId(id), kind)
    };
    bed.service.submit(action, bed.now_ms);
}

/// The answers to actions: number and status.
fn answers<M: Manager>(bed: &mut Bed<M>) -> Vec<(u64, ActionStatus)> {
    bed.service.take_answers().into_iter().map(|answer| (answer.action.0, answer.status)).collect()
}

fn last_word<M: Manager>(bed: &mut Bed<M>) -> Option<ActionStatus> {
    answers(bed).last().map(|(_, status)| *status)
}

/// A job with processors 1 and 2 on hosts 0 and 1, and spare hosts.
fn job<M: Manager>() -> Bed<M> {
    let mut bed = Cluster::<M>::of(2, 1).start(vec![processor(1), processor(2)], None);
    bed.run_until_idle();
    bed.manager().add_node(&host(2), "", "", 2);
    bed.run_until_idle();
    bed
}

on_both!(an_answer_names_the_reasons_against_each_host);
fn an_answer_names_the_reasons_against_each_host<M: Manager>() {
    let mut bed = job::<M>();
    bed.manager().add_node(&host(3), "", "gpu", 2);
    bed.run_until_idle();
    let at = bed.only(1).host;
    let others: Vec<String> = (0..4).map(host).filter(|other| *other != at).collect();
    let free = others.iter().filter(|other| **other != host(3)).map(|host| host.as_str().into()).collect();
    bed.service.handle(ServiceEvent::Exclude(free), bed.now_ms);
    let mut said = |action, kind| {
        act(&mut bed, action, 1, kind);
        bed.service.take_answers().last().map(|answer| answer.message.clone()).unwrap_or_default()
    };
    let kept_free = said(1, ActionKind::MoveTo(others[0].as_str().into()));
    assert_eq!(kept_free, format!("no host will do: {}: it is kept free", others[0]));
    let elsewhere = said(2, ActionKind::MoveElsewhere);
    assert_eq!(elsewhere, "no host will do: it has another label (1); it is kept free (2)");
}

on_both!(a_host_known_only_from_the_history_is_no_destination);
/// It may be gone for good, so the move ends at once instead of waiting for it.
fn a_host_known_only_from_the_history_is_no_destination<M: Manager>() {
    let entries = vec![HistoryEntry { host: "old".into(), role: 2, is_active: false, last_used_ms: 9 }];
    let history = HistoryFile { saved_ms: 10, roles: 1, mapping: [].into(), entries };
    let mut bed = Cluster::<M>::of(2, 1).start(vec![processor(1), component(2, 0)], Some(&history));
    bed.run_until_idle();
    assert!(bed.service.state().knows_host("old"));
    act(&mut bed, 1, 1, ActionKind::MoveTo("old".into()));
    let answer = bed.service.take_answers().pop().unwrap_or_else(|| panic!("the action is answered"));
    assert_eq!(answer.message, "no host will do: old: no node report names it");
    assert_eq!(answer.status, ActionStatus::Failed);
}

on_both!(a_host_that_comes_is_one_to_move_to);
/// The move waits for room, and its time limit runs on.
fn a_host_that_comes_is_one_to_move_to<M: Manager>() {
    for others in [1, 2] {
        let specs = (1..=others + 1).map(processor).collect();
        let mut bed = Cluster::<M>::of(others as usize + 1, 1).start(specs, None);
        bed.run_until_idle();
        act(&mut bed, 1, 1, ActionKind::MoveElsewhere);
        bed.run_until_idle();
        bed.at(EXPIRES_AFTER_MS - 1);
        assert_eq!(last_word(&mut bed), Some(ActionStatus::InProgress));
        let full = bed.only(2).host;
        bed.manager().add_node("new", "", "", 1);
        bed.manager().lose_node(&full);
        bed.run_until_idle();
        assert_eq!((last_word(&mut bed), &*bed.only(1).host), (Some(ActionStatus::Succeeded), "new"));
    }
    for (now_ms, word) in
        [(EXPIRES_AFTER_MS + 3, ActionStatus::Failed), (EXPIRES_AFTER_MS, ActionStatus::Succeeded)]
    {
        let mut bed = Cluster::<M>::of(2, 1).start(vec![processor(1), processor(2)], None);
        bed.run_until_idle();
        act(&mut bed, 1, 1, ActionKind::MoveElsewhere);
        bed.run_until_idle();
        bed.at(EXPIRES_AFTER_MS - 1);
        bed.manager().add_node("small", "", "", 0);
        bed.run_until_idle();
        bed.at(now_ms);
        bed.flex(2, 0);
        bed.run_until_idle();
        assert_eq!(last_word(&mut bed), Some(word), "the host of its first request is still suitable");
    }
}

on_both!(unsuitable_new_hosts_cause_no_request);
fn unsuitable_new_hosts_cause_no_request<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 1).start(vec![processor(1), processor(2)], None);
    bed.run_until_idle();
    act(&mut bed, 1, 1, ActionKind::MoveElsewhere);
    bed.run_until_idle();
    bed.manager().add_node("other", "", "gpu", 1);
    assert_eq!(requests(&bed.run_until_idle()).len(), 0);
}

on_both!(a_container_that_is_given_back_ends_its_move);
/// At once, with its request: the container itself may take long to end.
fn a_container_that_is_given_back_ends_its_move<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 1).start(vec![processor(1), processor(2)], None);
    bed.run_until_idle();
    act(&mut bed, 1, 1, ActionKind::MoveElsewhere);
    bed.run_until_idle();
    assert_eq!(last_word(&mut bed), Some(ActionStatus::InProgress), "no host has room");
    let calls = bed.flex(1, 0);
    assert_eq!((cancels(&calls), releases(&calls).len()), (1, 1), "{calls:?}");
    let said = bed.service.take_answers().pop().map(|answer| (answer.status, answer.message));
    let said = said.unwrap_or_else(|| panic!("nothing was said"));
    assert!(said.0 == ActionStatus::Failed && said.1.ends_with(" meanwhile"), "{said:?}");
}

on_both!(a_host_is_asked_for_once);
/// Also if it is the only host left of those in the request.
fn a_host_is_asked_for_once<M: Manager>() {
    for kind in [ActionKind::MoveTo(host(3).into()), ActionKind::MoveElsewhere] {
        let mut bed = Cluster::<M>::of(3, 1).start(vec![component(1, 2), component(2, 1)], None);
        bed.run_until_idle();
        bed.manager().add_node(&host(3), "", "", 0);
        bed.run_until_idle();
        let [one, other] = [0, 1].map(|number| bed.containers(1)[number].clone());
        let full = bed.only(2).host;
        let elsewhere = ContainerAction {
            container: Some(one.container),
            expires_after_ms: EXPIRES_AFTER_MS,
            ..ContainerAction::new(ActionId(1), ComponentId(1), kind.clone())
        };
        bed.service.submit(elsewhere.clone(), bed.now_ms);
        bed.run_until_idle();
        if kind == ActionKind::MoveElsewhere {
            let closed = [&full, &other.host].map(|host| host.as_str().into());
            bed.service.handle(ServiceEvent::Exclude(closed.into()), bed.now_ms);
            bed.run_until_idle();
        }
        let again = ContainerAction {
            id: ActionId(2),
            container: Some(other.container),
            kind: ActionKind::MoveTo(host(3).into()),
            ..elsewhere
        };
        bed.service.submit(again, bed.now_ms);
        let said = bed.service.take_answers().pop().map(|answer| answer.message).unwrap_or_default();
        assert!(said.contains("a request for that host waits already"), "{kind:?}: {said}");
    }
}

on_both!(a_container_moves_to_a_host);
/// P1: the container is stopped only when its new place is reserved, and nothing else changes.
fn a_container_moves_to_a_host<M: Manager>() {
    let mut bed = job::<M>();
    let (first, other) = (bed.only(1), bed.only(2));
    act(&mut bed, 1, 1, ActionKind::MoveTo(host(2).into()));
    assert_eq!(bed.state_of(first.container), Some(InstanceState::Live), "nothing is stopped yet");
    bed.manager().run_until_idle();
    let mut calls = bed.tick();
    let status = bed.status(1);
    let counts = (status.actual, status.releasing, status.reserved, status.starting, status.requested);
    assert_eq!(counts, (1, 1, 1, 0, 0), "one is being stopped, one is reserved, and none is missing");
    calls.extend(bed.run_until_idle());
    assert_eq!((bed.only(1).host, bed.only(2)), (host(2), other));
    assert_eq!(bed.state_of(first.container), None);
    assert_eq!(requests(&calls).len(), 1, "the request for its new place");
    use ActionStatus::{Accepted, InProgress, Succeeded};
    assert_eq!(answers(&mut bed), [(1, Accepted), (1, InProgress), (1, InProgress), (1, Succeeded)]);
    let counters = bed.status(1).counters;
    assert_eq!((counters.failed, counters.completed), (0, 1), "a planned stop is not a failure (X4)");
}

on_both!(a_place_that_is_not_found_in_time_does_no_harm);
/// P3.
fn a_place_that_is_not_found_in_time_does_no_harm<M: Manager>() {
    let mut bed = job::<M>();
    let before = (bed.only(1), bed.only(2));
    let full = bed.only(2).host;
    act(&mut bed, 1, 1, ActionKind::MoveTo(full.into()));
    bed.run_until_idle();
    assert_eq!(bed.service.state().action_count(), 1);
    bed.at(1 + EXPIRES_AFTER_MS);
    assert_eq!(bed.service.state().action_count(), 1);
    bed.at(2 + EXPIRES_AFTER_MS);
    bed.run_until_idle();
    assert_eq!(last_word(&mut bed), Some(ActionStatus::Failed));
    assert_eq!((bed.only(1), bed.only(2)), before);
    assert_eq!((bed.status(1).requested, bed.status(1).reserved), (0, 0));
}

on_both!(a_failed_start_elsewhere_returns_the_container_to_its_host);
/// P4.
fn a_failed_start_elsewhere_returns_the_container_to_its_host<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 1).starting_by_hand().start(vec![processor(1)], None);
    bed.run_until_idle();
    let first = bed.only(1);
    assert_eq!(bed.manager().report_started(first.container), Ok(()));
    bed.manager().add_node(&host(1), "", "", 1);
    bed.run_until_idle();
    act(&mut bed, 1, 1, ActionKind::MoveElsewhere);
    bed.run_until_idle();
    let moved = bed.only(1);
    assert_eq!((moved.host, moved.state), (host(1), InstanceState::Starting));
    assert_eq!(bed.manager().report_start_failed(moved.container), Ok(()));
    bed.run_until_idle();
    assert_eq!(last_word(&mut bed), Some(ActionStatus::Failed));
    let back = bed.only(1);
    assert_eq!((back.host, back.state), (first.host, InstanceState::Starting));
}

on_both!(a_move_elsewhere_never_ends_on_the_same_host);
/// Z4.
fn a_move_elsewhere_never_ends_on_the_same_host<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 9).start(vec![processor(1)], None);
    bed.run_until_idle();
    act(&mut bed, 1, 1, ActionKind::MoveElsewhere);
    bed.run_until_idle();
    assert_eq!(last_word(&mut bed), Some(ActionStatus::Failed), "there is no other host");
    bed.manager().add_node(&host(5), "", "", 1);
    bed.run_until_idle();
    act(&mut bed, 2, 1, ActionKind::MoveElsewhere);
    bed.run_until_idle();
    assert_eq!((last_word(&mut bed), bed.only(1).host), (Some(ActionStatus::Succeeded), host(5)));
}

on_both!(a_container_restarts_on_its_host);
/// The restart reserves a place first if there is room for two (Z17), and stops first if not.
fn a_container_restarts_on_its_host<M: Manager>() {
    for (slots, kind) in [(2, ActionKind::Restart), (1, ActionKind::StopAndRestart)] {
        let mut bed = Cluster::<M>::of(1, slots).start(vec![processor(1)], None);
        bed.run_until_idle();
        let first = bed.only(1);
        act(&mut bed, 1, 1, kind);
        bed.run_until_idle();
        let again = bed.only(1);
        assert_eq!((last_word(&mut bed), again.host), (Some(ActionStatus::Succeeded), first.host));
        assert_ne!(again.container, first.container);
    }
    let mut bed = Cluster::<M>::of(1, 1).start(vec![processor(1)], None);
    bed.run_until_idle();
    let first = bed.only(1);
    act(&mut bed, 1, 1, ActionKind::Restart);
    bed.run_until_idle();
    bed.at(20_000);
    assert_eq!((last_word(&mut bed), bed.only(1)), (Some(ActionStatus::Failed), first), "no room for two");
}

on_both!(anti_affine_instances_are_stopped_before_they_restart);
fn anti_affine_instances_are_stopped_before_they_restart<M: Manager>() {
    let apart = processor(1).with_policy(PlacementPolicy::AntiAffinity);
    let mut bed = Cluster::<M>::of(1, 2).start(vec![apart], None);
    bed.run_until_idle();
    act(&mut bed, 1, 1, ActionKind::Restart);
    bed.run_until_idle();
    assert_eq!((last_word(&mut bed), bed.status(1).live), (Some(ActionStatus::Succeeded), 1));
}

on_both!(a_container_that_dies_while_its_move_waits_is_started_again);
/// X3 and Z9: the container is started again at once, and the move ends.
fn a_container_that_dies_while_its_move_waits_is_started_again<M: Manager>() {
    let mut bed = job::<M>();
    let first = bed.only(1);
    let full = bed.only(2).host;
    act(&mut bed, 1, 1, ActionKind::MoveTo(full.into()));
    bed.run_until_idle();
    bed.at(5_000);
    bed.end(first.container, 1);
    bed.run_until_idle();
    assert_eq!(last_word(&mut bed), Some(ActionStatus::Failed));
    assert_eq!((bed.status(1).live, bed.status(2).live), (1, 1));
}

on_both!(a_waiting_move_delays_no_other_action);
/// X2 and X6.
fn a_waiting_move_delays_no_other_action<M: Manager>() {
    let mut bed = job::<M>();
    let other = bed.only(2);
    act(&mut bed, 1, 1, ActionKind::MoveTo(other.host.into()));
    bed.run_until_idle();
    act(&mut bed, 2, 2, ActionKind::MoveTo(host(2).into()));
    bed.run_until_idle();
    assert_eq!(bed.only(2).host, host(2));
    assert_eq!(bed.only(1).host, host(1), "so the first container has room on its host");
    let answers = answers(&mut bed);
    assert_eq!(answers.iter().filter(|(_, status)| *status == ActionStatus::Succeeded).count(), 2);
}

on_both!(actions_on_one_container_take_turns);
/// I1 and Z2.
fn actions_on_one_container_take_turns<M: Manager>() {
    let mut bed = job::<M>();
    act(&mut bed, 1, 1, ActionKind::MoveTo(host(2).into()));
    act(&mut bed, 2, 1, ActionKind::MoveTo(host(0).into()));
    assert_eq!(answers(&mut bed).last(), Some(&(2, ActionStatus::Accepted)));
    bed.run_until_idle();
    let said = answers(&mut bed);
    let ends: Vec<_> = said.into_iter().filter(|(_, status)| status.is_terminal()).collect();
    assert_eq!(ends, [(1, ActionStatus::Succeeded), (2, ActionStatus::Succeeded)]);
    assert_eq!(bed.only(1).host, host(0));
}

on_both!(invalid_actions_are_answered_at_once);
/// X1, Z10 and bad messages, as far as they reach the service.
fn invalid_actions_are_answered_at_once<M: Manager>() {
    let mut bed = job::<M>();
    bed.change(|components| components.push(component(3, 2)));
    bed.run_until_idle();
    let before = (bed.only(1), bed.only(2), bed.containers(3));
    act(&mut bed, 1, 77, ActionKind::Restart);
    act(&mut bed, 2, 3, ActionKind::Restart);
    act(&mut bed, 3, 1, ActionKind::MoveTo("nowhere".into()));
    let (wrong, whose) = (bed.only(2).container, ComponentId(1));
    let action = ContainerAction {
        container: Some(wrong),
        expires_after_ms: 0,
        ..ContainerAction::new(ActionId(4), whose, ActionKind::Restart)
    };
    bed.service.submit(action, 1);
    let ends: Vec<_> = answers(&mut bed).into_iter().filter(|(_, status)| status.is_terminal()).collect();
    use ActionStatus::BadRequest;
    assert_eq!(ends, [(1, BadRequest), (2, BadRequest), (3, BadRequest), (4, BadRequest)]);
    bed.run_until_idle();
    assert_eq!((bed.only(1), bed.only(2), bed.containers(3)), before);
}

on_both!(a_move_is_taken_back_while_it_waits);
fn a_move_is_taken_back_while_it_waits<M: Manager>() {
    let mut bed = job::<M>();
    let before = bed.only(1);
    let full = bed.only(2).host;
    act(&mut bed, 1, 1, ActionKind::MoveTo(full.into()));
    act(&mut bed, 2, 1, ActionKind::Restart);
    bed.run_until_idle();
    for action in [2, 1] {
        bed.service.handle(apportion_placement::ServiceEvent::CancelAction(ActionId(action)), bed.now_ms);
    }
    bed.run_until_idle();
    let ends: Vec<_> = answers(&mut bed).into_iter().filter(|(_, status)| status.is_terminal()).collect();
    assert_eq!(ends, [(2, ActionStatus::Cancelled), (1, ActionStatus::Cancelled)]);
    assert_eq!(bed.only(1), before);
}

on_both!(a_service_that_stops_ends_its_actions);
fn a_service_that_stops_ends_its_actions<M: Manager>() {
    let mut bed = job::<M>();
    let full = bed.only(2).host;
    act(&mut bed, 1, 1, ActionKind::MoveTo(full.into()));
    act(&mut bed, 2, 1, ActionKind::Restart);
    bed.run_until_idle();
    bed.service.stop(bed.now_ms);
    bed.run_until_idle();
    let ends: Vec<_> = answers(&mut bed).into_iter().filter(|(_, status)| status.is_terminal()).collect();
    assert_eq!(ends, [(2, ActionStatus::Failed), (1, ActionStatus::Failed)]);
    assert_eq!(bed.service.state().container_count(), 0);
    act(&mut bed, 3, 1, ActionKind::Restart);
    assert_eq!(last_word(&mut bed), Some(ActionStatus::BadRequest));
}

on_both!(a_master_that_restarts_in_the_middle_runs_nothing_twice);
/// A container that was reserved and not started is given back.
fn a_master_that_restarts_in_the_middle_runs_nothing_twice<M: Manager>() {
    let mut bed = job::<M>();
    act(&mut bed, 1, 1, ActionKind::MoveTo(host(2).into()));
    bed.manager().run_until_idle();
    let mut bed = bed.restart_master();
    bed.run_until_idle();
    assert_eq!((bed.status(1).live, bed.status(2).live, bed.status(1).reserved), (1, 1, 0));
}

/// A container on a full host restarts, elsewhere if need be. The other host has room for so many.
fn restarting_without_room_beside<M: Manager>(room_elsewhere: i64) -> Bed<M> {
    let mut bed = Cluster::<M>::of(1, 1).start(vec![processor(1)], None);
    bed.run_until_idle();
    bed.manager().add_node(&host(1), "", "", room_elsewhere);
    bed.run_until_idle();
    let action = ContainerAction {
        expires_after_ms: EXPIRES_AFTER_MS,
        or_elsewhere: true,
        ..ContainerAction::new(ActionId(1), ComponentId(1), ActionKind::Restart)
    };
    bed.service.submit(action, bed.now_ms);
    bed.run_until_idle();
    bed
}

on_both!(a_container_that_has_no_room_beside_itself_goes_elsewhere_if_it_may);
fn a_container_that_has_no_room_beside_itself_goes_elsewhere_if_it_may<M: Manager>() {
    let mut bed = restarting_without_room_beside::<M>(1);
    assert_eq!((last_word(&mut bed), bed.only(1).host), (Some(ActionStatus::InProgress), host(0)));
    bed.at(2 + EXPIRES_AFTER_MS / 2);
    bed.run_until_idle();
    assert_eq!((last_word(&mut bed), bed.only(1).host), (Some(ActionStatus::Succeeded), host(1)));
}

on_both!(a_search_elsewhere_has_the_other_half_of_the_time);
fn a_search_elsewhere_has_the_other_half_of_the_time<M: Manager>() {
    let mut bed = restarting_without_room_beside::<M>(0);
    for now_ms in [2 + EXPIRES_AFTER_MS / 2, EXPIRES_AFTER_MS] {
        bed.at(now_ms);
        bed.run_until_idle();
        assert_eq!(last_word(&mut bed), Some(ActionStatus::InProgress).filter(|_| now_ms < EXPIRES_AFTER_MS));
    }
    bed.at(4 + EXPIRES_AFTER_MS);
    bed.run_until_idle();
    assert_eq!((last_word(&mut bed), bed.only(1).host), (Some(ActionStatus::Failed), host(0)));
}
