//! Group commits in a busy cluster: placements, asks and completions of containers.

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};

use super::cluster::{BATCH, Cluster, Shape};
use super::sizes;

const CONTAINERS_PER_NODE: usize = 17;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("commit");
    group.throughput(Throughput::Elements(BATCH as u64));
    for &nodes in sizes(&[1_000, 10_000]) {
        let mut cluster = Cluster::start(Shape::shared(nodes));
        cluster.fill(nodes * CONTAINERS_PER_NODE);
        for (name, turn) in TURNS {
            let name = format!("{name}/{nodes}");
            group.bench_function(name, |bencher| {
                bencher.iter_custom(|rounds| (0..rounds).map(|_| round(&mut cluster)[turn]).sum());
            });
        }
    }
    group.finish();
}

/// The timed parts of a round, with their places.
const TURNS: [(&str, usize); 3] = [("asks, nodes", 0), ("placements, nodes", 1), ("completions, nodes", 2)];

/// Asks for a batch of containers, places them, and lets as many complete. Returns the commit time of each part.
fn round(cluster: &mut Cluster) -> [Duration; 3] {
    let asks = (0..BATCH).map(|_| cluster.draw()).collect();
    cluster.ask(asks);
    let asked = time_commit(cluster);
    let before = cluster.engine.stats();
    let batch = cluster.propose_full_batch();
    cluster.send(batch);
    let placed = time_commit(cluster);
    assert_eq!(cluster.engine.stats().committed - before.committed, BATCH as u64, "nothing is rejected");
    cluster.run_until_idle();
    cluster.complete(BATCH);
    [asked, placed, time_commit(cluster)]
}

fn time_commit(cluster: &mut Cluster) -> Duration {
    let begun = Instant::now();
    cluster.commit_waiting();
    begun.elapsed()
}
