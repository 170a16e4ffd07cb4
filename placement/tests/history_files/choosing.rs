//! Which history file a service starts with (scenario S39).

use apportion_placement::{
    DirectoryStore, HistoryStore, ReadHistoryError, SkipReason, history_name, load_and_purge, load_newest,
    save_now,
};

use crate::support::{ALL, Fault, MemoryStore, TestResult, sample, written};

#[test]
fn the_last_name_counts() -> TestResult {
    let store = MemoryStore::saved_at([0x0406c, 0x5fffa, 0x0001a, 0x0001f])?;
    let mut order = Vec::new();
    while let Some(loaded) = load_newest(&store).loaded {
        order.push(loaded.history.file.saved_ms);
        store.delete(&loaded.name)?;
    }
    assert_eq!(order, [0x5fffa, 0x0406c, 0x0001f, 0x0001a]);
    Ok(())
}

#[test]
fn three_saves_are_three_files_and_other_files_are_not_ours() -> TestResult {
    let folder = tempfile::tempdir()?;
    let store = DirectoryStore::new(folder.path());
    for ms in [1, 2, 3] {
        save_now(&store, &sample(ms))?;
    }
    std::fs::write(folder.path().join("file.json"), "{}")?;
    std::fs::create_dir(folder.path().join(history_name(9)))?;
    let report = load_newest(&store);
    assert!(report.skipped.is_empty(), "{report:?}");
    assert_eq!(report.loaded.map(|loaded| loaded.name), Some(history_name(3)));
    let (report, purge) = load_and_purge(&store);
    assert_eq!(report.loaded.map(|loaded| loaded.name), Some(history_name(3)));
    assert_eq!(purge.ok_or("no purge")??.deleted, [history_name(1), history_name(2)]);
    assert!(folder.path().join("file.json").exists());
    Ok(())
}

#[test]
fn a_newest_that_is_empty_or_broken_is_passed_over_and_stays() -> TestResult {
    for (bad, is_empty) in [("", true), ("{broken:true}", false), ("{\"broken\":true}", false)] {
        let store = MemoryStore::saved_at([1, 2])?;
        store.put(&history_name(0), b"");
        store.put(&history_name(3), bad.as_bytes());
        let (report, purge) = load_and_purge(&store);
        assert_eq!(report.loaded.map(|loaded| loaded.history.file), Some(sample(2)));
        let [skipped] = report.skipped.as_slice() else {
            return Err(format!("{:?}", report.skipped).into());
        };
        assert_eq!(skipped.name, history_name(3));
        assert_eq!(matches!(skipped.reason, SkipReason::Empty), is_empty);
        assert_eq!(purge.ok_or("no purge")??.deleted, [history_name(0), history_name(1)]);
        assert_eq!(store.names(), [history_name(2), history_name(3)]);
    }
    Ok(())
}

#[test]
fn a_file_that_cannot_be_read_is_passed_over() -> TestResult {
    let store = MemoryStore::saved_at([1, 2])?;
    store.fail(Fault::Read, &history_name(2));
    let report = load_newest(&store);
    assert_eq!(report.loaded.map(|loaded| loaded.history.file), Some(sample(1)));
    assert!(matches!(report.skipped.first().map(|skipped| &skipped.reason), Some(SkipReason::Store(_))));
    Ok(())
}

#[test]
fn without_a_readable_file_there_is_nothing_to_start_with_and_nothing_is_purged() -> TestResult {
    let cut = written(&sample(2))?;
    let cut = &cut[..cut.len() - 1];
    let store = MemoryStore::with(&[(&history_name(1), b""), (&history_name(2), cut)]);
    let (report, purge) = load_and_purge(&store);
    assert!(report.loaded.is_none() && report.listing_error.is_none() && purge.is_none());
    let reasons: Vec<_> = report.skipped.iter().map(|skipped| &skipped.reason).collect();
    let expected = [
        SkipReason::Content(ReadHistoryError::Truncated { records: 5, bytes: cut.len() }),
        SkipReason::Empty,
    ];
    assert_eq!(format!("{reasons:?}"), format!("{expected:?}"));
    assert_eq!(store.names().len(), 2);
    Ok(())
}

#[test]
fn files_that_cannot_be_listed_are_no_reason_not_to_start() -> TestResult {
    let store = MemoryStore::saved_at([1])?;
    store.fail(Fault::List, ALL);
    let (report, purge) = load_and_purge(&store);
    assert!(report.loaded.is_none() && report.listing_error.is_some() && purge.is_none());
    Ok(())
}

#[test]
fn a_directory_that_is_not_there_is_empty_and_a_file_is_none() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("clusters/echo/history");
    let store = DirectoryStore::new(&path);
    assert!(store.list()?.is_empty() && load_newest(&store).listing_error.is_none());
    assert!(!path.exists());
    save_now(&store, &sample(5))?;
    assert_eq!(load_newest(&store).loaded.map(|loaded| loaded.history.file), Some(sample(5)));

    let store = DirectoryStore::new(path.join(history_name(5)));
    let report = load_newest(&store);
    assert!(report.loaded.is_none() && report.listing_error.is_some());
    assert!(save_now(&store, &sample(6)).is_err());
    Ok(())
}

#[test]
fn a_copy_never_hides_a_save_and_serves_when_there_is_none() -> TestResult {
    let copy = "rolehistory-backup.json";
    let store = MemoryStore::with(&[(copy, &written(&sample(9))?)]);
    assert_eq!(load_newest(&store).loaded.map(|loaded| loaded.name).as_deref(), Some(copy));
    let saved = save_now(&store, &sample(5))?;
    let (report, purge) = load_and_purge(&store);
    assert_eq!(report.loaded.map(|loaded| loaded.name), Some(saved.name));
    assert!(purge.ok_or("no purge")??.deleted.is_empty());
    Ok(())
}
