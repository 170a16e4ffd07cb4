//! The saver, which writes on its own thread.

use std::num::NonZeroUsize;
use std::sync::Arc;

use apportion_placement::{
    HistorySaver, HistoryStore, SaverError, StoreError, StoredFile, history_name, load_newest,
};

use crate::support::{ALL, Fault, GatedStore, MemoryStore, TestResult, sample};

fn started<S: HistoryStore + 'static>(store: &Arc<S>) -> std::io::Result<HistorySaver> {
    HistorySaver::start(Arc::clone(store) as Arc<dyn HistoryStore>, HistorySaver::KEEP)
}

#[test]
fn after_a_flush_the_last_offer_is_there() -> TestResult {
    let store = Arc::new(MemoryStore::default());
    let saver = started(&store)?;
    saver.flush()?;
    assert!(store.names().is_empty() && saver.is_ready());
    for ms in 1..=20 {
        saver.offer(sample(ms));
    }
    saver.flush()?;
    assert!(saver.is_ready());
    assert_eq!(load_newest(store.as_ref()).loaded.map(|loaded| loaded.history.file), Some(sample(20)));
    let stats = saver.stop()?;
    assert_eq!((stats.offered, stats.saved + stats.replaced, stats.failed), (20, 20, 0));
    Ok(())
}

#[test]
fn while_a_save_goes_on_only_the_newest_offer_waits() -> TestResult {
    let (store, gate) = GatedStore::new();
    let store = Arc::new(store);
    let saver = started(&store)?;
    assert!(saver.is_ready());
    saver.offer(sample(1));
    assert_eq!(gate.begun.recv()?, history_name(1));
    assert!(!saver.is_ready());
    for ms in 2..=9 {
        saver.offer(sample(ms));
    }
    gate.leave.send(())?;
    assert_eq!(gate.begun.recv()?, history_name(9));
    gate.leave.send(())?;
    saver.flush()?;
    let stats = saver.stop()?;
    assert_eq!((stats.offered, stats.replaced, stats.saved), (9, 7, 2));
    assert_eq!(store.files.names(), [history_name(1), history_name(9)]);
    Ok(())
}

#[test]
fn a_flush_during_a_save_waits_for_the_next_one_too() -> TestResult {
    let (store, gate) = GatedStore::new();
    let store = Arc::new(store);
    let saver = started(&store)?;
    saver.offer(sample(1));
    gate.begun.recv()?;
    saver.offer(sample(2));
    std::thread::scope(|scope| {
        let flush = scope.spawn(|| saver.flush());
        gate.leave.send(())?;
        gate.begun.recv()?;
        // The second save waits at the gate, so the flush must not have ended.
        assert!(!flush.is_finished());
        gate.leave.send(())?;
        flush.join().map_err(|_| "the flush panicked")??;
        TestResult::Ok(())
    })?;
    assert_eq!(store.files.names(), [history_name(1), history_name(2)]);
    Ok(())
}

#[test]
fn a_save_that_failed_is_tried_again_at_the_next_flush() -> TestResult {
    let store = Arc::new(MemoryStore::default());
    store.fail(Fault::Write, ALL);
    let saver = started(&store)?;
    saver.offer(sample(1));
    for _ in 0..2 {
        let failed = saver.flush();
        assert!(matches!(failed, Err(SaverError::Save(_))), "{failed:?}");
    }
    assert!(saver.is_ready(), "an offer would be saved at once");
    let error = saver.last_error().ok_or("there is no error")?;
    assert!(error.to_string().contains("as the test asked for"));
    assert!(saver.stats().failed >= 2);
    store.heal();
    saver.flush()?;
    assert_eq!(store.names(), [history_name(1)]);
    Ok(())
}

#[test]
fn a_newer_offer_replaces_a_failed_one() -> TestResult {
    let store = Arc::new(MemoryStore::default());
    store.fail(Fault::Write, &history_name(1));
    let saver = started(&store)?;
    saver.offer(sample(1));
    assert!(saver.flush().is_err());
    saver.offer(sample(2));
    saver.flush()?;
    assert_eq!(store.names(), [history_name(2)]);
    Ok(())
}

#[test]
fn a_save_that_fails_under_a_flush_is_made_up_for_by_the_offer_behind_it() -> TestResult {
    let (store, gate) = GatedStore::new();
    let store = Arc::new(store);
    store.files.fail(Fault::Write, &history_name(1));
    let saver = started(&store)?;
    saver.offer(sample(1));
    gate.begun.recv()?;
    saver.offer(sample(2));
    drop(gate);
    saver.flush()?;
    let stats = saver.stop()?;
    assert_eq!((stats.failed, stats.replaced, stats.saved), (1, 1, 1));
    assert_eq!(store.files.names(), [history_name(2)]);
    Ok(())
}

#[test]
fn a_saver_saves_the_waiting_offer_when_it_stops_or_is_dropped() -> TestResult {
    for is_dropped in [false, true] {
        let (store, gate) = GatedStore::new();
        let store = Arc::new(store);
        let saver = started(&store)?;
        saver.offer(sample(1));
        gate.begun.recv()?;
        saver.offer(sample(2));
        drop(gate);
        if is_dropped {
            drop(saver);
        } else {
            saver.stop()?;
        }
        assert_eq!(store.files.names(), [history_name(1), history_name(2)]);
    }
    Ok(())
}

#[test]
fn a_saver_that_stops_reports_an_unsaved_offer() -> TestResult {
    let store = Arc::new(MemoryStore::default());
    store.fail(Fault::List, ALL);
    let saver = started(&store)?;
    saver.offer(sample(1));
    assert!(matches!(saver.stop(), Err(SaverError::Save(_))));
    Ok(())
}

#[test]
fn old_files_go_and_those_that_cannot_be_deleted_are_counted() -> TestResult {
    let store = Arc::new(MemoryStore::saved_at(1..=4)?);
    store.fail(Fault::Delete, &history_name(1));
    let keep = NonZeroUsize::MIN.saturating_add(1);
    let saver = HistorySaver::start(Arc::clone(&store) as Arc<dyn HistoryStore>, keep)?;
    saver.offer(sample(9));
    saver.flush()?;
    assert_eq!(store.names(), [history_name(1), history_name(4), history_name(9)]);
    let stats = saver.stop()?;
    assert_eq!((stats.saved, stats.purged, stats.purge_failures), (1, 2, 1));
    Ok(())
}

struct Panics;

impl HistoryStore for Panics {
    fn list(&self) -> Result<Vec<StoredFile>, StoreError> {
        panic!("as the test asked for")
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        Err(StoreError::Missing { name: name.to_owned() })
    }

    fn write_atomically(&self, _: &str, _: &[u8]) -> Result<(), StoreError> {
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        Err(StoreError::Missing { name: name.to_owned() })
    }
}

#[test]
fn callers_do_not_wait_for_a_panicked_saver() -> TestResult {
    let saver = started(&Arc::new(Panics))?;
    saver.offer(sample(1));
    assert!(matches!(saver.flush(), Err(SaverError::Gone)));
    assert!(!saver.is_ready());
    saver.offer(sample(2));
    assert!(matches!(saver.flush(), Err(SaverError::Gone)));
    assert!(matches!(saver.stop(), Err(SaverError::Gone)));
    Ok(())
}
