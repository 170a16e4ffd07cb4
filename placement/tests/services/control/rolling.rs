//! Rolling restarts beside other requests.

use apportion::Resources;
use apportion_placement::control::{Destination, JobAction, RollingRestart};
use apportion_placement::{ComponentChange, FakeCluster};

use super::bed::{EXPIRES_AFTER_MS, JobBed, job_of, pace, processor, with_standbys};
use super::one::cluster;
use crate::support::{Manager, on_both};
use apportion_placement::ActionStatus::{Accepted, BadRequest, InProgress, Succeeded};

fn version(name: &str) -> ComponentChange {
    ComponentChange { version: Some(name.to_owned()), size: None }
}

fn rolling(budget: u32, change: ComponentChange) -> RollingRestart {
    RollingRestart {
        processors: None,
        pace: pace(1, budget),
        canaries: 0,
        canary_wait_ms: 0,
        stops_first: false,
        change,
    }
}

fn wait<M: Manager>(bed: &mut JobBed<M>) {
    for _ in 0..4 {
        bed.run_until_idle();
        bed.at(bed.now_ms + EXPIRES_AFTER_MS + 3);
    }
    bed.run_until_idle();
}

on_both!(standbys_that_go_meanwhile_are_not_missed);
/// First the temporary standby of a running move, then a standby that is stopped while canaries run.
fn standbys_that_go_meanwhile_are_not_missed<M: Manager>() {
    let mut spec = job_of(3);
    spec.processors[0].is_stateful = true;
    let mut bed = JobBed::start(spec, cluster::<M>(4, 4));
    let moved = bed.place("0", Destination::AnyHost);
    bed.run_until_idle();
    let request = bed.ask(JobAction::RollingRestart(rolling(2, version("v2"))));
    bed.run_until_idle_warm();
    wait(&mut bed);
    assert_eq!(bed.outcome(moved), Some(Succeeded));
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));

    let mut bed = JobBed::start(with_standbys(job_of(3), 1), cluster::<M>(4, 8));
    let slow = RollingRestart { canaries: 1, canary_wait_ms: 1_000, ..rolling(2, version("v2")) };
    let request = bed.ask(JobAction::RollingRestart(slow));
    bed.run_until_idle();
    let stopped = bed.ask(JobAction::StopStandby { standby: processor("2-0") });
    bed.run_until_idle();
    assert_eq!(bed.outcome(stopped), Some(Succeeded));
    wait(&mut bed);
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
}

#[test]
fn a_processor_and_its_standby_begin_with_the_version_in_the_job() {
    let mut spec = with_standbys(job_of(1), 1);
    spec.processors[0].version = "v1".to_owned();
    let bed = JobBed::start(spec, cluster::<FakeCluster>(2, 1));
    assert_eq!(["0", "0-0"].map(|name| bed.status(name).version), ["v1"; 2]);
}

/// The job keeps the records of its processors only if they differ from its configuration.
#[test]
fn a_restart_without_a_change_leaves_no_record() {
    for (change, records) in [(ComponentChange::default(), 0), (version("v2"), 2)] {
        let mut bed = JobBed::start(job_of(2), cluster::<FakeCluster>(4, 4));
        let request = bed.ask(JobAction::RollingRestart(rolling(2, change)));
        wait(&mut bed);
        assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
        assert_eq!(bed.job.take_records().len(), records);
    }
}

on_both!(the_next_coordinator_knows_the_running_versions);
/// The coordinator ends while canaries run.
fn the_next_coordinator_knows_the_running_versions<M: Manager>() {
    let mut bed = JobBed::start(job_of(2), cluster::<M>(2, 4));
    let slow = RollingRestart { canaries: 1, canary_wait_ms: 60_000, ..rolling(1, version("v2")) };
    bed.ask(JobAction::RollingRestart(slow));
    bed.run_until_idle();
    let versions = |bed: &JobBed<M>| [bed.status("0").version, bed.status("1").version];
    assert_eq!(versions(&bed), ["v2", ""]);
    let mut spec = bed.job.spec().clone();
    spec.processors[1].version = "v3".to_owned();
    let bed = bed.restart_as(spec);
    assert_eq!(versions(&bed), ["v2", ""], "and not what would be started now");
}

on_both!(a_rolling_restart_waits_for_the_one_before);
/// In the end all processors have the version that was requested last.
fn a_rolling_restart_waits_for_the_one_before<M: Manager>() {
    let mut bed = JobBed::start(job_of(6), cluster::<M>(3, 24));
    let requests = ["v2", "v3"].map(|name| bed.ask(JobAction::RollingRestart(rolling(2, version(name)))));
    bed.run_until_idle();
    assert_eq!(requests.map(|request| bed.outcome(request)), [Some(Succeeded); 2]);
    let versions: Vec<String> = bed.job.status().processors.into_iter().map(|known| known.version).collect();
    assert!(versions.iter().all(|version| version == "v3"), "{versions:?}");
}

on_both!(a_size_that_cannot_be_is_refused_before_anything_stops);
fn a_size_that_cannot_be_is_refused_before_anything_stops<M: Manager>() {
    let mut spec = job_of(2);
    spec.processors[0].size = Resources::new(&[1, 1]);
    let mut bed = JobBed::start(spec, cluster::<M>(2, 4));
    let before = bed.status("0").container;
    let mut refused = |amounts: &[i64], why: &str| {
        let change = ComponentChange { size: Some(Resources::new(amounts)), ..ComponentChange::default() };
        let asked = RollingRestart { stops_first: true, ..rolling(1, change) };
        let request = bed.ask(JobAction::RollingRestart(asked));
        assert_eq!(bed.outcome(request), Some(BadRequest));
        assert!(bed.message(request).contains(why), "{}", bed.message(request));
        assert_eq!(bed.status("0").container, before);
    };
    refused(&[5, 1], "could hold");
    refused(&[2], "`0` would have nothing of a resource");

    // No host is known yet, so no size can be refused.
    let mut bed = JobBed::start(job_of(1), cluster::<M>(0, 0));
    let change = ComponentChange { size: Some(Resources::new(&[5])), ..ComponentChange::default() };
    let request = bed.ask(JobAction::RollingRestart(rolling(1, change)));
    assert_eq!(bed.outcome(request), None, "{}", bed.message(request));
}

on_both!(the_begin_is_reported_once);
fn the_begin_is_reported_once<M: Manager>() {
    let mut bed = JobBed::start(job_of(3), cluster::<M>(3, 24));
    let request = bed.ask(JobAction::RollingRestart(rolling(1, version("v2"))));
    bed.run_until_idle();
    assert_eq!(bed.said(request), [Accepted, InProgress, InProgress, InProgress, Succeeded]);
}

on_both!(a_standby_is_of_the_version_of_its_processor);
/// The next coordinator knows the version and size too.
fn a_standby_is_of_the_version_of_its_processor<M: Manager>() {
    let mut bed = JobBed::start(with_standbys(job_of(2), 1), cluster::<M>(4, 8));
    let change = ComponentChange { size: Some(Resources::new(&[2])), ..version("v2") };
    let only = |name: &str| RollingRestart {
        processors: Some([processor(name)].into()),
        ..rolling(1, change.clone())
    };
    let alone = bed.ask(JobAction::RollingRestart(only("0-0")));
    assert_eq!(bed.outcome(alone), Some(BadRequest));
    assert!(bed.message(alone).contains("name `0`"), "{}", bed.message(alone));
    let both = bed.ask(JobAction::RollingRestart(only("0")));
    bed.run_until_idle();
    assert_eq!(bed.outcome(both), Some(Succeeded), "{}", bed.message(both));
    let of = |bed: &JobBed<M>, name: &str| (bed.status(name).version, bed.status(name).size);
    let changed = ("v2".to_owned(), Resources::new(&[2]));
    assert_eq!((of(&bed, "0"), of(&bed, "0-0")), (changed.clone(), changed.clone()));
    assert_eq!(of(&bed, "1-0"), (String::new(), Resources::new(&[1])));
    let mut bed = bed.restart();
    bed.run_until_idle();
    assert_eq!((of(&bed, "0"), of(&bed, "0-0")), (changed.clone(), changed));
    let plain = RollingRestart { change: ComponentChange::default(), ..only("0-0") };
    let alone = bed.ask(JobAction::RollingRestart(plain));
    bed.run_until_idle();
    assert_eq!(bed.outcome(alone), Some(Succeeded), "a restart changes nothing");
}
