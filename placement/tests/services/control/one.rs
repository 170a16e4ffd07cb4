//! Actions on one processor.

use apportion_placement::control::{Destination, JobAction, JobRequest, JobSpec, Pace, ProcessorId};
use apportion_placement::{ActionStatus, ContainerExit, FakeCluster, Fault, InstanceState};
use uuid::Uuid;

use super::bed::{EXPIRES_AFTER_MS, JobBed, job_of, processor};
use crate::support::{Manager, host, on_both};
use ActionStatus::{Accepted, BadRequest, Cancelled, Failed, InProgress, Succeeded};

/// A cluster of this many hosts, each with this many slots.
pub(super) fn cluster<M: Manager>(hosts: usize, slots: i64) -> M {
    let mut manager = M::new();
    for number in 0..hosts {
        manager.add_node(&host(number), "", "", slots);
    }
    manager
}

/// Processors 0 and 1 on hosts 0 and 1, and a spare host.
fn job<M: Manager>() -> JobBed<M> {
    let mut bed = JobBed::start(job_of(2), cluster::<M>(2, 1));
    bed.manager().add_node(&host(2), "", "", 2);
    bed.run_until_idle();
    bed
}

on_both!(a_processor_moves_to_a_host);
/// P1.
fn a_processor_moves_to_a_host<M: Manager>() {
    let mut bed = job::<M>();
    let other = bed.host_of("1");
    let request = bed.move_to("0", &host(2));
    bed.run_until_idle();
    assert_eq!((bed.host_of("0"), bed.host_of("1")), (host(2), other));
    assert_eq!(bed.said(request), [Accepted, InProgress, InProgress, Succeeded]);
}

on_both!(requests_for_unknown_objects_are_answered_at_once);
/// X1 and Z10: requests with an unknown processor, an unknown host or a standby's host are answered at once.
fn requests_for_unknown_objects_are_answered_at_once<M: Manager>() {
    let mut bed = job::<M>();
    let requests = [
        bed.move_to("7", &host(2)),
        bed.move_to("0", "nowhere"),
        bed.place("0-0", Destination::AnyHost),
        bed.place("0", Destination::Standby),
        bed.ask(JobAction::StopStandby { standby: processor("0") }),
        bed.ask(JobAction::ReadmitHost { host: host(0).into() }),
        bed.ask(JobAction::Cancel { request: Uuid::from_u128(77) }),
    ];
    for request in requests {
        assert_eq!(bed.said(request), [BadRequest], "{}", bed.message(request));
    }
    assert!(bed.message(requests[0]).contains("there is no processor `7`"));
    assert_eq!(bed.job.request_count(), 0);
}

on_both!(requests_for_one_processor_wait_for_each_other);
/// I1 and Z2.
fn requests_for_one_processor_wait_for_each_other<M: Manager>() {
    let mut bed = job::<M>();
    let first = bed.move_to("0", &host(2));
    let second = bed.place("0", Destination::LastSeen);
    let third = bed.place("1", Destination::LastSeen);
    assert_eq!(bed.said(second), [Accepted]);
    assert_eq!(bed.status("0").queued, 1);
    bed.run_until_idle();
    assert_eq!((bed.outcome(first), bed.outcome(second)), (Some(Succeeded), Some(Succeeded)));
    assert_eq!(bed.host_of("0"), host(2));
    assert_eq!(
        bed.outcome(third),
        None,
        "its host has no room for two: it waits, and blocks no other request"
    );
    bed.at(EXPIRES_AFTER_MS + 2);
    assert_eq!(bed.outcome(third), Some(Failed), "Z17");
}

on_both!(a_restart_that_finds_no_room_beside_itself_can_stop_first);
/// Z17: both modes.
fn a_restart_that_finds_no_room_beside_itself_can_stop_first<M: Manager>() {
    let mut bed = job::<M>();
    let (was, at) = (bed.status("1").container, bed.host_of("1"));
    let request = bed.place("1", Destination::ForceRestartLastSeen);
    bed.run_until_idle();
    assert_eq!((bed.outcome(request), bed.host_of("1")), (Some(Succeeded), at));
    assert_ne!(bed.status("1").container, was);
}

on_both!(a_waiting_action_blocks_no_recovery);
/// X2: while a move waits for ten minutes, a lost container of another processor is replaced.
fn a_waiting_action_blocks_no_recovery<M: Manager>() {
    let mut bed = job::<M>();
    let full = bed.host_of("1");
    let action = JobAction::Place { processor: processor("0"), destination: Destination::Host(full.into()) };
    let request = bed.ask_with(JobRequest { expires_after_ms: 600_000, ..JobRequest::new(action) });
    bed.run_until_idle();
    let lost = bed.host_of("1");
    bed.manager().lose_node(&lost);
    bed.run_until_idle();
    bed.at(20_000);
    bed.run_until_idle();
    assert_eq!(bed.host_of("1"), host(2));
    assert_eq!(bed.outcome(request), None, "it waits still");
}

/// X6: the end of a stopped container is not reported, while another container ends and is replaced.
#[test]
fn a_slow_stop_delays_no_other_action() {
    let mut bed = job::<FakeCluster>();
    let at = bed.host_of("1");
    let stopped = bed.status("0").container.unwrap_or_else(|| panic!("it has a container"));
    let state = |bed: &JobBed<FakeCluster>| bed.job.service().state().instance_state(stopped);
    bed.manager().inject(Fault::LoseCallback);
    let request = bed.place("0", Destination::ForceRestartLastSeen);
    bed.tick();
    assert_eq!(state(&bed), Some(InstanceState::Releasing));
    bed.end("1", 1);
    bed.run_until_idle();
    assert_eq!((bed.host_of("1"), bed.status("1").state), (at, Some(InstanceState::Live)));
    assert_eq!((bed.outcome(request), state(&bed)), (None, Some(InstanceState::Releasing)));
    bed.at(60_002);
    bed.run_until_idle();
    assert!(bed.outcome(request).is_some());
    assert_eq!(bed.job.status().below_configured, 0);
}

on_both!(a_move_that_waits_does_not_keep_its_container_down);
/// X3 and Z9: the container is restarted at once, not at the end of the move's time limit.
fn a_move_that_waits_does_not_keep_its_container_down<M: Manager>() {
    let mut bed = job::<M>();
    let (at, full) = (bed.host_of("0"), bed.host_of("1"));
    let request = bed.move_to("0", &full);
    bed.run_until_idle();
    bed.end("0", 1);
    bed.run_until_idle();
    assert_eq!((bed.host_of("0"), bed.job.status().below_configured), (at, 0));
    bed.at(EXPIRES_AFTER_MS + 2);
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Failed));
}

on_both!(a_job_that_ends_says_its_last_words);
/// Covers waiting moves, requests about many containers, and requests that wait for their turn.
fn a_job_that_ends_says_its_last_words<M: Manager>() {
    let mut bed = job::<M>();
    let full = bed.host_of("1");
    let moved = bed.move_to("0", &full);
    let waits = bed.place("0", Destination::LastSeen);
    let drained = bed.ask(JobAction::DrainHost { host: full.into(), pace: Pace::default() });
    bed.run_until_idle();
    bed.job.stop(bed.now_ms);
    bed.run_until_idle();
    for request in [moved, waits, drained] {
        assert!(bed.outcome(request).is_some(), "{}", bed.message(request));
    }
    assert_eq!((bed.job.request_count(), bed.job.service().state().container_count()), (0, 0));
    let late = bed.place("0", Destination::LastSeen);
    assert_eq!(bed.outcome(late), Some(BadRequest));
}

#[test]
fn a_processor_has_one_name() {
    for name in ["0", "0-1", "a.b_c-0"] {
        assert_eq!(processor(name).to_string(), name);
    }
    for name in ["", "0-+1", "0-007", "0-", "-1", "0-1-1", "0/1"] {
        assert!(name.parse::<ProcessorId>().is_err(), "`{name}`");
    }
}

on_both!(planned_stops_are_no_failures);
/// X4 and Z7: no failure is tolerated here, and moves and restarts count as none.
fn planned_stops_are_no_failures<M: Manager>() {
    let mut bed = JobBed::start(JobSpec { failures_max: Some(0), ..job_of(2) }, cluster::<M>(3, 4));
    for _ in 0..3 {
        let requests = [
            bed.place("0", Destination::AnyHost),
            bed.place("1", Destination::LastSeen),
            bed.place("1", Destination::ForceRestartLastSeen),
        ];
        bed.run_until_idle();
        for request in requests {
            assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
        }
    }
    assert_eq!(bed.job.status().failure, None);
}

on_both!(a_request_is_taken_back_in_time);
fn a_request_is_taken_back_in_time<M: Manager>() {
    let mut bed = job::<M>();
    let full = bed.host_of("1");
    let before = bed.status("0").container;
    let waits = bed.move_to("0", &full);
    let queued = bed.place("0", Destination::AnyHost);
    let cancels = bed.ask(JobAction::Cancel { request: queued });
    assert_eq!((bed.outcome(queued), bed.outcome(cancels)), (Some(Cancelled), Some(Succeeded)));
    let cancels = bed.ask(JobAction::Cancel { request: waits });
    bed.run_until_idle();
    assert_eq!((bed.outcome(waits), bed.outcome(cancels)), (Some(Cancelled), Some(Succeeded)));
    assert_eq!(bed.status("0").container, before);
    let again = bed.ask(JobAction::Cancel { request: waits });
    assert_eq!(bed.outcome(again), Some(BadRequest), "it is over");
    let moved = bed.place("0", Destination::AnyHost);
    bed.run_until_idle();
    assert_eq!(bed.outcome(moved), Some(Succeeded), "nothing blocks it any longer");
}

on_both!(a_request_is_tried_again_if_asked_to);
/// Z5: by default it is not.
fn a_request_is_tried_again_if_asked_to<M: Manager>() {
    let mut bed = job::<M>();
    let full = bed.host_of("1");
    let action =
        JobAction::Place { processor: processor("0"), destination: Destination::Host(full.clone().into()) };
    let request = bed.ask_with(JobRequest { action, expires_after_ms: EXPIRES_AFTER_MS, retries: 1 });
    bed.run_until_idle();
    bed.at(EXPIRES_AFTER_MS + 2);
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), None);
    assert!(bed.message(request).contains("0 tries left"), "{}", bed.message(request));
    bed.move_to("1", &host(2));
    bed.run_until_idle();
    assert_ne!(bed.host_of("0"), full, "it pauses before it tries again");
    bed.at(EXPIRES_AFTER_MS + 2 + 1_000);
    bed.run_until_idle();
    assert_eq!((bed.outcome(request), bed.host_of("0")), (Some(Succeeded), full));
}

on_both!(pauses_between_tries_become_longer);
/// The pauses prevent a hot loop of retries. A request can be cancelled during a pause.
fn pauses_between_tries_become_longer<M: Manager>() {
    let mut bed = job::<M>();
    let destination = || Destination::Host(host(1).into());
    let ask = |name: &str, retries| {
        let action = JobAction::Place { processor: processor(name), destination: destination() };
        JobRequest { action, expires_after_ms: 10, retries }
    };
    let name = if bed.host_of("0") == host(1) { "1" } else { "0" };
    let request = bed.ask_with(ask(name, 3));
    let mut failed_ms = Vec::new();
    for now_ms in (10..9_000).step_by(10) {
        let before = bed.said(request).len();
        bed.at(now_ms);
        if bed.said(request).len() > before && bed.message(request).contains("in time") {
            failed_ms.push(now_ms);
        }
    }
    let pauses: Vec<u64> = failed_ms.windows(2).map(|pair| (pair[1] - pair[0]) / 1_000).collect();
    assert_eq!(
        (bed.outcome(request), pauses),
        (Some(Failed), vec![1, 2, 4]),
        "{failed_ms:?} {}",
        bed.message(request)
    );
    let request = bed.ask_with(ask(name, 3));
    bed.at(9_100);
    let cancel = bed.ask(JobAction::Cancel { request });
    bed.run_until_idle();
    assert_eq!((bed.outcome(request), bed.outcome(cancel)), (Some(Cancelled), Some(Succeeded)));
}

on_both!(a_request_for_a_container_that_is_being_started_waits);
fn a_request_for_a_container_that_is_being_started_waits<M: Manager>() {
    let mut bed = job::<M>();
    bed.end("0", ContainerExit::ABORTED);
    bed.manager().run_until_idle();
    bed.tick();
    let request = bed.place("0", Destination::AnyHost);
    assert_eq!(bed.said(request), [Accepted, InProgress]);
    assert_eq!(bed.message(request), "it waits until the container runs");
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
}

on_both!(without_host_affinity_any_host_is_asked_for);
/// P6: without host affinity the job starts on any hosts, and a move still goes to the given host.
fn without_host_affinity_any_host_is_asked_for<M: Manager>() {
    let spec = JobSpec { has_host_affinity: false, ..job_of(2) };
    let mut bed = JobBed::start(spec, cluster::<M>(2, 1));
    bed.manager().add_node(&host(2), "", "", 1);
    bed.run_until_idle();
    let other = bed.host_of("1");
    let request = bed.move_to("0", &host(2));
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Succeeded));
    assert_eq!((bed.host_of("0"), bed.host_of("1")), (host(2), other));
}

on_both!(a_coordinator_that_is_started_again_leaves_one_container_each);
fn a_coordinator_that_is_started_again_leaves_one_container_each<M: Manager>() {
    for ticks in 0..4 {
        let mut bed = job::<M>();
        bed.place("0", Destination::AnyHost);
        for _ in 0..ticks {
            bed.manager().run_until_idle();
            bed.tick();
        }
        let mut bed = bed.restart();
        bed.run_until_idle();
        bed.at(20_000);
        bed.run_until_idle();
        let status = bed.job.status();
        assert_eq!((status.below_configured, bed.job.service().state().container_count()), (0, 2));
        assert!(status.requests.is_empty());
    }
}
