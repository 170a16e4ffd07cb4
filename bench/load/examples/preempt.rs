//! The time of one preemption plan in a large full cluster: `cargo run --release -p apportion-load --example preempt`.
//!
//! Half of the leaves use all of the cluster, and the other half waits. Arguments: nodes, containers on each node,
//! leaves, sizes of the waiting asks.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use apportion::config::{Capacity, EngineConfig, Factor, Percent, QueueConfig};
use apportion::preempt::PreemptionPolicy;
use apportion::{ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<i64> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let argument = |place: usize, default: i64| given.get(place).copied().unwrap_or(default);
    let (nodes, on_node, leaves, sizes) =
        (argument(0, 10_000), argument(1, 20), argument(2, 100), argument(3, 4));
    let engine = full_cluster(nodes, on_node, leaves, sizes)?;
    let containers = engine.read(|view| view.container_count());
    let at_once = PreemptionPolicy {
        natural_termination: Percent::ALL,
        per_round: Percent::ALL,
        ..PreemptionPolicy::default()
    };
    for (name, policy) in [("default", PreemptionPolicy::default()), ("at once", at_once)] {
        for _ in 0..3 {
            let start = Instant::now();
            let plan = engine.preemption_plan(&policy);
            let elapsed_ms = start.elapsed().as_secs_f64() * 1e3;
            let victims: usize = plan.preemptions.iter().map(|preemption| preemption.victims.len()).sum();
            println!(
                "{name}: {nodes} nodes, {containers} containers, {} preemptions, {victims} victims, {} asks not helped: \
                 {elapsed_ms:.1} ms",
                plan.preemptions.len(),
                plan.unhelped.len()
            );
        }
    }
    Ok(())
}

/// Leaves with even numbers have filled the cluster; the others ask for containers of several sizes.
fn full_cluster(nodes: i64, on_node: i64, leaves: i64, sizes: i64) -> Result<Engine, Box<dyn Error>> {
    let leaf = |number: i64| {
        QueueConfig::leaf(format!("q{number}"), Capacity::Weight(Factor::ONE)).with_user_limit_factor(None)
    };
    let mut config =
        EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root((0..leaves).map(leaf)));
    config.reservations.delay_ms = None;
    let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None)?;
    let (handle, events) = (engine.handle(), engine.handle().event_stream(1 << 24));
    let size = |times: i64| Resources::new(&[1_024 * times, 1_000 * times]);
    for number in 0..nodes {
        handle.add_node(NodeSpec::new(format!("n{number}"), size(on_node)))?;
    }
    let submit = |number: i64, times: i64, count: i64| -> Result<(), Box<dyn Error>> {
        let spec = ApplicationSpec::new("application", format!("root.q{number}"), "user");
        let application = handle.submit_application(spec, &events)?;
        handle.submit_ask(application, AskSpec::new(size(times), u32::try_from(count)?))?;
        Ok(())
    };
    let each = nodes * on_node * 2 / leaves / 10;
    for number in (0..leaves).step_by(2) {
        (0..10).try_for_each(|_| submit(number, 1, each))?;
    }
    engine.run_until_quiet();
    for number in (1..leaves).step_by(2) {
        (1..=sizes).try_for_each(|times| submit(number, times, each))?;
    }
    engine.run_until_quiet();
    Ok(engine)
}
