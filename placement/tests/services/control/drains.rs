//! Drains, and concurrent actions on the drained hosts.

use apportion_placement::FaultDomain;
use apportion_placement::control::{Destination, JobAction, JobSpec};
use uuid::Uuid;

use super::bed::{EXPIRES_AFTER_MS, JobBed, job_of, pace, with_standbys};
use super::one::cluster;
use crate::support::{Manager, host, on_both};
use apportion_placement::ActionStatus::{BadRequest, Cancelled, Failed, Succeeded};

fn drain<M: Manager>(bed: &mut JobBed<M>, at: &str) -> Uuid {
    bed.ask(JobAction::DrainHost { host: at.into(), pace: pace(1, 1) })
}

/// Lets every time limit pass.
fn wait<M: Manager>(bed: &mut JobBed<M>) {
    for _ in 0..6 {
        bed.run_until_idle();
        bed.at(bed.now_ms + EXPIRES_AFTER_MS + 3);
    }
    bed.run_until_idle();
}

/// Two full hosts: a drain finds no other place.
fn full<M: Manager>() -> JobBed<M> {
    JobBed::start(job_of(4), cluster::<M>(2, 2))
}

on_both!(a_drain_that_came_to_nothing_keeps_no_host_free);
/// The drain failed or was cancelled, so a container that crashes returns to its host.
fn a_drain_that_came_to_nothing_keeps_no_host_free<M: Manager>() {
    for is_taken_back in [false, true] {
        let mut bed = full::<M>();
        let at = bed.host_of("0");
        let request = drain(&mut bed, &at);
        bed.run_until_idle();
        if is_taken_back {
            bed.ask(JobAction::Cancel { request });
        }
        wait(&mut bed);
        assert_eq!(bed.outcome(request), Some(if is_taken_back { Cancelled } else { Failed }));
        let remaining = format!("containers still on {at}: 2");
        assert!(is_taken_back || bed.message(request).contains(&remaining), "{}", bed.message(request));
        assert!(bed.job.spec().hosts_kept_free.is_empty());
        bed.end("0", 1);
        wait(&mut bed);
        assert_eq!((bed.host_of("0"), bed.job.status().below_configured), (at, 0));
        let forced = bed.place("0", Destination::ForceRestartLastSeen);
        wait(&mut bed);
        assert_eq!((bed.outcome(forced), bed.job.status().below_configured), (Some(Succeeded), 0));
    }
}

on_both!(a_host_that_was_drained_before_stays_so);
fn a_host_that_was_drained_before_stays_so<M: Manager>() {
    let mut bed = JobBed::start(job_of(2), cluster::<M>(3, 2));
    let requests = [drain(&mut bed, &host(2)), drain(&mut bed, &host(2))];
    bed.run_until_idle();
    assert_eq!(requests.map(|request| bed.outcome(request)), [Some(Succeeded); 2]);
    let again = drain(&mut bed, &host(2));
    bed.ask(JobAction::Cancel { request: again });
    bed.run_until_idle();
    assert!(bed.job.spec().hosts_kept_free.contains(&host(2)));
}

on_both!(a_host_is_not_readmitted_while_it_is_drained);
fn a_host_is_not_readmitted_while_it_is_drained<M: Manager>() {
    let mut bed = full::<M>();
    let at = bed.host_of("0");
    let request = drain(&mut bed, &at);
    bed.run_until_idle();
    let readmit = bed.ask(JobAction::ReadmitHost { host: at.as_str().into() });
    assert_eq!(bed.outcome(readmit), Some(BadRequest));
    assert!(bed.message(readmit).contains(&format!("is being drained by request {request}")));
}

on_both!(containers_on_their_way_to_a_drained_host_leave_it);
/// A drain begins while a move to the host looks for a place, has found it, or is about to use it.
fn containers_on_their_way_to_a_drained_host_leave_it<M: Manager>() {
    let mut said = [0, 0];
    for turns in 0..6 {
        let mut bed = JobBed::start(job_of(2), cluster::<M>(2, 1));
        bed.manager().add_node(&host(2), "", "", 1);
        bed.run_until_idle();
        let moved = bed.move_to("0", &host(2));
        for _ in 0..turns {
            bed.manager().run_until_idle();
            bed.tick();
        }
        let request = drain(&mut bed, &host(2));
        wait(&mut bed);
        assert_eq!(bed.outcome(request), Some(Succeeded), "after {turns} turns: {}", bed.message(request));
        assert_ne!(bed.host_of("0"), host(2), "after {turns} turns");
        assert_eq!(bed.job.status().below_configured, 0);
        said[usize::from(bed.outcome(moved) == Some(Succeeded))] += 1;
    }
    assert!(
        said[0] > 0 && said[1] > 0,
        "some moves must fail, and some must succeed and be followed by another: {said:?}"
    );
}

on_both!(a_move_that_waits_for_a_host_does_not_get_it_when_it_is_drained);
fn a_move_that_waits_for_a_host_does_not_get_it_when_it_is_drained<M: Manager>() {
    let mut bed = JobBed::start(job_of(2), cluster::<M>(2, 1));
    let full = bed.host_of("1");
    bed.move_to("0", &full);
    bed.run_until_idle();
    bed.manager().add_node(&host(2), "", "", 1);
    bed.run_until_idle();
    let request = drain(&mut bed, &full);
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
    wait(&mut bed);
    assert_eq!(bed.host_of("1"), host(2));
    assert_ne!(bed.host_of("0"), full);
}

on_both!(a_standby_that_cannot_make_way_does_not_stop_a_drain);
/// The standby's rack is the only other one. The processor may use another host of its own rack.
fn a_standby_that_cannot_make_way_does_not_stop_a_drain<M: Manager>() {
    let mut manager = M::new();
    manager.add_node(&host(0), "rack0", "", 4);
    manager.add_node(&host(2), "rack1", "", 4);
    let spec = JobSpec { standby_domain: FaultDomain::Rack, ..with_standbys(job_of(1), 1) };
    let mut bed = JobBed::start(spec, manager);
    let at = bed.host_of("0");
    bed.manager().add_node(&host(1), if at == host(0) { "rack0" } else { "rack1" }, "", 4);
    bed.run_until_idle_warm();
    let request = drain(&mut bed, &at);
    wait(&mut bed);
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
    assert_eq!(bed.host_of("0"), host(1));
}
