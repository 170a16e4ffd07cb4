//! Jobs that the SYNTH reader draws from small inputs.

use apportion::Resources;
use apportion_bench::trace::{Format, ReadOptions, Source, read_workload};
use apportion_bench::workload::{Job, Workload};

use crate::support::{refusal, widths};

fn trace(jobs: u32, class: &str, times: &str) -> String {
    format!(
        r#"{{"num_nodes": 6, "nodes_per_rack": 3, "num_jobs": {jobs}, "rand_seed": 5, "workloads": [
        {{"queue_name": "q", "job_classes": [{class}], "time_distribution": [{times}]}}]}}"#
    )
}

fn class(kind: &str, tasks: &str) -> String {
    format!(r#"{{"class_name": "c", "class_weight": 1, "type": "{kind}", "tasks": [{tasks}]}}"#)
}

const MAP: &str = r#"{"type": "map", "count": {"val": 3}, "time": {"val": 2.5}, "max_memory": {"val": 512},
    "max_vcores": {"val": 2}}"#;
const REDUCE: &str = r#"{"type": "reduce", "count": {"val": 0.2}, "time": {"val": 1}, "priority": 3}"#;
const AT_ONCE: &str = r#"{"time": 7, "weight": 1}"#;

fn read(text: &str, seed: u64) -> Workload {
    let options = ReadOptions { seed, ..ReadOptions::default() };
    read_workload(Format::Synth, Source::new("t", text.as_bytes()), &options)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn first(class: &str) -> Job {
    read(&trace(1, class, AT_ONCE), 0).jobs.remove(0)
}

#[test]
fn constants_are_taken_as_they_are() {
    let job = first(&class("mapreduce", &format!("{MAP}, {REDUCE}")));
    assert_eq!((job.name.as_str(), job.queue.as_str(), job.user.as_str()), ("c_0", "q", "default"));
    assert_eq!((job.submit_ms, job.master), (7000, Some(Resources::new(&[1024, 1000]))));
    assert_eq!(widths(&job), [3, 1], "a count is at least 1");
    let [maps, reduces] = [&job.stages[0][0], &job.stages[1][0]];
    assert_eq!((maps.size, maps.priority), (Resources::new(&[512, 2000]), 20));
    assert_eq!(maps.durations_ms, [Some(2500); 3]);
    assert_eq!((reduces.size, reduces.priority), (Resources::new(&[1024, 1000]), 3));
}

#[test]
fn other_jobs_have_one_stage() {
    assert_eq!(widths(&first(&class("stream", &format!("{MAP}, {REDUCE}")))), [4]);
}

#[test]
fn the_older_form_means_the_same() {
    let flat = r#"{"mtasks_avg": 3, "mtime_avg": 2.5, "map_max_memory_avg": 512, "map_max_vcores_avg": 2,
        "rtasks_avg": 2, "rtasks_stddev": 0, "rtime_avg": 1, "params": {"x": 1}}"#;
    let job = first(flat);
    assert_eq!(widths(&job), [3, 2]);
    assert_eq!(job.name, "class_0_0");
    assert_eq!((job.stages[0][0].priority, job.stages[1][0].priority), (20, 10));
    assert_eq!(job.stages[0][0].size, Resources::new(&[512, 2000]));
    let no_reduces = r#"{"mtasks_avg": 1, "mtime_avg": 1, "rtasks_avg": 0, "rtime_avg": 1}"#;
    assert_eq!(widths(&first(no_reduces)), [1]);
}

#[test]
fn jobs_come_when_the_histogram_says() {
    let times = r#"{"time": 10, "weight": 1}, {"time": 20, "weight": 0}, {"time": 30, "weight": 3},
        {"time": 50, "weight": 0}"#;
    let workload = read(&trace(4000, &class("stream", MAP), times), 0);
    let early = workload.jobs.iter().filter(|job| (10_000..20_000).contains(&job.submit_ms)).count();
    let late = workload.jobs.iter().filter(|job| (30_000..50_000).contains(&job.submit_ms)).count();
    assert_eq!(early + late, 4000);
    assert!((900..1100).contains(&early), "{early}");
}

#[test]
fn classes_come_by_weight() {
    let classes = [("a", 1), ("b", 9)].map(|(name, weight)| {
        format!(r#"{{"class_name": "{name}", "class_weight": {weight}, "tasks": [{MAP}]}}"#)
    });
    let workload = read(&trace(4000, &classes.join(","), AT_ONCE), 0);
    let of_a = workload.jobs.iter().filter(|job| job.name.starts_with("a_")).count();
    assert!((320..480).contains(&of_a), "{of_a}");
}

#[test]
fn the_seed_decides() {
    let task = r#"{"count": {"val": 5, "std": 2}, "time": {"val": 60, "std": 30}}"#;
    let text = trace(50, &class("stream", task), r#"{"time": 0, "weight": 1}, {"time": 90, "weight": 0}"#);
    assert_eq!(read(&text, 1).jobs, read(&text, 1).jobs);
    assert_ne!(read(&text, 1).jobs, read(&text, 2).jobs);
    let other_file = text.replace("\"rand_seed\": 5", "\"rand_seed\": 6");
    assert_eq!(read(&text, 3).jobs, read(&other_file, 0).jobs, "5 ^ 3 = 6 ^ 0");
}

#[test]
fn the_cluster_is_dealt_out_to_its_racks() {
    let nodes = read(&trace(1, &class("stream", MAP), AT_ONCE), 0).nodes;
    let racks: Vec<&str> = nodes.iter().map(|node| node.rack.as_str()).collect();
    assert_eq!(racks, ["rack0", "rack1", "rack0", "rack1", "rack0", "rack1"]);
}

#[test]
fn impossible_traces_are_refused() {
    let error = |class: &str, times: &str| refusal(Format::Synth, &trace(1, class, times));
    let good = class("stream", MAP);
    assert_eq!(
        error(&good, r#"{"time": 2, "weight": 1}, {"time": 1, "weight": 1}"#),
        "t:1: workloads[0].time_distribution: the times must ascend"
    );
    assert!(error(&good, "").contains("workloads[0].time_distribution: the weights are all 0"));
    assert!(error("{}", AT_ONCE).contains("workloads[0].job_classes[0]: has no tasks"));
    assert!(error(&class("stream", "{}"), AT_ONCE).contains("a task needs a `count`"));
    assert!(error("", AT_ONCE).contains("workloads[0].job_classes: the weights are all 0"));
    assert!(refusal(Format::Synth, "{}").contains("num_nodes: is missing"));
    assert!(error(r#"{"class_weight": -1}"#, AT_ONCE).contains("`-1` is negative"));
}
