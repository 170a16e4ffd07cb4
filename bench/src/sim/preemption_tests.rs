//! Simulations in which the engine preempts, with figures computed by hand.

use std::ops::ControlFlow;

use apportion::config::{Capacity, EngineConfig, Factor, Percent, PreemptionRounds, QueueConfig};
use apportion::preempt::PreemptionPolicy;
use apportion::{Mode, NodeSpec, ResourceTypes, Resources};

use super::{Figure, JobOutcome, RunRecord, SimOptions, simulate};
use crate::synthetic::SteadyStream;
use crate::trace::Invented;
use crate::workload::{Job, Tasks, Workload};

pub(super) const MODES: [Mode; 3] = [Mode::Serial, Mode::Background, Mode::Parallel { proposers: 2 }];

/// Takes everything that is owed in one round: every 3 s, and a victim has 15 s.
pub(super) fn at_once() -> PreemptionRounds {
    let all = Percent::whole(100);
    let policy = PreemptionPolicy { natural_termination: all, per_round: all, ..PreemptionPolicy::default() };
    PreemptionRounds { policy, ..PreemptionRounds::default() }
}

fn job(name: &str, queue: &str, submit_s: u64, count: usize, seconds: Option<u64>) -> Job {
    let durations_ms = vec![seconds.map(|seconds| seconds * 1_000); count];
    Job {
        name: name.into(),
        queue: queue.into(),
        user: "u".into(),
        priority: 0,
        submit_ms: submit_s * 1_000,
        master: None,
        stages: vec![vec![Tasks::new(Resources::new(&[1, 1]), durations_ms)]],
        starts_together: false,
    }
}

/// Two queues with half of ten slots each.
fn run(jobs: Vec<Job>, mode: Mode, preemption: Option<PreemptionRounds>) -> RunRecord {
    let resources = ResourceTypes::memory_and_vcores();
    let leaf = |name: &str| {
        QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50)))
            .with_user_limit_factor(Some(Factor::whole(2)))
    };
    let nodes = vec![NodeSpec::new("n0", Resources::new(&[10, 10]))];
    let workload =
        Workload { resources: resources.clone(), nodes, queues: None, jobs, invented: Invented::default() };
    let mut config = EngineConfig::new(resources, QueueConfig::root([leaf("a"), leaf("b")]));
    config.preemption = preemption;
    let options =
        SimOptions { config, mode, tick_ms: 1_000, sink: None, with_containers: true, as_gangs: true };
    let record = simulate(&workload, options, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((record.unaccounted(), record.audit_violations.len()), (0, 0), "{mode}");
    record
}

fn completions_s(record: &RunRecord) -> Vec<Option<u64>> {
    let seconds = |job: &JobOutcome| job.completion_ms().map(|ms| ms / 1_000);
    record.outcomes.jobs.iter().map(seconds).collect()
}

/// The owner asks at 10 s. The round at 13 s announces four victims, and the one at 28 s ends them. Their tasks start
/// again when the owner's end.
#[test]
fn an_owner_starts_when_the_victims_time_has_come() {
    let jobs = || vec![job("A", "a", 0, 10, Some(100)), job("B", "b", 10, 4, Some(50))];
    for mode in MODES {
        let record = run(jobs(), mode, Some(at_once()));
        let starts: Vec<_> = record.outcomes.jobs.iter().map(|job| job.first_start_ms).collect();
        assert_eq!(starts, [Some(0), Some(28_000)], "{mode}");
        assert_eq!(completions_s(&record), [Some(178), Some(68)], "{mode}");
        let preemption = record.preemption.unwrap();
        assert_eq!((preemption.containers, preemption.lost_container_ms), (4, 4 * 28_000), "{mode}");
        let work = 10.0 * 100.0 + 4.0 * 50.0 + 4.0 * 28.0;
        assert!((preemption.lost_part - 4.0 * 28.0 / work).abs() < 1e-9, "{preemption:?}");
        assert_eq!((record.asks, record.placed, record.completed), (14, 18, 14), "{mode}");
        let [a, b] = &record.outcomes.queues[..] else { panic!("two queues") };
        assert_eq!((a.preempted, a.lost_ms, b.preempted, b.lost_ms), (4, 112_000, 0, 0), "{mode}");
        let cut = record.outcomes.containers.iter().filter(|container| container.is_preempted);
        let times: Vec<_> = cut.map(|container| (container.started_ms, container.ended_ms)).collect();
        assert_eq!(times, [(0, Some(28_000)); 4], "{mode}");
    }
    let without = run(jobs(), Mode::Serial, None);
    assert_eq!((completions_s(&without), without.preemption), (vec![Some(100), Some(140)], None));
}

#[test]
fn the_owed_share_falls_as_preemption_takes_it() {
    let jobs = vec![job("A", "a", 0, 10, Some(100)), job("B", "b", 10, 4, Some(50))];
    let record = run(jobs, Mode::Serial, Some(at_once()));
    let at = |figure: Figure, second: u64| {
        let mut intervals = record.over_time(figure);
        let now = intervals.find(|interval| (interval.from_ms..interval.to_ms).contains(&(second * 1_000)));
        now.unwrap().mean
    };
    let owed = [5, 20, 40, 100].map(|second| (at(Figure::Owed, second) * 10.0).round());
    assert_eq!(owed, [0.0, 4.0, 0.0, 0.0]);
    assert_eq!([20, 40].map(|second| (at(Figure::Taken, second) * 10.0).round()), [0.0, 4.0]);
    let timeline = &record.outcomes.timeline;
    assert_eq!((timeline.taken[0][40], timeline.taken[1][40]), (0.4, 0.0));
}

/// Nothing else happens before the rounds, and after them nothing ends.
#[test]
fn rounds_happen_in_a_cluster_in_which_nothing_ends() {
    for mode in MODES {
        let jobs = vec![job("A", "a", 0, 10, None), job("B", "b", 10, 8, None)];
        let record = run(jobs, mode, Some(at_once()));
        assert_eq!(record.preemption.unwrap().containers, 5, "{mode}");
        assert_eq!(record.pending_total(), 5 + 3, "{mode}");
        assert!(record.makespan_ms < 200_000, "{mode}: {}", record.makespan_ms);
    }
    let patient = PreemptionRounds { max_wait_before_kill_ms: 3_600_000, ..at_once() };
    let jobs = vec![job("A", "a", 0, 10, None), job("B", "b", 10, 8, None)];
    assert_eq!(run(jobs, Mode::Serial, Some(patient)).preemption.unwrap().containers, 5);
}

/// The master is as large as the owner's container. The first stage ends while the master is away, so the second waits.
#[test]
fn a_preempted_master_runs_again_before_its_job_goes_on() {
    let mut staged = job("A", "a", 0, 1, Some(60));
    staged.stages[0][0].delay_ms = 12_000;
    let second = staged.stages[0].clone();
    staged.stages.push(second);
    staged.master = Some(Resources::new(&[5, 5]));
    let mut important = job("C", "a", 0, 5, Some(60));
    important.priority = 1;
    let mut owner = job("B", "b", 10, 1, Some(100));
    owner.stages[0][0].size = Resources::new(&[5, 5]);
    let record = run(vec![staged, important, owner], Mode::Serial, Some(at_once()));
    let preemption = record.preemption.unwrap();
    assert_eq!((preemption.containers, preemption.lost_container_ms), (1, 28_000));
    // The first task runs from 60 to 120 s. Then the master has room, and the second task starts 12 s after it.
    assert_eq!(completions_s(&record), [Some(192), Some(60), Some(118)]);
    assert_eq!((record.asks, record.placed, record.completed), (9, 10, 9));
}

#[test]
fn preemption_changes_nothing_where_nothing_is_owed() {
    let stream = SteadyStream { nodes: 20, span_ms: 30_000, mean_duration_ms: 3_000, seed: 3 };
    let mut workload = stream.workload();
    workload.compress(0.5);
    let simulated = |preemption: Option<PreemptionRounds>| {
        let mut config = EngineConfig::new(workload.resources.clone(), workload.queues.clone().unwrap());
        config.preemption = preemption;
        let options = SimOptions {
            config,
            mode: Mode::Serial,
            tick_ms: 100,
            sink: None,
            with_containers: true,
            as_gangs: true,
        };
        simulate(&workload, options, &mut |_| ControlFlow::Continue(())).unwrap()
    };
    let (with, without) = (simulated(Some(PreemptionRounds::default())), simulated(None));
    assert_eq!(with.preemption.unwrap().containers, 0);
    assert_eq!(with.outcomes.jobs, without.outcomes.jobs);
    assert_eq!(with.outcomes.containers, without.outcomes.containers);
    assert_eq!(with.makespan_ms, without.makespan_ms);
}

/// With preemption every task still completes once, and all counts agree.
#[test]
fn an_overloaded_stream_is_conserved() {
    for (seed, mode) in [(1, Mode::Serial), (1, Mode::Parallel { proposers: 2 })] {
        let mut workload =
            SteadyStream { nodes: 20, span_ms: 20_000, mean_duration_ms: 8_000, seed }.workload();
        workload.compress(8.0);
        let mut config = EngineConfig::new(workload.resources.clone(), workload.queues.clone().unwrap());
        config.preemption =
            Some(PreemptionRounds { interval_ms: 500, max_wait_before_kill_ms: 500, ..at_once() });
        let options =
            SimOptions { config, mode, tick_ms: 100, sink: None, with_containers: true, as_gangs: true };
        let record = simulate(&workload, options, &mut |_| ControlFlow::Continue(())).unwrap();
        let preemption = record.preemption.unwrap();
        assert!(preemption.containers > 0, "{mode} {preemption:?} {:?}", record.makespan_ms);
        assert_eq!((record.unaccounted(), record.audit_violations.len()), (0, 0), "{mode}");
        assert_eq!((record.completed, record.placed), (record.asks, record.asks + preemption.containers));
        let containers = &record.outcomes.containers;
        let cut = containers.iter().filter(|container| container.is_preempted);
        let lost_ms: u64 = cut.clone().map(|one| one.ended_ms.unwrap() - one.started_ms).sum();
        assert_eq!((cut.count() as u64, lost_ms), (preemption.containers, preemption.lost_container_ms));
        for groups in [&record.outcomes.queues, &record.outcomes.users] {
            let sums = groups.iter().fold((0, 0), |sum, one| (sum.0 + one.preempted, sum.1 + one.lost_ms));
            assert_eq!(sums, (preemption.containers, preemption.lost_container_ms), "{mode}");
        }
    }
}
