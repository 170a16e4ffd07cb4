//! Figures about policy from the command line: CSV rows, comparison of queue files, comparison of results.

mod compared;
mod preemption;

use std::collections::BTreeMap;
use std::fs;

use crate::case::{Case, contains_all, json};

/// Two queues with half of the cluster each, and a file in which the second has a tenth.
const EQUAL: &str =
    "[queues.\"root.etl\"]\ncapacity = \"50 %\"\n[queues.\"root.adhoc\"]\ncapacity = \"50 %\"\n";

/// Two nodes for ten containers each, and three jobs: ten tasks of `ann`, four of `bob` in another queue, two
/// of `cid`. The first runs 100 s, the others 50 s.
fn jobs() -> String {
    let job = |id: &str, queue: &str, user: &str, start_ms: u32, tasks: u32, seconds: u32| {
        format!(
            "{{\"am.type\":\"dag\",\"job.start.ms\":{start_ms},\"job.queue.name\":\"{queue}\",\"job.id\":\"{id}\",\
             \"job.user\":\"{user}\",\"job.tasks\":[{{\"count\":{tasks},\"duration.ms\":{}}}]}}",
            seconds * 1_000
        )
    };
    let jobs = [
        job("A", "etl", "ann", 0, 10, 100),
        job("B", "adhoc", "bob", 10_000, 4, 50),
        job("C", "etl", "cid", 20_000, 2, 50),
    ];
    format!("{{\"num.nodes\":2}}{}", jobs.concat())
}

fn case() -> Case {
    let case = Case::new();
    case.file("jobs.json", jobs())
        .file("equal.toml", EQUAL)
        .file("unequal.toml", EQUAL.replacen("50", "90", 1).replacen("50", "10", 1));
    case
}

const JOBS: &str = "--format sls --workload jobs.json";

/// The rows of a CSV file by column name.
fn rows(text: &[u8]) -> Vec<BTreeMap<String, String>> {
    let mut table = csv::Reader::from_reader(text);
    let names: Vec<String> = table.headers().unwrap().iter().map(str::to_owned).collect();
    let row = |row: csv::StringRecord| names.iter().cloned().zip(row.iter().map(str::to_owned)).collect();
    table.records().map(|record| row(record.unwrap())).collect()
}

fn sum(rows: &[BTreeMap<String, String>], column: &str) -> u64 {
    rows.iter().map(|row| row[column].parse::<u64>().unwrap()).sum()
}

#[test]
fn rows_of_jobs_and_containers_agree_with_the_figures() {
    let case = case();
    let output = case.run(&format!(
        "replay {JOBS} --queues equal.toml --json out.json --jobs-csv jobs.csv --containers-csv containers.csv"
    ));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| fs::read(case.folder.path().join(name)).unwrap();
    let (figures, jobs, containers) =
        (json(&read("out.json")), rows(&read("jobs.csv")), rows(&read("containers.csv")));
    assert_eq!(jobs.iter().map(|row| &*row["job"]).collect::<Vec<_>>(), ["A", "B", "C"]);
    for (column, key) in [("asked", "asks"), ("placed", "placed"), ("completed", "completed")] {
        assert_eq!(figures[key], sum(&jobs, column), "{column}");
    }
    assert_eq!(figures["placed"], containers.len());
    assert!(containers.iter().all(|row| !row["ended_s"].is_empty() && !row["node"].is_empty()));
    for list in ["queues", "users"] {
        let groups = figures[list].as_array().unwrap();
        let placed: u64 = groups.iter().map(|group| group["placed"].as_u64().unwrap()).sum();
        assert_eq!(figures["placed"], placed, "{list}");
    }
    let masters = containers.iter().filter(|row| row["stage"] == "master").count();
    assert_eq!(masters, 3);
    let series = &figures["series"];
    assert_eq!(
        series["running"].as_array().unwrap().len(),
        series["queues"][0]["share"].as_array().unwrap().len()
    );
}

#[test]
fn rows_can_be_printed_instead_of_the_table() {
    let case = case();
    let output = case.run(&format!("replay {JOBS} --jobs-csv -"));
    let jobs = rows(&output.stdout);
    assert_eq!((jobs.len(), &*jobs[1]["user"], &*jobs[1]["queue"]), (3, "bob", "root.adhoc"));
    let refused = case.run(&format!("replay {JOBS} --jobs-csv - --containers-csv -"));
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    contains_all(&message, &["--jobs-csv", "--containers-csv"]);
    let overwritten = case.run(&format!("replay {JOBS} --jobs-csv jobs.json"));
    assert_eq!(overwritten.status.code(), Some(2));
}

#[test]
fn a_job_without_an_end_has_no_completion() {
    let case = Case::new();
    let output = case.run("replay --format openb --nodes nodes.csv --workload pods.csv --jobs-csv -");
    let jobs = rows(&output.stdout);
    let completions: Vec<&str> = jobs.iter().map(|row| &*row["completion_s"]).collect();
    assert_eq!(completions, ["60.000", "55.000", ""], "the third is larger than any node");
    assert_eq!(
        (&*jobs[0]["slowdown"], &*jobs[2]["slowdown"], &*jobs[2]["first_start_s"]),
        ("1.0000", "", "")
    );
}

#[test]
fn a_sweep_compares_files_of_queues() {
    let case = case();
    let sweep = format!("sweep {JOBS} --queues equal.toml --queues unequal.toml --node-orders spread,pack");
    let output = case.run(&format!("{sweep} --json - --report sweep.html"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let runs = json(&output.stdout);
    let points: Vec<(&str, &str)> = runs
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (run["queues_file"].as_str().unwrap(), run["node_order"].as_str().unwrap()))
        .collect();
    let wanted = [
        ("equal.toml", "spread"),
        ("equal.toml", "pack"),
        ("unequal.toml", "spread"),
        ("unequal.toml", "pack"),
    ];
    assert_eq!(points, wanted);
    let guaranteed = |run: usize| {
        let queues = runs[run]["queues"].as_array().unwrap();
        let etl = queues.iter().find(|queue| queue["path"] == "root.etl").unwrap();
        etl["guaranteed_share"].as_f64().unwrap()
    };
    assert!((guaranteed(0) - 0.5).abs() < 1e-3 && (guaranteed(2) - 0.9).abs() < 1e-3);
    assert!(runs[0].get("series").is_none(), "a series for each of many runs is too much");
    let table = String::from_utf8(case.run(&sweep).stdout).unwrap();
    contains_all(&table, &["equal.toml, spread", "unequal.toml, pack", "completion", "slowdown", "missing"]);
    let page = fs::read_to_string(case.folder.path().join("sweep.html")).unwrap();
    contains_all(&page, &["Jobs, queues and users", "unequal.toml, pack"]);
}

#[test]
fn files_of_queues_that_cannot_be_compared_are_refused() {
    let case = case();
    case.file("other.toml", EQUAL.replace("etl", "batch"));
    for (arguments, parts) in [
        ("--queues equal.toml --queues equal.toml", vec!["--queues", "equal.toml is named twice"]),
        ("--queues equal.toml --queues none.toml", vec!["none.toml"]),
        ("--queues equal.toml --queues other.toml", vec!["jobs.json with other.toml", "`etl`"]),
        ("--queues equal.toml --queues jobs.json --json jobs.json", vec!["--json"]),
    ] {
        let output = case.run(&format!("sweep {JOBS} {arguments}"));
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        contains_all(&message, &parts);
    }
}

#[test]
fn a_sweep_says_how_sure_its_means_are() {
    let case = Case::new();
    let sweep = "sweep --demo 5 --seeds 1,2,3";
    let runs = json(&case.run(&format!("{sweep} --json -")).stdout);
    let values: Vec<f64> =
        (0..3).map(|run| runs[run]["jobs"]["completion_s"]["mean"].as_f64().unwrap() * 1_000.0).collect();
    let estimate = &runs[0]["confidence"]["completion_mean_ms"];
    let mean = values.iter().sum::<f64>() / 3.0;
    assert!((estimate["mean"].as_f64().unwrap() - mean).abs() < 1e-6 * mean, "{estimate}");
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
    let half = 4.3027 * deviation / 3.0_f64.sqrt();
    assert!((estimate["ci95"][1].as_f64().unwrap() - mean - half).abs() < 1e-3 * half, "{estimate}");
    let one = json(&case.run("sweep --demo 5 --seeds 1 --json -").stdout);
    assert!(one[0]["confidence"]["completion_mean_ms"]["ci95"].is_null());
    let table = String::from_utf8(case.run(sweep).stdout).unwrap();
    contains_all(&table, &["Means over 3 seeds", "95 % confidence interval"]);
}
