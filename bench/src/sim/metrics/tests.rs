//! Small simulations with figures computed by hand, and consistency of sums.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use apportion::config::{Capacity, EngineConfig, Factor, Percent, QueueConfig};
use apportion::{Mode, NodeSpec, ResourceTypes, Resources};
use proptest::prelude::*;

use super::*;
use crate::sim::{RunRecord, SimOptions, simulate};
use crate::synthetic::SteadyStream;
use crate::trace::Invented;
use crate::workload::{Job, Tasks};

fn job(name: &str, queue: &str, user: &str, submit_s: u64, tasks: Tasks) -> Job {
    let [name, queue, user] = [name, queue, user].map(str::to_owned);
    Job {
        name,
        queue,
        user,
        priority: 0,
        submit_ms: submit_s * 1_000,
        master: None,
        stages: vec![vec![tasks]],
        starts_together: false,
    }
}

fn tasks(memory: i64, count: usize, seconds: u64) -> Tasks {
    Tasks::new(Resources::new(&[memory, 1]), vec![Some(seconds * 1_000); count])
}

fn run(jobs: Vec<Job>) -> RunRecord {
    let resources = ResourceTypes::memory_and_vcores();
    let leaf = |name: &str| {
        QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50)))
            .with_user_limit_factor(Some(Factor::whole(2)))
    };
    let nodes = vec![NodeSpec::new("n0", Resources::new(&[10, 1_000]))];
    let workload =
        Workload { resources: resources.clone(), nodes, queues: None, jobs, invented: Invented::default() };
    let config = EngineConfig::new(resources, QueueConfig::root([leaf("a"), leaf("b")]));
    let options = SimOptions {
        config,
        mode: Mode::Serial,
        tick_ms: 1_000,
        sink: None,
        with_containers: true,
        as_gangs: true,
    };
    simulate(&workload, options, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// The cluster has room for ten. Queue a: 10 of u from 0 to 100 s; 2 of w, requested at 20 s, run from 100 to 150 s.
/// Queue b: 4 of v, requested at 10 s, run from 100 to 150 s.
fn three_jobs() -> Vec<Job> {
    vec![
        job("A", "a", "u", 0, tasks(1, 10, 100)),
        job("B", "b", "v", 10, tasks(1, 4, 50)),
        job("C", "a", "w", 20, tasks(1, 2, 50)),
    ]
}

/// The third job would end after virtual time, so it runs for ever; the fourth would ask after it, so it never asks.
#[test]
fn the_largest_times_of_a_trace_do_not_overflow() {
    // In seconds.
    const FAR_S: u64 = 1 << 53;
    let delayed = Tasks { delay_ms: FAR_S * 1_000, ..tasks(1, 1, FAR_S) };
    let jobs = vec![
        job("A", "a", "u", 0, tasks(10, 1, FAR_S)),
        job("B", "a", "v", 0, tasks(2, 3, 1)),
        job("C", "b", "w", 0, delayed.clone()),
        job("D", "b", "w", FAR_S, delayed),
    ];
    let record = run(jobs);
    assert_eq!((record.unaccounted(), record.audit_violations.len()), (0, 0));
    let of = |figure: fn(&JobOutcome) -> Option<u64>| record.outcomes.jobs.iter().map(figure);
    let ends = of(|job| Some(job.finished_ms? / 1_000)).collect::<Vec<_>>();
    assert_eq!(ends, [Some(FAR_S), Some(FAR_S + 1), None, None]);
    assert_eq!(of(|job| Some(job.placed)).collect::<Vec<_>>(), [Some(1), Some(3), Some(1), Some(0)]);
    assert_eq!(of(|job| job.ideal_ms).skip(2).collect::<Vec<_>>(), [None, None]);
    assert_eq!(record.outcomes.jobs[1].waiting_sum_ms, u64::MAX);
}

fn close(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-5, "{found}, not {wanted}");
}

#[test]
fn jobs_complete_and_slow_down_as_computed_by_hand() {
    let outcomes = run(three_jobs()).outcomes;
    let of = |figure: fn(&JobOutcome) -> Option<u64>| outcomes.jobs.iter().map(figure).collect::<Vec<_>>();
    assert_eq!(of(JobOutcome::completion_ms), [Some(100_000), Some(140_000), Some(130_000)]);
    assert_eq!(of(|job| job.ideal_ms), [Some(100_000), Some(50_000), Some(50_000)]);
    assert_eq!(of(|job| job.first_start_ms), [Some(0), Some(100_000), Some(100_000)]);
    assert_eq!(of(|job| Some(job.waiting_sum_ms)), [Some(0), Some(4 * 90_000), Some(2 * 80_000)]);
    let total = outcomes.total;
    assert_eq!((total.jobs, total.finished, total.asked, total.completed), (3, 3, 16, 16));
    close(total.slowdown.unwrap().mean, (1.0 + 2.8 + 2.6) / 3.0);
    close(total.bounded_slowdown.unwrap().max, 2.8);
    close(total.completion_ms.unwrap().p50, 130_000.0);
    close(total.waiting_ms.unwrap().mean, (4.0 * 90_000.0 + 2.0 * 80_000.0) / 16.0);
}

#[test]
fn shares_and_fairness_are_as_computed_by_hand() {
    let Outcomes { queues, users, fairness, .. } = run(three_jobs()).outcomes;
    let [a, b] = &queues[..] else { panic!("{queues:?}") };
    assert_eq!((a.demand_ms, b.demand_ms), (150_000, 140_000));
    close(a.share_in_demand, (1.0 * 100.0 + 0.2 * 50.0) / 150.0);
    close(b.share, 0.4 * 50.0 / 150.0);
    let (a, b) = (a.deviation.unwrap(), b.deviation.unwrap());
    close(a.above, 0.5 * 100.0 / 150.0);
    assert_eq!((a.below, a.below_longest_ms), (0.0, 0));
    // It wants less than its guarantee, so its demand is missing.
    close(b.below, 0.4 * 90.0 / 140.0);
    close(b.below_max, 0.4);
    assert_eq!((b.below_longest_ms, b.guaranteed), (90_000, 0.5));
    assert_eq!(users.iter().map(|user| &*user.name).collect::<Vec<_>>(), ["u", "v", "w"]);
    close(users[1].waiting_ms.unwrap().mean, 90_000.0);
    // From 20 to 100 s both queues wait: a has twice its guarantee, b nothing. Of the users, v and w have nothing.
    assert_eq!((fairness.queues_contended_ms, fairness.users_contended_ms), (80_000, 80_000));
    close(fairness.queues.unwrap(), 0.5);
    close(fairness.users.unwrap(), 1.0);
    close(fairness.users_slowdown.unwrap(), 6.4 * 6.4 / (3.0 * (1.0 + 2.8 * 2.8 + 2.6 * 2.6)));
}

#[test]
fn containers_that_no_node_can_hold_are_no_demand() {
    let jobs = vec![job("A", "a", "u", 0, tasks(1, 5, 100)), job("B", "b", "v", 0, tasks(11, 4, 50))];
    let record = run(jobs);
    assert_eq!(record.unplaceable_total(), 4);
    let b = &record.outcomes.queues[1];
    assert_eq!((b.asked, b.placed, b.finished, b.demand_ms), (4, 0, 0, 0));
    assert_eq!(b.deviation.unwrap().below_max, 0.0);
    assert_eq!((b.completion_ms, b.waiting_ms), (None, None));
}

#[test]
fn the_timeline_has_running_and_waiting_containers() {
    let timeline = run(three_jobs()).outcomes.timeline;
    assert_eq!((timeline.interval_ms, timeline.running.len()), (1_000, 150));
    assert_eq!((timeline.running[50], timeline.waiting[50]), (10.0, 6.0));
    assert_eq!((timeline.running[120], timeline.waiting[120]), (6.0, 0.0));
    close(timeline.used[0][50], 1.0);
    close(timeline.shares[1][120], 0.4);
    close(timeline.entitled[0][50], 0.5);
    close(timeline.entitled[1][50], 0.4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Counts by queue, by user, by job and by container agree.
    #[test]
    fn sums_agree(seed in 0_u64..1_000, nodes in 1_usize..4, load in 1.0_f64..20.0, proposers in 0_usize..3) {
        let mut workload =
            SteadyStream { nodes, span_ms: 20_000, mean_duration_ms: 2_000, seed }.workload();
        workload.compress(load);
        let config = EngineConfig::new(workload.resources.clone(), workload.queues.clone().unwrap());
        let mode = if proposers == 0 { Mode::Serial } else { Mode::Parallel { proposers } };
        let options = SimOptions { config, mode, tick_ms: 100, sink: None, with_containers: true, as_gangs: true };
        let record = simulate(&workload, options, &mut |_| ControlFlow::Continue(())).unwrap();
        let outcomes = &record.outcomes;
        for groups in [&outcomes.queues, &outcomes.users] {
            let sum = |count: fn(&GroupOutcome) -> u64| groups.iter().map(count).sum::<u64>();
            prop_assert_eq!(sum(|group| group.asked), record.asks);
            prop_assert_eq!(sum(|group| group.placed), record.placed);
            prop_assert_eq!(sum(|group| group.completed), record.completed);
            prop_assert_eq!(sum(|group| group.jobs), workload.jobs.len() as u64);
            prop_assert_eq!(sum(|group| group.finished), outcomes.total.finished);
        }
        for (queue, used) in outcomes.queues.iter().zip(&record.queues) {
            prop_assert_eq!((&queue.name, queue.placed), (&used.path, used.placed));
        }
        prop_assert_eq!(outcomes.containers.len() as u64, record.placed);
        let ended = outcomes.containers.iter().filter(|container| container.ended_ms.is_some()).count();
        prop_assert_eq!(ended as u64, record.completed);
        let mut placed: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        for container in &outcomes.containers {
            let (count, waited_ms) = placed.entry(container.job).or_default();
            *count += 1;
            *waited_ms += container.started_ms - container.asked_ms;
        }
        for (place, job) in outcomes.jobs.iter().enumerate() {
            let counted = placed.get(&place).copied().unwrap_or_default();
            prop_assert_eq!((job.placed, job.waiting_sum_ms), counted);
            prop_assert!(job.slowdown().is_none_or(|slowdown| slowdown >= 1.0), "{:?}", job);
        }
        let running: f64 = outcomes.timeline.running.iter().sum::<f64>() * outcomes.timeline.interval_ms as f64;
        let lived = |container: &ContainerOutcome| (container.ended_ms.unwrap_or(record.makespan_ms) - container.started_ms) as f64;
        let lived: f64 = outcomes.containers.iter().map(lived).sum();
        // The last interval may be shorter than the others.
        let last = outcomes.timeline.interval_ms as f64 * outcomes.timeline.running.last().copied().unwrap_or(0.0);
        prop_assert!(running + 1e-6 * running >= lived && running - last <= lived * 1.000_001, "{} {}", running, lived);
    }
}
