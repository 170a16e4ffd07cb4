//! Written values can be read, and deleted ones cannot.

use apportion_placement::control::{Change, Counts, Deployment, StatusCode};

use crate::support::{Bed, TestResult, accepted, full, plain, uuid};

with_both_stores!(
    requests_and_responses_come_back,
    reading_and_deleting_unknown_values_does_nothing,
    deleting_one_leaves_the_others,
    a_later_response_takes_the_place_of_the_one_before,
    deployments_are_kept_by_id,
);

fn requests_and_responses_come_back(bed: &Bed) -> TestResult {
    let requests = [plain(1, 10), full(2, 5)];
    bed.put(&requests)?;
    for request in &requests {
        bed.apply(&[Change::PutResponse(accepted(request))])?;
        assert_eq!(bed.store.request(request.uuid)?.as_ref(), Some(request));
        assert_eq!(bed.store.response(request.uuid)?, Some(accepted(request)));
    }
    Ok(())
}

fn reading_and_deleting_unknown_values_does_nothing(bed: &Bed) -> TestResult {
    assert_eq!(bed.store.request(uuid(1))?, None);
    assert_eq!(bed.store.response(uuid(1))?, None);
    assert_eq!(bed.store.deployment("app-1")?, None);
    assert_eq!(bed.store.counts()?, Counts::default());
    let nothing = [
        Change::DeleteRequest(uuid(1)),
        Change::DeleteResponse(uuid(1)),
        Change::DeleteBad("x".to_owned()),
        Change::DeleteDeployment(String::new()),
    ];
    bed.apply(&nothing)?;
    bed.apply(&[])?;
    assert_eq!(bed.store.counts()?, Counts::default());
    Ok(())
}

fn deleting_one_leaves_the_others(bed: &Bed) -> TestResult {
    let (one, other) = (plain(1, 10), full(2, 20));
    bed.put(&[one.clone(), other.clone()])?;
    bed.apply(&[Change::PutResponse(accepted(&one)), Change::PutResponse(accepted(&other))])?;
    assert_eq!(bed.counts()?, (2, 2, 0));
    bed.apply(&[Change::DeleteResponse(one.uuid)])?;
    assert_eq!(bed.counts()?, (2, 1, 0));
    bed.apply(&[Change::DeleteRequest(one.uuid)])?;
    assert_eq!(bed.counts()?, (1, 1, 0));
    assert_eq!(bed.store.request(one.uuid)?, None);
    assert_eq!(bed.store.response(one.uuid)?, None);
    assert_eq!(bed.store.request(other.uuid)?.as_ref(), Some(&other));
    assert_eq!(bed.store.response(other.uuid)?, Some(accepted(&other)));
    bed.apply(&[Change::DeleteRequest(other.uuid), Change::DeleteResponse(other.uuid)])?;
    assert_eq!(bed.store.counts()?, Counts::default());
    assert_eq!(bed.store.requests(None, 10)?.requests, []);
    Ok(())
}

fn a_later_response_takes_the_place_of_the_one_before(bed: &Bed) -> TestResult {
    let request = plain(1, 10);
    bed.put(std::slice::from_ref(&request))?;
    bed.apply(&[Change::PutResponse(accepted(&request)), Change::DeleteRequest(request.uuid)])?;
    let last = request.answer(StatusCode::Succeeded, "", 30);
    bed.apply(&[Change::PutResponse(last.clone())])?;
    assert_eq!(bed.store.response(request.uuid)?, Some(last.clone()));
    let after_the_last = request.answer(StatusCode::Failed, "", 31);
    bed.apply(&[Change::PutResponse(after_the_last)])?;
    assert_eq!(bed.store.response(request.uuid)?, Some(last));
    assert_eq!(bed.counts()?, (0, 1, 0));
    Ok(())
}

fn deployments_are_kept_by_id(bed: &Bed) -> TestResult {
    let deployment = |id: &str, is_current| Deployment {
        id: id.to_owned(),
        job: "wiki".to_owned(),
        started_ms: 3,
        is_current,
    };
    bed.apply(&[Change::PutDeployment(deployment("b", true)), Change::PutDeployment(deployment("a", true))])?;
    bed.apply(&[Change::PutDeployment(deployment("a", false))])?;
    assert_eq!(bed.store.deployments()?, [deployment("a", false), deployment("b", true)]);
    assert_eq!(bed.store.deployment("b")?, Some(deployment("b", true)));
    bed.apply(&[Change::DeleteDeployment("b".to_owned())])?;
    assert_eq!(bed.store.deployments()?, [deployment("a", false)]);
    let refused = bed.apply(&[Change::PutDeployment(deployment(&"x".repeat(257), true))]);
    assert!(refused.expect_err("too long").to_string().contains("257 bytes; 256 are allowed"));
    Ok(())
}
