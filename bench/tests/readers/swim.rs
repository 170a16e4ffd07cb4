//! The values that the SWIM reader makes up, and the real samples.

use apportion::Resources;
use apportion_bench::trace::{Format, ReadOptions, Source, read_workload};
use apportion_bench::workload::{Job, Workload};

use crate::support::{jobs, real_workload, widths};

const GIB: u64 = 1 << 30;

fn row(job: u32, map_input_bytes: u64, shuffle_bytes: u64) -> String {
    format!("job{job}\t{job}\t1\t{map_input_bytes}\t{shuffle_bytes}\t0\n")
}

#[test]
fn containers_follow_from_bytes() {
    let shapes = [
        (0, 0, vec![1]),
        (1, 1, vec![1, 1]),
        (GIB / 8, GIB, vec![1, 1]),
        (GIB / 8 + 1, GIB + 1, vec![2, 2]),
        (1000 * GIB, 1000 * GIB, vec![500, 125]),
    ];
    for (map_input_bytes, shuffle_bytes, expected) in shapes {
        let read = jobs(Format::Swim, &row(3, map_input_bytes, shuffle_bytes));
        assert_eq!(widths(&read[0]), expected);
        assert_eq!((read[0].submit_ms, read[0].master), (3000, None));
    }
}

#[test]
fn each_job_has_its_own_random_numbers() {
    let read = |text: &str, seed| {
        let options = ReadOptions { seed, ..ReadOptions::default() };
        read_workload(Format::Swim, Source::new("t", text.as_bytes()), &options).unwrap().jobs
    };
    let small = [row(0, GIB, 0), row(1, GIB, GIB)].concat();
    let large = [row(0, 9 * GIB, 0), row(1, GIB, GIB)].concat();
    assert_eq!(read(&small, 4)[1], read(&large, 4)[1]);
    assert_ne!(read(&small, 4)[1], read(&small, 5)[1]);
}

#[test]
fn the_cluster_goes_by_the_name_of_the_file() {
    let count = |name: &str, node_count| {
        let options = ReadOptions { node_count, ..ReadOptions::default() };
        read_workload(Format::Swim, Source::new(name, row(0, 1, 1).as_bytes()), &options).unwrap().nodes.len()
    };
    assert_eq!(count("x/FB-2009_samples.tsv", None), 600);
    assert_eq!(count("FB-2010_samples.tsv", None), 3000);
    assert_eq!(count("mine.tsv", None), 3000);
    assert_eq!(count("mine.tsv", Some(7)), 7);
}

fn containers(workload: &Workload) -> (usize, usize) {
    let of = |job: &Job, stage: usize| widths(job).get(stage).copied().unwrap_or(0);
    workload.jobs.iter().fold((0, 0), |(maps, reduces), job| (maps + of(job, 0), reduces + of(job, 1)))
}

#[test]
fn fb_2010_is_read_whole() {
    let Some(workload) = real_workload(Format::Swim, "swim/FB-2010_samples_24_times_1hr_0.tsv.gz") else {
        return;
    };
    assert_eq!(workload.jobs.len(), 24_442);
    assert_eq!(containers(&workload), (1_324_790, 91_449), "mean 57.94, as docs/workloads.md has it");
    let third = &workload.jobs[2];
    assert_eq!((third.name.as_str(), third.submit_ms), ("job2", 20_000));
    assert_eq!(widths(third), [396, 2], "53,088,744,165 and 1,510,005,522 bytes");
    assert_eq!(workload.nodes.len(), 3000);
    assert_eq!(workload.nodes[2999].rack, "rack74");
    assert_eq!(workload.nodes[0].capacity, Resources::new(&[32_768, 8000]));
}

#[test]
fn fb_2010_has_the_durations_and_sizes_it_should() {
    let Some(workload) = real_workload(Format::Swim, "swim/FB-2010_samples_24_times_1hr_0.tsv.gz") else {
        return;
    };
    let tasks = || workload.jobs.iter().flat_map(|job| job.stages.iter().flatten());
    let durations: Vec<f64> =
        tasks().flat_map(|tasks| &tasks.durations_ms).map(|ms| ms.unwrap() as f64).collect();
    let mean = durations.iter().sum::<f64>() / durations.len() as f64;
    assert!((59_000.0..60_500.0).contains(&mean), "{mean}: 60 s, less what is clipped");
    assert!(durations.iter().all(|ms| (500.0..=1_200_000.0).contains(ms)));
    let small =
        workload.jobs.iter().filter(|job| job.stages[0][0].size == Resources::new(&[2048, 1000])).count();
    let share = small as f64 / workload.jobs.len() as f64;
    assert!((0.30..0.32).contains(&share), "{share}");
    assert!(
        workload.jobs.iter().all(|job| job.stages.iter().all(|stage| stage[0].size == job.stages[0][0].size))
    );
}

#[test]
fn fb_2009_is_read_whole() {
    let Some(workload) = real_workload(Format::Swim, "swim/FB-2009_samples_24_times_1hr_0.tsv.gz") else {
        return;
    };
    assert_eq!(workload.jobs.len(), 5894);
    assert_eq!(containers(&workload), (93_820, 10_275));
    assert_eq!(workload.jobs[5893].submit_ms, 86_404_000);
    assert_eq!(workload.nodes.len(), 600);
}

#[test]
fn input_paths_are_skipped() {
    let path = "swim/FB-2010_samples_24_times_1hr_withInputPaths_0.tsv.gz";
    let Some(workload) = real_workload(Format::Swim, path) else { return };
    assert_eq!(workload.jobs.len(), 25_428);
    assert_eq!(containers(&workload), (1_416_144, 101_608));
}
