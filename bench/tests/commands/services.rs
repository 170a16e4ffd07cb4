//! `apportion-bench services` from the command line.

use crate::case::{Case, contains_all, json};

const TINY: &str = "services --days 30 --nodes 40 --region-servers 10 --restarts 4 --crashes 20";

#[test]
fn a_month_is_told_with_and_without_history() {
    let case = Case::new();
    let output = case.run(&format!("{TINY} --json - --report month.html"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figures = json(&output.stdout);
    assert!(figures["returned_fraction"].as_f64().unwrap() >= 0.9, "{figures}");
    assert!(figures["returned_fraction_without_history"].as_f64().unwrap() <= 0.6, "{figures}");
    assert_eq!(figures["anti_affinity_violations"], 0);
    assert!(figures["time_to_full_strength_s"]["p99"].as_f64().unwrap() >= 10.0, "{figures}");
    assert_eq!(figures["runs"][0]["restarts"].as_array().unwrap().len(), 4);

    let page = std::fs::read_to_string(case.folder.path().join("month.html")).unwrap();
    contains_all(&page, &["<svg", "came back to their last host", "Time to full strength", "strict"]);

    let text = String::from_utf8(case.run(&format!("{TINY} --node-order pack --seed 2")).stdout).unwrap();
    contains_all(&text, &["with history:", "without history:", "strict:", "came back to their last host"]);
}

#[test]
fn a_cluster_that_is_too_small_is_refused_before_anything_runs() {
    let case = Case::new();
    for (wrong, why) in [
        ("--nodes 20 --region-servers 21", "each needs a node, because the cluster is 60 % busy"),
        ("--days 7 --restarts 8", "at most one a day"),
        ("--nodes 3", "20..=10000"),
        ("--days 0", "7..=3650"),
        ("--json nowhere/f.json", "no such folder"),
        ("--json a --report a", "a"),
        ("--node-order upwards", "spread, pack"),
    ] {
        let output = case.run(&format!("services {wrong}"));
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        contains_all(&String::from_utf8(output.stderr).unwrap(), &[why]);
    }
}

/// The year continues with many crashes that would end a service with Slider's defaults.
#[test]
fn many_crashes_in_a_week_are_borne() {
    let case = Case::new();
    let output = case.run("services --days 7 --nodes 20 --region-servers 5 --crashes 1000 --json -");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(json(&output.stdout)["runs"][0]["crashed"].as_u64().unwrap() > 300);
}
