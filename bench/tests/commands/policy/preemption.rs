//! `--preemption` of `demo`, `replay` and `sweep`.

use std::fs;

use super::{EQUAL, rows, sum};
use crate::case::{Case, contains_all, fetches_nothing, json};

/// A full cluster for ten minutes, and an owner that comes after ten seconds.
fn case() -> Case {
    let job = |id: &str, queue: &str, start_ms: u32, count: u32| {
        format!(
            "{{\"am.type\":\"dag\",\"job.start.ms\":{start_ms},\"job.queue.name\":\"{queue}\",\"job.id\":\"{id}\",\
             \"job.user\":\"{id}\",\"job.tasks\":[{{\"count\":{count},\"duration.ms\":600000}}]}}"
        )
    };
    let jobs = [job("long", "etl", 0, 30), job("owner", "adhoc", 10_000, 4)];
    let case = Case::new();
    let shared = EQUAL.replace("\n[", "\nuser_limit_factor = \"unlimited\"\n[") + "user_limit_factor = 2\n";
    case.file("jobs.json", format!("{{\"num.nodes\":2}}{}", jobs.concat())).file("queues.toml", shared);
    case
}

const REPLAY: &str = "replay --format sls --workload jobs.json --queues queues.toml";

#[test]
fn a_replay_with_preemption_serves_the_owner_and_counts_what_it_costs() {
    let case = case();
    let output = case.run(&format!(
        "{REPLAY} --preemption on --json out.json --report out.html --log run.log --jobs-csv jobs.csv --containers-csv c.csv"
    ));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    contains_all(&String::from_utf8_lossy(&output.stdout), &["preempted, and started again", "work lost"]);
    let read = |name: &str| fs::read(case.folder.path().join(name)).unwrap();
    let out = json(&read("out.json"));
    let preempted = out["preemption"]["preempted"].as_u64().unwrap();
    assert!(preempted > 0 && out["preemption"]["lost_part"].as_f64().unwrap() > 0.0, "{}", out["preemption"]);
    assert_eq!(out["placed"].as_u64().unwrap(), out["asks"].as_u64().unwrap() + preempted);
    assert_eq!(sum(&rows(&read("jobs.csv")), "preempted"), preempted);
    assert_eq!(sum(&rows(&read("c.csv")), "preempted"), preempted);
    assert!(out["series"]["queues"][0]["taken"].is_array());
    let page = String::from_utf8(read("out.html")).unwrap();
    contains_all(&page, &["Owed and taken", "owed", "taken"]);
    fetches_nothing(&page);
    assert!(case.run("verify run.log").status.success(), "the log replays");
}

#[test]
fn without_preemption_nothing_is_reported_about_it() {
    let case = case();
    for options in ["", "--preemption off"] {
        let out = json(&case.run(&format!("{REPLAY} {options} --json -")).stdout);
        assert!(out["preemption"].is_null() && out["series"]["queues"][0]["taken"].is_null(), "{out}");
        let table = String::from_utf8(case.run(&format!("{REPLAY} {options}")).stdout).unwrap();
        assert!(!table.contains("preempt"), "{table}");
    }
    let on = json(&case.run("demo --nodes 20 --seconds 2 --mode serial --preemption on --json -").stdout);
    assert!(on["preemption"]["rounds"].is_u64(), "{on}");
    for wrong in ["--preemption maybe", "--preemption"] {
        assert_eq!(case.run(&format!("{REPLAY} {wrong}")).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn a_sweep_compares_runs_with_and_without_preemption() {
    let case = case();
    let sweep = "sweep --format sls --workload jobs.json --queues queues.toml --preemption off,on";
    let runs = json(&case.run(&format!("{sweep} --json -")).stdout);
    assert_eq!([0, 1].map(|place| runs[place]["preemption_option"].as_str().unwrap()), ["off", "on"]);
    assert_eq!(runs[1]["over_seeds"]["not_placed"]["max"], 0.0);
    let missing = [0, 1].map(|place| runs[place]["confidence"]["missing"]["mean"].as_f64().unwrap());
    assert!(missing[1] < missing[0], "{missing:?}");
    let table = String::from_utf8(case.run(sweep).stdout).unwrap();
    contains_all(&table, &["no preemption", ", preemption"]);
    let twice = case.run(&format!("{sweep},on"));
    contains_all(&String::from_utf8_lossy(&twice.stderr), &["--preemption: on is named twice"]);
    assert_eq!(twice.status.code(), Some(2));
}
