//! The state of a job after a restart of its coordinator, at any moment of a request.

use std::fmt::Debug;
use std::sync::Arc;

use apportion::Resources;
use apportion_placement::FakeCluster;
use apportion_placement::control::{ControlSettings, ControlStore, JobSpec, StatusCode};
use serde_json::json;
use uuid::Uuid;

use super::bed::{job_of, processor};
use super::one::cluster;
use super::plane_bed::PlaneBed;
use crate::support::{Manager, host, on_both};

fn standbys(spec: &JobSpec) -> usize {
    spec.processors[0].standbys.len()
}

/// The process ends at one of the writes after a request, and the next coordinator gets the job from the store.
fn after_an_end<M: Manager + Debug + Send + 'static>(
    writes: u32,
    is_made: bool,
    ask: impl FnOnce(&mut PlaneBed<M>) -> Uuid,
) -> (PlaneBed<M>, Uuid) {
    let mut bed = PlaneBed::start(job_of(2), cluster::<M>(4, 4));
    let uuid = ask(&mut bed);
    bed.store.ends_after(writes, is_made);
    bed.run_until_idle();
    let spec = bed.restored(&job_of(2));
    let mut bed = bed.crash(spec);
    bed.run_until_idle();
    (bed, uuid)
}

on_both!(a_success_survives_the_end_of_the_process);
/// A last word and the change of the job are written together.
fn a_success_survives_the_end_of_the_process<M: Manager + Debug + Send + 'static>() {
    let mut seen = (0, 0);
    for (writes, is_made) in (0..6).flat_map(|writes| [(writes, false), (writes, true)]) {
        let (bed, uuid) =
            after_an_end::<M>(writes, is_made, |bed| bed.ask_for("START_STANDBY", "0", "", &json!({})));
        let has_succeeded = bed.status(uuid) == Some(StatusCode::Succeeded);
        let spec = bed.job.lock().spec().clone();
        assert_eq!(standbys(&spec) == 1, has_succeeded, "{writes} {is_made}: {}", bed.why(uuid));
        assert_eq!(bed.job.lock().status().below_configured, 0);
        let counted = if has_succeeded { &mut seen.0 } else { &mut seen.1 };
        *counted += 1;

        let upgrade = json!({"version": "v2", "size": [2]});
        let (bed, uuid) =
            after_an_end::<M>(writes, is_made, |bed| bed.ask_for("ROLLING_RESTART", "", "", &upgrade));
        if bed.status(uuid) == Some(StatusCode::Succeeded) {
            let spec = bed.job.lock().spec().clone();
            assert!(spec.processors.iter().all(|known| known.version == "v2"), "{writes} {is_made}");
            assert!(
                spec.processors.iter().all(|known| known.size == Resources::new(&[2])),
                "{writes} {is_made}"
            );
        }

        let (bed, uuid) =
            after_an_end::<M>(writes, is_made, |bed| bed.ask_for("DRAIN_HOST", "", &host(0), &json!({})));
        if bed.status(uuid) == Some(StatusCode::Succeeded) {
            assert!(bed.job.lock().spec().hosts_kept_free.contains(&host(0)), "{writes} {is_made}");
            assert!(bed.host_of("0") != host(0) && bed.host_of("1") != host(0));
        }
    }
    assert!(seen.0 > 0 && seen.1 > 0, "some ended before, some after: {seen:?}");
}

on_both!(a_job_that_is_deployed_otherwise_is_as_its_owner_says);
fn a_job_that_is_deployed_otherwise_is_as_its_owner_says<M: Manager + Debug + Send + 'static>() {
    let mut bed = PlaneBed::start(job_of(2), cluster::<M>(4, 4));
    bed.ask_for("START_STANDBY", "0", "", &json!({}));
    bed.ask_for("START_STANDBY", "1", "", &json!({}));
    bed.ask_for("DRAIN_HOST", "", &host(3), &json!({}));
    bed.run_until_idle();
    let left = bed.restored(&job_of(2));
    assert!(standbys(&left) == 1 && left.hosts_kept_free.len() == 1);
    let mut mine = left.clone();
    mine.processors[0].standbys.clear();
    let mut bed = bed.crash(mine.clone());
    bed.run_until_idle();
    assert_eq!(bed.restored(&job_of(2)), mine, "the job is as its owner configured it");
    let mut bed = bed.crash(job_of(1));
    bed.run_until_idle();
    assert_eq!(bed.restored(&job_of(2)), job_of(2));
}

/// The owner may change settings that the records do not cover.
#[test]
fn a_restored_and_changed_job_keeps_its_records() {
    let mut bed = PlaneBed::start(job_of(2), cluster::<FakeCluster>(4, 4));
    bed.ask_for("START_STANDBY", "0", "", &json!({}));
    bed.run_until_idle();
    let mut spec = bed.restored(&job_of(2));
    spec.processors[0].is_stateful = true;
    let bed = bed.crash(spec);
    assert_eq!(standbys(&bed.restored(&job_of(2))), 1);
}

#[test]
fn a_job_that_is_not_taken_in_comes_back() {
    let mut bed = PlaneBed::<FakeCluster>::start(job_of(2), cluster(2, 4));
    bed.store.ends_after(0, false);
    let refused = bed.plane.deploy("run-2", Arc::clone(&bed.job), 1).expect_err("the store has failed");
    assert!(refused.to_string().contains("the process ended"), "{refused}");
    bed.store.reopen();
    assert!(bed.plane.deploy("run-2", *refused.job, 1).is_ok());
    assert!(bed.plane.is_deployed("run-2") && !bed.plane.is_deployed("run-1"));
}

/// The store fails while a request is removed from it, and the result is unknown; the process goes on.
#[test]
fn a_request_that_was_taken_out_in_doubt_is_carried_out_once() {
    for is_made in [false, true] {
        let mut bed = PlaneBed::<FakeCluster>::start(job_of(2), cluster(2, 4));
        let before = bed.job.lock().service().moves();
        let uuids = [bed.ask("0", "ANY_HOST"), bed.ask("1", "ANY_HOST")];
        bed.store.ends_after(0, is_made);
        bed.turn();
        assert_eq!((bed.plane.metrics().accepted, bed.job.lock().service().moves()), (0, before));
        bed.store.reopen();
        bed.run_until_idle();
        for uuid in uuids {
            assert_eq!(bed.status(uuid), Some(StatusCode::Succeeded), "{is_made}: {}", bed.why(uuid));
        }
        assert_eq!(bed.plane.metrics().accepted, 2);
    }
}

#[test]
fn nothing_is_known_for_ever_of_a_job_that_ended() {
    let mut bed = PlaneBed::<FakeCluster>::start(job_of(2), cluster(2, 4));
    bed.ask_for("START_STANDBY", "0", "", &json!({}));
    bed.run_until_idle();
    assert_eq!(bed.store.job_records("job").map(|records| records.len()), Ok(1));
    assert!(bed.plane.retire("run-1", bed.now_ms).is_ok_and(|job| job.is_some()));
    let settings = ControlSettings::default();
    bed.at(settings.retention_ms + settings.sweep_every_ms + 10);
    assert_eq!(bed.store.deployments(), Ok(Vec::new()));
    assert_eq!(bed.store.job_records("job"), Ok(Vec::new()));
    let known = bed.job.lock().processor_status(&processor("0-0"));
    assert!(known.is_some(), "the job goes on, under its present owner");
}

/// Runs everything for one step; standbys have read all state.
fn step<M: Manager + Debug + Send + 'static>(bed: &mut PlaneBed<M>) {
    bed.now_ms += 1;
    let now_ms = bed.now_ms;
    {
        let mut job = bed.job.lock();
        let known: Vec<_> = job.status().processors.into_iter().map(|known| known.processor).collect();
        for standby in known.into_iter().filter(apportion_placement::control::ProcessorId::is_standby) {
            job.report_caught_up(&standby, now_ms);
        }
        job.client_mut().set_time(now_ms);
        job.client_mut().run_until_idle();
    }
    bed.turn();
}

on_both!(another_coordinator_may_begin_at_any_step_of_anything);
/// A restart at any step of any action: the request has one last word, and each processor has one container.
fn another_coordinator_may_begin_at_any_step_of_anything<M: Manager + Debug + Send + 'static>() {
    let configured = || {
        let mut spec = job_of(3);
        spec.processors[0].standbys = [0].into();
        spec.processors[0].is_stateful = true;
        spec.processors[1].is_stateful = true;
        spec
    };
    let canary = json!({"version": "v2", "canaries": 1, "canaryWaitMs": 1});
    let requests = [
        ("MOVE", "1", "ANY_HOST".to_owned(), json!({})),
        ("MOVE_TO_STANDBY", "0", String::new(), json!({})),
        ("STOP_STANDBY", "0-0", String::new(), json!({})),
        ("DRAIN_HOST", "", host(0), json!({"atOnce": 2, "disruptionBudget": 2})),
        ("ROLLING_RESTART", "", String::new(), canary),
        ("FORCE_RESTART", "2", String::new(), json!({})),
    ];
    for (action, processor, at, parameters) in requests {
        let mut said = [0, 0];
        for steps in 0..32 {
            let mut bed = PlaneBed::start(configured(), cluster::<M>(4, 4));
            let uuid = bed.ask_for(action, processor, &at, &parameters);
            for _ in 0..steps {
                step(&mut bed);
            }
            let spec = bed.restored(&configured());
            let mut bed = bed.crash(spec);
            for _ in 0..8 {
                step(&mut bed);
            }
            bed.run_until_idle();
            let status = bed.status(uuid);
            assert!(status.is_some_and(StatusCode::is_terminal), "{action} after {steps}: {status:?}");
            said[usize::from(status == Some(StatusCode::Succeeded))] += 1;
            let job = bed.job.lock();
            assert_eq!(job.status().below_configured, 0, "{action} after {steps}");
            assert_eq!(job.service().state().container_count(), job.status().processors.len());
        }
        assert!(said[0] > 0 && said[1] > 0, "{action}: some ended before, some after: {said:?}");
    }
}
