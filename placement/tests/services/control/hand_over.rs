//! A processor that takes its standby's place, atomically with the standby's stop.

use apportion_placement::control::{Destination, JobAction};
use apportion_placement::{ActionStatus, Callback, ContainerExit, FakeCluster, Fault, InstanceState};
use uuid::Uuid;

use super::bed::{EXPIRES_AFTER_MS, JobBed, job_of, pace, processor, with_standbys};
use super::one::cluster;
use crate::support::{EngineCluster, Manager, host, on_both};
use ActionStatus::{Cancelled, Failed, Succeeded};

/// One processor with a standby that has read all state, on hosts of one slot. It is asked to take the standby's
/// place.
fn begun<M: Manager>(manager: M) -> (JobBed<M>, Uuid) {
    let mut bed = JobBed::start(with_standbys(job_of(1), 1), manager);
    bed.job.report_caught_up(&processor("0-0"), bed.now_ms);
    let request = bed.place("0", Destination::Standby);
    (bed, request)
}

/// The same at the time when the standby stops, since it has found another place. Launched containers run only on
/// command.
fn held() -> (JobBed<FakeCluster>, Uuid) {
    let mut bed = JobBed::start(with_standbys(job_of(1), 1), cluster::<FakeCluster>(3, 1).starting_by_hand());
    run_all(&mut bed);
    bed.job.report_caught_up(&processor("0-0"), bed.now_ms);
    let request = bed.place("0", Destination::Standby);
    bed.run_until_idle();
    assert_eq!(bed.status("0").state, Some(InstanceState::Live), "it runs until its standby does");
    assert_eq!(bed.job.service().state().container_count(), 3);
    (bed, request)
}

/// Reports all launched containers as running.
fn run_all(bed: &mut JobBed<FakeCluster>) {
    let launched: Vec<_> = bed.manager().launched().map(|(container, ..)| container).collect();
    for container in launched {
        bed.manager().report(Callback::Started(container));
    }
    bed.run_until_idle();
}

/// A request that has waited longer takes free room, but not the standby's place.
#[test]
fn no_other_application_gets_the_place_during_a_handover() {
    let (mut bed, request) = begun(cluster::<EngineCluster>(3, 1));
    let standby_at = bed.host_of("0-0");
    bed.manager().run_until_idle();
    bed.manager().contend(9);
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
    assert_eq!(bed.host_of("0"), standby_at);
    assert_eq!(bed.job.status().below_configured, 0);
}

/// A temporary standby, which only reads the state, makes way in the same way.
#[test]
fn a_standby_host_is_not_used_for_a_while() {
    let mut spec = job_of(1);
    spec.processors[0].is_stateful = true;
    let mut bed = JobBed::start(spec, cluster::<EngineCluster>(2, 1));
    let was = bed.host_of("0");
    let request = bed.place("0", Destination::AnyHost);
    bed.run_until_idle();
    let standby_at = bed.host_of("0-0");
    bed.manager().contend(9);
    bed.job.report_caught_up(&processor("0-0"), bed.now_ms);
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
    assert_eq!(bed.host_of("0"), standby_at);
    assert!(was != standby_at && !bed.job.has_processor(&processor("0-0")));
}

on_both!(progress_names_the_standby_that_it_is_about);
fn progress_names_the_standby_that_it_is_about<M: Manager>() {
    let (mut bed, request) = begun(cluster::<M>(3, 1));
    assert_eq!(bed.message(request), "`0-0`: a place is looked for");
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Succeeded));
    assert_eq!(bed.message(request), format!("it runs on {}", bed.host_of("0")));
}

/// The standby cannot start elsewhere: the processor is not touched, and the standby comes back.
#[test]
fn a_processor_stays_if_its_standby_cannot_start_elsewhere() {
    let (mut bed, request) = begun(cluster::<FakeCluster>(3, 1));
    let active = bed.status("0").container;
    bed.manager().inject(Fault::FailStart);
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Failed), "{}", bed.message(request));
    assert_eq!(bed.status("0").container, active);
    assert_eq!((bed.job.status().below_configured, bed.job.service().state().container_count()), (0, 2));
    assert_eq!(bed.job.service().state().action_count(), 0);
}

/// A standby that cannot be stopped stays, and so does its processor.
#[test]
fn both_stay_if_the_standby_does_not_stop() {
    let (mut bed, request) = begun(cluster::<FakeCluster>(3, 1));
    let before = ["0", "0-0"].map(|name| bed.status(name).container);
    bed.manager().inject(Fault::FailStop);
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Failed), "{}", bed.message(request));
    assert_eq!(["0", "0-0"].map(|name| bed.status(name).container), before);
    assert_eq!(bed.manager().waiting().count(), 0);
}

#[test]
fn a_processor_stays_if_its_temporary_standby_does_not_stop() {
    let mut spec = job_of(1);
    spec.processors[0].is_stateful = true;
    let mut bed = JobBed::start(spec, cluster::<FakeCluster>(2, 1));
    let active = bed.status("0").container;
    let request = bed.place("0", Destination::AnyHost);
    bed.run_until_idle();
    bed.manager().inject(Fault::FailStop);
    bed.job.report_caught_up(&processor("0-0"), bed.now_ms);
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Failed));
    assert_eq!(bed.message(request), "its standby did not stop");
    assert_eq!(bed.status("0").container, active);
    bed.at(60_000);
    bed.run_until_idle();
    assert_eq!(bed.job.service().state().container_count(), 1, "it is stopped again");
}

/// A processor that ends meanwhile starts at once at the reserved place.
#[test]
fn a_processor_that_ends_meanwhile_starts_at_the_held_place() {
    let (mut bed, request) = held();
    bed.end("0", ContainerExit::ABORTED);
    bed.run_until_idle();
    run_all(&mut bed);
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
    assert_eq!(bed.job.status().below_configured, 0);
    assert_eq!(bed.job.service().state().container_count(), 2);
}

/// The standby still moves elsewhere, since it has stopped.
#[test]
fn a_handover_cancelled_meanwhile_releases_the_held_place() {
    let (mut bed, request) = held();
    let active = bed.status("0").container;
    bed.ask(JobAction::Cancel { request });
    assert_eq!(bed.outcome(request), None, "its standby is moving");
    assert_eq!(bed.job.service().state().container_count(), 3, "the place that was held is being given back");
    run_all(&mut bed);
    assert_eq!(bed.outcome(request), Some(Cancelled));
    assert_eq!(bed.status("0").container, active);
    assert_eq!((bed.job.status().below_configured, bed.job.service().state().container_count()), (0, 2));
}

/// The standby has stopped, and another request is faster than a manager that cannot swap.
#[test]
fn a_processor_stays_if_the_place_is_not_free_in_time() {
    let manager = cluster::<FakeCluster>(3, 1).granting_by_hand();
    let mut bed = JobBed::start(with_standbys(job_of(1), 1), manager);
    grant_all(&mut bed);
    bed.job.report_caught_up(&processor("0-0"), bed.now_ms);
    let request = bed.place("0", Destination::Standby);
    let active = bed.status("0").container;
    grant_all_but(&mut bed, "0");
    assert_eq!(bed.outcome(request), None);
    bed.at(EXPIRES_AFTER_MS + 1);
    assert_eq!(bed.outcome(request), None, "the time limit begins at the end of its standby");
    bed.at(EXPIRES_AFTER_MS + 2);
    assert_eq!(bed.outcome(request), Some(Failed), "{}", bed.message(request));
    assert_eq!(bed.message(request), "no place was found in time");
    assert_eq!((bed.status("0").container, bed.manager().waiting().count()), (active, 0));
}

/// The host that the standby has left takes no more containers, so the processor goes elsewhere. It does so only
/// after its standby runs.
#[test]
fn a_processor_that_goes_elsewhere_waits_for_its_standby() {
    let manager = cluster::<FakeCluster>(5, 1).granting_by_hand().starting_by_hand();
    let mut bed = JobBed::start(with_standbys(job_of(1), 1), manager);
    grant_all(&mut bed);
    run_all(&mut bed);
    bed.job.report_caught_up(&processor("0-0"), bed.now_ms);
    let [active_at, standby_at] = ["0", "0-0"].map(|name| bed.host_of(name));
    let drain = |host: &str| JobAction::DrainHost { host: host.into(), pace: pace(1, 1) };
    let request = bed.ask(drain(&active_at));
    grant_all_but(&mut bed, "0");
    bed.ask(drain(&standby_at));
    bed.run_until_idle();
    let elsewhere = bed.manager().waiting().next().cloned().unwrap_or_else(|| panic!("it is asked for"));
    assert!(elsewhere.hosts.iter().all(|host| **host != *standby_at), "{elsewhere:?}");
    grant_all(&mut bed);
    assert_eq!(bed.status("0").state, Some(InstanceState::Live), "its standby does not run");
    run_all(&mut bed);
    run_all(&mut bed);
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
    assert!(![active_at, standby_at].contains(&bed.host_of("0")));
}

/// The processor has ended and is requested again. Its standby is not touched before the processor runs.
#[test]
fn a_standby_makes_no_way_for_a_processor_that_does_not_run() {
    let manager = cluster::<FakeCluster>(4, 1).granting_by_hand();
    let mut bed = JobBed::start(with_standbys(job_of(1), 1), manager);
    grant_all(&mut bed);
    bed.job.report_caught_up(&processor("0-0"), bed.now_ms);
    let standby = bed.status("0-0").container;
    bed.at(600_000);
    bed.end("0", 1);
    bed.run_until_idle();
    let request = bed.place("0", Destination::Standby);
    bed.run_until_idle();
    assert_eq!(
        (bed.message(request), bed.status("0-0").container),
        ("it waits until the container runs", standby)
    );
    grant_all(&mut bed);
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
}

/// The end of the standby is not reported. The request waits for it until its time limit.
#[test]
fn a_standby_that_stops_has_its_time() {
    let mut bed = JobBed::start(with_standbys(job_of(1), 1), cluster::<FakeCluster>(2, 1));
    bed.manager().inject(Fault::LoseCallback);
    let request = bed.ask(JobAction::StopStandby { standby: processor("0-0") });
    bed.at(EXPIRES_AFTER_MS + 1);
    assert_eq!(
        (bed.outcome(request), bed.message(request)),
        (None, "it waits until the standby has stopped")
    );
    bed.at(EXPIRES_AFTER_MS + 2);
    assert_eq!(bed.outcome(request), Some(Failed));
    assert_eq!(bed.message(request), "the standby did not stop in time");
}

/// No placement action is under way that could answer it.
#[test]
fn a_request_that_waits_for_the_end_of_a_standby_ends_with_the_job() {
    let mut bed = JobBed::start(with_standbys(job_of(1), 1), cluster::<FakeCluster>(2, 1));
    bed.manager().inject(Fault::LoseCallback);
    let request = bed.ask(JobAction::StopStandby { standby: processor("0-0") });
    bed.job.stop(bed.now_ms);
    bed.tick();
    assert_eq!((bed.outcome(request), bed.message(request)), (Some(Failed), "the job ends"));
}

fn grant_all(bed: &mut JobBed<FakeCluster>) {
    grant_all_but(bed, "");
}

/// Grants all requests except this processor's, on the first named host or any free one.
fn grant_all_but(bed: &mut JobBed<FakeCluster>, name: &str) {
    for _ in 0..9 {
        let waiting: Vec<_> = bed.job.service().status(bed.now_ms).outstanding;
        let next = waiting.into_iter().find(|waits| waits.component != name).and_then(|waits| waits.request);
        let Some(next) = next else { return };
        let named = bed.manager().waiting().find(|waits| waits.id == next);
        let named = named.and_then(|waits| waits.hosts.first().map(ToString::to_string));
        assert!(bed.manager().grant(next, &named.unwrap_or_else(|| host(0))).is_ok());
        bed.run_until_idle();
    }
}
