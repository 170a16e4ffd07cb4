//! Jobs that continue without a processor, and its return (`samza.md` 1.11).

use apportion_placement::ActionStatus;
use apportion_placement::control::{Destination, JobSpec};

use super::bed::{JobBed, job_of};
use super::one::cluster;
use crate::support::{Manager, host, on_both};
use ActionStatus::{BadRequest, Succeeded};

/// A job that has given up processor 0.
fn degraded<M: Manager>() -> JobBed<M> {
    let spec =
        JobSpec { failures_max: Some(1), last_retry_delay_ms: 0, fails_with_processor: false, ..job_of(2) };
    let mut bed = JobBed::start(spec, cluster::<M>(3, 2));
    for _ in 0..2 {
        bed.end("0", 1);
        bed.run_until_idle();
    }
    assert!(bed.status("0").is_given_up && bed.status("0").container.is_none());
    assert_eq!((bed.job.status().below_configured, bed.job.status().failure), (1, None));
    bed
}

on_both!(a_given_up_processor_is_placed_again);
fn a_given_up_processor_is_placed_again<M: Manager>() {
    let destinations = [Destination::Host(host(2).into()), Destination::AnyHost, Destination::LastSeen];
    for destination in destinations {
        let mut bed = degraded::<M>();
        let request = bed.place("0", destination.clone());
        bed.run_until_idle();
        assert_eq!(bed.outcome(request), Some(Succeeded), "{destination:?}: {}", bed.message(request));
        assert!(!bed.status("0").is_given_up);
        assert_eq!(bed.job.status().below_configured, 0);
    }
}

on_both!(a_forced_restart_of_a_given_up_processor_is_answered);
/// X8 and Z9.
fn a_forced_restart_of_a_given_up_processor_is_answered<M: Manager>() {
    let mut bed = degraded::<M>();
    let request = bed.place("0", Destination::ForceRestartLastSeen);
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(BadRequest), "{}", bed.message(request));
}

on_both!(a_job_that_bears_no_loss_ends);
fn a_job_that_bears_no_loss_ends<M: Manager>() {
    let mut bed = JobBed::start(JobSpec { failures_max: Some(0), ..job_of(2) }, cluster::<M>(2, 2));
    let full = bed.move_to("1", &host(1));
    bed.end("0", 1);
    bed.run_until_idle();
    assert!(bed.job.status().failure.is_some());
    assert!(bed.outcome(full).is_some(), "every request has its last word");
    let late = bed.place("1", Destination::AnyHost);
    assert_eq!(bed.outcome(late), Some(BadRequest));
}
