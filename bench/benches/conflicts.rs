//! A conflict storm: every ask names the same ten nodes. However many propose, they must not lose what one gains.

use std::sync::Arc;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, Engine, EventKind, EventStream, ManualClock, Mode, NodeId,
    NodeSpec, ResourceTypes, Resources,
};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const NODES: usize = 10_000;
const WANTED_NODES: usize = 10;
const APPLICATIONS: u32 = 100;
const ASKS_EACH: u32 = 20;
const CONTAINERS_EACH: u32 = 5;
/// What one container takes of both types.
const SIZE: i64 = 100;
const CONTAINERS: u32 = APPLICATIONS * ASKS_EACH * CONTAINERS_EACH;

/// How much room each of the ten nodes has.
#[derive(Clone, Copy)]
enum Room {
    /// For all of it, so that nothing but the others stands in the way.
    Ample,
    /// For a two-hundredth of it: whoever completes makes room for one more, and everybody wants it.
    Tight,
}

struct Storm {
    engine: Engine,
    events: EventStream,
    applications: Vec<ApplicationId>,
    wanted: Vec<NodeId>,
}

fn storm(proposers: usize, room: Room) -> Storm {
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let clock = Arc::new(ManualClock::new());
    let engine = Engine::start(config, Mode::Parallel { proposers }, clock, None).expect("a valid one");
    let handle = engine.handle();
    let containers = match room {
        Room::Ample => CONTAINERS,
        Room::Tight => CONTAINERS / 200,
    };
    let capacity = Resources::new(&[SIZE * i64::from(containers); 2]);
    let add = |number: usize| {
        handle.add_node(NodeSpec::new(format!("node-{number}"), capacity)).expect("a new name")
    };
    let nodes: Vec<NodeId> = (0..NODES).map(add).collect();
    let wanted = (0..WANTED_NODES).map(|number| nodes[number * NODES / WANTED_NODES]).collect();
    let events = handle.event_stream(4 * CONTAINERS as usize);
    let submit = |number| {
        let spec = ApplicationSpec::new(format!("a{number}"), "root.default", format!("user{number}"));
        handle.submit_application(spec, &events).expect("a known queue")
    };
    let applications = (0..APPLICATIONS).map(submit).collect();
    engine.run_until_quiet();
    Storm { engine, events, applications, wanted }
}

fn ask(storm: &Storm, application: ApplicationId, number: usize) {
    // Each begins with another of the ten, and will do with none but these.
    let hosts = storm.wanted.iter().cycle().skip(number % WANTED_NODES).take(WANTED_NODES).copied();
    let spec = AskSpec::new(Resources::new(&[SIZE; 2]), CONTAINERS_EACH).on_hosts(hosts).strictly_local();
    storm.engine.handle().submit_ask(application, spec).expect("a possible ask");
}

/// Asks for everything, and completes each container as soon as it is told of it.
fn weather(storm: &Storm) {
    for number in 0..ASKS_EACH as usize {
        for (place, application) in storm.applications.iter().enumerate() {
            ask(storm, *application, number + place);
        }
    }
    let (handle, mut placed) = (storm.engine.handle(), 0);
    while placed < CONTAINERS {
        let event = storm.events.wait_next().expect("all events find room").expect("the engine runs");
        if let EventKind::Allocated { container, .. } = event.kind {
            placed += 1;
            handle.complete_container(container).expect("the engine runs");
        }
    }
    storm.engine.run_until_quiet();
}

fn conflicts(criterion: &mut Criterion) {
    for (room, name) in [(Room::Ample, "ample room"), (Room::Tight, "little room")] {
        let mut group = criterion.benchmark_group(format!("10,000 containers pinned to 10 nodes, {name}"));
        group.throughput(Throughput::Elements(u64::from(CONTAINERS))).sample_size(20);
        for proposers in [1, 2, 4, 8] {
            let id = BenchmarkId::new("proposers", proposers);
            group.bench_with_input(id, &proposers, |bencher, proposers| {
                bencher.iter_batched_ref(
                    || storm(*proposers, room),
                    |storm| weather(storm),
                    BatchSize::PerIteration,
                );
            });
            let last = storm(proposers, room);
            weather(&last);
            let stats = last.engine.stats();
            let (percent, batches) = (100.0 * stats.rejected_fraction(), stats.batches);
            println!(
                "{proposers} proposers: {percent:.2} % rejected, {batches} batches, {} groups",
                stats.groups
            );
        }
        group.finish();
    }
}

criterion_group!(benches, conflicts);
criterion_main!(benches);
