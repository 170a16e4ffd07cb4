//! The program's `config` commands.

use std::fs;

use crate::case::{Case, contains_all, json};

const QUEUES: &str = "partitions:
- nodesortpolicy: {type: binpacking}
  queues:
  - name: dev
    resources: {guaranteed: {memory: 4Gi, vcore: 2}}
    properties: {preemption.policy: fence}
    maxapplications: 3
  - name: prod
";

#[test]
fn a_configuration_is_shown_with_what_was_not_carried_over() {
    let case = Case::new();
    case.file("queues.yaml", QUEUES);
    let output = case.run("config check queues.yaml --cluster memory=16Gi,vcores=8");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    let line = "queues.yaml:6: not carried over as it is: root.dev.properties.preemption.policy = fence: ";
    contains_all(&text, &["  prod", "memory_mib=12288, vcore_milli=6000", line]);
    let output = case.run("config check queues.yaml --json");
    let figures = json(&output.stdout);
    assert_eq!(figures["not_carried_over"][0]["line"], 6);
    assert_eq!(figures["queues"][1]["path"], "root.dev");
}

#[test]
fn what_is_converted_runs_as_what_it_was_made_of() {
    let case = Case::new();
    case.file("queues.yaml", QUEUES);
    let output = case.run("config convert queues.yaml --out queues.toml");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let written = fs::read_to_string(case.folder.path().join("queues.toml")).unwrap();
    contains_all(&written, &["# queues.yaml:6: not carried over", "node_order = \"pack\""]);
    let jobs = "{\"num.nodes\":1}{\"am.type\":\"mapreduce\",\"job.start.ms\":0,\"job.queue.name\":\"dev\",\
                \"job.id\":\"j\",\"job.tasks\":[{\"container.start.ms\":0,\"container.end.ms\":9}]}";
    case.file("jobs.json", jobs);
    let digest = |queues: &str| {
        let output =
            case.run(&format!("replay --format sls --workload jobs.json --queues {queues} --json -"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        json(&output.stdout)["commit_log_digest"].clone()
    };
    assert_eq!(digest("queues.yaml"), digest("queues.toml"));
}

#[test]
fn what_is_wrong_ends_with_exit_code_2_and_writes_nothing() {
    let case = Case::new();
    case.file("queues.yaml", QUEUES.replace("vcore", "memory"));
    case.file("fair.xml", "<?xml version=\"1.0\"?>\n<allocations/>");
    for (arguments, parts) in [
        ("config check queues.yaml", ["queues.yaml:5:", "`memory` is already given in line 5"]),
        ("config convert queues.yaml --out new.toml", ["queues.yaml:5:", "already"]),
        ("config check fair.xml", ["fair.xml:2:1:", "this is a file of the fair scheduler"]),
        ("config check absent.toml", ["absent.toml", "No such file"]),
    ] {
        let output = case.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(output.stdout.is_empty(), "{arguments}");
        contains_all(&String::from_utf8_lossy(&output.stderr), &parts);
    }
    assert!(!case.folder.path().join("new.toml").exists());
}

#[test]
fn the_schema_that_is_printed_is_the_one_that_is_checked_in() {
    let output = Case::new().run("config schema");
    let checked_in = include_str!("../../../docs/configuration.schema.json");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), checked_in);
}
