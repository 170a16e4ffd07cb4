//! The limit on failures of a processor, and the time of its restart (`samza.md` 1.10).

use apportion_placement::control::{Destination, JobSpec};

use super::bed::{JobBed, job_of, processor, with_standbys};
use super::one::cluster;
use crate::support::{Manager, on_both};

const SECOND_MS: u64 = 1_000;

fn start<M: Manager>(failures_max: u32, last_retry_delay_ms: u64) -> JobBed<M> {
    let spec = JobSpec { failures_max: Some(failures_max), last_retry_delay_ms, ..job_of(2) };
    JobBed::start(spec, cluster::<M>(3, 4))
}

fn is_over<M: Manager>(bed: &JobBed<M>) -> bool {
    bed.job.status().failure.is_some()
}

/// Processor 0 fails after this pause.
fn fail_after<M: Manager>(bed: &mut JobBed<M>, pause_ms: u64) {
    bed.at(bed.now_ms + pause_ms);
    bed.run_until_idle();
    bed.end("0", 1);
    bed.run_until_idle();
}

on_both!(failures_that_are_far_apart_do_not_add_up);
/// The window is 300 s since the last retry. The start of the job does not matter.
fn failures_that_are_far_apart_do_not_add_up<M: Manager>() {
    let mut bed = start::<M>(2, 0);
    for _ in 0..12 {
        fail_after(&mut bed, 300 * SECOND_MS);
        assert!(!is_over(&bed));
    }
}

on_both!(failures_that_follow_each_other_add_up);
/// The total time does not matter: over seven hours here, longer than any fixed window.
fn failures_that_follow_each_other_add_up<M: Manager>() {
    let mut bed = start::<M>(90, 0);
    for failures in 1..=91 {
        fail_after(&mut bed, 299 * SECOND_MS);
        assert_eq!(is_over(&bed), failures == 91, "{failures} failures");
    }
}

on_both!(the_last_retry_is_delayed);
/// The delay is six minutes and a second, and the window begins after it.
fn the_last_retry_is_delayed<M: Manager>() {
    let mut bed = start::<M>(2, JobSpec::LAST_RETRY_DELAY_MS);
    fail_after(&mut bed, 100 * SECOND_MS);
    assert!(bed.status("0").container.is_some(), "the first retry comes at once");
    fail_after(&mut bed, 100 * SECOND_MS);
    bed.at(bed.now_ms + 361 * SECOND_MS - 1);
    bed.run_until_idle();
    assert!(bed.status("0").container.is_none(), "the last one waits");
    bed.at(bed.now_ms + 1);
    bed.run_until_idle();
    assert!(bed.status("0").container.is_some());
    fail_after(&mut bed, 299 * SECOND_MS);
    assert!(is_over(&bed), "the third failure within the window of the second retry");
}

on_both!(without_host_affinity_the_last_retry_is_not_delayed);
fn without_host_affinity_the_last_retry_is_not_delayed<M: Manager>() {
    let spec = JobSpec { failures_max: Some(1), has_host_affinity: false, ..job_of(2) };
    let mut bed = JobBed::start(spec, cluster::<M>(3, 4));
    fail_after(&mut bed, 100 * SECOND_MS);
    assert!(bed.status("0").container.is_some());
}

on_both!(a_worker_that_exits_at_once_with_0_is_not_started_in_a_loop);
fn a_worker_that_exits_at_once_with_0_is_not_started_in_a_loop<M: Manager>() {
    let mut bed = start::<M>(8, JobSpec::LAST_RETRY_DELAY_MS);
    let mut starts = 0;
    for _ in 0..60 {
        bed.at(bed.now_ms + SECOND_MS);
        while bed.status("0").container.is_some() && starts < 1_000 {
            bed.end("0", 0);
            starts += 1;
            bed.run_until_idle();
        }
    }
    assert_eq!(starts, 7, "at once, and after 0, 1, 2, 4, 8, 16 s");
    assert!(!is_over(&bed));
}

on_both!(a_processor_that_fails_in_a_loop_keeps_no_other_from_its_host);
/// By default no host is avoided.
fn a_processor_that_fails_in_a_loop_keeps_no_other_from_its_host<M: Manager>() {
    let spec = JobSpec { failures_max: None, ..job_of(2) };
    let mut bed = JobBed::start(spec, cluster::<M>(2, 2));
    for _ in 0..12 {
        fail_after(&mut bed, 100 * SECOND_MS);
    }
    bed.end("1", 1);
    bed.run_until_idle();
    assert_eq!(
        bed.job.status().below_configured,
        0,
        "{:?}",
        bed.job.service().status(bed.now_ms).outstanding
    );
}

on_both!(a_host_is_shunned_by_the_processor_that_fails_there);
/// With a threshold, failures count by processor and host, so no other processor avoids the host.
fn a_host_is_shunned_by_the_processor_that_fails_there<M: Manager>() {
    let spec = JobSpec { failures_max: None, node_failure_threshold: Some(2), ..job_of(2) };
    let mut bed = JobBed::start(spec, cluster::<M>(2, 2));
    let was = bed.host_of("0");
    for failures in 1..=3 {
        assert_eq!(bed.host_of("0"), was, "{failures}");
        fail_after(&mut bed, 100 * SECOND_MS);
    }
    assert_ne!((bed.host_of("0"), bed.host_of("0")), (was.clone(), String::new()), "it goes elsewhere");
    let away = bed.move_to("1", &was);
    bed.run_until_idle();
    assert_eq!(bed.host_of("1"), was, "another one may come: {}", bed.message(away));
    let back = bed.move_to("0", &was);
    bed.run_until_idle();
    assert_ne!(bed.host_of("0"), was, "{}", bed.message(back));
    bed.at(bed.now_ms + 6 * 3_600 * SECOND_MS);
    let back = bed.move_to("0", &was);
    bed.run_until_idle();
    assert_eq!(bed.host_of("0"), was, "the failure window has ended: {}", bed.message(back));
}

on_both!(a_processor_takes_no_place_on_a_host_that_it_avoids);
/// Holds even if only that standby has read all state.
fn a_processor_takes_no_place_on_a_host_that_it_avoids<M: Manager>() {
    let spec = JobSpec { failures_max: None, node_failure_threshold: Some(0), ..with_standbys(job_of(1), 2) };
    let mut bed = JobBed::start(spec, cluster::<M>(4, 1));
    let shunned = bed.host_of("0");
    fail_after(&mut bed, 100 * SECOND_MS);
    assert_ne!(bed.host_of("0"), shunned);
    bed.move_to("0-0", &shunned);
    bed.run_until_idle();
    assert_eq!(bed.host_of("0-0"), shunned, "the standby has not failed there");
    bed.job.report_caught_up(&processor("0-0"), bed.now_ms);
    let other = bed.host_of("0-1");
    let request = bed.place("0", Destination::Standby);
    bed.run_until_idle();
    assert_eq!(bed.message(request), "it waits until the standby has read all state");
    bed.job.report_caught_up(&processor("0-1"), bed.now_ms);
    bed.run_until_idle();
    assert_eq!(bed.host_of("0"), other, "{}", bed.message(request));
}

on_both!(where_it_shuns_all_hosts_a_processor_waits_for_the_window);
fn where_it_shuns_all_hosts_a_processor_waits_for_the_window<M: Manager>() {
    let spec = JobSpec { failures_max: None, node_failure_threshold: Some(0), ..job_of(2) };
    let mut bed = JobBed::start(spec, cluster::<M>(2, 2));
    for _ in 0..2 {
        fail_after(&mut bed, 100 * SECOND_MS);
    }
    assert_eq!(bed.job.status().below_configured, 1);
    let waits = bed.job.service().status(bed.now_ms).outstanding;
    assert_eq!(waits[0].cause, apportion_placement::OutstandingCause::Shunned, "{waits:?}");
    bed.at(6 * 3_600 * SECOND_MS + 1);
    bed.run_until_idle();
    assert_eq!(bed.job.status().below_configured, 0);
}
