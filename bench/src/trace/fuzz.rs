//! Bodies of the fuzz targets, one for each kind of file. Property tests run the same functions.
//!
//! Each reads arbitrary bytes. A reader may refuse them. It must not panic, nor return a workload that no
//! engine could accept or that differs from one reading to the next.

use std::collections::HashSet;

use apportion::resource::AMOUNT_MAX;
use apportion::{NodeSpec, Resources};

use super::{Format, ReadOptions, RunTimes, Source, read_nodes, read_workload};
use crate::workload::{Job, Workload};

/// The most containers of one input, which keeps its work small.
const CONTAINERS_MAX: u64 = 10_000;

/// Node and pod tables of OpenB.
pub fn fuzz_openb(data: &[u8]) {
    workload(Format::Openb, "fuzz.csv", data);
    nodes(Format::Openb, "fuzz.csv", data);
}

/// SLS job traces.
pub fn fuzz_sls(data: &[u8]) {
    workload(Format::Sls, "fuzz.json", data);
}

/// Rumen job traces.
pub fn fuzz_rumen(data: &[u8]) {
    workload(Format::Rumen, "fuzz.json", data);
}

/// SYNTH traces.
pub fn fuzz_synth(data: &[u8]) {
    workload(Format::Synth, "fuzz.json", data);
}

/// SWIM tables.
pub fn fuzz_swim(data: &[u8]) {
    workload(Format::Swim, "fuzz.tsv", data);
}

/// Tables of jobs and of run times of Philly.
pub fn fuzz_philly(data: &[u8]) {
    workload(Format::Philly, "fuzz.csv", data);
    let _ = RunTimes::read(Source::new("fuzz.csv", data));
}

/// Node files of YARN's simulator.
pub fn fuzz_topology(data: &[u8]) {
    nodes(Format::Sls, "fuzz.json", data);
}

/// Arbitrary bytes as gzip files.
pub fn fuzz_gzip(data: &[u8]) {
    workload(Format::Swim, "fuzz.tsv.gz", data);
    nodes(Format::Sls, "fuzz.json.gz", data);
}

fn workload(format: Format, name: &str, data: &[u8]) {
    let options = ReadOptions {
        node_count: Some(4),
        run_times: vec![0, 7, 1_186].into(),
        containers_max: CONTAINERS_MAX,
        ..ReadOptions::default()
    };
    let read = || read_workload(format, Source::new(name, data), &options);
    let Ok(workload) = read() else { return };
    let again = read().map(|workload| (workload.nodes, workload.jobs));
    assert_eq!(again.ok().as_ref().map(|(_, jobs)| jobs), Some(&workload.jobs), "two readings differ");
    check_workload(&workload);
}

fn nodes(format: Format, name: &str, data: &[u8]) {
    if let Ok(nodes) = read_nodes(format, Source::new(name, data)) {
        assert!(!nodes.is_empty(), "no nodes is an error");
        check_nodes(&nodes);
    }
}

fn check_workload(workload: &Workload) {
    assert!(!workload.jobs.is_empty(), "no jobs is an error");
    assert!(workload.jobs.is_sorted_by_key(|job| job.submit_ms), "jobs are out of order");
    assert!(workload.asks() <= CONTAINERS_MAX, "{} containers", workload.asks());
    workload.jobs.iter().for_each(check_job);
    check_nodes(&workload.nodes);
}

fn check_job(job: &Job) {
    assert!(job.master.iter().all(is_countable), "master {:?}", job.master);
    assert!(job.stages.iter().all(|stage| !stage.is_empty()), "an empty stage");
    for tasks in job.stages.iter().flatten() {
        assert!(is_countable(&tasks.size), "size {:?}", tasks.size);
        assert!(!tasks.durations_ms.is_empty(), "an ask for nothing");
        assert!(tasks.devices.is_none_or(|need| need.is_valid()), "devices {:?}", tasks.devices);
        assert!(tasks.rule.iter().all(|rule| !rule.conditions.is_empty()), "a rule that nothing meets");
    }
}

fn check_nodes(nodes: &[NodeSpec]) {
    let mut names = HashSet::new();
    for node in nodes {
        assert!(names.insert(&node.name), "{} is there twice", node.name);
        assert!(!node.name.is_empty() && !node.rack.is_empty(), "{node:?}");
        assert!(is_countable(&node.capacity), "{node:?}");
    }
}

fn is_countable(size: &Resources) -> bool {
    size.amounts().iter().all(|amount| (0..=AMOUNT_MAX).contains(amount))
}
