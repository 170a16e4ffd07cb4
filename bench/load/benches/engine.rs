//! The engine as its embedder uses it, in serial mode, where every run does the same work.

use std::sync::Arc;

use apportion::config::{Capacity, EngineConfig, Factor, ParallelLimits, QueueConfig};
use apportion::event::EventKind;
use apportion::{
    ApplicationSpec, AskSpec, Engine, EventStream, ManualClock, Mode, NodeSpec, ResourceTypes, Resources,
};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const CONTAINERS: u32 = 10_000;

/// An engine with this many nodes of 32 vcores and 128 GiB and an application without asks.
fn engine_with(nodes: usize) -> (Engine, EventStream, apportion::ApplicationId) {
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let engine =
        Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).expect("a valid one");
    let handle = engine.handle();
    for number in 0..nodes {
        let capacity = Resources::new(&[131_072, 32_000]);
        handle.add_node(NodeSpec::new(format!("node-{number}"), capacity)).expect("a new name");
    }
    let events = handle.event_stream(2 * CONTAINERS as usize);
    let spec = ApplicationSpec::new("bench", "root.default", "user");
    let application = handle.submit_application(spec, &events).expect("a known queue");
    engine.run_until_quiet();
    (engine, events, application)
}

fn place(engine: &Engine, application: apportion::ApplicationId) {
    let ask = AskSpec::new(Resources::new(&[1_024, 100]), CONTAINERS);
    engine.handle().submit_ask(application, ask).expect("a possible ask");
    engine.run_until_quiet();
}

/// From ask to committed container; this time should hardly depend on the number of nodes.
fn placement(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("place 10,000 containers");
    group.throughput(Throughput::Elements(u64::from(CONTAINERS))).sample_size(20);
    for nodes in [1_000, 10_000, 100_000] {
        group.bench_with_input(BenchmarkId::new("nodes", nodes), &nodes, |bencher, nodes| {
            bencher.iter_batched_ref(
                || engine_with(*nodes),
                |(engine, _, application)| place(engine, *application),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// Containers complete and others take their place.
fn churn(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("complete and place 10,000 containers");
    group.throughput(Throughput::Elements(u64::from(CONTAINERS))).sample_size(20);
    group.bench_function("nodes/10000", |bencher| {
        let (engine, events, application) = engine_with(10_000);
        place(&engine, application);
        bencher.iter(|| {
            let mut happened = Vec::new();
            events.drain_into(&mut happened).expect("all events found room");
            for event in happened {
                if let EventKind::Allocated { container, .. } = event.kind {
                    engine.handle().complete_container(container).expect("the engine runs");
                }
            }
            place(&engine, application);
        });
    });
    group.finish();
}

/// Ten users submit two hundred applications each, spread over the leaves; each user may have a hundred active.
fn activation(criterion: &mut Criterion) {
    const APPLICATIONS: usize = 2_000;
    let mut group = criterion.benchmark_group("submit 2,000 applications of which half wait");
    group.throughput(Throughput::Elements(APPLICATIONS as u64)).sample_size(10);
    for leaves in [10, 500] {
        group.bench_with_input(BenchmarkId::new("leaves", leaves), &leaves, |bencher, leaves| {
            bencher.iter_batched_ref(
                || engine_of_leaves(*leaves),
                |engine| {
                    let handle = engine.handle();
                    let events = handle.event_stream(1 << 14);
                    for number in 0..APPLICATIONS {
                        let queue = format!("root.leaf-{}", number % leaves);
                        let user = format!("user-{}", number / 200);
                        let spec = ApplicationSpec::new(format!("application-{number}"), queue, user);
                        handle.submit_application(spec, &events).expect("a known queue");
                    }
                    engine.run_until_quiet();
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// An engine with this many leaves. A user may have a hundred active applications in all leaves together.
fn engine_of_leaves(leaves: usize) -> Engine {
    let leaf = |number| QueueConfig::leaf(format!("leaf-{number}"), Capacity::Weight(Factor::ONE));
    let limits = ParallelLimits { per_user: Some(100), ..ParallelLimits::default() };
    let root = QueueConfig::root((0..leaves).map(leaf).collect::<Vec<_>>()).with_parallel(limits);
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
    Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).expect("a valid one")
}

criterion_group!(benches, placement, churn, activation);
criterion_main!(benches);
