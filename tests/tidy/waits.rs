//! Two ways to wait: for an amount to fall, and for room on a node.
//!
//! A pass reports a wait, and a later event may already have ended it. So each way compares the state version that the
//! pass saw (`seen`) with that of the event. A third way would need a comparison in another file, or a stamp of its own.

use super::source::Source;

/// The files that compare `seen`, with the number of lines that do, and the reports that they refuse.
const REFUSALS: [(&str, usize, &str); 3] = [
    ("backlog/waits.rs", 3, "a lane at a limit, and a set that is paused: waits for an amount"),
    ("commit/observe.rs", 2, "a shape without room in a set, and a reservation tried there: waits for room"),
    (
        "state.rs",
        3,
        "the same for caps on racks and reservations, and whether amounts in flight are still right",
    ),
];

/// The files of derived state whose structs have stamps, with the number of fields and their reason.
const STAMPS: [(&str, usize, &str); 4] = [
    ("backlog/demand.rs", 1, "the slot of a shape has another shape since then"),
    ("backlog/waits.rs", 4, "the one rule for amounts"),
    ("state.rs", 3, "what a pass counted before is out of date"),
    ("state/gang_waits.rs", 1, "gangs wait in a search of their own, outside passes"),
];

const DERIVED: [&str; 4] = ["backlog", "commit", "propose", "state"];

#[test]
fn reports_of_passes_are_refused_in_two_ways() {
    let found = in_derived_state(|source| {
        let lines = source.lines_with("seen").into_iter().filter(|line| compares(line));
        lines.count()
    });
    let expected = REFUSALS.map(|(file, lines, _)| (file.to_owned(), lines));
    assert_eq!(
        found, expected,
        "a wait belongs to `backlog/waits.rs` or asks the node in `commit/observe.rs`"
    );
}

#[test]
fn stamps_are_where_waits_are() {
    let found =
        in_derived_state(|source| source.fields().iter().filter(|(_, field)| is_stamp(field)).count());
    let expected = STAMPS.map(|(file, fields, _)| (file.to_owned(), fields));
    assert_eq!(found, expected, "a stamp elsewhere is a third way to wait");
}

#[test]
fn a_comparison_and_a_stamp_are_recognised() {
    let lines = ["if wait.woken_at > seen {", "if seen < at {", "demand.since <= seen", "is_new(seen >= at)"];
    assert!(lines.into_iter().all(compares));
    let others = ["fn park(lane: LaneId, seen: u64) -> bool {", "self.waits.pause(set, seen);"];
    assert!(!others.into_iter().any(compares));
    assert!(is_stamp("pub(crate) woken_at: u64,") && is_stamp("since: u64,"));
    assert!(is_stamp("reconsidered_at: Vec<u64>,") && !is_stamp("at_ms: u64,") && !is_stamp("open: u64,"));
}

/// The files of derived state for which `count` is not zero, and their counts.
fn in_derived_state(count: impl Fn(&Source) -> usize) -> Vec<(String, usize)> {
    let sources = Source::of("scheduler/src").into_iter();
    let derived = sources.filter(|source| DERIVED.contains(&source.module().as_str()));
    let counted = derived.map(|source| (source.path.replace("scheduler/src/", ""), count(&source)));
    counted.filter(|(_, count)| *count > 0).collect()
}

fn compares(line: &str) -> bool {
    let signs = ["> seen", ">= seen", "< seen", "<= seen", "seen > ", "seen >= ", "seen < ", "seen <= "];
    !line.contains("fn ") && signs.into_iter().any(|sign| line.contains(sign))
}

/// Whether a field holds a state version, or one for each of many.
fn is_stamp(field: &str) -> bool {
    let Some((name, of)) = field.split_once(": ") else { return false };
    (name.ends_with("_at") || name.ends_with("since")) && of.contains("u64")
}
