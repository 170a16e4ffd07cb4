//! The log of a batch: its changes encoded, with a checksum, up to the sink.
//!
//! The engine encodes a group after it has dropped the guard, and reads the measuring clock just then. The time from
//! that reading to the sink's call is the time of the log.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use apportion::log::{LogSink, LoggedGroup};
use apportion::{Clock, Resources};
use criterion::{Criterion, Throughput};

use super::cluster::{BATCH, Cluster, Shape};

const NODES: usize = 1_000;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("log");
    group.throughput(Throughput::Elements(BATCH as u64));
    let timing = Arc::new(Timing { origin: Instant::now(), left_ns: 0.into(), total_ns: 0.into() });
    let sink = Box::new(TimingSink(Arc::clone(&timing)));
    let capacity = |_| Resources::new(&[256 * 1_024, 64_000]);
    let clock = Arc::clone(&timing) as Arc<dyn Clock>;
    let mut cluster = Cluster::assemble(Shape::shared(NODES), capacity, clock, Some(sink));
    group.bench_function("append 256 placements", |bencher| {
        bencher.iter_custom(|rounds| (0..rounds).map(|_| round(&mut cluster, &timing)).sum());
    });
    group.finish();
}

/// Places a batch of containers and lets them complete. Returns the time of logging the placements.
fn round(cluster: &mut Cluster, timing: &Timing) -> Duration {
    cluster.ask_for(BATCH);
    let batch = cluster.propose_full_batch();
    cluster.send(batch);
    let before_ns = timing.total_ns.load(Ordering::Relaxed);
    cluster.commit_waiting();
    let took_ns = timing.total_ns.load(Ordering::Relaxed) - before_ns;
    cluster.run_until_idle();
    cluster.complete(BATCH);
    cluster.run_until_idle();
    Duration::from_nanos(took_ns)
}

/// Everything runs on one thread; the atomics are needed because a clock and a sink must be `Send`.
#[derive(Debug)]
struct Timing {
    origin: Instant,
    /// The last reading of the clock.
    left_ns: AtomicU64,
    /// Total time from that reading to the sink, over all groups.
    total_ns: AtomicU64,
}

impl Clock for Timing {
    fn now_ms(&self) -> u64 {
        0
    }

    fn measured_ns(&self) -> u64 {
        let now_ns = self.origin.elapsed().as_nanos() as u64;
        self.left_ns.store(now_ns, Ordering::Relaxed);
        now_ns
    }
}

struct TimingSink(Arc<Timing>);

impl LogSink for TimingSink {
    fn start(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        std::hint::black_box(group.frame());
        let Timing { origin, left_ns, total_ns } = &*self.0;
        let now_ns = origin.elapsed().as_nanos() as u64;
        total_ns.fetch_add(now_ns - left_ns.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(())
    }
}
