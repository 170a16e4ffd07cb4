//! `explain`, `log`, `preempt` and `verify` on a log that begins with a snapshot.

use std::fs;
use std::io::Read;

use apportion::file_log;
use apportion::replay::Replay;
use apportion::view::View;
use serde_json::Value;

use crate::case::{Case, contains_all, json};
use crate::gangs::{printed, with_log, with_victim_gang};

/// The bytes before the first frame of a log.
const HEADER_BYTES: usize = 8;

/// Writes `short.log`: the log of the case with a snapshot in place of the first groups, up to the first state with
/// `is_last`. Returns the number of the last change in the snapshot.
fn shorten(case: &Case, is_last: impl Fn(&View<'_>) -> bool) -> u64 {
    let mut log = Vec::new();
    file_log::read(&case.folder.path().join("log")).unwrap().read_to_end(&mut log).unwrap();
    let mut at = HEADER_BYTES;
    loop {
        let (length, _) = log[at..].split_first_chunk().unwrap();
        at += 8 + u32::from_le_bytes(*length) as usize;
        let mut replay = Replay::read(&log[..at], None).unwrap();
        if is_last(&replay.view()) {
            let mut short = Vec::new();
            replay.write_snapshot(&mut short).unwrap();
            short.extend_from_slice(&log[at..]);
            fs::write(case.folder.path().join("short.log"), short).unwrap();
            return replay.seq().0;
        }
    }
}

/// The log has gangs of two jobs before second 1, and announced victims after it.
fn shortened() -> (Case, u64) {
    let case = with_log();
    let begin = shorten(&case, |view| view.now_ms() >= 1_000);
    (case, begin)
}

/// Otherwise the state of the snapshot would be shown as an earlier one.
#[test]
fn a_moment_before_the_snapshot_is_refused() {
    let (case, begin) = shortened();
    for command in
        ["verify short.log --at", "explain short.log --at", "preempt short.log --at", "log short.log --to"]
    {
        let refuses = |moment: &str, problem: &str| {
            let output = case.run(&format!("{command} {moment}"));
            assert_eq!(
                (output.status.code(), output.stdout.is_empty()),
                (Some(2), true),
                "{command} {moment}"
            );
            contains_all(&String::from_utf8_lossy(&output.stderr), &["short.log: ", problem]);
        };
        let before = begin - 1;
        let problem = format!(
            "change {before} was asked for, and the log begins with the state after change {begin}\n"
        );
        refuses(&before.to_string(), &problem);
        refuses("500ms", "the log begins with the state at 1.000 s, after 0.500 s\n");
        for moment in [begin.to_string(), (begin + 1).to_string(), "1s".to_owned(), "4s".to_owned()] {
            printed(&case, &format!("{command} {moment}"));
        }
    }
}

#[test]
fn jobs_and_gangs_of_the_snapshot_are_explained() {
    let (case, _) = shortened();
    let text = printed(&case, "explain short.log --ask training");
    contains_all(&text, &["ask-1.1 wants 1 container", "ask-0.1 wants 3 containers", "for training"]);
    contains_all(
        &printed(&case, "explain short.log --ask trial"),
        &["ask-0 is satisfied", "ask-1 is satisfied"],
    );
    let of_gang = |log| printed(&case, &format!("explain {log} --ask gang-1.1"));
    assert_eq!(of_gang("short.log"), of_gang("log"));

    let case = with_victim_gang();
    shorten(&case, |view| view.container_count() == 2 && view.asks().count() == 1);
    let plan =
        |log| printed(&case, &format!("preempt {log} --json --per-round 100% --natural-termination 100%"));
    assert_eq!(plan("short.log"), plan("log"));
}

#[test]
fn the_changes_behind_the_snapshot_are_listed_with_their_names() {
    let (case, begin) = shortened();
    let lines = |log: &str| -> Vec<Value> {
        printed(&case, &format!("log {log} --json")).lines().map(|line| json(line.as_bytes())).collect()
    };
    let (short, long) = (lines("short.log"), lines("log"));
    let snapshot = serde_json::json!({ "seq": begin, "now_ms": 1_000, "kind": "snapshot", "events": [] });
    assert_eq!(short[0], snapshot);
    assert!(short.len() > 3, "{short:?}");
    assert_eq!(short[1..], long[long.len() + 1 - short.len()..]);
    assert_eq!(printed(&case, "log short.log --kind snapshot").lines().count(), 1);
    // The snapshot has this job, and no later change is about it.
    assert_eq!(printed(&case, "log short.log --job training --kind application_submitted"), "");
}
