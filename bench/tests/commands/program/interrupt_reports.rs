//! Signals: the reports of interrupted measurements.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use super::interrupt::{send, start, temporary_files, wait_until};
use crate::case::{Case, contains_all, fetches_nothing, json};

/// The output of a run that a signal ended after its first figures.
struct Partial {
    case: Case,
    figures: Value,
    text: String,
}

/// Interrupts a run that takes far longer than the test, at increasing times until it has figures to report.
fn interrupted(command: &str, outputs: &[&str]) -> Partial {
    let named = outputs.iter().map(|output| match *output {
        "json" => " --json out.json",
        _ => " --report out.html",
    });
    let arguments = format!("{command}{}", named.collect::<String>());
    let signals = [("INT", 130), ("TERM", 143), ("HUP", 129)].into_iter().cycle();
    let waits_ms = (0..8).map(|doublings| 250 << doublings);
    for (wait_ms, (signal, code)) in waits_ms.zip(signals) {
        let case = Case::new();
        let child = start(&case, &arguments, Stdio::piped());
        wait_until("the run", || temporary_files(case.folder.path()) == outputs.len());
        sleep(Duration::from_millis(wait_ms));
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{command}: {message}");
        assert_eq!((temporary_files(case.folder.path()), message.lines().count()), (0, 1), "{message}");
        if message.contains("no report was written") {
            assert!(output.stdout.is_empty() && !case.folder.path().join("out.json").exists(), "{command}");
            continue;
        }
        contains_all(&message, &["interrupted at", "the figures cover the part done by then"]);
        let text = String::from_utf8(output.stdout).unwrap();
        contains_all(&text, &["interrupted at"]);
        let figures = json(&fs::read(case.folder.path().join("out.json")).unwrap());
        assert!(figures["interrupted_at_s"].as_f64().unwrap() >= 0.0, "{figures}");
        if outputs.contains(&"report") {
            let page = fs::read_to_string(case.folder.path().join("out.html")).unwrap();
            contains_all(&page, &["Interrupted at", "</html>"]);
            fetches_nothing(&page);
        }
        return Partial { case, figures, text };
    }
    panic!("{command}: nothing was measured in 32 seconds");
}

#[test]
fn a_run_of_throughput_is_cut_short() {
    for options in ["--with-limit", "--rate 2000", "--workload backlog-s --asks 16000"] {
        let churn = "throughput --nodes 100 --apps 8 --leaves 4 --seconds 600";
        let Partial { figures, .. } = interrupted(&format!("{churn} {options}"), &["json", "report"]);
        assert!(figures["placed"].as_u64().unwrap() > 0, "{figures}");
        assert!(figures["elapsed_s"].as_f64().unwrap() < 600.0, "{figures}");
        assert_eq!((figures["repeat"].as_u64(), figures["audit_violations"].as_u64()), (Some(1), Some(0)));
    }
}

/// Only complete runs count.
#[test]
fn runs_of_throughput_that_ended_are_reported() {
    let fill = "throughput --workload fill --nodes 100 --apps 5 --leaves 3 --asks 2000 --repeat 1000";
    let churn = "throughput --nodes 100 --apps 8 --leaves 4 --seconds 0.2 --repeat 1000";
    for command in [fill, churn] {
        let Partial { figures, .. } = interrupted(command, &["json", "report"]);
        let runs = figures["runs"].as_array().unwrap().len();
        assert!((1..1000).contains(&runs), "{figures}");
        assert_eq!(figures["repeat"].as_u64(), Some(runs as u64));
        assert!(figures["elapsed_s"].as_f64().unwrap() > 0.0, "{figures}");
    }
}

/// A run that the signal cut short does not count.
#[test]
fn points_of_latency_have_the_runs_that_ended() {
    let command =
        "latency --nodes 100 --apps 8 --leaves 4 --seconds 0.1 --repeat 1000 --rates 2000,4000 --mode serial";
    let Partial { figures, text, .. } = interrupted(command, &["json", "report"]);
    let runs: Vec<u64> =
        figures["points"].as_array().unwrap().iter().map(|point| point["runs"].as_u64().unwrap()).collect();
    assert!((1..1000).contains(&runs[0]), "{figures}");
    // The rates take turns.
    assert!(runs.get(1).is_none_or(|second| runs[0] - second <= 1), "{figures}");
    contains_all(&text, &["medians of up to 1000 runs"]);
}

#[test]
fn fairness_is_read_at_the_signal() {
    let command = "fairness --nodes 40 --apps 400 --leaves 20 --asks 16000 --seconds 86400";
    let Partial { figures, text, .. } = interrupted(command, &["json"]);
    assert_eq!(figures["virtual_s"], figures["interrupted_at_s"]);
    assert!(figures["any_size"]["leaves_with_pending"].as_u64().unwrap() > 0, "{figures}");
    contains_all(&text, &["of virtual time", "of their fair share"]);
}

#[test]
fn starvation_is_told_of_the_run_that_was_begun() {
    let command = "starvation --nodes 40 --apps 40 --leaves 4 --asks 8000 --seconds 86400";
    let Partial { figures, text, .. } = interrupted(command, &["json"]);
    assert_eq!(figures["with_reservations"]["interrupted_at_s"], figures["interrupted_at_s"]);
    assert!(figures["with_reservations"]["at_head_s"]["max"].as_f64().unwrap() > 0.0, "{figures}");
    assert!(figures["without_reservations"].is_null() && figures["used_part_lost"].is_null(), "{figures}");
    contains_all(&text, &["with reservations, interrupted at"]);
}

#[test]
fn services_are_told_up_to_the_signal() {
    let command = "services --days 3650 --nodes 200 --region-servers 50 --restarts 1000 --crashes 5000";
    let Partial { figures, text, .. } = interrupted(command, &["json", "report"]);
    let runs = figures["runs"].as_array().unwrap();
    let restarts: usize = runs.iter().map(|run| run["restarts"].as_array().unwrap().len()).sum();
    assert!((1..3_000).contains(&restarts), "{restarts}");
    for run in runs {
        assert!(run["interrupted_at_s"].as_f64() <= figures["interrupted_at_s"].as_f64(), "{run}");
        assert_eq!(run["audit_violations"], 0);
    }
    contains_all(&text, &["with history, interrupted at"]);
}

#[test]
fn experiments_of_control_are_told_as_far_as_they_came() {
    let command = "control --nodes 300 --processors 600";
    let Partial { case, figures, .. } = interrupted(command, &["json", "report"]);
    let of = |key: &str| figures[key].as_array().unwrap().clone();
    let all = [of("experiments"), of("experiments_with_faults")].concat();
    let done: u64 = all.iter().filter_map(|one| one["succeeded"].as_u64()).sum();
    // The signal may come when one experiment has ended and the next has done nothing yet.
    let is_cut_short = all.iter().any(|one| one["interrupted_at_s"].is_number()) || all.len() < 6;
    assert!(done > 0 && is_cut_short, "{figures}");
    let page = fs::read_to_string(case.folder.path().join("out.html")).unwrap();
    contains_all(&page, &["Drain: containers done", "Rebalance: containers done"]);
}

#[test]
fn the_yardstick_is_measured_up_to_the_signal() {
    let Partial { figures, text, .. } = interrupted("limit --nodes 100 --leaves 8 --seconds 600", &["json"]);
    assert!(figures["limit_allocations_per_second"].as_f64().unwrap() > 0.0, "{figures}");
    assert!(figures["elapsed_s"].as_f64().unwrap() < 600.0, "{figures}");
    contains_all(&text, &["of the measurement", "allocations per second"]);
}
