mod disk;

use std::fs;

use redb::{Database, TableDefinition};

use super::*;
use crate::Engine;
use crate::log::HEADER;
use crate::log::tests::{begin_or_go_on, work};
use crate::replay::Replay;

const ALL: [Durability; 3] = [Durability::None, Durability::Grouped { bytes: 200 }, Durability::BeforeEvents];

fn open(path: &Path) -> Result<StoreLog, StoreLogError> {
    StoreLog::open(path, StoreLogOptions::default())
}

/// The engine that goes on with this log, or begins it.
fn start(log: StoreLog) -> Engine {
    begin_or_go_on(log.contents().unwrap(), Box::new(log)).unwrap()
}

fn bytes_of(log: &StoreLog) -> Vec<u8> {
    let mut bytes = Vec::new();
    log.contents().unwrap().unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

/// A path for a store in a folder that ends with the test.
fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.redb");
    (folder, path)
}

#[test]
fn each_engine_goes_on_where_the_last_one_ended() {
    for durability in ALL {
        let (_folder, path) = place();
        let open = || StoreLog::open(&path, StoreLogOptions { durability }).unwrap();
        for name in ["a", "b", "c"] {
            let engine = start(open());
            work(&engine, name);
            assert_eq!(engine.log_error(), None);
            let digest = engine.digest();
            drop(engine);
            assert_eq!(start(open()).digest(), digest, "{durability:?}");
        }
        let engine = start(open());
        assert!(["a", "b", "c"].iter().all(|name| engine.handle().node(name).is_some()));
    }
}

#[test]
fn a_store_has_one_writer() {
    let (_folder, path) = place();
    let first = open(&path).unwrap();
    let refused = open(&path).unwrap_err();
    assert!(matches!(refused, StoreLogError::InUse { .. }), "{refused}");
    assert!(refused.to_string().ends_with("the store is in use by another writer"));
    let compactor = first.compactor();
    drop(first);
    open(&path).unwrap();
    assert_eq!(compactor.compact().unwrap(), None, "the log was closed");
}

#[test]
fn a_snapshot_replaces_groups_while_the_writer_goes_on() {
    let (_folder, path) = place();
    let log = open(&path).unwrap();
    let (store, compactor) = (Arc::clone(&log.store), log.compactor());
    assert_eq!(compactor.compact().unwrap(), None, "nothing is logged");
    let engine = start(log);
    for name in ["a", "b", "c", "d"] {
        work(&engine, name);
        assert!(store.has_groups().unwrap());
        let compacted = compactor.compact().unwrap().unwrap();
        assert_eq!(compacted.last, engine.read(|view| view.seq()));
        assert_eq!(compacted.bytes_after, store.contents().unwrap().unwrap().length().unwrap());
        assert!(!store.has_groups().unwrap());
        let mut read = Replay::read(store.contents().unwrap().unwrap(), None).unwrap();
        assert_eq!(read.digest(), engine.digest());
        assert_eq!(compactor.compact().unwrap(), None, "nothing is new");
    }
    let digest = engine.digest();
    drop((engine, store));
    let engine = start(open(&path).unwrap());
    assert_eq!(engine.digest(), digest);
    work(&engine, "e");
    assert_eq!(engine.log_error(), None);
}

/// A crash may leave a part of a snapshot.
#[test]
fn a_snapshot_that_is_not_whole_is_removed() {
    let (_folder, path) = place();
    drop(start(open(&path).unwrap()));
    let unfinished: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("apportion_unfinished");
    change(&path, |write| drop(write.open_table(unfinished).unwrap().insert(7, &b"half"[..])));
    let log = open(&path).unwrap();
    let compactor = log.compactor();
    let engine = start(log);
    assert!(compactor.compact().unwrap().is_some());
    let digest = engine.digest();
    drop(engine);
    assert_eq!(start(open(&path).unwrap()).digest(), digest);
}

/// An engine that begins would lose everything.
#[test]
fn an_engine_does_not_begin_where_a_log_is() {
    let (_folder, path) = place();
    drop(start(open(&path).unwrap()));
    let before = bytes_of(&open(&path).unwrap());
    let none: Option<&[u8]> = None;
    let refused = begin_or_go_on(none, Box::new(open(&path).unwrap())).unwrap_err().to_string();
    assert!(refused.ends_with("the store already has a log; open it with `Engine::recover`"), "{refused}");
    assert_eq!(bytes_of(&open(&path).unwrap()), before);
}

#[test]
fn a_log_that_a_crash_cut_before_its_first_group_is_begun_again() {
    let (_folder, path) = place();
    let mut log = open(&path).unwrap();
    log.start(&HEADER).unwrap();
    drop(log);
    let log = open(&path).unwrap();
    assert!(log.contents().unwrap().is_none());
    work(&start(log), "a");
    assert!(start(open(&path).unwrap()).handle().node("a").is_some());
}

#[test]
fn an_engine_does_not_go_on_where_no_log_is() {
    let (_folder, path) = place();
    let error = open(&path).unwrap().resume(LogEnd { at: 8, last: 0 }).unwrap_err();
    assert!(error.to_string().ends_with("the store has no log"), "{error}");
}

#[test]
fn other_files_are_no_log() {
    let (_folder, path) = place();
    fs::write(&path, b"something else").unwrap();
    assert!(matches!(open(&path), Err(StoreLogError::Log(LogError::NotALog))));
    fs::remove_file(&path).unwrap();
    let table: TableDefinition<'_, u64, u64> = TableDefinition::new("other");
    change(&path, |write| drop(write.open_table(table).unwrap().insert(1, 2)));
    assert!(matches!(open(&path), Err(StoreLogError::Log(LogError::NotALog))));
}

/// The name at the beginning of the file is written last.
#[test]
fn a_store_that_was_killed_while_it_was_made_is_made_again() {
    let (_folder, path) = place();
    let mut bytes = vec![0; 73_728];
    bytes[9..200].fill(7);
    fs::write(&path, bytes).unwrap();
    drop(start(open(&path).unwrap()));
    assert!(open(&path).unwrap().contents().unwrap().is_some());
}

/// Changes the store below the log.
fn change(path: &Path, change: impl FnOnce(&redb::WriteTransaction)) {
    let write = Database::create(path).unwrap().begin_write().unwrap();
    change(&write);
    write.commit().unwrap();
}

#[test]
fn tables_of_another_version_are_refused() {
    let (_folder, path) = place();
    drop(start(open(&path).unwrap()));
    let layout: TableDefinition<'_, (), u8> = TableDefinition::new("apportion_layout");
    change(&path, |write| drop(write.open_table(layout).unwrap().insert((), 9)));
    let refused = open(&path).unwrap_err().to_string();
    let expected =
        "version 9 of the log's tables is not readable; this program reads version 1, a newer one reads it";
    assert!(refused.ends_with(expected), "{refused}");
}

const GROUPS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("apportion_groups");

/// The store's own checks pass, but a group is not what was written.
#[test]
fn a_damaged_group_is_refused() {
    let (_folder, path) = place();
    let engine = start(open(&path).unwrap());
    work(&engine, "a");
    let last = engine.read(|view| view.seq()).0;
    drop(engine);
    change(&path, |write| {
        write.open_table(GROUPS).unwrap().insert(2, &b"\x04\0\0\0wrong"[..]).unwrap();
    });
    let log = open(&path).unwrap();
    let refused = begin_or_go_on(log.contents().unwrap(), Box::new(log)).unwrap_err().to_string();
    assert!(refused.contains("the log is damaged at byte"), "{refused}");
    let log = open(&path).unwrap();
    assert!(matches!(log.compactor().compact(), Err(StoreLogError::Log(LogError::Damaged { .. }))));
    drop(log);
    change(&path, |write| {
        write.open_table(GROUPS).unwrap().insert(last, &b"\x04\0\0\0wrong"[..]).unwrap();
    });
    let refused = open(&path).unwrap().contents().map(drop).unwrap_err();
    assert!(refused.to_string().ends_with("the store is damaged: the last group is not whole"), "{refused}");
}
