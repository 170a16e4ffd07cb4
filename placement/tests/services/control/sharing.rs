//! Control planes that share a store, jobs that are taken out, and requests that no control plane handles.

use std::sync::Arc;

use apportion_placement::control::{
    ActionName, Change, ConflictPolicy, ControlPlane, ControlSettings, ControlStore, Deployment, Job,
    PlacementRequest, StatusCode,
};
use apportion_placement::{FakeCluster, ServiceSettings};
use serde_json::json;

use super::bed::job_of;
use super::one::cluster;
use super::plane_bed::PlaneBed;
use StatusCode::{Conflict, Failed, InProgress, Succeeded};

const HOUR_MS: u64 = 3_600_000;

fn start(hosts: usize, slots: i64) -> PlaneBed<FakeCluster> {
    PlaneBed::start(job_of(2), cluster(hosts, slots))
}

/// The next coordinator starts while the last one still runs, and the last one goes on.
#[test]
fn a_control_plane_that_was_superseded_says_nothing_more() {
    let mut bed = start(3, 4);
    let moved = bed.ask("0", "ANY_HOST");
    bed.ask_for("START_STANDBY", "1", "", &json!({}));
    bed.turn();
    let next = Job::start(job_of(2), ServiceSettings::default(), cluster::<FakeCluster>(3, 4), None, 1);
    let next = next.unwrap_or_else(|error| panic!("{error}"));
    let store = Arc::clone(&bed.store) as Arc<dyn ControlStore>;
    let mut plane = ControlPlane::new(store, ControlSettings::default());
    assert!(plane.deploy("run-2", next, 1).is_ok());
    let first = bed.answer(moved);
    assert_eq!(bed.status(moved), Some(Failed));
    bed.run_until_idle();
    assert_eq!(bed.answer(moved), first, "the last word stays");
    assert_eq!(bed.store.job_records("job"), Ok(Vec::new()), "its changes do not reach its successor");
    bed.ask("0", "LAST_SEEN");
    bed.turn();
    assert!(!bed.plane.is_deployed("run-1"), "and it notices");
    assert_eq!(bed.plane.open_count(), 0);
}

#[test]
fn a_new_deployment_leaves_other_jobs_unchanged() {
    let bed = start(3, 4);
    let others = [("elsewhere", true), ("ended", false)].map(|(id, is_current)| Deployment {
        id: id.to_owned(),
        job: "other".to_owned(),
        started_ms: 1,
        is_current,
    });
    assert_eq!(bed.store.apply(&others.clone().map(Change::PutDeployment)), Ok(()));
    let next = Job::start(job_of(2), ServiceSettings::default(), cluster::<FakeCluster>(3, 4), None, 1);
    let next = next.unwrap_or_else(|error| panic!("{error}"));
    let store = Arc::clone(&bed.store) as Arc<dyn ControlStore>;
    assert!(ControlPlane::new(store, ControlSettings::default()).deploy("run-2", next, 1).is_ok());
    let is_current = |id: &str| bed.store.deployment(id).map(|found| found.map(|found| found.is_current));
    assert_eq!(
        ["run-1", "run-2", "elsewhere", "ended"].map(is_current),
        [Ok(Some(false)), Ok(Some(true)), Ok(Some(true)), Ok(Some(false))]
    );
}

#[test]
fn a_request_for_a_job_without_control_plane_fails_in_the_end() {
    let mut bed = start(3, 4);
    let deployment =
        Deployment { id: "elsewhere".to_owned(), job: "other".to_owned(), started_ms: 1, is_current: true };
    assert_eq!(bed.store.apply(&[Change::PutDeployment(deployment)]), Ok(()));
    let message = bed.message("0", "ANY_HOST");
    let theirs = bed.submit(PlacementRequest { deployment_id: "elsewhere".to_owned(), ..message });
    bed.at(HOUR_MS / 2);
    assert_eq!(bed.status(theirs), None);
    for hour in 1..4 {
        bed.at(hour * HOUR_MS + 2);
    }
    assert_eq!(bed.status(theirs), Some(Failed));
    assert!(bed.why(theirs).contains("does job `other` run?"), "{}", bed.why(theirs));
}

/// Two requests that wait for a day take up all the room.
#[test]
fn a_request_is_cancelled_though_there_is_no_room_for_more() {
    let settings = ControlSettings { accepted_max: 2, ..ControlSettings::default() };
    let mut bed =
        PlaneBed::<FakeCluster>::with(job_of(2), cluster(2, 1), settings, ConflictPolicy::default());
    let ask = |bed: &mut PlaneBed<FakeCluster>, name: &str, to: &str| {
        let at = bed.host_of(to);
        let message = PlacementRequest { request_expiry_ms: Some(24 * HOUR_MS), ..bed.message(name, &at) };
        bed.submit(message)
    };
    let waiting = [ask(&mut bed, "0", "1"), ask(&mut bed, "1", "0")];
    bed.run_until_idle();
    let third = bed.ask("0", "LAST_SEEN");
    bed.run_until_idle();
    assert_eq!((bed.status(third), bed.plane.open_count()), (None, 2));
    let cancels = waiting.map(|request| bed.ask_for("CANCEL", "", "", &json!({"request": request})));
    bed.run_until_idle();
    assert_eq!(cancels.map(|cancel| bed.status(cancel)), [Some(Succeeded); 2]);
    bed.at(10_000);
    assert!(bed.status(third).is_some_and(StatusCode::is_terminal), "the request without room has its turn");
}

/// Writers' clocks differ, so a later message may have an earlier time. This many requests wait already.
fn a_cancel_is_found_behind(others: u64) {
    let settings = ControlSettings { accepted_max: 1, ..ControlSettings::default() };
    let mut bed =
        PlaneBed::<FakeCluster>::with(job_of(2), cluster(2, 1), settings, ConflictPolicy::default());
    let full = bed.host_of("1");
    let message = PlacementRequest { request_expiry_ms: Some(24 * HOUR_MS), ..bed.message("0", &full) };
    let waiting = bed.submit(message);
    bed.at(1_000);
    for number in 0..others {
        let message = PlacementRequest { timestamp_ms: 600_000 + number, ..bed.message("1", "LAST_SEEN") };
        bed.submit(message);
    }
    bed.run_until_idle();
    let cancel = PlacementRequest {
        action: Some("CANCEL".to_owned()),
        parameters: json!({"request": waiting}).as_object().cloned().unwrap_or_default(),
        timestamp_ms: 599_990 + others,
        ..bed.message("", "")
    };
    let cancel = bed.submit(cancel);
    for _ in 0..4 {
        bed.turn();
    }
    assert_eq!((bed.status(cancel), bed.status(waiting)), (Some(Succeeded), Some(StatusCode::Cancelled)));
}

#[test]
fn a_cancel_with_an_earlier_timestamp_is_found() {
    a_cancel_is_found_behind(1);
    // The cancel is on the second page.
    a_cancel_is_found_behind(300);
}

/// The request has no room yet, and it is not carried out later.
#[test]
fn a_request_that_waits_in_the_store_can_be_cancelled() {
    let settings = ControlSettings { accepted_max: 1, ..ControlSettings::default() };
    let mut bed =
        PlaneBed::<FakeCluster>::with(job_of(2), cluster(3, 1), settings, ConflictPolicy::default());
    let full = bed.host_of("1");
    bed.ask("0", &full);
    bed.run_until_idle();
    let waiting = bed.ask("1", "ANY_HOST");
    let other = PlacementRequest { deployment_id: "elsewhere".to_owned(), ..bed.message("1", "ANY_HOST") };
    let other = bed.submit(other);
    let cancels = [waiting, other].map(|request| bed.ask_for("CANCEL", "", "", &json!({"request": request})));
    bed.run_until_idle();
    assert_eq!((bed.status(cancels[0]), bed.status(waiting)), (Some(Succeeded), Some(StatusCode::Cancelled)));
    assert_eq!(bed.status(cancels[1]), Some(StatusCode::BadRequest), "it is another deployment's");
    let is_counted = |end| bed.plane.metrics().outcomes.contains_key(&end);
    assert!(is_counted((Some(ActionName::Move), StatusCode::Cancelled)));
    assert!(is_counted((Some(ActionName::Cancel), Succeeded)));
    let at = bed.host_of("1");
    bed.at(10_000);
    assert_eq!((bed.status(waiting), bed.host_of("1")), (Some(StatusCode::Cancelled), at));
}

/// In either order of the two UUIDs.
#[test]
fn a_cancel_with_the_same_timestamp_is_carried_out() {
    for is_cancel_lower in [false, true] {
        let mut bed = start(3, 4);
        let waits = json!({"canaries": 1, "canaryWaitMs": 60_000});
        let parameters = |json: &serde_json::Value| json.as_object().cloned().unwrap_or_default();
        let (low, high) = (bed.message("", ""), bed.message("", ""));
        let (asked, cancel) = if is_cancel_lower { (high, low) } else { (low, high) };
        let action = Some("ROLLING_RESTART".to_owned());
        let asked = bed.submit(PlacementRequest { action, parameters: parameters(&waits), ..asked });
        let action = Some("CANCEL".to_owned());
        let target = parameters(&json!({"request": asked}));
        let cancel = bed.submit(PlacementRequest { action, parameters: target, ..cancel });
        bed.run_until_idle();
        assert_eq!((bed.status(cancel), bed.status(asked)), (Some(Succeeded), Some(StatusCode::Cancelled)));
    }
}

/// For instance with other rules.
#[test]
fn a_redeployed_job_has_no_open_requests() {
    let mut bed = start(3, 4);
    let waits = json!({"canaries": 1, "canaryWaitMs": 60_000});
    let request = bed.ask_for("ROLLING_RESTART", "", "", &waits);
    bed.run_until_idle();
    let again = bed.plane.deploy("run-2", Arc::clone(&bed.job), bed.now_ms);
    assert!(again.is_ok(), "{again:?}");
    assert_eq!((bed.status(request), bed.job.lock().request_count()), (Some(Failed), 0));
    bed.at(100_000);
    assert_eq!(bed.status(request), Some(Failed));
    assert_eq!(bed.job.lock().status().below_configured, 0);
}

/// The second of two moves begins at the end of the first one's time limit.
#[test]
fn a_turn_returns_the_deadline_of_steps_that_it_began() {
    let mut bed = start(2, 1);
    let full = bed.host_of("1");
    let requests = [bed.ask("0", &full), bed.ask("0", &full)];
    bed.run_until_idle();
    for (number, request) in (1_u64..).zip(requests) {
        let due_ms = number * 5_001 + 1;
        bed.now_ms = due_ms;
        let next_ms = bed.plane.turn(due_ms);
        assert_eq!(bed.status(request), Some(Failed));
        if number == 1 {
            assert_eq!(next_ms, Ok(Some(2 * 5_001 + 1)));
        }
    }
}

#[test]
fn limits_that_make_no_sense_are_the_least_that_do() {
    let settings = ControlSettings { accepted_max: 0, sweep_every_ms: 0, ..ControlSettings::default() };
    let mut bed =
        PlaneBed::<FakeCluster>::with(job_of(1), cluster(2, 2), settings, ConflictPolicy::default());
    let request = bed.ask("0", "ANY_HOST");
    bed.run_until_idle();
    assert_eq!(bed.status(request), Some(Succeeded));
    let next_ms = bed.plane.turn(bed.now_ms);
    assert!(next_ms.is_ok_and(|next_ms| next_ms.is_some_and(|next_ms| next_ms > bed.now_ms)));
}

/// If old outcomes were deleted earlier, a repeated request would be carried out again.
#[test]
fn an_outcome_is_kept_while_its_request_may_be_repeated() {
    let settings = ControlSettings { retention_ms: 1, ..ControlSettings::default() };
    let mut bed =
        PlaneBed::<FakeCluster>::with(job_of(2), cluster(2, 4), settings, ConflictPolicy::default());
    let message = PlacementRequest { timestamp_ms: HOUR_MS - 1, ..bed.message("0", "LAST_SEEN") };
    let request = bed.submit(message.clone());
    bed.run_until_idle();
    assert_eq!(bed.status(request), Some(Succeeded));
    bed.at(2 * HOUR_MS - 2);
    bed.at(2 * HOUR_MS - 1);
    assert!(bed.store.apply(&[Change::PutRequest(message)]).is_err(), "it is known");
    bed.at(4 * HOUR_MS);
    assert_eq!(bed.status(request), None);
}

#[test]
fn requests_that_need_no_room_take_little() {
    let settings = ControlSettings { accepted_max: 1, ..ControlSettings::default() };
    let mut bed =
        PlaneBed::<FakeCluster>::with(job_of(2), cluster(2, 1), settings, ConflictPolicy::default());
    let full = bed.host_of("1");
    bed.ask("0", &full);
    bed.run_until_idle();
    for number in 0..2_000_u32 {
        bed.ask_for("CANCEL", "", "", &json!({"request": uuid::Uuid::from_u128(number.into())}));
    }
    bed.turn();
    let metrics = bed.plane.metrics();
    assert!(metrics.open_max < 300, "{} were open at once", metrics.open_max);
    assert_eq!(bed.store.counts().map(|counts| counts.requests), Ok(0));
}

/// A request from the future would be last in time order until its time comes.
#[test]
fn a_request_whose_time_is_far_ahead_is_answered() {
    let mut bed = start(3, 4);
    let far = i64::MAX.unsigned_abs();
    let message = PlacementRequest { timestamp_ms: far, ..bed.message("0", "ANY_HOST") };
    let ours = bed.submit(message);
    let deployment =
        Deployment { id: "elsewhere".to_owned(), job: "other".to_owned(), started_ms: 1, is_current: true };
    assert_eq!(bed.store.apply(&[Change::PutDeployment(deployment)]), Ok(()));
    let message = PlacementRequest { timestamp_ms: far, ..bed.message("0", "ANY_HOST") };
    let theirs = bed.submit(PlacementRequest { deployment_id: "elsewhere".to_owned(), ..message });
    bed.run_until_idle();
    for request in [ours, theirs] {
        assert_eq!(bed.status(request), Some(StatusCode::BadRequest));
        assert!(bed.why(request).contains("ahead of the control plane's clock"), "{}", bed.why(request));
    }
}

#[test]
fn requests_about_many_containers_are_refused_beside_others_too() {
    let rules = (ControlSettings::default(), ConflictPolicy::Refuse);
    let mut bed = PlaneBed::<FakeCluster>::with(job_of(2), cluster(2, 1), rules.0, rules.1);
    let full = bed.host_of("1");
    let one = bed.ask("0", &full);
    bed.run_until_idle();
    let rolling = bed.ask_for("ROLLING_RESTART", "", "", &json!({}));
    bed.run_until_idle();
    assert_eq!((bed.status(one), bed.status(rolling)), (Some(InProgress), Some(Conflict)));
    let cancel = bed.ask_for("CANCEL", "", "", &json!({"request": one}));
    bed.run_until_idle();
    assert_eq!(bed.status(cancel), Some(Succeeded), "that is never refused");
    let slow = json!({"canaries": 1, "canaryWaitMs": 1_000_000});
    let requests = [
        bed.ask_for("ROLLING_RESTART", "", "", &slow),
        bed.ask_for("ROLLING_RESTART", "", "", &json!({})),
        bed.ask("0", "LAST_SEEN"),
    ];
    bed.run_until_idle();
    assert_eq!(
        requests.map(|request| bed.status(request)),
        [Some(InProgress), Some(Conflict), Some(Conflict)]
    );
}

/// Otherwise a thread that sleeps until then would not sleep, or a pause would not end.
#[test]
fn the_control_plane_says_when_it_has_to_be_called_again() {
    let settings = ControlSettings { sweep_every_ms: HOUR_MS, ..ControlSettings::default() };
    let mut bed =
        PlaneBed::<FakeCluster>::with(job_of(2), cluster(2, 4), settings, ConflictPolicy::default());
    bed.run_until_idle();
    let next_ms = |bed: &mut PlaneBed<FakeCluster>, now_ms: u64| {
        bed.plane.turn(now_ms).unwrap_or_else(|error| panic!("{error}")).unwrap_or(u64::MAX)
    };
    let sweep_ms = next_ms(&mut bed, 1);
    assert_eq!(next_ms(&mut bed, sweep_ms), sweep_ms, "the store is read again at once");
    assert_eq!(next_ms(&mut bed, sweep_ms), sweep_ms + HOUR_MS, "the sweep is done");
    bed.at(sweep_ms);
    bed.ask_for("ROLLING_RESTART", "", "", &json!({"canaries": 1, "canaryWaitMs": 60_000}));
    bed.run_until_idle();
    assert_eq!(next_ms(&mut bed, sweep_ms), sweep_ms + 60_000, "the wait for the first containers ends");
}

#[test]
fn at_most_so_many_requests_about_many_containers_wait() {
    let rules = (ControlSettings::default(), ConflictPolicy::Queue { most: 1 });
    let mut bed = PlaneBed::<FakeCluster>::with(job_of(2), cluster(2, 4), rules.0, rules.1);
    let slow = json!({"canaries": 1, "canaryWaitMs": 1_000_000});
    let requests = [0, 1, 2].map(|_| bed.ask_for("ROLLING_RESTART", "", "", &slow));
    bed.run_until_idle();
    assert_eq!(bed.status(requests[2]), Some(Conflict), "{}", bed.why(requests[2]));
    assert_ne!(bed.status(requests[1]), Some(Conflict), "one may wait");
    let long = json!({"version": "v".repeat(257)});
    let long = bed.ask_for("ROLLING_RESTART", "", "", &long);
    bed.run_until_idle();
    assert!(bed.why(long).contains("version has 257 bytes; 256 are allowed"), "{}", bed.why(long));
}

/// The job's next owner does not inherit requests of others.
#[test]
fn requests_end_when_their_job_is_retired() {
    let mut bed = start(2, 1);
    let (at, full) = (bed.host_of("0"), bed.host_of("1"));
    let moved = bed.ask("0", &full);
    let rolling = bed.ask_for("ROLLING_RESTART", "", "", &json!({"canaries": 1, "canaryWaitMs": 1_000_000}));
    bed.turn();
    assert!(bed.plane.retire("run-1", bed.now_ms).is_ok_and(|job| job.is_some()));
    for request in [moved, rolling] {
        assert_eq!(bed.status(request), Some(Failed));
        assert!(bed.why(request).contains("was taken out of its control plane"), "{}", bed.why(request));
    }
    let mut job = bed.job.lock();
    for now_ms in 2..10 {
        job.tick(now_ms);
    }
    assert_eq!((job.request_count(), job.service().state().action_count()), (0, 0));
    assert_eq!(job.status().below_configured, 0);
    let at_last = job.processor_status(&"0".parse().unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(at_last.and_then(|status| status.host), Some(at));
}
