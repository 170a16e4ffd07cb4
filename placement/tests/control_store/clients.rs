//! The client of controllers.

use std::sync::Arc;

use apportion_placement::control::{
    Change, ControlStoreError, Counts, Deployment, PlacementClient, PlacementRequest, StatusCode,
};

use crate::support::{Bed, TestResult, accepted, full, plain, uuid};

with_both_stores!(
    a_client_asks_and_finds_the_outcome,
    a_processor_has_its_own_messages,
    delete_all_leaves_deployments,
);

fn client(bed: &Bed) -> PlacementClient {
    PlacementClient::new(Arc::clone(&bed.store))
}

fn a_client_asks_and_finds_the_outcome(bed: &Bed) -> TestResult {
    let client = client(bed);
    let uuid = client.request("app-1", "0", "host-2", Some(1_000), 17)?;
    let other = client.request("app-1", "0", "host-2", None, 17)?;
    assert_ne!(uuid, other);
    assert_eq!(client.outcome(uuid)?, None);
    let request = bed.store.request(uuid)?.ok_or("it is there")?;
    assert_eq!(request, PlacementRequest { uuid, request_expiry_ms: Some(1_000), ..plain(0, 17) });
    let answer = request.answer(StatusCode::Unauthorized, "who is it?", 18);
    bed.apply(&[Change::PutResponse(answer.clone()), Change::DeleteRequest(uuid)])?;
    assert_eq!(client.outcome(uuid)?, Some(answer));
    assert_eq!(client.submit(full(9, 3))?, full(9, 3).uuid);
    assert_eq!(client.submit(full(9, 3)), Err(ControlStoreError::Duplicate(full(9, 3).uuid)));
    assert!(client.request("app-1", "0", "host-2", Some(0), 17).is_err());
    Ok(())
}

fn a_processor_has_its_own_messages(bed: &Bed) -> TestResult {
    let of = |number, time, deployment: &str, processor: &str| PlacementRequest {
        deployment_id: deployment.to_owned(),
        processor_id: processor.to_owned(),
        ..plain(number, time)
    };
    let requests =
        [of(1, 5, "a", "0"), of(2, 7, "a", "0"), of(3, 6, "a", "1"), of(4, 6, "b", "0"), of(5, 7, "a", "0")];
    bed.put(&requests)?;
    let answered = [of(6, 3, "a", "0"), of(7, 4, "a", "0"), of(8, 9, "b", "0")];
    bed.apply(&answered.each_ref().map(|request| Change::PutResponse(accepted(request))))?;
    let found = client(bed).by_processor("a", "0")?;
    assert_eq!(found.requests.iter().map(|one| one.uuid).collect::<Vec<_>>(), [5, 2, 1].map(uuid));
    assert_eq!(found.responses, [accepted(&answered[1]), accepted(&answered[0])]);
    let all = client(bed).list("a")?;
    assert_eq!(all.requests.iter().map(|one| one.uuid).collect::<Vec<_>>(), [5, 2, 3, 1].map(uuid));
    assert_eq!(client(bed).list("c")?, apportion_placement::control::Listing::default());
    Ok(())
}

fn delete_all_leaves_deployments(bed: &Bed) -> TestResult {
    let deployment =
        Deployment { id: "app-1".to_owned(), job: "wiki".to_owned(), started_ms: 1, is_current: true };
    bed.put(&[plain(1, 5), full(2, 5)])?;
    bed.apply(&[
        Change::PutResponse(accepted(&plain(1, 5))),
        Change::PutRawRequest { key: "x".to_owned(), bytes: Vec::new() },
        Change::PutRawRequest { key: "y".to_owned(), bytes: Vec::new() },
        Change::PutDeployment(deployment.clone()),
    ])?;
    assert_eq!(client(bed).delete_all()?, Counts { requests: 2, responses: 1, bad: 2 });
    assert_eq!(bed.store.counts()?, Counts::default());
    assert_eq!(bed.store.deployments()?, [deployment]);
    assert_eq!(client(bed).delete_all()?, Counts::default());
    bed.put(&[plain(1, 5)])?;
    Ok(())
}
