//! Saves in a directory: no save replaces another, and the last save has the last name.

use std::fs;
use std::thread;

use apportion_placement::{
    DirectoryStore, HistoryStore, SaveError, StoreError, StoredFile, history_name, load_newest, save_now,
};

use crate::support::{ALL, Fault, MemoryStore, TestResult, sample};

#[test]
fn two_saves_in_one_millisecond_are_two_files() -> TestResult {
    let folder = tempfile::tempdir()?;
    let store = DirectoryStore::new(folder.path());
    let names = [save_now(&store, &sample(5))?.name, save_now(&store, &sample(5))?.name];
    assert_eq!(names, [history_name(5), history_name(6)]);
    assert_eq!(store.list()?.len(), 2);
    Ok(())
}

#[test]
fn a_clock_that_went_back_does_not_hide_a_save() -> TestResult {
    let store = MemoryStore::saved_at([1_000])?;
    let saved = save_now(&store, &sample(3))?;
    assert_eq!(saved.name, history_name(1_001));
    assert_eq!(load_newest(&store).loaded.map(|loaded| loaded.history.file), Some(sample(3)));
    Ok(())
}

#[test]
fn saves_at_once_are_all_there() -> TestResult {
    let folder = tempfile::tempdir()?;
    let store = DirectoryStore::new(folder.path().join("new"));
    thread::scope(|scope| {
        let saves: Vec<_> =
            (0..4).map(|_| scope.spawn(|| (0..5).map(|_| save_now(&store, &sample(1))).collect())).collect();
        for save in saves {
            let saved: Result<Vec<_>, SaveError> = save.join().map_err(|_| "a save panicked")?;
            assert_eq!(saved?.len(), 5);
        }
        TestResult::Ok(())
    })?;
    assert_eq!(store.list()?.len(), 20);
    Ok(())
}

#[test]
fn a_name_that_is_taken_by_something_else_is_gone_round() -> TestResult {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join(history_name(5)))?;
    let store = DirectoryStore::new(folder.path());
    assert_eq!(save_now(&store, &sample(5))?.name, history_name(6));
    Ok(())
}

/// An empty store in which every name is in use.
struct NeverFree;

impl HistoryStore for NeverFree {
    fn list(&self) -> Result<Vec<StoredFile>, StoreError> {
        Ok(Vec::new())
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        Err(StoreError::Missing { name: name.to_owned() })
    }

    fn write_atomically(&self, name: &str, _: &[u8]) -> Result<(), StoreError> {
        Err(StoreError::Exists { name: name.to_owned() })
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        Err(StoreError::Missing { name: name.to_owned() })
    }
}

#[test]
fn a_store_that_finds_every_name_in_use_does_not_keep_a_save_for_ever() {
    let refused = save_now(&NeverFree, &sample(5));
    assert!(matches!(refused, Err(SaveError::Store(StoreError::Exists { .. }))), "{refused:?}");
}

#[test]
fn behind_the_last_name_there_is_none() -> TestResult {
    let store = MemoryStore::with(&[(&history_name(u64::MAX), b"")]);
    let refused = save_now(&store, &sample(5));
    assert!(matches!(refused, Err(SaveError::NoName { .. })), "{refused:?}");
    Ok(())
}

#[test]
fn a_failed_save_reports_the_error_and_leaves_older_files() -> TestResult {
    let store = MemoryStore::saved_at([1])?;
    store.fail(Fault::Write, ALL);
    let failed = save_now(&store, &sample(2)).map_err(|error| error.to_string());
    assert_eq!(
        failed,
        Err("writing rolehistory-0000000000000002.json failed: as the test asked for".to_owned())
    );
    store.fail(Fault::List, ALL);
    assert!(matches!(save_now(&store, &sample(2)), Err(SaveError::Store(_))));
    assert_eq!(store.names(), [history_name(1)]);
    Ok(())
}

#[test]
fn a_directory_takes_plain_names_only_and_replaces_nothing() -> TestResult {
    let folder = tempfile::tempdir()?;
    let store = DirectoryStore::new(folder.path().join("history"));
    for name in ["../outside.json", "a/b", "/etc/hosts", "..", ".", "", ".rolehistory-abcdefgh.tmp"] {
        assert!(matches!(store.write_atomically(name, b"x"), Err(StoreError::BadName { .. })), "{name}");
        assert!(matches!(store.delete(name), Err(StoreError::BadName { .. })), "{name}");
        assert!(matches!(store.read(name), Err(StoreError::BadName { .. })), "{name}");
    }
    store.write_atomically("a", b"one")?;
    assert!(matches!(store.write_atomically("a", b"two"), Err(StoreError::Exists { .. })));
    assert_eq!(store.read("a")?, b"one");
    store.delete("a")?;
    assert!(matches!(store.delete("a"), Err(StoreError::Missing { .. })));
    assert!(matches!(store.read("a"), Err(StoreError::Missing { .. })));
    Ok(())
}

#[test]
fn only_temporary_files_of_saves_are_swept() -> TestResult {
    let folder = tempfile::tempdir()?;
    let store = DirectoryStore::new(folder.path());
    assert_eq!(DirectoryStore::new(folder.path().join("none")).sweep()?, 0);
    let others = [".rolehistory-.tmp", ".rolehistory-abc-efgh.tmp", ".rolehistory-abcdefghi.tmp", "x.tmp"];
    for name in others.into_iter().chain([".rolehistory-aB3defgh.tmp"]) {
        fs::write(folder.path().join(name), "half a")?;
    }
    assert_eq!(store.list()?.len(), others.len());
    assert_eq!((store.sweep()?, store.sweep()?), (1, 0));
    assert_eq!(store.list()?.len(), others.len());
    assert_eq!(NeverFree.sweep()?, 0, "it has no temporary files");
    Ok(())
}
