//! Jobs whose containers start together, with figures computed by hand.

use std::ops::ControlFlow;

use apportion::config::{
    Capacity, EngineConfig, Factor, Maximum, NodeOrderKind, Percent, PreemptionRounds, QueueConfig,
};
use apportion::{Mode, NodeSpec, ResourceTypes, Resources};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{GangJob, GangRecord, WaitReason};
use crate::sim::preemption_tests::{MODES, at_once};
use crate::sim::{RunRecord, SimOptions, simulate};
use crate::trace::Invented;
use crate::workload::{Job, Tasks, Workload};

/// A job of members with these sizes.
fn job(name: &str, queue: &str, submit_s: u64, sizes: &[i64], seconds: u64) -> Job {
    let mut tasks: Vec<Tasks> = Vec::new();
    for size in sizes {
        match tasks.iter_mut().find(|tasks| tasks.size[0] == *size) {
            Some(tasks) => tasks.durations_ms.push(Some(seconds * 1_000)),
            None => tasks.push(Tasks::new(Resources::new(&[*size]), vec![Some(seconds * 1_000)])),
        }
    }
    Job {
        name: name.into(),
        queue: queue.into(),
        user: "u".into(),
        priority: 0,
        submit_ms: submit_s * 1_000,
        master: None,
        stages: vec![tasks],
        starts_together: true,
    }
}

struct Setting {
    nodes: usize,
    mode: Mode,
    as_gangs: bool,
    preemption: Option<PreemptionRounds>,
    order: NodeOrderKind,
}

const PLAIN: Setting =
    Setting { nodes: 2, mode: Mode::Serial, as_gangs: true, preemption: None, order: NodeOrderKind::First };

fn queue(name: &str, percent: u32) -> QueueConfig {
    QueueConfig::leaf(name, Capacity::Percent(Percent::whole(percent))).with_user_limit_factor(None)
}

/// Two queues with half of the nodes each. Every node has 8 GPUs.
fn run(jobs: Vec<Job>, setting: Setting) -> RunRecord {
    run_in(QueueConfig::root([queue("a", 50), queue("b", 50)]), jobs, setting)
}

fn run_in(root: QueueConfig, jobs: Vec<Job>, setting: Setting) -> RunRecord {
    let Setting { nodes, mode, as_gangs, preemption, order } = setting;
    let resources = ResourceTypes::new(["gpu"]).unwrap();
    let nodes = (0..nodes).map(|number| NodeSpec::new(format!("n{number}"), Resources::new(&[8]))).collect();
    let workload =
        Workload { resources: resources.clone(), nodes, queues: None, jobs, invented: Invented::default() };
    let mut config = EngineConfig::new(resources, root);
    (config.preemption, config.node_order) = (preemption, order);
    let options = SimOptions { config, mode, tick_ms: 1_000, sink: None, with_containers: true, as_gangs };
    let record = simulate(&workload, options, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((record.unaccounted(), record.audit_violations.len()), (0, 0), "{mode}");
    record
}

fn gangs(record: &RunRecord) -> &GangRecord {
    record.gangs.as_ref().unwrap()
}

/// Begin of the first attempt and end, in seconds.
fn times_s(record: &RunRecord) -> Vec<(Option<u64>, Option<u64>)> {
    let both = gangs(record).jobs.iter().zip(&record.outcomes.jobs);
    let seconds = |ms: Option<u64>| ms.map(|ms| ms / 1_000);
    both.map(|(gang, job)| (seconds(gang.begun_ms), seconds(job.finished_ms))).collect()
}

fn waited_s(job: &GangJob, reason: WaitReason) -> u64 {
    job.waited_ms[reason as usize] / 1_000
}

fn three_jobs() -> Vec<Job> {
    vec![job("s", "a", 0, &[4], 100), job("g", "a", 10, &[8, 8], 50), job("t", "a", 20, &[8], 30)]
}

/// Room is held for the gang while it waits, so the third job does not overtake it.
#[test]
fn a_gang_begins_when_there_is_room_for_all_of_it() {
    for mode in MODES {
        let record = run(three_jobs(), Setting { mode, ..PLAIN });
        let times = [(Some(0), Some(100)), (Some(100), Some(150)), (Some(150), Some(180))];
        assert_eq!(times_s(&record), times, "{mode}");
        let gangs = gangs(&record);
        assert_eq!((gangs.held_size_ms, gangs.lost_size_ms, gangs.waited_with_room()), (0, 0, (0, 0)));
        assert_eq!(gangs.done_size_ms, 1_000 * (4 * 100 + 16 * 50 + 8 * 30));
        assert_eq!(waited_s(&gangs.jobs[1], WaitReason::TooFewFree), 90, "at most 12 of 16 GPUs are free");
        let of_gang = record.outcomes.containers.iter().filter(|container| container.job == 1);
        let starts: Vec<u64> = of_gang.map(|container| container.started_ms).collect();
        assert_eq!(starts, [100_000, 100_000], "{mode}: no part of it starts sooner");
    }
}

/// Without gangs, the first member holds a node for 90 s, and the third job waits until the second is over.
#[test]
fn plain_members_hold_what_they_have() {
    for mode in MODES {
        let record = run(three_jobs(), Setting { mode, as_gangs: false, ..PLAIN });
        let times = [(Some(0), Some(100)), (Some(100), Some(150)), (Some(150), Some(180))];
        assert_eq!(times_s(&record), times, "{mode}");
        assert_eq!(gangs(&record).held_size_ms, 8 * 90_000, "{mode}");
    }
}

#[test]
fn room_in_too_small_parts_is_told_from_too_little() {
    let jobs = vec![job("s", "a", 0, &[4], 100), job("t", "a", 0, &[6], 60), job("u", "a", 10, &[5], 50)];
    let record = run(jobs, Setting { order: NodeOrderKind::Spread, ..PLAIN });
    let gangs = gangs(&record);
    // 4 and 2 GPUs are free until 60 s.
    assert_eq!(waited_s(&gangs.jobs[2], WaitReason::Fragmented), 50);
    assert_eq!(times_s(&record)[2], (Some(60), Some(110)));
}

/// The owner asks at 10 s for two nodes, and the round at 28 s ends the later gang as a whole. It starts again when the
/// owner is done.
#[test]
fn a_preempted_gang_starts_again_from_its_beginning() {
    for mode in MODES {
        let gang = |name| job(name, "a", 0, &[8, 8], 100);
        let of_owner = |name| job(name, "b", 10, &[8], 50);
        let jobs = vec![gang("A"), gang("B"), of_owner("C"), of_owner("D")];
        let record = run(jobs, Setting { mode, nodes: 4, preemption: Some(at_once()), ..PLAIN });
        let of_owner = (Some(28), Some(78));
        let times = [(Some(0), Some(100)), (Some(0), Some(178)), of_owner, of_owner];
        assert_eq!(times_s(&record), times, "{mode}");
        let preemption = record.preemption.unwrap();
        assert_eq!((preemption.containers, preemption.given_back), (2, 0), "{mode}");
        assert_eq!(preemption.lost_container_ms, 2 * 28_000, "{mode}");
        assert_eq!((record.asks, record.placed, record.completed), (6, 8, 6), "{mode}");
        let gangs = gangs(&record);
        assert_eq!((gangs.attempts_lost, gangs.given_back, gangs.jobs[1].attempts), (1, 0, 2), "{mode}");
        assert_eq!((gangs.lost_size_ms, gangs.jobs[1].lost_size_ms), (16 * 28_000, 16 * 28_000), "{mode}");
        assert_eq!(gangs.done_size_ms, 2 * 16 * 100_000 + 2 * 8 * 50_000, "{mode}");
        assert_eq!(gangs.waited_with_room(), (0, 0), "{mode}");
    }
}

#[test]
fn a_gang_that_never_fits_is_refused_and_counted() {
    let record = run(vec![job("g", "a", 0, &[8, 8, 8], 10), job("s", "a", 5, &[1], 10)], PLAIN);
    assert_eq!(record.unplaceable.get("gang_above_cluster"), Some(&3), "{:?}", record.unplaceable);
    assert_eq!(times_s(&record), [(None, None), (Some(5), Some(15))]);
    assert_eq!((record.placed, record.pending_total()), (1, 0));
}

/// Leaf `a` wants something only while the second job runs.
#[test]
fn a_refused_gang_wants_nothing_any_more() {
    let record = run(vec![job("g", "a", 0, &[8, 8, 8], 10), job("s", "a", 5, &[1], 10)], PLAIN);
    assert_eq!(record.outcomes.queues[0].demand_ms, 10_000);
    assert_eq!(record.outcomes.users[0].demand_ms, 10_000);
    let waiting = &record.outcomes.timeline.waiting;
    assert!(waiting.iter().all(|count| *count == 0.0), "{waiting:?}");
}

/// While the third and the fourth job wait, the cluster is busy, although two members of the first wait in vain.
#[test]
fn a_refused_gang_that_no_node_can_hold_counts_once() {
    let jobs = vec![
        job("g", "a", 0, &[9, 9], 10),
        job("s", "a", 0, &[8, 8], 100),
        job("t", "a", 0, &[8], 10),
        job("u", "a", 0, &[8], 10),
    ];
    let record = run(jobs, PLAIN);
    assert_eq!(times_s(&record)[2..], [(Some(100), Some(110)); 2]);
    assert_eq!(record.busy_ms, 100_000);
}

/// The first stage has two members of 8 GPUs, the second has three of 4.
#[test]
fn each_stage_counts_with_its_own_size() {
    let stages = [(&[8, 8][..], 50), (&[4, 4, 4][..], 20)];
    let stages = stages.map(|(sizes, seconds)| job("", "", 0, sizes, seconds).stages.remove(0));
    let record = run(vec![Job { stages: stages.into(), ..job("g", "a", 0, &[], 0) }], PLAIN);
    assert_eq!(times_s(&record), [(Some(0), Some(70))]);
    let gangs = gangs(&record);
    assert_eq!(gangs.done_size_ms, 1_000 * (16 * 50 + 12 * 20));
    assert_eq!((gangs.held_size_ms, gangs.jobs[0].attempts), (0, 2));
    assert_eq!((gangs.jobs[0].members, gangs.jobs[0].size), (3, 16), "the largest of all stages");
    let working = |second: u64| {
        let mut intervals = gangs.over_time(super::GangFigure::Working);
        let now = intervals.find(|interval| (interval.from_ms..interval.to_ms).contains(&(second * 1_000)));
        now.unwrap().mean * 16.0
    };
    assert_eq!([working(40), working(60)], [16.0, 12.0]);
}

/// Queue `p` may use 8 GPUs, of which 4 are in use. An ask of leaf `x` for 5 blocks the rest. In leaf `a`, the limit of
/// each user is 3 GPUs: user `u` has 2 and wants 2 more, and user `v` wants 2.
#[test]
fn a_limit_of_one_user_is_no_reason_for_another() {
    let half = |queue: QueueConfig| queue.with_maximum(Maximum::Percent(Percent::whole(50)));
    let limited = queue("a", 40).with_user_limit_factor(Some(Factor::ONE));
    let parent = half(queue("p", 50)).with_children([queue("x", 60), limited]);
    let jobs = vec![
        job("x1", "x", 0, &[2], 100),
        job("u1", "a", 0, &[2], 100),
        job("x2", "x", 5, &[5], 10),
        job("u2", "a", 10, &[2], 10),
        Job { user: "v".into(), ..job("v", "a", 10, &[2], 10) },
    ];
    let record = run_in(QueueConfig::root([parent, queue("q", 50)]), jobs, PLAIN);
    let gangs = gangs(&record);
    assert_eq!(waited_s(&gangs.jobs[3], WaitReason::Limited), 90, "{:?}", gangs.jobs);
    // From 100 s on, the maximum of `p` does not admit it: 7 GPUs are in use again.
    let of_v = [WaitReason::Reserved, WaitReason::Limited].map(|reason| waited_s(&gangs.jobs[4], reason));
    assert_eq!(of_v, [90, 10], "{:?}", gangs.jobs);
}

/// The largest time that a trace can have, in seconds.
const FAR_S: u64 = 1 << 53;

#[test]
fn the_work_of_a_gang_does_not_overflow() {
    let record = run(vec![job("g", "a", 0, &[8, 8], FAR_S), job("h", "a", 0, &[8], 1)], PLAIN);
    assert_eq!(times_s(&record), [(Some(0), Some(FAR_S)), (Some(FAR_S), Some(FAR_S + 1))]);
    assert_eq!(gangs(&record).done_size_ms, u64::MAX);
    let plain = run(
        vec![job("s", "a", 0, &[8], FAR_S), job("g", "a", 0, &[8, 8], 1)],
        Setting { as_gangs: false, ..PLAIN },
    );
    assert_eq!(gangs(&plain).held_size_ms, u64::MAX);
}

#[test]
fn classes_have_their_jobs() {
    let jobs = vec![
        job("a", "a", 0, &[1], 10),
        job("b", "a", 1, &[4], 20),
        job("c", "b", 2, &[8], 30),
        job("d", "b", 3, &[8, 4], 40),
    ];
    let record = run(jobs, Setting { nodes: 4, ..PLAIN });
    let classes = gangs(&record).by_size(&record.outcomes);
    let names: Vec<_> =
        classes.iter().map(|class| (class.name.clone(), class.jobs, class.finished)).collect();
    let expected = ["1", "2 to 4", "5 to 8", "9 or more"].map(|name| (name.to_owned(), 1, 1));
    assert_eq!(names, expected);
    let completions: Vec<_> = classes.iter().map(|class| class.completion_ms[0] / 1_000).collect();
    assert_eq!(completions, [10, 20, 30, 40]);
    assert_eq!(gangs(&record).of_several(), 1);
    let leaves = gangs(&record).by_leaf(&record.outcomes);
    assert_eq!(
        leaves.iter().map(|leaf| (&*leaf.name, leaf.jobs)).collect::<Vec<_>>(),
        [("root.a", 2), ("root.b", 2)]
    );
}

/// An overloaded stream of jobs of all sizes. Each job completes once; no member of a gang starts before the others;
/// the same run gives the same log.
#[test]
fn a_stream_of_gangs_is_conserved() {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let sizes: [&[i64]; 6] = [&[1], &[4], &[8], &[8, 4], &[8, 8], &[8, 8, 8, 8]];
    let jobs: Vec<Job> = (0..150)
        .map(|number| {
            let (queue, sizes) = (["a", "b"][number / 75], sizes[random.random_range(0..sizes.len())]);
            job(&format!("j{number}"), queue, random.random_range(0..400), sizes, random.random_range(1..60))
        })
        .collect();
    let mut jobs = jobs;
    jobs.sort_by_key(|job| job.submit_ms);
    for mode in MODES {
        let setting = || Setting { nodes: 6, mode, preemption: Some(at_once()), ..PLAIN };
        let record = run(jobs.clone(), setting());
        let preemption = record.preemption.unwrap();
        assert!(preemption.containers > 0, "{mode}: {preemption:?}");
        assert_eq!(record.completed, record.asks, "{mode}");
        assert_eq!(record.placed, record.asks + preemption.containers + preemption.given_back, "{mode}");
        let gangs = gangs(&record);
        assert_eq!(gangs.waited_with_room().1, 0, "{mode}");
        assert!(gangs.moments > 100 && gangs.checked > 0);
        let work: u64 = jobs
            .iter()
            .zip(&gangs.jobs)
            .map(|(job, gang)| gang.size * job.stages[0][0].durations_ms[0].unwrap())
            .sum();
        assert_eq!((gangs.done_size_ms, gangs.held_size_ms), (work, 0), "{mode}");
        let lost: u64 = gangs.jobs.iter().map(|job| job.attempts_lost).sum();
        assert_eq!(gangs.attempts_lost, lost, "{mode}");
        let mut starts: std::collections::BTreeMap<(usize, u64), u64> = std::collections::BTreeMap::new();
        for container in &record.outcomes.containers {
            *starts.entry((container.job, container.started_ms)).or_default() += 1;
        }
        for ((job, started_ms), count) in starts {
            assert_eq!(count % gangs.jobs[job].members, 0, "{mode}: job {job} at {started_ms}");
        }
        if mode == Mode::Serial {
            let again = run(jobs.clone(), setting());
            assert_eq!((again.log_digest, again.state_digest), (record.log_digest, record.state_digest));
            assert_eq!(again.gangs.unwrap().jobs, gangs.jobs);
        }
    }
}
