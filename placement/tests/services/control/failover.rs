//! A processor that loses its place takes over its standby's (`samza.md` 1.9).

use apportion_placement::control::{Destination, JobSpec};
use apportion_placement::{
    ContainerExit, FakeCluster, Fault, InstanceState, OutstandingCause, OutstandingStatus,
};

use super::bed::{EXPIRES_AFTER_MS, JobBed, job_of, processor, with_standbys};
use super::one::cluster;
use crate::support::{EngineCluster, Manager, host, on_both};

/// One processor with this many standbys, each on a host of its own.
fn stateful<M: Manager>(standbys: u32, hosts: usize) -> JobBed<M> {
    let spec = JobSpec { request_timeout_ms: EXPIRES_AFTER_MS, ..with_standbys(job_of(1), standbys) };
    let mut bed = JobBed::start(spec, cluster::<M>(hosts, 1));
    bed.run_until_idle();
    bed
}

fn end<M: Manager>(bed: &mut JobBed<M>, exit: i32) {
    bed.end("0", exit);
    bed.run_until_idle();
}

on_both!(a_processor_that_loses_its_place_takes_its_standbys);
/// Exits −100, −101 and −102; the standby moves elsewhere.
fn a_processor_that_loses_its_place_takes_its_standbys<M: Manager>() {
    for exit in [ContainerExit::ABORTED, ContainerExit::DISKS_FAILED, ContainerExit::PREEMPTED] {
        let mut bed = stateful::<M>(1, 3);
        let (was, standby) = (bed.host_of("0"), bed.host_of("0-0"));
        end(&mut bed, exit);
        assert_eq!(bed.host_of("0"), standby, "{exit}");
        let elsewhere = bed.host_of("0-0");
        assert!(
            elsewhere != standby && !elsewhere.is_empty(),
            "{exit}: it was on {was}, and is on {elsewhere}"
        );
        assert_eq!(bed.job.status().below_configured, 0);
    }
}

on_both!(a_standby_that_has_read_all_state_comes_first);
/// Also if the other standby has run for longer.
fn a_standby_that_has_read_all_state_comes_first<M: Manager>() {
    for ready in ["0-0", "0-1"] {
        let mut bed = stateful::<M>(2, 4);
        bed.job.report_caught_up(&processor(ready), bed.now_ms);
        let standby = bed.host_of(ready);
        end(&mut bed, ContainerExit::ABORTED);
        assert_eq!(bed.host_of("0"), standby, "{ready}");
        assert!(!bed.status(ready).is_caught_up, "its new container has not read the state");
    }
}

on_both!(a_processor_takes_its_standbys_place_when_its_node_is_lost);
fn a_processor_takes_its_standbys_place_when_its_node_is_lost<M: Manager>() {
    let mut bed = stateful::<M>(1, 3);
    let (was, standby) = (bed.host_of("0"), bed.host_of("0-0"));
    bed.manager().lose_node(&was);
    bed.run_until_idle();
    assert_eq!(bed.host_of("0"), standby);
    assert!(![was, standby].contains(&bed.host_of("0-0")));
}

on_both!(a_failover_may_use_the_hosts_of_an_earlier_one);
fn a_failover_may_use_the_hosts_of_an_earlier_one<M: Manager>() {
    let mut bed = stateful::<M>(1, 2);
    for failover in 1..=4 {
        let (was, standby) = (bed.host_of("0"), bed.host_of("0-0"));
        end(&mut bed, ContainerExit::ABORTED);
        assert_eq!((bed.host_of("0"), bed.host_of("0-0")), (standby, was), "failover {failover}");
    }
}

on_both!(a_failure_brings_it_back_to_its_host_first);
/// Any other exit: the processor requests its own host, and takes its standby's after the time limit.
fn a_failure_brings_it_back_to_its_host_first<M: Manager>() {
    let mut spec = JobSpec { request_timeout_ms: 1_000, ..job_of(2) };
    spec.processors[0].standbys = [0].into();
    let mut bed = JobBed::start(spec, cluster::<M>(4, 1));
    bed.run_until_idle();
    let (was, standby) = (bed.host_of("0"), bed.host_of("0-0"));
    end(&mut bed, 1);
    assert_eq!((bed.host_of("0"), bed.host_of("0-0")), (was.clone(), standby.clone()));
    // Another processor waits for its host, and gets it.
    bed.at(600_000);
    bed.move_to("1", &was);
    bed.run_until_idle();
    end(&mut bed, 1);
    assert_eq!(
        (bed.host_of("0"), bed.host_of("1"), bed.host_of("0-0")),
        (String::new(), was, standby.clone())
    );
    bed.at(601_001);
    bed.run_until_idle();
    assert_eq!(bed.host_of("0"), standby);
    assert_eq!(bed.job.status().below_configured, 0);
}

on_both!(the_next_standby_follows_when_it_does_not_start_there);
fn the_next_standby_follows_when_it_does_not_start_there<M: Manager>() {
    let mut bed = JobBed::start(with_standbys(job_of(1), 2), cluster::<M>(4, 1).start_by_hand());
    for name in ["0", "0-0", "0-1"] {
        bed.run_until_idle();
        let container = bed.status(name).container.unwrap_or_else(|| panic!("{name} has a container"));
        assert_eq!(bed.manager().report_started(container), Ok(()));
    }
    bed.run_until_idle();
    let standbys = [bed.host_of("0-0"), bed.host_of("0-1")];
    end(&mut bed, ContainerExit::ABORTED);
    let first = bed.host_of("0");
    assert!(standbys.contains(&first), "{first}");
    let container = bed.status("0").container.unwrap_or_else(|| panic!("it has a container"));
    assert_eq!(bed.manager().report_start_failed(container), Ok(()));
    bed.run_until_idle();
    let second = bed.host_of("0");
    assert!(standbys.contains(&second) && second != first, "{second} after {first}");
}

/// After the time limit the processor requests other hosts beside that of the former standby.
#[test]
fn a_place_that_is_lost_after_all_is_looked_for_elsewhere() {
    let spec = JobSpec { request_timeout_ms: EXPIRES_AFTER_MS, ..with_standbys(job_of(1), 1) };
    let mut bed = JobBed::start(spec, cluster::<FakeCluster>(3, 1).granting_by_hand());
    loop {
        let Some(request) = bed.manager().waiting().next().cloned() else { break };
        let named = request.hosts.first().map_or_else(|| host(0), ToString::to_string);
        assert!(bed.manager().grant(request.id, &named).is_ok());
        bed.run_until_idle();
    }
    let standby = bed.host_of("0-0");
    bed.end("0", ContainerExit::ABORTED);
    bed.run_until_idle();
    let hosts = |bed: &JobBed<FakeCluster>| {
        let waiting = bed.job.service().status(bed.now_ms).outstanding;
        let active = waiting.into_iter().find(|waits| waits.component == "0");
        active.map(|waits| waits.hosts).unwrap_or_default()
    };
    assert_eq!(hosts(&bed), [standby]);
    bed.at(EXPIRES_AFTER_MS + 2);
    assert!(hosts(&bed).len() > 1, "{:?}", hosts(&bed));
}

/// A request that has waited longer does not get the standby's room in between.
#[test]
fn no_other_application_gets_the_place_of_a_standby() {
    let mut bed = stateful::<EngineCluster>(1, 2);
    let standby = bed.host_of("0-0");
    bed.manager().contend(9);
    end(&mut bed, ContainerExit::PREEMPTED);
    assert_eq!((bed.host_of("0"), bed.host_of("0-0")), (standby, String::new()));
}

/// Meanwhile the status says why the processor does not run.
#[test]
fn a_standby_that_does_not_stop_delays_no_failover() {
    let mut bed = stateful::<FakeCluster>(1, 3);
    let (was, standby) = (bed.host_of("0"), bed.host_of("0-0"));
    bed.manager().inject(Fault::FailStop);
    bed.end("0", ContainerExit::ABORTED);
    bed.tick();
    let waiting = bed.job.service().status(bed.now_ms).outstanding;
    let is_told = |waits: &OutstandingStatus| {
        waits.cause == OutstandingCause::AboutToBeServed && waits.explanation.contains(&standby)
    };
    assert!(waiting.iter().any(is_told), "{waiting:?}");
    bed.run_until_idle();
    assert_eq!((bed.host_of("0"), bed.job.status().below_configured), (was, 1));
    bed.at(60_000);
    bed.run_until_idle();
    assert_eq!(bed.job.status().below_configured, 0, "the standby is stopped again");
}

on_both!(a_move_that_waits_for_a_place_keeps_no_standby_from_making_way);
/// Z8 for a waiting move, which has its last word.
fn a_move_that_waits_for_a_place_keeps_no_standby_from_making_way<M: Manager>() {
    let mut spec = job_of(2);
    spec.processors[0].standbys = [0].into();
    let mut bed = JobBed::start(spec, cluster::<M>(3, 1));
    let full = bed.host_of("1");
    let request = bed.place("0-0", Destination::Host(full.into()));
    bed.run_until_idle();
    let (was, standby) = (bed.host_of("0"), bed.host_of("0-0"));
    assert_eq!(bed.message(request), "`0-0`: a place is looked for");
    end(&mut bed, ContainerExit::ABORTED);
    assert_eq!((bed.host_of("0"), bed.host_of("0-0")), (standby, was));
    bed.at(EXPIRES_AFTER_MS + 1);
    bed.run_until_idle();
    assert!(bed.outcome(request).is_some());
    assert_eq!(bed.job.status().below_configured, 0);
}

on_both!(a_restarted_coordinator_finds_a_lost_node);
/// The node is lost while no coordinator runs.
fn a_restarted_coordinator_finds_a_lost_node<M: Manager>() {
    let mut bed = stateful::<M>(1, 3);
    let (was, standby) = (bed.host_of("0"), bed.host_of("0-0"));
    bed.manager().lose_node(&was);
    let mut bed = bed.restart();
    bed.run_until_idle();
    assert_eq!(bed.host_of("0"), standby);
    assert_eq!(
        bed.job.service().state().instance_state(bed.status("0").container.unwrap_or_else(|| panic!("one"))),
        Some(InstanceState::Live)
    );
    assert!(bed.job.has_processor(&processor("0-0")));
}

on_both!(a_restarted_coordinator_starts_no_failover_of_a_processor_that_runs);
/// The processor fails later, and so returns to its own host first.
fn a_restarted_coordinator_starts_no_failover_of_a_processor_that_runs<M: Manager>() {
    let mut bed = stateful::<M>(1, 3).restart();
    bed.run_until_idle();
    let hosts = (bed.host_of("0"), bed.host_of("0-0"));
    end(&mut bed, 1);
    assert_eq!((bed.host_of("0"), bed.host_of("0-0")), hosts);
}
