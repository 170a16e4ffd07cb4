//! Actions on many containers: drains, rolling restarts, relief of a host.

use apportion::Resources;
use apportion_placement::control::{Destination, JobAction, RollingRestart};
use apportion_placement::{ActionStatus, ComponentChange};

use super::bed::{EXPIRES_AFTER_MS, JobBed, job_of, pace, processor, with_standbys};
use super::one::cluster;
use crate::support::{Manager, host, on_both};
use ActionStatus::{Cancelled, Failed, Succeeded};

fn on_host<M: Manager>(bed: &JobBed<M>, name: &str) -> usize {
    bed.job.status().processors.iter().filter(|known| known.host.as_deref() == Some(name)).count()
}

fn rolling(at_once: u32, budget: u32, change: ComponentChange) -> RollingRestart {
    RollingRestart {
        processors: None,
        pace: pace(at_once, budget),
        canaries: 0,
        canary_wait_ms: 0,
        stops_first: false,
        change,
    }
}

fn version(name: &str) -> ComponentChange {
    ComponentChange { version: Some(name.to_owned()), size: None }
}

on_both!(a_host_is_drained_within_the_budget);
fn a_host_is_drained_within_the_budget<M: Manager>() {
    let mut bed = JobBed::start(job_of(12), cluster::<M>(4, 8));
    let drained = bed.host_of("0");
    let there = on_host(&bed, &drained);
    assert!(there > 1);
    bed.down_max = 0;
    let request = bed.ask(JobAction::DrainHost { host: drained.as_str().into(), pace: pace(4, 2) });
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
    assert_eq!((on_host(&bed, &drained), bed.job.status().below_configured), (0, 0));
    assert!(bed.down_max <= 2, "{} were down", bed.down_max);
    bed.end("0", 1);
    bed.run_until_idle();
    assert_eq!(on_host(&bed, &drained), 0, "nothing comes back");
    let mut bed = bed.restart();
    bed.end("1", 1);
    bed.run_until_idle();
    assert_eq!(on_host(&bed, &drained), 0, "also after a restart of the coordinator");
    let readmit = bed.ask(JobAction::ReadmitHost { host: drained.as_str().into() });
    assert_eq!(bed.outcome(readmit), Some(Succeeded));
    let back = bed.move_to("0", &drained);
    bed.run_until_idle();
    assert_eq!((bed.outcome(back), bed.host_of("0")), (Some(Succeeded), drained));
}

on_both!(a_drain_takes_state_to_the_standby_and_keeps_apart);
fn a_drain_takes_state_to_the_standby_and_keeps_apart<M: Manager>() {
    let mut bed = JobBed::start(with_standbys(job_of(4), 1), cluster::<M>(4, 8));
    let drained = bed.host_of("0");
    let standby_at = bed.host_of("0-0");
    bed.down_max = 0;
    let request = bed.ask(JobAction::DrainHost { host: drained.as_str().into(), pace: pace(3, 1) });
    bed.run_until_idle_warm();
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
    assert_eq!((on_host(&bed, &drained), bed.host_of("0")), (0, standby_at));
    assert!(bed.down_max <= 1, "{} were down", bed.down_max);
    for active in ["0", "1", "2", "3"] {
        assert_ne!(bed.host_of(active), bed.host_of(&format!("{active}-0")));
    }
}

on_both!(a_drain_without_room_reports_the_remaining_containers);
fn a_drain_without_room_reports_the_remaining_containers<M: Manager>() {
    let mut bed = JobBed::start(job_of(4), cluster::<M>(2, 2));
    let drained = bed.host_of("0");
    let request = bed.ask(JobAction::DrainHost { host: drained.as_str().into(), pace: pace(1, 1) });
    for step in 1..5 {
        bed.run_until_idle();
        bed.at(step * (EXPIRES_AFTER_MS + 2));
    }
    assert_eq!(bed.outcome(request), Some(Failed));
    assert!(bed.message(request).contains("2 failed"), "{}", bed.message(request));
    assert_eq!(bed.job.status().below_configured, 0, "all of them run where they were");
}

on_both!(a_rolling_restart_brings_a_version_and_a_size);
fn a_rolling_restart_brings_a_version_and_a_size<M: Manager>() {
    let mut bed = JobBed::start(job_of(6), cluster::<M>(3, 24));
    bed.down_max = 0;
    let change = ComponentChange { version: Some("v2".to_owned()), size: Some(Resources::new(&[2])) };
    let request = bed.ask(JobAction::RollingRestart(rolling(3, 2, change)));
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
    assert!(bed.down_max <= 2, "{} were down", bed.down_max);
    for known in bed.job.status().processors {
        assert_eq!((known.version.as_str(), known.size), ("v2", Resources::new(&[2])));
    }
    assert!(bed.job.spec().processors.iter().all(|known| known.version == "v2"));
    bed.end("3", 1);
    bed.run_until_idle();
    assert_eq!(bed.status("3").version, "v2", "a processor that restarts by itself has the new version");
}

on_both!(canaries_come_first_and_the_rest_when_they_run_on);
fn canaries_come_first_and_the_rest_when_they_run_on<M: Manager>() {
    let mut bed = JobBed::start(job_of(6), cluster::<M>(3, 24));
    let canaries = RollingRestart { canaries: 2, canary_wait_ms: 60_000, ..rolling(3, 3, version("v2")) };
    let request = bed.ask(JobAction::RollingRestart(canaries.clone()));
    bed.run_until_idle();
    let of = |bed: &JobBed<M>, wanted: &str| {
        bed.job.status().processors.iter().filter(|known| known.version == wanted).count()
    };
    assert_eq!(of(&bed, "v2"), 2);
    bed.at(60_000);
    bed.run_until_idle();
    assert_eq!(of(&bed, "v2"), 2, "not yet");
    bed.at(60_002);
    bed.run_until_idle();
    assert_eq!((bed.outcome(request), of(&bed, "v2")), (Some(Succeeded), 6), "{}", bed.message(request));
    for (died, next) in [("0", "v3"), ("1", "v4")] {
        let change = version(next);
        let request = bed.ask(JobAction::RollingRestart(RollingRestart { change, ..canaries.clone() }));
        bed.run_until_idle();
        bed.end(died, 1);
        bed.run_until_idle();
        bed.at(bed.now_ms + 60_002);
        bed.run_until_idle();
        assert_eq!(bed.outcome(request), Some(Failed));
        assert_eq!(of(&bed, next), 2, "the other processors were not restarted: {}", bed.message(request));
        assert!(bed.message(request).contains(": 1 of the first containers"), "{}", bed.message(request));
    }
}

on_both!(the_waiting_time_begins_after_the_last_canary);
/// Also if canaries come one after another. If all are canaries, none is left to wait.
fn the_waiting_time_begins_after_the_last_canary<M: Manager>() {
    for canaries in [1, 2, 3, 4, 9] {
        let mut bed = JobBed::start(job_of(4), cluster::<M>(3, 24));
        let few = RollingRestart { canaries, canary_wait_ms: 60_000, ..rolling(1, 1, version("v2")) };
        let request = bed.ask(JobAction::RollingRestart(few));
        bed.run_until_idle();
        let is_over = canaries >= 4;
        let new = |bed: &JobBed<M>| {
            bed.job.status().processors.iter().filter(|known| known.version == "v2").count()
        };
        assert_eq!(new(&bed), if is_over { 4 } else { canaries as usize });
        assert_eq!(bed.outcome(request) == Some(Succeeded), is_over, "{canaries} of 4");
        bed.at(60_002);
        bed.run_until_idle();
        assert_eq!((bed.outcome(request), new(&bed)), (Some(Succeeded), 4));
    }
}

on_both!(a_canary_that_is_moved_meanwhile_has_not_died);
fn a_canary_that_is_moved_meanwhile_has_not_died<M: Manager>() {
    let mut bed = JobBed::start(job_of(3), cluster::<M>(3, 24));
    let canaries = RollingRestart { canaries: 1, canary_wait_ms: 60_000, ..rolling(1, 1, version("v2")) };
    let request = bed.ask(JobAction::RollingRestart(canaries));
    bed.run_until_idle();
    assert_eq!(bed.status("0").version, "v2");
    for destination in [Destination::AnyHost, Destination::ForceRestartLastSeen] {
        let moved = bed.place("0", destination);
        bed.run_until_idle();
        assert_eq!(bed.outcome(moved), Some(Succeeded));
    }
    bed.at(60_002);
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
}

on_both!(a_version_that_does_not_start_stays_nowhere);
fn a_version_that_does_not_start_stays_nowhere<M: Manager>() {
    let mut bed = JobBed::start(job_of(3), cluster::<M>(3, 4).start_by_hand());
    for name in ["0", "1", "2"] {
        let container = bed.status(name).container.unwrap_or_else(|| panic!("{name} came"));
        assert_eq!(bed.manager().report_started(container), Ok(()));
    }
    bed.run_until_idle();
    let request = bed.ask(JobAction::RollingRestart(rolling(1, 1, version("broken"))));
    bed.run_until_idle();
    let first = bed.status("0");
    assert_eq!(first.version, "broken");
    let container = first.container.unwrap_or_else(|| panic!("it came"));
    assert_eq!(bed.manager().report_start_failed(container), Ok(()));
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Failed), "{}", bed.message(request));
    assert!(
        bed.job.status().processors.iter().all(|known| known.version.is_empty()),
        "{:?}",
        bed.status("0")
    );
}

on_both!(nothing_begins_while_too_much_is_down);
fn nothing_begins_while_too_much_is_down<M: Manager>() {
    let mut bed = JobBed::start(job_of(4), cluster::<M>(2, 2));
    bed.manager().lose_node(&host(1));
    bed.run_until_idle();
    let request = bed.ask(JobAction::RollingRestart(rolling(1, 1, version("v2"))));
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), None);
    bed.at(EXPIRES_AFTER_MS + 3);
    assert_eq!(bed.outcome(request), Some(Failed), "it does not wait for ever");
    assert!(bed.message(request).contains("down for too long: 2"), "{}", bed.message(request));
    assert!(bed.job.status().processors.iter().all(|known| known.version.is_empty()));
}

on_both!(a_hot_host_gives_some_away);
fn a_hot_host_gives_some_away<M: Manager>() {
    let mut bed = JobBed::start(job_of(6), cluster::<M>(1, 8));
    bed.manager().add_node(&host(1), "", "", 8);
    bed.run_until_idle();
    let action = JobAction::RelieveHost { host: host(0).into(), containers: 2, pace: pace(2, 2) };
    let request = bed.ask(action);
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
    assert_eq!((on_host(&bed, &host(0)), on_host(&bed, &host(1))), (4, 2));
}

on_both!(a_long_request_is_taken_back);
fn a_long_request_is_taken_back<M: Manager>() {
    let mut bed = JobBed::start(job_of(6), cluster::<M>(2, 12));
    let slow = RollingRestart { canaries: 1, canary_wait_ms: 1_000_000, ..rolling(1, 1, version("v2")) };
    let request = bed.ask(JobAction::RollingRestart(slow));
    bed.run_until_idle();
    let cancel = bed.ask(JobAction::Cancel { request });
    bed.run_until_idle();
    assert_eq!((bed.outcome(request), bed.outcome(cancel)), (Some(Cancelled), Some(Succeeded)));
    assert_eq!(bed.message(request), "it was taken back: 1 of 6 done, 5 not begun");
    let move_on = bed.place("5", apportion_placement::control::Destination::AnyHost);
    bed.run_until_idle();
    assert_eq!(bed.outcome(move_on), Some(Succeeded));
    assert!(bed.job.has_processor(&processor("5")));
}
