//! The Philly reader: shapes, drawn durations, guarantees, wrong input, and the real trace.

use std::collections::BTreeSet;
use std::fs;

use apportion::Resources;
use apportion_bench::trace::{
    Format, PhillyFiles, ReadOptions, RunTimes, Source, TraceError, read_nodes, read_workload,
};
use apportion_bench::workload::{Job, Workload};

use crate::support::real_file;

const HEADER: &str = "vc,arrival_s,gpus,approx_duration_s\n";

fn read(rows: &str, options: &ReadOptions) -> Result<Workload, TraceError> {
    let text = format!("{HEADER}{rows}");
    read_workload(Format::Philly, Source::new("t", text.as_bytes()), options)
}

fn options(run_times_s: &[u64], seed: u64) -> ReadOptions {
    ReadOptions { seed, run_times: run_times_s.to_vec().into(), ..ReadOptions::default() }
}

/// The size and number of each kind of member.
fn members(job: &Job) -> Vec<(i64, usize)> {
    job.stages[0].iter().map(|tasks| (tasks.size[0], tasks.durations_ms.len())).collect()
}

#[test]
fn a_job_takes_whole_nodes_and_the_rest_on_one_more() {
    let rows: String = [1, 7, 8, 12, 16, 20, 64].map(|gpus| format!("a,5,{gpus},9\n")).concat();
    let workload = read(&rows, &options(&[30], 0)).unwrap();
    let all: Vec<_> = workload.jobs.iter().map(members).collect();
    assert_eq!(
        all,
        [
            vec![(1, 1)],
            vec![(7, 1)],
            vec![(8, 1)],
            vec![(8, 1), (4, 1)],
            vec![(8, 2)],
            vec![(8, 2), (4, 1)],
            vec![(8, 8)]
        ]
    );
    let job = &workload.jobs[4];
    assert_eq!((job.name.as_str(), job.queue.as_str(), job.submit_ms), ("a-5", "a", 5_000));
    assert!(job.starts_together);
    assert_eq!(job.stages[0][0].durations_ms, [Some(30_000), Some(30_000)], "all members take as long");
}

#[test]
fn the_cluster_is_500_nodes_of_eight_gpus_or_as_many_as_one_wants() {
    let workload = read("a,0,1,9\n", &options(&[30], 0)).unwrap();
    assert_eq!((workload.nodes.len(), workload.nodes[26].rack.as_str()), (500, "rack1"));
    assert!(workload.nodes.iter().all(|node| node.capacity == Resources::new(&[8])));
    let small = ReadOptions { node_count: Some(3), ..options(&[30], 0) };
    assert_eq!(read("a,0,1,9\n", &small).unwrap().nodes.len(), 3);
    let refused = read_nodes(Format::Philly, Source::new("n", "x".as_bytes())).unwrap_err().to_string();
    assert_eq!(refused, "n: the nodes of a Philly cluster are equal: give their number instead of a list");
}

#[test]
fn guarantees_are_in_proportion_to_gpus() {
    let workload = read("b,0,12,9\na,3,1,9\nb,4,4,9\n", &options(&[30], 0)).unwrap();
    let root = workload.queues.unwrap();
    let leaves: Vec<_> = root.children.iter().map(|leaf| (leaf.name.as_str(), leaf.capacity)).collect();
    let weight = |gpus| apportion::config::Capacity::Weight(apportion::config::Factor::whole(gpus));
    assert_eq!(leaves, [("a", weight(1)), ("b", weight(16))]);
}

#[test]
fn durations_are_drawn_for_each_job_apart() {
    let run_times: Vec<u64> = (0..1_000).collect();
    let durations = |rows: &str, seed| -> Vec<Option<u64>> {
        let jobs = read(rows, &options(&run_times, seed)).unwrap().jobs;
        jobs.iter().map(|job| job.stages[0][0].durations_ms[0]).collect()
    };
    let [one, other] = ["a,0,1,9\na,1,1,9\n", "a,0,16,9\nb,1,8,9\n"];
    assert_eq!(durations(one, 4), durations(other, 4), "whatever their size");
    assert_ne!(durations(one, 4), durations(one, 5));
    let invented = read(one, &options(&run_times, 4)).unwrap().invented.sentences().concat();
    assert!(invented.contains("with seed 4, from 1,000 run times"), "{invented}");
}

#[test]
fn wrong_rows_are_refused_with_their_place() {
    let refusal = |rows: &str| read(rows, &options(&[30], 0)).unwrap_err().to_string();
    assert_eq!(refusal("a,0,1,9\na,0,0,9\n"), "t:3: gpus: 0 GPUs; a job has at least 1");
    assert!(refusal("a,0,1.5,9\n").starts_with("t:2: gpus: `1.5` is not a whole number"));
    assert_eq!(refusal("a,0,100001,9\n"), "t:2: gpus: 100001 is too large; at most 100000 is possible");
    assert!(refusal("a,-1,1,9\n").starts_with("t:2: arrival_s: `-1` is negative"));
    assert!(refusal("a,0,1,\n").starts_with("t:2: approx_duration_s: `` is not a whole number"));
    assert!(refusal("a.b,0,1,9\n").starts_with("t:2: vc: `a.b` is not a virtual cluster"));
    assert_eq!(refusal("a,0,1\n"), "t:2: the row has 3 columns, and needs 4");
    assert_eq!(refusal(""), "t: has no jobs; at least one is needed");
    let header = read_workload(Format::Philly, Source::new("t", "vc,gpus\n".as_bytes()), &options(&[30], 0));
    assert!(header.unwrap_err().to_string().starts_with("t:1: column `arrival_s` is missing"));
    let without = read("a,0,1,9\n", &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(without, "t: durations are drawn from a table of run times: philly_runtime.csv");
    let run_times = |text: &str| RunTimes::read(Source::new("r", text.as_bytes())).unwrap_err().to_string();
    assert_eq!(run_times("runtime\n"), "r: has no run times; at least one is needed");
    assert!(run_times("runtime\n7\nx\n").starts_with("r:3: runtime: `x` is not a whole number"));
    assert!(run_times("time\n7\n").starts_with("r:1: unknown column `time`"));
}

#[test]
fn the_two_tables_lie_in_one_folder() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let missing = PhillyFiles::at(place.path());
    assert_eq!(missing.jobs, at("philly_vc_jobs.csv.gz"));
    fs::write(at("philly_runtime.csv"), "runtime\n7.0\n").unwrap();
    fs::write(at("mine.csv"), HEADER).unwrap();
    let mine = PhillyFiles::at(&at("mine.csv"));
    assert_eq!((mine.jobs, &mine.run_times), (at("mine.csv"), &at("philly_runtime.csv")));
    assert_eq!(RunTimes::read(Source::open(&mine.run_times).unwrap()).unwrap(), vec![7].into());
}

#[test]
fn the_real_trace_is_read_whole() {
    let Some(folder) = real_file("philly") else { return };
    let files = PhillyFiles::at(&folder);
    let read = |seed| {
        let run_times = RunTimes::read(Source::open(&files.run_times).unwrap()).unwrap();
        let options = ReadOptions { seed, run_times, ..ReadOptions::default() };
        read_workload(Format::Philly, Source::open(&files.jobs).unwrap(), &options).unwrap()
    };
    let workload = read(1);
    let queues: BTreeSet<&str> = workload.jobs.iter().map(|job| job.queue.as_str()).collect();
    assert_eq!((workload.jobs.len(), queues.len()), (15_264, 15));
    let gpus = |job: &Job| members(job).iter().map(|(gpus, count)| gpus * *count as i64).sum::<i64>();
    let all: Vec<i64> = workload.jobs.iter().map(gpus).collect();
    assert_eq!((all.iter().sum::<i64>(), all.iter().max()), (42_192, Some(&64)));
    assert_eq!(workload.jobs.iter().filter(|job| job.asks() > 1).count(), 359, "jobs of several nodes");
    assert_eq!(workload.jobs.last().unwrap().submit_ms, 10_817_570_000);
    let mut durations: Vec<_> =
        workload.jobs.iter().map(|job| job.stages[0][0].durations_ms[0].unwrap()).collect();
    durations.sort_unstable();
    assert!(
        (1_150_000..1_220_000).contains(&durations[durations.len() / 2]),
        "the table's median is 1,186 s"
    );
    assert_eq!(read(1).jobs, workload.jobs);
    assert_ne!(read(2).jobs, workload.jobs);
}
