//! The order in which requests and responses are read.

use apportion_placement::control::{Change, Page};
use uuid::Uuid;

use crate::support::{Bed, TestResult, accepted, plain, uuid};

with_both_stores!(
    requests_come_in_the_order_of_their_times,
    a_page_goes_on_though_its_last_request_is_deleted,
    responses_come_in_the_order_of_uuids,
    a_page_of_nothing_is_empty,
);

/// Returns all UUIDs, page by page.
fn in_pages(bed: &Bed, limit: usize) -> Result<Vec<Uuid>, Box<dyn std::error::Error>> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = bed.store.requests(after, limit)?;
        assert!(page.requests.len() == limit || page.next.is_none());
        found.extend(page.requests.iter().map(|request| request.uuid));
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
}

fn requests_come_in_the_order_of_their_times(bed: &Bed) -> TestResult {
    let times = [(9, 5), (3, 5), (7, 5), (1, 256), (8, 255), (2, 0), (6, 1 << 40)];
    for (number, time) in times {
        bed.put(&[plain(number, time)])?;
    }
    let expected = [2, 3, 7, 9, 8, 1, 6].map(uuid);
    for limit in 1..=8 {
        assert_eq!(in_pages(bed, limit)?, expected, "{limit} at a time");
    }
    assert_eq!(in_pages(bed, usize::MAX)?, expected);
    Ok(())
}

fn a_page_goes_on_though_its_last_request_is_deleted(bed: &Bed) -> TestResult {
    bed.put(&[plain(1, 5), plain(2, 5), plain(3, 5)])?;
    let page = bed.store.requests(None, 2)?;
    assert_eq!(page.next, Some((5, uuid(2))));
    bed.apply(&[Change::DeleteRequest(uuid(2)), Change::PutRequest(plain(9, 4))])?;
    let rest = bed.store.requests(page.next, 2)?;
    assert_eq!(rest, Page { requests: vec![plain(3, 5)], ..Page::default() });
    Ok(())
}

fn responses_come_in_the_order_of_uuids(bed: &Bed) -> TestResult {
    let responses = [3, 1, 2].map(|number| accepted(&plain(number, 10 - number as u64)));
    bed.apply(&responses.clone().map(Change::PutResponse))?;
    let [third, first, second] = responses;
    assert_eq!(bed.store.responses(None, 2)?, [first, second]);
    assert_eq!(bed.store.responses(Some(uuid(2)), 2)?, [third]);
    assert_eq!(bed.store.responses(Some(uuid(3)), 2)?, []);
    Ok(())
}

fn a_page_of_nothing_is_empty(bed: &Bed) -> TestResult {
    assert_eq!(bed.store.requests(None, 5)?, Page::default());
    bed.put(&[plain(1, 5)])?;
    assert_eq!(bed.store.requests(None, 0)?, Page::default());
    assert_eq!(bed.store.requests(Some((5, uuid(1))), 5)?, Page::default());
    assert_eq!(bed.store.responses(None, 0)?, []);
    Ok(())
}
