//! How long a service takes to choose hosts: 10,000 requests over 10,000 hosts that it knows. The limit is 100 ms for
//! all of them, so no request may look at all hosts.

use apportion::Resources;
use apportion_placement::{
    AntiAffinity, ApplicationState, ComponentSpec, HistoryEntry, HistoryFile, NodeReport, Operation,
    PlacementPolicy, ServiceEvent, ServiceSettings,
};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

const HOSTS: u32 = 10_000;

fn host(number: u32) -> String {
    format!("host-{number:05}")
}

/// A service that knows every host, with nothing of it running.
fn service(policy: PlacementPolicy) -> ApplicationState {
    let settings = ServiceSettings { anti_affinity: AntiAffinity::AllAtOnce, ..ServiceSettings::default() };
    let spec = |desired| ComponentSpec::new("server", 1, desired, Resources::new(&[1])).with_policy(policy);
    let mut service = ApplicationState::new(vec![spec(0)], settings, 0);
    let entry = |number| HistoryEntry {
        host: host(number).into(),
        role: 1,
        is_active: false,
        last_used_ms: 1 + u64::from(number * 7_919 % HOSTS),
    };
    let entries = (0..HOSTS).map(entry).collect();
    service.thaw(&HistoryFile { saved_ms: 100_000, roles: 1, mapping: [].into(), entries });
    let capacity = Resources::new(&[10]);
    let report = |number| NodeReport {
        host: host(number).into(),
        rack: format!("rack-{}", number / 40).into(),
        label: "".into(),
        capacity,
        free: capacity,
        is_usable: true,
    };
    service.learn_nodes(&(0..HOSTS).map(report).collect::<Vec<_>>());
    service
}

fn choosing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("choosing 10,000 hosts of 10,000");
    group.sample_size(20);
    for policy in [PlacementPolicy::Normal, PlacementPolicy::Strict, PlacementPolicy::AntiAffinity] {
        let known = service(policy);
        let desired = vec![ComponentSpec::new("server", 1, HOSTS, Resources::new(&[1])).with_policy(policy)];
        group.bench_function(format!("{policy:?}"), |bencher| {
            bencher.iter_batched(
                || (known.clone(), desired.clone()),
                |(mut service, desired)| {
                    let operations = service.handle(ServiceEvent::Flex(desired), 100_001);
                    let placed =
                        |done: &&Operation| matches!(done, Operation::Request(r) if r.hosts.len() == 1);
                    let expected = if policy.uses_history() { HOSTS as usize } else { 0 };
                    assert_eq!(operations.iter().filter(placed).count(), expected);
                    (service, operations)
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, choosing);
criterion_main!(benches);
