//! The choice of the next queue and application: shares, and passes on one endless node, where finding room costs
//! nothing.

use std::hint::black_box;
use std::sync::Arc;

use apportion::config::ApplicationOrdering;
use apportion::resource::dominant_share;
use apportion::{AskSpec, ManualClock, Resources};
use criterion::{BenchmarkId, Criterion, Throughput};

use super::cluster::{BATCH, Cluster, Shape};
use super::sizes;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("order");
    for (name, used, total) in [
        ("dominant share, 2 types", Resources::new(&[1_024, 100]), Resources::new(&[131_072, 32_000])),
        ("dominant share, 8 types", Resources::new(&[7; 8]), Resources::new(&[1_000; 8])),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| dominant_share(black_box(&used), black_box(&total)));
        });
    }
    group.throughput(Throughput::Elements(BATCH as u64));
    for &leaves in sizes(&[10, 100, 1_000]) {
        let shape = Shape { leaves, applications: leaves, ..Shape::of_nodes(1) };
        let mut cluster = on_one_node(shape);
        let id = BenchmarkId::new("of leaves", leaves);
        group.bench_function(id, |bencher| bencher.iter_custom(|passes| cluster.time_passes(passes)));
    }
    for (name, ordering) in [
        ("of applications, first in, first out", ApplicationOrdering::Fifo),
        ("of applications, fair", ApplicationOrdering::Fair),
    ] {
        for &applications in sizes(&[10, 1_000, 10_000]) {
            let shape = Shape { applications, ordering, ..Shape::of_nodes(1) };
            let mut cluster = on_one_node(shape);
            let id = BenchmarkId::new(name, applications);
            group.bench_function(id, |bencher| bencher.iter_custom(|passes| cluster.time_passes(passes)));
        }
    }
    for &users in sizes(&[10, 100, 1_000]) {
        let shape = Shape { applications: users, users_per_leaf: users, shares: true, ..Shape::of_nodes(1) };
        let mut cluster = on_one_node(shape);
        let id = BenchmarkId::new("of users held to shares", users);
        group.bench_function(id, |bencher| bencher.iter_custom(|passes| cluster.time_passes(passes)));
    }
    group.finish();
}

/// A cluster in which every application wants as much as a whole batch can hold.
fn on_one_node(shape: Shape) -> Cluster {
    let endless = Resources::new(&[1 << 40; 2]);
    let mut cluster = Cluster::assemble(shape, |_| endless, Arc::new(ManualClock::new()), None);
    let spec = AskSpec::new(Resources::new(&[4_096, 1_000]), BATCH as u32);
    let asks: Vec<_> = cluster.applications.iter().map(|id| (*id, spec.clone())).collect();
    for asks in asks.chunks(BATCH) {
        cluster.ask(asks.to_vec());
        cluster.commit_waiting();
    }
    cluster
}
