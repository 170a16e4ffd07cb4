//! `apportion-bench explain` from outside, and what reports say of what stayed pending.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod case;

use std::fs;

use case::{Case, contains_all, json};

const OPENB: &str = "replay --format openb --nodes nodes.csv --workload pods.csv --log run.log";

/// A run with its log; the third pod is larger than any node.
fn with_log(more: &str) -> Case {
    let case = Case::new();
    let output = case.run(&format!("{OPENB} {more}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    case
}

fn explains(case: &Case, arguments: &str) -> String {
    let output = case.run(&format!("explain {arguments}"));
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refuses(case: &Case, arguments: &str) -> String {
    let output = case.run(&format!("explain {arguments}"));
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
    assert!(output.stdout.is_empty(), "{arguments}");
    message
}

#[test]
fn the_asks_that_are_pending_and_one_of_them() {
    let case = with_log("");
    let text = explains(&case, "run.log");
    contains_all(
        &text,
        &["1 ask is pending after change", "wants 1 container of 1024 memory_mib, 99000 vcore_milli for p2"],
    );
    contains_all(&text, &["Of 2 nodes: 2 too small even when empty.", "91000 vcore_milli"]);
    let ask = text.split_whitespace().find(|word| word.starts_with("ask-")).unwrap();
    assert!(text.contains(explains(&case, &format!("run.log --ask {ask}")).trim_end()), "{text}");
    let listed = json(explains(&case, "run.log --json").as_bytes());
    let alone = json(explains(&case, &format!("run.log --ask {ask} --json")).as_bytes());
    let longest = &listed["pending_longest"][0];
    for key in ["ask", "standing", "reason", "blocker", "funnel", "shortage", "since_ms"] {
        assert!(alone.get(key).is_some() && longest[key] == alone[key], "{key}: {alone}");
    }
    assert_eq!((&alone["ask"], &alone["funnel"]["stages"]["too_small"]), (&ask.into(), &2.into()));
    assert_eq!(
        (&listed["pending_asks"], &alone["shortage"]["missing"]["vcore_milli"]),
        (&1.into(), &91000.into())
    );
}

/// The same ask before it was placed and after.
#[test]
fn at_an_earlier_change_things_were_as_they_were_then() {
    let case = with_log("");
    assert!(explains(&case, "run.log --ask ask-0").contains("all of its containers were placed"));
    let at = |seq: u64| case.run(&format!("explain run.log --ask ask-0 --at {seq} --json"));
    let submitted = (1..).find(|seq| at(*seq).status.success()).unwrap();
    let (then, later) = (json(&at(submitted).stdout), json(&at(submitted + 1).stdout));
    assert_eq!((&then["standing"], &then["seq"]), (&"pending".into(), &submitted.into()));
    assert_eq!((&then["reason"], &then["funnel"]["stages"]["fits"]), (&"runnable".into(), &1.into()));
    assert_eq!(later["standing"], "placed");
}

#[test]
fn wrong_logs_asks_and_positions_are_refused() {
    let case = with_log("");
    contains_all(&refuses(&case, "none.log --ask ask-0"), &["none.log", "No such file"]);
    contains_all(&refuses(&case, "pods.csv --ask ask-0"), &["pods.csv", "not an Apportion log"]);
    contains_all(
        &refuses(&case, "run.log --ask ask-99"),
        &["run.log", "no ask-99 up to change", "pending then: ask-"],
    );
    contains_all(
        &refuses(&case, "run.log --ask ask-0 --at 1"),
        &["no ask-0 up to change 1; pending then: none"],
    );
    contains_all(&refuses(&case, "run.log --ask ask-0 --at 99999"), &["change 99999 was asked for"]);
    contains_all(&refuses(&case, "run.log --ask app-0"), &["`app-0` is no identifier like `ask-12`"]);
    contains_all(&refuses(&case, "run.log --at 0"), &["--at"]);
    let log = fs::read(case.folder.path().join("run.log")).unwrap();
    case.file("cut.log", &log[..log.len() - 1]);
    contains_all(&refuses(&case, "cut.log --ask ask-0"), &["cut.log", "ends in the middle of a group"]);
}

#[test]
fn reports_say_why_what_is_left_is_pending() {
    let case = with_log("--json out.json --report out.html");
    let figures = json(&fs::read(case.folder.path().join("out.json")).unwrap());
    let left = figures["pending_longest"].as_array().unwrap();
    assert_eq!((left.len(), &left[0]["reason"]), (1, &"no_node_large_enough".into()));
    let html = fs::read_to_string(case.folder.path().join("out.html")).unwrap();
    contains_all(&html, &["Still pending at the end", "Of 2 nodes: 2 too small even when empty."]);
    let table = String::from_utf8(case.run(OPENB).stdout).unwrap();
    contains_all(&table, &["still pending", "of p2 in root.default", "No node that meets"]);
    case.file("pods.csv", case::PODS.replace("99000", "1000"));
    let html = {
        assert!(case.run(&format!("{OPENB} --report out.html")).status.success());
        fs::read_to_string(case.folder.path().join("out.html")).unwrap()
    };
    assert!(!html.contains("Still pending"), "nothing is");
}
