//! A refused change leaves the store unchanged.

use apportion_placement::control::{Change, ControlStoreError, KEY_MAX, MessageProblem, request_key};

use crate::support::{Bed, REQUESTS_MAX, TestResult, accepted, full, plain, uuid};

with_both_stores!(
    the_first_request_of_a_uuid_is_kept,
    the_first_outcome_of_a_uuid_is_kept,
    a_full_store_takes_no_more,
    one_refused_change_undoes_all,
    a_change_that_could_not_be_read_again_is_refused,
);

fn the_first_request_of_a_uuid_is_kept(bed: &Bed) -> TestResult {
    let first = full(1, 10);
    bed.put(std::slice::from_ref(&first))?;
    let duplicate = Err(ControlStoreError::Duplicate(uuid(1)));
    assert_eq!(bed.put(&[plain(1, 5)]), duplicate);
    assert_eq!(bed.put(std::slice::from_ref(&first)), duplicate);
    let raw = |bytes: Vec<u8>| [Change::PutRawRequest { key: request_key(uuid(1)), bytes }];
    assert_eq!(bed.apply(&raw(plain(1, 5).write()?)), duplicate);
    assert_eq!(bed.apply(&raw(b"rubbish".to_vec())), duplicate);
    assert_eq!(bed.put(&[plain(2, 1), plain(2, 1)]), Err(ControlStoreError::Duplicate(uuid(2))));
    assert_eq!(bed.store.requests(None, 10)?.requests, [first]);
    assert_eq!(bed.counts()?, (1, 0, 0));
    Ok(())
}

fn the_first_outcome_of_a_uuid_is_kept(bed: &Bed) -> TestResult {
    let request = plain(1, 10);
    bed.put(std::slice::from_ref(&request))?;
    bed.apply(&[Change::PutResponse(accepted(&request)), Change::DeleteRequest(request.uuid)])?;
    assert_eq!(bed.put(&[full(1, 10)]), Err(ControlStoreError::Duplicate(uuid(1))));
    assert_eq!(bed.store.response(uuid(1))?, Some(accepted(&request)));
    bed.apply(&[Change::DeleteResponse(uuid(1)), Change::PutRequest(full(1, 20))])?;
    assert_eq!(bed.counts()?, (1, 0, 0));
    Ok(())
}

fn a_full_store_takes_no_more(bed: &Bed) -> TestResult {
    let bad = |number| Change::PutRawRequest { key: format!("{number}"), bytes: Vec::new() };
    bed.apply(&[bad(1), bad(2)])?;
    let room = u128::from(REQUESTS_MAX) - 2;
    bed.put(&(1..room).map(|number| plain(number, 5)).collect::<Vec<_>>())?;
    let full = Err(ControlStoreError::Full { max: REQUESTS_MAX });
    assert_eq!(bed.put(&[plain(100, 1), plain(101, 1)]), full, "as a whole");
    assert_eq!(bed.counts()?, (REQUESTS_MAX - 3, 0, 2));
    bed.put(&[plain(100, 1)])?;
    assert_eq!(bed.put(&[plain(101, 1)]), full);
    assert_eq!(bed.apply(&[bad(3)]), full);
    bed.apply(&[bad(2), Change::PutResponse(accepted(&plain(101, 1)))])?;
    assert_eq!(bed.apply(&[Change::PutRequest(plain(102, 1)), Change::DeleteRequest(uuid(1))]), full);
    bed.apply(&[Change::DeleteRequest(uuid(1)), Change::PutRequest(plain(102, 1))])?;
    assert_eq!(bed.counts()?, (REQUESTS_MAX - 2, 1, 2));
    Ok(())
}

fn one_refused_change_undoes_all(bed: &Bed) -> TestResult {
    bed.put(&[plain(1, 10), plain(2, 20)])?;
    bed.apply(&[
        Change::PutResponse(accepted(&plain(3, 1))),
        Change::PutRawRequest { key: "x".to_owned(), bytes: b"{".to_vec() },
    ])?;
    let before = (bed.store.requests(None, 10)?, bed.store.responses(None, 10)?, bed.store.written());
    let refused = bed.apply(&[
        Change::DeleteRequest(uuid(1)),
        Change::PutRequest(full(1, 30)),
        Change::PutResponse(plain(3, 1).answer(apportion_placement::control::StatusCode::Failed, "", 2)),
        Change::DeleteResponse(uuid(3)),
        Change::DeleteBad("x".to_owned()),
        Change::PutRawRequest { key: "y".to_owned(), bytes: Vec::new() },
        Change::PutRequest(plain(4, 1)),
        Change::PutRequest(plain(2, 1)),
    ]);
    assert_eq!(refused, Err(ControlStoreError::Duplicate(uuid(2))));
    let after = (bed.store.requests(None, 10)?, bed.store.responses(None, 10)?, bed.store.written());
    assert_eq!(after, before);
    assert_eq!(bed.store.request(uuid(1))?, Some(plain(1, 10)));
    assert_eq!(bed.store.request(uuid(4))?, None);
    Ok(())
}

fn a_change_that_could_not_be_read_again_is_refused(bed: &Bed) -> TestResult {
    let mut request = plain(1, 10);
    request.destination_host = "x".repeat(1 << 20);
    let refused = bed.put(&[plain(2, 1), request]).expect_err("too long");
    let ControlStoreError::Message(error) = refused else { panic!("{refused}") };
    assert_eq!(error.uuid, Some(uuid(1)));
    assert!(matches!(error.problem, MessageProblem::TextTooLong { field: "destinationHost", .. }));
    let key = "x".repeat(KEY_MAX + 1);
    let refused = bed.apply(&[Change::PutRawRequest { key, bytes: Vec::new() }]);
    assert!(matches!(refused, Err(ControlStoreError::TooLong { what: "the key", .. })));
    assert_eq!(bed.counts()?, (0, 0, 0));
    Ok(())
}
