//! The control plane's store with 100,000 requests in it, in memory and in a file, whose writes wait for the disk. It
//! takes one request more, accepts requests one by one and 256 at a time, and reads pages of 256.

use std::hint::black_box;

use apportion_placement::control::{
    Change, ControlStore, MemoryControlStore, PlacementRequest, RedbControlStore, StatusCode,
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::Map;
use uuid::Uuid;

const REQUESTS: u64 = 100_000;
const BATCH: u64 = 256;
const NOW_MS: u64 = 1_700_000_000_000;

/// Uuids are spread over their range as random ones are.
fn request(number: u64) -> PlacementRequest {
    PlacementRequest {
        uuid: Uuid::from_u128(u128::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)),
        deployment_id: "application_1700000000000_0042".to_owned(),
        processor_id: (number % 500).to_string(),
        destination_host: format!("node-{:05}.cluster.example.org", number % 10_000),
        request_expiry_ms: Some(60_000),
        timestamp_ms: NOW_MS + number / 4,
        action: None,
        parameters: Map::new(),
        principal: Some("ann".to_owned()),
    }
}

fn puts(numbers: std::ops::Range<u64>) -> Vec<Change> {
    numbers.map(|number| Change::PutRequest(request(number))).collect()
}

fn accept(request: &PlacementRequest) -> [Change; 2] {
    let response = request.answer(StatusCode::Accepted, "the container moves", NOW_MS);
    [Change::PutResponse(response), Change::DeleteRequest(request.uuid)]
}

fn bench_store(criterion: &mut Criterion, name: &str, store: &dyn ControlStore) {
    store.apply(&puts(0..REQUESTS)).expect("there is room");
    let mut group = criterion.benchmark_group(format!("control_store/{name}"));
    group.sample_size(20);
    let mut next = REQUESTS;
    // Numbers that no other request has.
    let mut fresh = |count: u64| {
        next += count;
        next - count..next
    };

    group.throughput(Throughput::Elements(BATCH));
    group.bench_function("page_of_256", |bencher| {
        bencher.iter(|| store.requests(black_box(Some((NOW_MS + 10_000, Uuid::nil()))), 256));
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("put_one", |bencher| {
        let one = || puts(fresh(1));
        bencher.iter_batched(
            one,
            |changes| store.apply(&changes).expect("there is room"),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("accept_one", |bencher| {
        let one = || {
            let numbers = fresh(1);
            store.apply(&puts(numbers.clone())).expect("there is room");
            accept(&request(numbers.start))
        };
        bencher.iter_batched(one, |changes| store.apply(&changes), BatchSize::PerIteration);
    });
    group.throughput(Throughput::Elements(BATCH));
    group.bench_function("accept_256", |bencher| {
        let batch = || {
            let numbers = fresh(BATCH);
            store.apply(&puts(numbers.clone())).expect("there is room");
            numbers.flat_map(|number| accept(&request(number))).collect::<Vec<_>>()
        };
        bencher.iter_batched(batch, |changes| store.apply(&changes), BatchSize::PerIteration);
    });
    group.finish();
}

fn control_store(criterion: &mut Criterion) {
    // Benches add to it as long as they like.
    let memory = MemoryControlStore::new().with_requests_max(u64::MAX);
    bench_store(criterion, "memory", &memory);
    let folder = tempfile::tempdir().expect("there is room");
    let file = RedbControlStore::open(folder.path().join("control.redb")).expect("a new file");
    bench_store(criterion, "file", &file.with_requests_max(u64::MAX));
}

criterion_group!(benches, control_store);
criterion_main!(benches);
