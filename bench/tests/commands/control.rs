//! `apportion-bench control` from the command line.

use crate::case::{Case, contains_all, json};

const TINY: &str = "control --nodes 60 --processors 100";

#[test]
fn nothing_fails_without_faults_and_everything_has_its_last_word_with_them() {
    let case = Case::new();
    for seed in [1, 2] {
        let output = case.run(&format!("{TINY} --seed {seed} --json - --report control.html"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let figures = json(&output.stdout);
        let experiments = figures["experiments"].as_array().unwrap();
        let names: Vec<&str> = experiments.iter().filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(names, ["drain", "rolling_restart", "rebalance"]);
        for one in experiments {
            assert_eq!((&one["failed"], &one["audit_violations"]), (&0.into(), &0.into()), "{one}");
            assert_eq!(one["actions"], one["succeeded"], "{one}");
            assert!(one["actions"].as_u64().unwrap() > 0 && one["time_s"].as_f64().unwrap() > 1.0, "{one}");
            assert!(one["below_configured_max"].as_u64() <= one["disruption_budget"].as_u64(), "{one}");
        }
        assert_eq!(figures["experiments_with_faults"][2]["requests"], 6, "a tenth of the nodes");
        for one in figures["experiments_with_faults"].as_array().unwrap() {
            assert_eq!(
                (&one["terminal_answers"], &one["below_configured_end"]),
                (&one["requests"], &0.into()),
                "{one}"
            );
            assert_eq!(one["nodes_lost"], 3, "{one}");
        }
        let page = std::fs::read_to_string(case.folder.path().join("control.html")).unwrap();
        contains_all(
            &page,
            &["<svg", "disruption budget", "Rolling restart: containers that are down", "All figures"],
        );
        assert_eq!(case.run(&format!("{TINY} --seed {seed} --json -")).stdout, output.stdout, "bit for bit");
    }
    let text = String::from_utf8(case.run(TINY).stdout).unwrap();
    contains_all(&text, &["rolling restart:", "with a budget of 50", "with failed starts and stops"]);
}

#[test]
fn a_job_that_is_too_large_is_refused_before_anything_runs() {
    let case = Case::new();
    for (wrong, why) in [
        ("--nodes 20 --processors 41", "the room of 20 nodes is enough for 40"),
        ("--nodes 3", "20..=10000"),
        ("--fault-percent 99", "0..=50"),
        ("--json nowhere/f.json", "no such folder"),
        ("--json a --report a", "a"),
        ("--json - --report -", "standard output takes one of them"),
        ("--seed x", "invalid"),
    ] {
        let output = case.run(&format!("control {wrong}"));
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        contains_all(&String::from_utf8(output.stderr).unwrap(), &[why]);
    }
}
