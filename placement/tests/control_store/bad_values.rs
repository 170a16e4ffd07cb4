//! Values of other writers that are not requests.

use apportion_placement::control::{
    BadEntry, Change, KEY_MAX, MESSAGE_MAX, MessageProblem, PlacementRequest, request_key, response_key,
};
use serde_json::{Value, json};

use crate::support::{Bed, TestResult, full, plain, uuid};

with_both_stores!(
    bad_values_are_reported_and_skipped,
    bad_values_stand_on_the_first_page_only,
    a_good_request_takes_the_place_of_a_bad_value,
    a_valid_message_of_another_writer_is_a_request,
    values_under_wrong_keys_are_no_requests,
);

fn message(number: u128) -> Value {
    serde_json::from_slice(&plain(number, 1).write().expect("it can be written")).expect("JSON")
}

fn raw(key: &str, bytes: impl Into<Vec<u8>>) -> Change {
    Change::PutRawRequest { key: key.to_owned(), bytes: bytes.into() }
}

/// One value of each kind that is bad under any key but that of UUID 100.
fn bad_bytes() -> Vec<Vec<u8>> {
    let with = |field: &str, value: Value| {
        let mut message = message(100);
        message[field] = value;
        message.to_string().into_bytes()
    };
    let mut all: Vec<Vec<u8>> =
        ["subType", "uuid", "deploymentId", "processorId", "destinationHost", "timestamp"]
            .into_iter()
            .flat_map(|field| {
                let mut message = message(100);
                message.as_object_mut().expect("an object").remove(field);
                [message.to_string().into_bytes(), with(field, Value::Null)]
            })
            .collect();
    all.extend([
        with("subType", json!("ContainerRestartMessage")),
        with("requestExpiry", json!(0)),
        with("requestExpiry", json!(-5)),
        with("timestamp", json!(-1)),
        with("destinationHost", "x".repeat(1 << 20).into()),
        with("parameters", json!([])),
        with("timestamp", json!(2)),
        b"not JSON".to_vec(),
        b"{\"uuid\":\"\xff\"}".to_vec(),
        b"null".to_vec(),
        vec![0; 16],
        Vec::new(),
        vec![b'['; 60_000],
        // The longest value that is kept, and one more byte.
        vec![0xff; MESSAGE_MAX],
        vec![0xff; MESSAGE_MAX + 1],
    ]);
    all
}

fn bad_values_are_reported_and_skipped(bed: &Bed) -> TestResult {
    let good = [plain(1_000, 5), full(1_001, 6)];
    bed.put(&good)?;
    for bytes in bad_bytes() {
        let key = request_key(uuid(7));
        bed.apply(&[raw(&key, bytes.clone())])?;
        let page = bed.store.requests(None, 10)?;
        assert_eq!(page.requests, good, "the others are read");
        let [entry] = &page.bad[..] else { panic!("{} bad values", page.bad.len()) };
        assert_eq!((&entry.key, entry.uuid), (&key, Some(uuid(7))));
        match PlacementRequest::read(&bytes) {
            Err(error) => assert_eq!(entry.error, error),
            Ok(_) => assert_eq!(entry.error.problem, MessageProblem::KeyOfAnother { key: uuid(7) }),
        }
        assert_eq!((bed.counts()?, bed.store.request(uuid(7))?), ((2, 0, 1), None));
        bed.apply(&[Change::DeleteBad(key)])?;
        assert_eq!((bed.counts()?, bed.store.requests(None, 10)?.bad), ((2, 0, 0), Vec::new()));
    }
    Ok(())
}

fn bad_values_stand_on_the_first_page_only(bed: &Bed) -> TestResult {
    bed.put(&[plain(1, 5), plain(2, 6)])?;
    bed.apply(&["c", "a", "b"].map(|key| raw(key, *b"{}")))?;
    let page = bed.store.requests(None, 1)?;
    let keys = |bad: &[BadEntry]| bad.iter().map(|entry| entry.key.clone()).collect::<Vec<_>>();
    assert_eq!((keys(&page.bad), page.requests), (vec!["a".to_owned()], vec![plain(1, 5)]));
    let rest = bed.store.requests(page.next, 10)?;
    assert_eq!((rest.bad, rest.requests), (Vec::new(), vec![plain(2, 6)]));
    assert_eq!(keys(&bed.store.requests(None, 10)?.bad), ["a", "b", "c"]);
    Ok(())
}

fn a_good_request_takes_the_place_of_a_bad_value(bed: &Bed) -> TestResult {
    let key = request_key(uuid(1));
    bed.apply(&[raw(&key, *b"{}")])?;
    bed.apply(&[raw(&key, *b"[]")])?;
    assert_eq!(bed.counts()?, (0, 0, 1));
    let error = &bed.store.requests(None, 10)?.bad[0].error;
    assert_eq!(error.problem, MessageProblem::NotAnObject { found: "a list" });
    bed.put(&[plain(1, 5)])?;
    assert_eq!(bed.counts()?, (1, 0, 0));
    assert_eq!(bed.store.requests(None, 10)?.requests, [plain(1, 5)]);
    Ok(())
}

fn a_valid_message_of_another_writer_is_a_request(bed: &Bed) -> TestResult {
    let mut foreign = message(1);
    foreign["statusCode"] = "SUCCEEDED".into();
    foreign["note"] = json!({ "a": [1, 2] });
    bed.apply(&[raw(&request_key(uuid(1)), serde_json::to_vec_pretty(&foreign)?)])?;
    assert_eq!(bed.store.request(uuid(1))?, Some(plain(1, 1)));
    assert_eq!(bed.store.requests(None, 10)?.requests, [plain(1, 1)]);
    assert_eq!(bed.counts()?, (1, 0, 0));
    Ok(())
}

fn values_under_wrong_keys_are_no_requests(bed: &Bed) -> TestResult {
    let bytes = full(0xabc, 1).write()?;
    let keys = [
        String::new(),
        "x".repeat(KEY_MAX),
        response_key(uuid(0xabc)),
        request_key(uuid(0xabc)).to_uppercase(),
        request_key(uuid(0xabc)).replace('-', ""),
        format!("{}x", request_key(uuid(0xabc))),
    ];
    for key in keys {
        bed.apply(&[raw(&key, bytes.clone())])?;
        let page = bed.store.requests(None, 10)?;
        let entry = &page.bad[0];
        assert_eq!((&entry.key, entry.uuid), (&key, Some(uuid(0xabc))), "its message names it");
        assert!(matches!(entry.error.problem, MessageProblem::Key { .. }), "{}", entry.error);
        bed.apply(&[Change::DeleteBad(key)])?;
    }
    bed.apply(&[raw("odd", vec![b' '; MESSAGE_MAX + 1])])?;
    assert_eq!(bed.store.requests(None, 1)?.bad[0].uuid, None);
    Ok(())
}
