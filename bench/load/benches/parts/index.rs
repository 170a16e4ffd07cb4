//! The search for room: passes of one application with equal asks, so that only the index differs.

use std::time::{Duration, Instant};

use apportion::config::NodeOrderKind;
use apportion::{AskSpec, Resources};
use criterion::{BenchmarkId, Criterion, Throughput};

use super::cluster::{BATCH, Cluster, Shape};
use super::sizes;

/// Fewer than the 1,024 changes that a set remembers; with more changes the set is rebuilt.
const CHANGES: usize = 1_000;
/// This many containers of 2.4 vcores use about four fifths of a node of 52 vcores on average.
const CONTAINERS_PER_NODE: usize = 17;

pub(crate) fn bench(criterion: &mut Criterion) {
    search(criterion);
    update(criterion);
}

/// Finds the first node in order with room, in clusters that are mostly in use.
fn search(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("index: search");
    group.throughput(Throughput::Elements(BATCH as u64));
    let orders =
        [("spread", NodeOrderKind::Spread), ("pack", NodeOrderKind::Pack), ("first", NodeOrderKind::First)];
    for (name, node_order) in orders {
        for &nodes in sizes(&[1_000, 8_000, 64_000]) {
            let mut cluster = Cluster::start(Shape { node_order, ..Shape::of_nodes(nodes) });
            cluster.fill(nodes * CONTAINERS_PER_NODE);
            let spec = AskSpec::new(Resources::new(&[4_096, 1_000]), BATCH as u32);
            cluster.ask(vec![(cluster.applications[0], spec)]);
            cluster.commit_waiting();
            let id = BenchmarkId::new(name, nodes);
            group.bench_function(id, |bencher| bencher.iter_custom(|passes| cluster.time_passes(passes)));
        }
    }
    group.finish();
}

/// A pass for one container after containers of many nodes have completed: it begins by applying those changes.
fn update(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("index: update");
    group.throughput(Throughput::Elements(CHANGES as u64));
    for &nodes in sizes(&[1_000, 8_000, 64_000]) {
        let mut cluster = Cluster::start(Shape::of_nodes(nodes));
        cluster.fill(nodes * CONTAINERS_PER_NODE);
        let id = BenchmarkId::new("1,000 containers completed", nodes);
        group.bench_function(id, |bencher| {
            bencher.iter_custom(|passes| (0..passes).map(|_| time_update(&mut cluster)).sum());
        });
    }
    group.finish();
}

fn time_update(cluster: &mut Cluster) -> Duration {
    cluster.complete(CHANGES);
    cluster.commit_waiting();
    cluster.ask_for(1);
    let begun = Instant::now();
    let batch = cluster.propose();
    let took = begun.elapsed();
    assert_eq!(batch.requests().len(), 1);
    cluster.send(batch);
    cluster.ask_for(CHANGES - 1);
    cluster.run_until_idle();
    // The latest placements are applied too, or the next update would cover more than its number of changes.
    cluster.ask_for(1);
    cluster.run_until_idle();
    cluster.complete(1);
    cluster.run_until_idle();
    took
}
