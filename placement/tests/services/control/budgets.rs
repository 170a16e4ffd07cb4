//! Disruption budgets: the number of containers that requests may take down at the same time.

use apportion_placement::control::{Destination, JobAction, JobRequest, JobSpec, RollingRestart};
use apportion_placement::{ComponentChange, FakeCluster, InstanceState};
use proptest::prelude::*;

use super::bed::{EXPIRES_AFTER_MS, JobBed, job_of, pace, processor, with_standbys};
use super::one::cluster;
use crate::support::{Manager, host, on_both};
use apportion_placement::ActionStatus::Succeeded;

on_both!(moves_that_need_a_standby_first_are_within_the_budget);
/// Two processors with state and without standbys. The drain begins two moves at once, but only one processor may be
/// down.
fn moves_that_need_a_standby_first_are_within_the_budget<M: Manager>() {
    let mut spec = job_of(2);
    for processor in &mut spec.processors {
        processor.is_stateful = true;
    }
    let mut manager = M::new();
    manager.add_node(&host(0), "", "", 4);
    let mut bed = JobBed::start(spec, manager.start_by_hand());
    let start = |bed: &mut JobBed<M>, is_chosen: fn(&str) -> bool| {
        let found: Vec<_> = bed.job.service().state().containers().collect();
        for found in found.into_iter().filter(|found| found.state == InstanceState::Starting) {
            if is_chosen(&found.component) {
                assert_eq!(bed.manager().report_started(found.container), Ok(()));
            }
        }
        bed.run_until_idle();
    };
    bed.run_until_idle();
    start(&mut bed, |_| true);
    for number in [1, 2] {
        bed.manager().add_node(&host(number), "", "", 4);
    }
    bed.run_until_idle();
    let request = bed.ask(JobAction::DrainHost { host: host(0).into(), pace: pace(2, 1) });
    for _ in 0..20 {
        let is_down = |name: &&str| bed.status(name).state != Some(InstanceState::Live);
        let down = ["0", "1"].iter().filter(|name| is_down(name)).count();
        assert!(down <= 1, "{down} were down at once: {}", bed.message(request));
        // Standbys start and read their state at once; processors start slowly.
        start(&mut bed, |component| component.contains('-'));
        bed.run_until_idle_warm();
    }
    for _ in 0..20 {
        start(&mut bed, |_| true);
        bed.run_until_idle_warm();
    }
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
}

on_both!(a_move_that_only_waits_takes_nothing_of_the_budget);
/// X2, at the level of the job.
fn a_move_that_only_waits_takes_nothing_of_the_budget<M: Manager>() {
    let mut bed = JobBed::start(job_of(3), cluster::<M>(3, 1));
    let (full, other) = (bed.host_of("1"), bed.host_of("2"));
    let action = JobAction::Place { processor: processor("0"), destination: Destination::Host(full.into()) };
    bed.ask_with(JobRequest { expires_after_ms: 600_000, ..JobRequest::new(action) });
    bed.run_until_idle();
    bed.manager().add_node(&host(7), "", "", 4);
    bed.run_until_idle();
    let request = bed.ask(JobAction::DrainHost { host: other.as_str().into(), pace: pace(1, 1) });
    bed.run_until_idle();
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
}

on_both!(a_processor_that_was_given_up_takes_nothing_of_the_budget);
fn a_processor_that_was_given_up_takes_nothing_of_the_budget<M: Manager>() {
    let spec = JobSpec { failures_max: Some(0), fails_with_processor: false, ..job_of(4) };
    let mut bed = JobBed::start(spec, cluster::<M>(3, 4));
    bed.end("3", 1);
    bed.run_until_idle();
    assert_eq!(bed.job.status().below_configured, 1);
    let at = bed.host_of("0");
    let drained = bed.ask(JobAction::DrainHost { host: at.as_str().into(), pace: pace(1, 1) });
    bed.run_until_idle();
    assert_eq!(bed.outcome(drained), Some(Succeeded), "{}", bed.message(drained));
    let restarted = bed.ask(JobAction::RollingRestart(rolling(1, 1)));
    bed.run_until_idle();
    assert_eq!(bed.outcome(restarted), Some(Succeeded), "{}", bed.message(restarted));
    assert_eq!(bed.job.status().below_configured, 0, "the restart also brings it back");
}

on_both!(a_container_that_a_step_stopped_counts_once_against_the_budget);
/// Of two containers that are down, one has come back. So one is down, and one more may go down.
fn a_container_that_a_step_stopped_counts_once_against_the_budget<M: Manager>() {
    let mut bed = JobBed::start(job_of(4), cluster::<M>(2, 4).start_by_hand());
    let start = |bed: &mut JobBed<M>, name: &str| {
        let container = bed.status(name).container.unwrap_or_else(|| panic!("{name} has a container"));
        assert_eq!(bed.manager().report_started(container), Ok(()));
        bed.run_until_idle();
    };
    ["0", "1", "2", "3"].iter().for_each(|name| start(&mut bed, name));
    let is_down = |bed: &JobBed<M>| {
        ["0", "1", "2", "3"].map(|name| bed.status(name).state != Some(InstanceState::Live))
    };
    let request = bed.ask(JobAction::RollingRestart(RollingRestart { stops_first: true, ..rolling(2, 2) }));
    bed.run_until_idle();
    assert_eq!(is_down(&bed), [true, true, false, false]);
    start(&mut bed, "0");
    assert_eq!(is_down(&bed), [false, true, true, false]);
    ["1", "2", "3"].iter().for_each(|name| start(&mut bed, name));
    assert_eq!(bed.outcome(request), Some(Succeeded), "{}", bed.message(request));
}

on_both!(a_drain_waits_while_a_rolling_restart_takes_the_budget);
/// The drain waits for longer than the time limit of a single container.
fn a_drain_waits_while_a_rolling_restart_takes_the_budget<M: Manager>() {
    let mut bed = JobBed::start(job_of(3), cluster::<M>(3, 4).start_by_hand());
    let starting = |bed: &JobBed<M>| {
        let state = bed.job.service().state();
        let found = state.containers().find(|found| found.state == InstanceState::Starting);
        found.map(|found| found.container)
    };
    bed.run_until_idle();
    while let Some(container) = starting(&bed) {
        assert_eq!(bed.manager().report_started(container), Ok(()));
        bed.run_until_idle();
    }
    let at = bed.host_of("2");
    let restarted = bed.ask(JobAction::RollingRestart(rolling(1, 1)));
    let drained = bed.ask(JobAction::DrainHost { host: at.as_str().into(), pace: pace(1, 1) });
    while let Some(container) = {
        bed.run_until_idle();
        starting(&bed)
    } {
        // Each restart takes nearly its whole time limit.
        bed.at(bed.now_ms + EXPIRES_AFTER_MS - 10);
        assert_eq!(bed.manager().report_started(container), Ok(()));
    }
    assert_eq!(bed.outcome(restarted), Some(Succeeded), "{}", bed.message(restarted));
    assert_eq!(bed.outcome(drained), Some(Succeeded), "{}", bed.message(drained));
}

fn rolling(at_once: u32, budget: u32) -> RollingRestart {
    RollingRestart {
        processors: None,
        pace: pace(at_once, budget),
        canaries: 0,
        canary_wait_ms: 0,
        stops_first: false,
        change: ComponentChange::default(),
    }
}

const HOSTS: usize = 5;
const BUDGET: u32 = 2;

#[derive(Clone, Debug)]
enum Step {
    Drain { host: usize, at_once: u32 },
    Readmit { host: usize },
    Relieve { host: usize, containers: u32 },
    Restart { at_once: u32, stops_first: bool },
    StartStandby { processor: usize },
    CancelLast,
    CatchUp,
    Tick,
    Pass,
}

fn step() -> impl Strategy<Value = Step> {
    let at_once = 1..4_u32;
    prop_oneof![
        2 => (0..HOSTS, at_once.clone()).prop_map(|(host, at_once)| Step::Drain { host, at_once }),
        2 => (0..HOSTS).prop_map(|host| Step::Readmit { host }),
        1 => (0..HOSTS, 1..4_u32).prop_map(|(host, containers)| Step::Relieve { host, containers }),
        2 => (at_once, any::<bool>()).prop_map(|(at_once, stops_first)| Step::Restart { at_once, stops_first }),
        1 => (0..4_usize).prop_map(|processor| Step::StartStandby { processor }),
        1 => Just(Step::CancelLast),
        3 => Just(Step::CatchUp),
        12 => Just(Step::Tick),
        1 => Just(Step::Pass),
    ]
}

fn take(bed: &mut JobBed<FakeCluster>, step: &Step) {
    let at = |number: usize| host(number).as_str().into();
    match *step {
        Step::Drain { host, at_once } => {
            bed.ask(JobAction::DrainHost { host: at(host), pace: pace(at_once, BUDGET) });
        }
        Step::Readmit { host } => {
            bed.ask(JobAction::ReadmitHost { host: at(host) });
        }
        Step::Relieve { host, containers } => {
            bed.ask(JobAction::RelieveHost { host: at(host), containers, pace: pace(2, BUDGET) });
        }
        Step::Restart { at_once, stops_first } => {
            bed.ask(JobAction::RollingRestart(RollingRestart { stops_first, ..rolling(at_once, BUDGET) }));
        }
        Step::StartStandby { processor: number } => {
            bed.ask(JobAction::StartStandby { processor: processor(&number.to_string()) });
        }
        Step::CancelLast => {
            let last = bed.last_request();
            bed.ask(JobAction::Cancel { request: last });
        }
        Step::CatchUp => bed.run_until_idle_warm(),
        Step::Tick => bed.tick(),
        Step::Pass => bed.at(bed.now_ms + EXPIRES_AFTER_MS + 1),
    }
}

/// The number of processors that do not run, without standbys.
fn down(bed: &JobBed<FakeCluster>) -> usize {
    let processors = bed.job.status().processors.into_iter();
    processors
        .filter(|known| !known.processor.is_standby() && known.state != Some(InstanceState::Live))
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    /// For requests about many containers, with or without state.
    #[test]
    fn no_requests_exceed_the_budget(steps in prop::collection::vec(step(), 0..60), standbys in 0..2_u32) {
        let mut spec = with_standbys(job_of(4), standbys);
        spec.processors[3].is_stateful = false;
        let mut bed = JobBed::start(spec, cluster::<FakeCluster>(HOSTS, 6));
        bed.run_until_idle();
        for step in &steps {
            take(&mut bed, step);
            let down = down(&bed);
            prop_assert!(down <= BUDGET as usize, "{down} processors are down after {step:?}");
        }
    }
}
