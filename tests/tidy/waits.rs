//! Two ways to wait: for an amount to fall, and for room on a node.
//!
//! A pass reports a wait, and a later event may already have ended it. So each way compares the state version that the
//! pass saw (`seen`) with that of the event. A third way would need a comparison in another file, or a version of its
//! own in a struct.

use super::source::Source;

/// The files that compare `seen`, with the number of lines and the purpose.
const COMPARISONS: [(&str, usize, &str); 6] = [
    ("backlog/waits.rs", 3, "amounts: lanes at limits, and paused sets"),
    ("commit/observe.rs", 2, "room: a shape without room in a set, and a reservation tried there"),
    (
        "place/gang_search.rs",
        1,
        "gangs, which wait in a search of their own: one that found no room is not tried again",
    ),
    ("place/node_shards.rs", 2, "room: the nodes that gained some"),
    ("place/ring.rs", 1, "room: the nodes of a set that changed; these versions are those of the ring"),
    ("state.rs", 3, "room: caps on racks, reservations to try again; and amounts in flight that moved"),
];

/// The files whose structs have versions of the state, with the number of fields and their purpose.
const VERSIONS: [(&str, usize, &str); 9] = [
    ("backlog/demand.rs", 1, "the slot of a shape has another shape since then"),
    ("backlog/waits.rs", 4, "amounts: the one rule"),
    ("engine/rounds.rs", 1, "a round of preemption sees the state as passes do"),
    ("place/gang_search.rs", 2, "the gangs that found no room, or were told to begin again"),
    ("place/node_shards.rs", 2, "room: the nodes that gained some"),
    ("place/set.rs", 1, "room: the changes that the set's view has seen"),
    ("propose/batch.rs", 1, "the version that the pass saw"),
    ("state.rs", 5, "the present version, and what a pass counted before is out of date"),
    ("state/gang_waits.rs", 3, "gangs wait in a search of their own"),
];

/// `sync` waits for threads; `log` and the agents' `nodes` hold nothing of the state.
const APART: [&str; 3] = ["sync", "log", "nodes"];

#[test]
fn reports_of_passes_are_refused_in_two_ways() {
    let found = in_files(|source| source.lines_with("seen").iter().filter(|line| compares(line)).count());
    let expected = COMPARISONS.map(|(file, lines, _)| (file.to_owned(), lines));
    assert_eq!(
        found, expected,
        "a wait belongs to `backlog/waits.rs` or asks the node in `commit/observe.rs`"
    );
}

#[test]
fn versions_of_the_state_are_kept_where_waits_are() {
    let found = in_files(|source| source.fields().iter().filter(|(_, field)| is_version(field)).count());
    let expected = VERSIONS.map(|(file, fields, _)| (file.to_owned(), fields));
    assert_eq!(found, expected, "a version elsewhere is a third way to wait");
}

#[test]
fn a_comparison_and_a_version_are_recognised() {
    let lines = [
        "if wait.woken_at > seen {",
        "if seen < at {",
        "demand.since <= seen",
        "if self.shut_at[i] > pass.seen {",
        "seen.lt(&at)",
        "set.seen() >= at",
    ];
    assert!(lines.into_iter().all(compares));
    let others =
        ["fn park(lane: LaneId, seen: u64) -> bool {", "self.waits.pause(set, seen);", "unseen > at"];
    assert!(!others.into_iter().any(compares));
    let fields =
        ["pub(crate) woken_at: u64,", "since: u64,", "woken: Vec<u64>,", "room_at: FxHashMap<LaneId, u64>,"];
    assert!(fields.into_iter().all(is_version));
    assert!(
        !["at_ms: u64,", "open: u64,", "pending_since_ms: u64,", "woken: Vec<LaneId>,"]
            .into_iter()
            .any(is_version)
    );
}

/// The files for which `count` is not zero, and their counts.
fn in_files(count: impl Fn(&Source) -> usize) -> Vec<(String, usize)> {
    let sources = Source::of("scheduler/src").into_iter();
    let engine = sources.filter(|source| !APART.contains(&source.module().as_str()));
    let counted = engine.map(|source| (source.path.replace("scheduler/src/", ""), count(&source)));
    counted.filter(|(_, count)| *count > 0).collect()
}

/// Whether a line compares the version that a pass saw.
fn compares(line: &str) -> bool {
    let names_it = line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "seen");
    let signs = [" > ", " >= ", " < ", " <= ", ".lt(", ".le(", ".gt(", ".ge(", ".cmp("];
    // A window of batches that was seen is not a version.
    names_it
        && !line.contains("fn ")
        && !line.contains("seen.batches")
        && signs.into_iter().any(|sign| line.contains(sign))
}

/// Whether a field holds a version of the state, or one for each of many.
fn is_version(field: &str) -> bool {
    let Some((name, of)) = field.split_once(": ") else { return false };
    let ends = [
        "_at",
        "since",
        "version",
        "woken",
        "gained",
        "seen",
        "no_room",
        "starts",
        "anew",
        "latest",
        "forgotten",
    ];
    ends.into_iter().any(|end| name.ends_with(end)) && of.contains("u64")
}
