//! A whole pass as in a busy cluster: twenty leaves, a thousand applications, sizes of all kinds.

use criterion::{BenchmarkId, Criterion, Throughput};

use super::cluster::{BATCH, Cluster, Shape};
use super::sizes;

const CONTAINERS_PER_NODE: usize = 17;
/// Number of pending asks: more than a pass can serve.
const PENDING: usize = 8 * BATCH;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("propose");
    group.throughput(Throughput::Elements(BATCH as u64));
    for &nodes in sizes(&[1_000, 10_000]) {
        let mut cluster = Cluster::start(Shape::shared(nodes));
        cluster.fill(nodes * CONTAINERS_PER_NODE);
        cluster.ask_for(PENDING);
        let id = BenchmarkId::new("a full batch, nodes", nodes);
        group.bench_function(id, |bencher| bencher.iter_custom(|passes| cluster.time_passes(passes)));
    }
    group.finish();
}
