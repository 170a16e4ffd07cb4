//! Services whose histories are saved.

use std::sync::Arc;
use std::time::{Duration, Instant};

use apportion::Resources;
use apportion_placement::{
    ComponentSpec, FakeCluster, HistorySaver, HistoryStore, Service, ServiceSettings, history_name,
    load_newest,
};

use crate::support::{ALL, Fault, GatedStore, MemoryStore, TestResult};

/// A service with one running instance, so that its history needs saving.
fn running() -> Service<FakeCluster> {
    let mut manager = FakeCluster::new();
    manager.add_node("a", Resources::new(&[4]));
    let mut service = Service::start(vec![web(1)], ServiceSettings::default(), manager, None, 1);
    for now_ms in 1..10 {
        service.tick(now_ms);
    }
    service
}

fn web(desired: u32) -> ComponentSpec {
    ComponentSpec::new("web", 1, desired, Resources::new(&[1]))
}

/// A snapshot of a large history is expensive: the service takes it only when it can be saved.
#[test]
fn changes_during_a_save_are_offered_after_it() -> TestResult {
    let (store, gate) = GatedStore::new();
    let store = Arc::new(store);
    let saver = HistorySaver::start(Arc::clone(&store) as Arc<dyn HistoryStore>, HistorySaver::KEEP)?;
    let mut service = running();
    service.save_with(&saver, 10);
    assert_eq!(gate.begun.recv()?, history_name(10));
    service.flex(vec![web(0)], 11);
    service.tick(12);
    for now_ms in 12..20 {
        service.save_with(&saver, now_ms);
    }
    let offered = saver.stats().offered;
    drop(gate);
    assert_eq!(offered, 1, "no offer that a later one would replace");
    saver.flush()?;
    service.save_with(&saver, 20);
    saver.stop()?;
    let saved = load_newest(store.as_ref()).loaded.ok_or("it was saved")?;
    assert_eq!((saved.name, saved.history.file.entries[0].is_active), (history_name(20), false));
    Ok(())
}

/// Nothing changes after the failed save: the next tick tries again, without a flush.
#[test]
fn a_failed_save_is_retried_without_further_changes() -> TestResult {
    let store = Arc::new(MemoryStore::default());
    store.fail(Fault::Write, ALL);
    let saver = HistorySaver::start(Arc::clone(&store) as Arc<dyn HistoryStore>, HistorySaver::KEEP)?
        .with_retry_after(Duration::from_millis(1));
    let mut service = running();
    service.save_with(&saver, 10);
    let begun = Instant::now();
    while saver.stats().failed == 0 && begun.elapsed() < Duration::from_secs(5) {
        std::thread::yield_now();
    }
    store.heal();
    for hour in 1..1_000_u64 {
        let now_ms = hour * 3_600_000;
        service.tick(now_ms);
        service.save_with(&saver, now_ms);
        std::thread::sleep(Duration::from_micros(100));
    }
    assert!(load_newest(store.as_ref()).loaded.is_some(), "{:?}", saver.stats());
    Ok(())
}
