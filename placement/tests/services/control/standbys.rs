//! Standbys: kept apart, started, stopped, and replaced by their processor.

use apportion::Resources;
use apportion_placement::ActionStatus;
use apportion_placement::FaultDomain;
use apportion_placement::control::{Destination, JobAction, JobSpec};

use super::bed::{EXPIRES_AFTER_MS, JobBed, job_of, processor, with_standbys};
use super::one::cluster;
use crate::support::{Manager, host, on_both};
use ActionStatus::{BadRequest, Failed, Succeeded};

/// Three racks of two hosts.
fn racks<M: Manager>(slots: i64) -> M {
    let mut manager = M::new();
    for number in 0..6 {
        manager.add_node(&host(number), &format!("rack{}", number / 2), "", slots);
    }
    manager
}

fn rack_of(host_name: &str) -> usize {
    (0..6).find(|number| host(*number) == host_name).map_or(99, |number| number / 2)
}

on_both!(a_standby_is_never_where_its_processor_is);
/// P20 and I4.
fn a_standby_is_never_where_its_processor_is<M: Manager>() {
    let mut bed = JobBed::start(with_standbys(job_of(3), 2), cluster::<M>(3, 9));
    for active in ["0", "1", "2"] {
        let hosts =
            [bed.host_of(active), bed.host_of(&format!("{active}-0")), bed.host_of(&format!("{active}-1"))];
        let different: std::collections::BTreeSet<&String> = hosts.iter().collect();
        assert_eq!(different.len(), 3, "{hosts:?}");
    }
    let standby_at = bed.host_of("0-0");
    let request = bed.move_to("0", &standby_at);
    assert_eq!(bed.said(request).last(), Some(&BadRequest), "{}", bed.message(request));
    assert!(bed.message(request).contains("standby constraints"), "{}", bed.message(request));
}

on_both!(a_third_that_has_nowhere_to_go_waits_and_is_explained);
fn a_third_that_has_nowhere_to_go_waits_and_is_explained<M: Manager>() {
    let mut bed = JobBed::start(with_standbys(job_of(1), 2), cluster::<M>(2, 9));
    assert_eq!(bed.job.status().below_configured, 1);
    let status = bed.job.service().status(bed.now_ms);
    assert_eq!(status.outstanding.len(), 1, "{status:?}");
    bed.manager().add_node(&host(2), "", "", 1);
    bed.run_until_idle();
    assert_eq!(bed.job.status().below_configured, 0);
}

on_both!(racks_are_fault_domains_if_the_job_says_so);
fn racks_are_fault_domains_if_the_job_says_so<M: Manager>() {
    let spec = JobSpec { standby_domain: FaultDomain::Rack, ..with_standbys(job_of(4), 1) };
    let mut bed = JobBed::start(spec, racks::<M>(9));
    for round in 0..3 {
        for active in ["0", "1", "2", "3"] {
            let (one, other) = (bed.host_of(active), bed.host_of(&format!("{active}-0")));
            assert_ne!(rack_of(&one), rack_of(&other), "round {round}: {active} on {one} and {other}");
        }
        let request = bed.place(&round.to_string(), Destination::AnyHost);
        bed.run_until_idle();
        assert!(matches!(bed.outcome(request), Some(Succeeded)), "{}", bed.message(request));
    }
}

on_both!(an_active_takes_the_place_of_its_standby);
/// Z3: one compound action, with the standby first.
fn an_active_takes_the_place_of_its_standby<M: Manager>() {
    for domain in [FaultDomain::Host, FaultDomain::Rack] {
        let spec = JobSpec { standby_domain: domain, ..with_standbys(job_of(1), 1) };
        let mut bed = JobBed::start(spec, racks::<M>(1));
        let (active_at, standby_at) = (bed.host_of("0"), bed.host_of("0-0"));
        let request = bed.place("0", Destination::Standby);
        bed.run_until_idle();
        assert_eq!(bed.outcome(request), None, "nobody has read the state there");
        bed.run_until_idle_warm();
        assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
        assert_eq!(bed.host_of("0"), standby_at);
        let standby_at = bed.host_of("0-0");
        assert!(standby_at != active_at || domain == FaultDomain::Host);
        assert!(domain == FaultDomain::Host || rack_of(&standby_at) != rack_of(&bed.host_of("0")));
    }
}

on_both!(standbys_start_and_stop);
fn standbys_start_and_stop<M: Manager>() {
    let mut bed = JobBed::start(job_of(2), cluster::<M>(2, 2));
    let start = bed.ask(JobAction::StartStandby { processor: processor("0") });
    bed.run_until_idle();
    assert_eq!(bed.outcome(start), Some(Succeeded), "{}", bed.message(start));
    assert_eq!(bed.message(start), format!("`0-0` runs on {}", bed.host_of("0-0")));
    assert_ne!(bed.host_of("0-0"), bed.host_of("0"));
    assert!(bed.job.spec().processors[0].standbys.contains(&0), "the next coordinator knows of it");
    let another = bed.ask(JobAction::StartStandby { processor: processor("0") });
    bed.run_until_idle();
    bed.at(EXPIRES_AFTER_MS + 2);
    bed.run_until_idle();
    assert_eq!(bed.outcome(another), Some(Failed), "there is no third host");
    assert!(!bed.job.has_processor(&processor("0-1")), "and nobody goes on asking");
    let stop = bed.ask(JobAction::StopStandby { standby: processor("0-0") });
    bed.run_until_idle();
    assert_eq!(bed.outcome(stop), Some(Succeeded));
    assert!(!bed.job.has_processor(&processor("0-0")));
    assert_eq!(bed.job.service().state().container_count(), 2);
    let again = bed.ask(JobAction::StopStandby { standby: processor("0-0") });
    assert_eq!(bed.outcome(again), Some(BadRequest));
}

on_both!(state_is_read_before_its_processor_goes);
/// A stateful processor without a standby: a temporary one is started, and the processor moves there only when it has
/// read all state.
fn state_is_read_before_its_processor_goes<M: Manager>() {
    let mut spec = job_of(1);
    spec.processors[0].is_stateful = true;
    let mut bed = JobBed::start(spec, cluster::<M>(3, 1));
    let before = bed.status("0");
    let request = bed.move_to("0", &host(2));
    bed.run_until_idle();
    assert_eq!((bed.host_of("0-0"), bed.status("0").container), (host(2), before.container));
    assert_eq!(bed.outcome(request), None, "it reads");
    bed.job.report_caught_up(&processor("0-0"), bed.now_ms);
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
    assert_eq!(bed.host_of("0"), host(2));
    assert!(!bed.job.has_processor(&processor("0-0")));
    let slow = bed.place("0", Destination::AnyHost);
    bed.run_until_idle();
    bed.at(EXPIRES_AFTER_MS + 2);
    bed.run_until_idle();
    assert_eq!(bed.outcome(slow), Some(Failed), "it never read all");
    assert_eq!((bed.host_of("0"), bed.job.service().state().container_count()), (host(2), 1));
}

on_both!(a_group_has_one_action_at_a_time);
/// I1: no action on a processor while one of its standbys has one, and vice versa.
fn a_group_has_one_action_at_a_time<M: Manager>() {
    let mut bed = JobBed::start(with_standbys(job_of(1), 1), cluster::<M>(4, 2));
    let requests = [
        bed.place("0", Destination::LastSeen),
        bed.place("0-0", Destination::AnyHost),
        bed.place("0", Destination::Standby),
    ];
    assert_eq!(bed.status("0").queued, 2);
    assert_eq!(bed.status("0-0").request, Some(requests[0]));
    bed.run_until_idle_warm();
    for request in requests {
        assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
    }
}

on_both!(standbys_survive_another_coordinator);
fn standbys_survive_another_coordinator<M: Manager>() {
    let mut bed = JobBed::start(with_standbys(job_of(2), 1), cluster::<M>(4, 2));
    let more = bed.ask(JobAction::StartStandby { processor: processor("1") });
    bed.run_until_idle();
    assert_eq!(bed.outcome(more), Some(Succeeded));
    let before = bed.job.status().processors;
    let mut bed = bed.restart();
    bed.run_until_idle();
    assert_eq!(bed.job.status().processors, before);
    assert_eq!(bed.job.status().configured, 5);
    assert_eq!(bed.status("0").size, Resources::new(&[1]));
}

on_both!(queued_requests_are_planned_when_they_begin);
/// Two standbys that were requested during another action are both started, with numbers of their own.
fn queued_requests_are_planned_when_they_begin<M: Manager>() {
    let mut bed = JobBed::start(job_of(1), cluster::<M>(4, 2));
    let requests = [
        bed.place("0", Destination::LastSeen),
        bed.ask(JobAction::StartStandby { processor: processor("0") }),
        bed.ask(JobAction::StartStandby { processor: processor("0") }),
    ];
    let taken_back = bed.ask(JobAction::StartStandby { processor: processor("0") });
    bed.ask(JobAction::Cancel { request: taken_back });
    assert_eq!(bed.job.requests_for(&processor("0")), 3, "a cancelled request no longer waits");
    bed.run_until_idle();
    for request in requests {
        assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
    }
    assert_eq!(bed.job.spec().processors[0].standbys, [0, 1].into());
    assert_eq!(bed.job.status().below_configured, 0);
}

on_both!(hosts_of_a_processor_and_its_standby_are_drained_together);
/// The processor cannot move to the standby's host, which is drained too.
fn hosts_of_a_processor_and_its_standby_are_drained_together<M: Manager>() {
    let mut bed = JobBed::start(with_standbys(job_of(1), 1), cluster::<M>(2, 2));
    for number in 2..5 {
        bed.manager().add_node(&host(number), "", "", 2);
    }
    bed.run_until_idle();
    let drained = [bed.host_of("0"), bed.host_of("0-0")];
    let requests = drained
        .clone()
        .map(|at| bed.ask(JobAction::DrainHost { host: at.as_str().into(), pace: super::bed::pace(1, 1) }));
    bed.run_until_idle_warm();
    for request in requests {
        assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
    }
    assert!(!drained.contains(&bed.host_of("0")) && !drained.contains(&bed.host_of("0-0")));
}

on_both!(a_request_cancelled_between_two_moves_ends);
fn a_request_cancelled_between_two_moves_ends<M: Manager>() {
    let mut bed = JobBed::start(with_standbys(job_of(1), 1), cluster::<M>(4, 2));
    let active_at = bed.host_of("0");
    let request = bed.place("0", Destination::Standby);
    bed.manager().run_until_idle();
    bed.tick();
    let cancel = bed.ask(JobAction::Cancel { request });
    bed.run_until_idle();
    assert_eq!(bed.outcome(cancel), Some(Succeeded));
    assert_eq!((bed.outcome(request), bed.host_of("0")), (Some(ActionStatus::Cancelled), active_at));
    assert_eq!(bed.job.status().below_configured, 0);
}
