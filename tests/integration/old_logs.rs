//! Logs and snapshots of earlier programs: this one reads them, and goes on with them. `tests/old_logs/README.md` says
//! how they were written.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apportion::file_log::{FileLog, FileLogOptions};
use apportion::log::{LogError, LogReader, LogSink, SharedLog};
use apportion::replay::Replay;
use apportion::store_log::{StoreLog, StoreLogOptions};
use apportion::{ApplicationSpec, AskSpec, Change, Engine, ManualClock, Mode, NodeSpec, Resources};
use apportion_tests::support::every_change::{facts, kinds};

/// The versions of the log's format that can be read.
const VERSIONS: [u8; 2] = [9, 10];

fn file(version: u8, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("old_logs/version_{version}")).join(name)
}

fn bytes(version: u8, name: &str) -> Vec<u8> {
    let path = file(version, name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The facts that the program told that wrote the log.
fn expected(version: u8) -> String {
    String::from_utf8(bytes(version, "facts.txt")).unwrap()
}

fn recover(contents: impl Read, sink: Option<Box<dyn LogSink>>) -> Engine {
    Engine::recover(contents, Mode::Serial, Arc::new(ManualClock::new()), sink).unwrap().0
}

/// Expects the facts of the program that wrote the log. Then places and ends containers, also on a new node.
fn expect_and_go_on(engine: &Engine, version: u8) {
    assert_eq!(facts(engine), expected(version), "version {version}");
    assert!(engine.audit().is_clean(), "version {version}: {}", engine.audit());
    let handle = engine.handle();
    let events = handle.event_stream(1 << 10);
    handle.add_node(NodeSpec::new("later", Resources::new(&[65_536, 64_000])).on_rack("later")).unwrap();
    let application = ApplicationSpec::new("later", "root.batch", "ann");
    let application = handle.submit_application(application, &events).unwrap();
    let ask = AskSpec::new(Resources::new(&[100, 100]), 3).on_racks([handle.rack("unknown")]);
    handle.submit_ask(application, ask).unwrap();
    let known: Vec<_> = engine.read(|view| view.containers().map(|(id, _)| id).take(2).collect());
    handle.complete_containers(known).unwrap();
    engine.run_until_quiet();
    let placed = engine.read(|view| view.application(application).unwrap().containers().count());
    assert_eq!(placed, 3, "version {version}");
    assert!(engine.audit().is_clean(), "version {version}: {}", engine.audit());
}

#[test]
fn a_log_of_each_version_is_recovered_and_continued() {
    for version in VERSIONS {
        let log = bytes(version, "log");
        assert_eq!(log[7], version, "the version in the header");
        let continued = SharedLog::of(&log);
        let engine = recover(&log[..], Some(Box::new(continued.clone())));
        expect_and_go_on(&engine, version);
        let again = recover(&continued.bytes()[..], None);
        assert_eq!(facts(&again), facts(&engine), "version {version}");
    }
}

/// Version 9 did not name a rack for which an ask waited before it had a node. Another rack must not get its number.
#[test]
fn an_unnamed_rack_of_version_9_keeps_its_number() {
    let log = bytes(9, "log");
    let mut reader = LogReader::new(&log[..]).unwrap();
    let mut replay = Replay::begin(&mut reader).unwrap();
    let waiting = loop {
        let change = reader.next_change().unwrap().unwrap();
        replay.step(change.clone()).unwrap();
        match change {
            Change::AskSubmitted { ask, spec, .. } if !spec.preference.relax_locality => break ask,
            _ => {}
        }
    };
    let mut snapshot = Vec::new();
    replay.write_snapshot(&mut snapshot).unwrap();
    let engine = recover(&snapshot[..], None);
    let node = NodeSpec::new("elsewhere", Resources::new(&[65_536, 64_000])).on_rack("elsewhere");
    engine.handle().add_node(node).unwrap();
    engine.run_until_quiet();
    assert_eq!(engine.read(|view| view.ask(waiting).map(|ask| ask.outstanding())), Some(1));
    assert!(engine.audit().is_clean(), "{}", engine.audit());
}

/// A kind of change that came later is not in an old log, and every other kind is.
#[test]
fn each_log_has_every_kind_of_change_of_its_version() {
    let absent = |version| {
        let kinds = kinds(&bytes(version, "log"));
        Change::LABELS.iter().copied().filter(|label| !kinds.contains(label)).collect::<Vec<_>>()
    };
    let of_version_11 = [
        "preemption_announced",
        "preemption_withdrawn",
        "gang_submitted",
        "gang_ended",
        "preemption_cost_set",
        "preemption_confirmed",
        "disruption_budgets_set",
        "task_group_ask_submitted",
        "placeholders_timed_out",
        "promotion_requested",
        "room_held",
        "room_given_back",
        "gang_turn_ended",
    ];
    assert_eq!(absent(9), [&["rack_named"][..], &of_version_11].concat());
    assert_eq!(absent(10), of_version_11);
}

#[test]
fn a_snapshot_of_each_version_is_recovered() {
    let snapshot = bytes(10, "snapshot");
    assert_eq!(snapshot[..8], *b"APPSNAP\x01");
    expect_and_go_on(&recover(&snapshot[..], None), 10);
    let mut again = Vec::new();
    let mut replay = Replay::read(&snapshot[..], None).unwrap();
    replay.write_snapshot(&mut again).unwrap();
    assert_eq!(again[..8], *b"APPSNAP\x02");
    assert_eq!(Replay::read(&again[..], None).unwrap().digest(), replay.digest());
}

#[test]
fn a_folder_with_a_snapshot_and_segments_is_recovered_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let old: Vec<_> = fs::read_dir(file(10, "folder")).unwrap().map(|entry| entry.unwrap()).collect();
    assert!(old.len() > 2, "a snapshot and several segments");
    for entry in &old {
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let open = || {
        let log = FileLog::open(folder.path(), FileLogOptions::default()).unwrap();
        recover(log.contents().unwrap().unwrap(), Some(Box::new(log)))
    };
    let engine = open();
    expect_and_go_on(&engine, 10);
    let later = facts(&engine);
    drop(engine);
    assert_eq!(facts(&open()), later);
}

#[test]
fn a_store_with_a_snapshot_and_groups_is_recovered_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    fs::copy(file(10, "store.redb"), &path).unwrap();
    let open = || {
        let log = StoreLog::open(&path, StoreLogOptions::default()).unwrap();
        recover(log.contents().unwrap().unwrap(), Some(Box::new(log)))
    };
    let engine = open();
    expect_and_go_on(&engine, 10);
    let later = facts(&engine);
    drop(engine);
    assert_eq!(facts(&open()), later);
}

/// A log from before the present words.
#[test]
fn a_version_that_is_too_old_is_refused_by_its_number() {
    let error = LogReader::new(&b"APPLOG\x00\x08"[..]).err().unwrap();
    assert!(matches!(error, LogError::Version { found: 8 }));
    let text = "log format version 8 is not readable; this program reads versions 9 to 11, the one that wrote it reads it";
    assert_eq!(error.to_string(), text);
}

/// A log and a snapshot of a later program. Their headers have seven letters and the version.
#[test]
fn a_version_that_is_too_new_is_refused_by_its_number() {
    let of = |name: &[u8; 7]| LogReader::new(&[&name[..], &[99]].concat()[..]).err();
    assert!(matches!(of(b"APPLOG\x00"), Some(LogError::Version { found: 99 })));
    assert!(matches!(of(b"APPSNAP"), Some(LogError::SnapshotVersion { found: 99 })));
}
