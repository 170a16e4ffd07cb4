//! Which files a purge deletes (scenario S39), and which it never deletes.

use apportion_placement::{PurgeError, history_name, keep_last, purge_before};

use crate::support::{ALL, Fault, MemoryStore, TestResult};

fn names(times: &[u64]) -> Vec<String> {
    times.iter().map(|ms| history_name(*ms)).collect()
}

#[test]
fn a_purge_deletes_files_older_than_the_kept_one() -> TestResult {
    let store = MemoryStore::saved_at(1..=6)?;
    for (keep, deleted) in [(1, 0), (2, 1), (2, 0), (5, 3), (6, 1)] {
        let purged = purge_before(&store, &history_name(keep))?;
        assert_eq!((purged.deleted.len(), purged.failed.len()), (deleted, 0), "{keep}");
    }
    let gone = purge_before(&store, &history_name(1));
    assert!(matches!(gone, Err(PurgeError::Missing { .. })), "{gone:?}");
    assert_eq!(store.names(), names(&[6]));
    Ok(())
}

#[test]
fn files_that_cannot_be_deleted_do_not_stop_a_purge() -> TestResult {
    let store = MemoryStore::saved_at(1..=4)?;
    store.fail(Fault::Delete, &history_name(2));
    let purged = purge_before(&store, &history_name(4))?;
    assert_eq!(purged.deleted, names(&[1, 3]));
    assert_eq!(purged.failed.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), names(&[2]));
    store.fail(Fault::List, ALL);
    assert!(matches!(keep_last(&store, 1), Err(PurgeError::List(_))));
    Ok(())
}

#[test]
fn the_last_few_are_kept() -> TestResult {
    for (keep, left) in [(1, 1), (2, 2), (5, 5), (6, 6), (7, 6), (usize::MAX, 6)] {
        let store = MemoryStore::saved_at(1..=6)?;
        keep_last(&store, keep)?;
        assert_eq!(store.names(), names(&[1, 2, 3, 4, 5, 6][6 - left..]), "{keep}");
    }
    Ok(())
}

#[test]
fn keeping_none_is_refused() -> TestResult {
    let store = MemoryStore::saved_at(1..=2)?;
    assert!(matches!(keep_last(&store, 0), Err(PurgeError::KeepsNone)));
    assert_eq!(store.names().len(), 2);
    Ok(())
}

#[test]
fn the_newest_readable_file_is_kept_in_any_case() -> TestResult {
    let store = MemoryStore::saved_at([1, 2])?;
    for ms in [3, 4, 5] {
        store.put(&history_name(ms), b"{broken:true}");
    }
    store.put(&history_name(6), b"");
    let purged = keep_last(&store, 2)?;
    assert_eq!(purged.deleted, names(&[1, 3]));
    assert_eq!(store.names(), names(&[2, 4, 5, 6]));
    Ok(())
}

#[test]
fn files_of_other_names_stay() -> TestResult {
    let store = MemoryStore::saved_at([1, 2])?;
    let others = ["file.json", "rolehistory-0.json", "rolehistory-0000000000000000.json.bak"];
    for name in others {
        store.put(name, b"1");
    }
    keep_last(&store, 1)?;
    purge_before(&store, &history_name(2))?;
    assert_eq!(store.names().len(), 1 + others.len());
    Ok(())
}
