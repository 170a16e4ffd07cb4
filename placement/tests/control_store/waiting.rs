//! Concurrent threads: a write wakes threads that wait for requests, and readers run beside writers.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use apportion_placement::control::Change;

use crate::support::{Bed, TestResult, accepted, plain, uuid};

with_both_stores!(
    a_write_wakes_waiters,
    only_requests_count,
    a_waiter_that_missed_a_write_returns_at_once,
    readers_see_whole_applies
);

const LONG: Duration = Duration::from_hours(1);

fn a_write_wakes_waiters(bed: &Bed) -> TestResult {
    let store = Arc::clone(&bed.store);
    let seen = store.written();
    // The waiter must wake up whether the request comes before or after its wait begins.
    let waiter = thread::spawn(move || {
        let written = store.wait_for_write(seen, LONG);
        (written, store.requests(None, 10))
    });
    bed.put(&[plain(1, 5)])?;
    let (written, page) = waiter.join().map_err(|_| "the waiter has panicked")?;
    assert_eq!(written, seen + 1);
    assert_eq!(page?.requests, [plain(1, 5)], "the request that woke it can be read");
    Ok(())
}

fn only_requests_count(bed: &Bed) -> TestResult {
    assert_eq!(bed.store.written(), 0);
    bed.put(&[plain(1, 5), plain(2, 5)])?;
    assert_eq!(bed.store.written(), 1);
    bed.apply(&[Change::PutResponse(accepted(&plain(1, 5))), Change::DeleteRequest(uuid(1))])?;
    assert!(bed.put(&[plain(2, 5)]).is_err());
    bed.apply(&[])?;
    assert_eq!((bed.store.written(), bed.store.wait_for_write(1, Duration::from_millis(1))), (1, 1));
    bed.apply(&[Change::PutRawRequest { key: "x".to_owned(), bytes: Vec::new() }])?;
    assert_eq!(bed.store.written(), 2);
    Ok(())
}

fn a_waiter_that_missed_a_write_returns_at_once(bed: &Bed) -> TestResult {
    bed.put(&[plain(1, 5)])?;
    bed.put(&[plain(2, 5)])?;
    assert_eq!(bed.store.wait_for_write(0, LONG), 2);
    assert_eq!(bed.store.wait_for_write(1, Duration::MAX), 2);
    assert_eq!(bed.store.wait_for_write(2, Duration::ZERO), 2);
    Ok(())
}

fn readers_see_whole_applies(bed: &Bed) -> TestResult {
    bed.put(&[plain(0, 5), plain(1, 5)])?;
    let store = Arc::clone(&bed.store);
    let writer = thread::spawn(move || {
        (2..200).step_by(2).try_for_each(|number| {
            let gone = [uuid(number - 2), uuid(number - 1)].map(Change::DeleteRequest);
            let new = [plain(number, 5), plain(number + 1, 5)].map(Change::PutRequest);
            store.apply(&[gone, new].concat())
        })
    });
    let mut last = uuid(0);
    while last != uuid(198) && !(writer.is_finished() && bed.store.written() < 100) {
        let requests = bed.store.requests(None, 10)?.requests;
        let [one, other] = &requests[..] else { panic!("{} requests", requests.len()) };
        assert_eq!(other.uuid.as_u128(), one.uuid.as_u128() + 1);
        assert!(one.uuid >= last);
        last = one.uuid;
    }
    Ok(writer.join().map_err(|_| "the writer has panicked")??)
}
