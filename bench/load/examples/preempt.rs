//! The time of one preemption plan in a large full cluster, and of a round that carries one out: `cargo run --release
//! -p apportion-load --example preempt`.
//!
//! Half of the leaves use all of the cluster, and the other half waits. Arguments: nodes, containers on each node,
//! leaves, sizes of the waiting asks.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use apportion::config::{Capacity, EngineConfig, Factor, Percent, PreemptionRounds, QueueConfig};
use apportion::engine::Step;
use apportion::preempt::PreemptionPolicy;
use apportion::{
    ApplicationSpec, AskSpec, Engine, Handle, ManualClock, Mode, NodeSpec, ResourceTypes, Resources,
};

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<i64> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let argument = |place: usize, default: i64| given.get(place).copied().unwrap_or(default);
    let (nodes, on_node, leaves, sizes) =
        (argument(0, 10_000), argument(1, 20), argument(2, 100), argument(3, 4));
    let shape = Shape { nodes, on_node, leaves, sizes };
    let engine = Engine::start(config(leaves), Mode::Serial, Arc::new(ManualClock::new()), None)?;
    shape.fill(&engine.handle(), || engine.run_until_quiet())?;
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
            let of_gangs: usize = plan.gangs.iter().map(|gang| gang.victims.len()).sum();
            let of_single: usize = plan.preemptions.iter().map(|one| one.victims.len()).sum();
            let victims = of_gangs + of_single;
            println!(
                "{name}: {nodes} nodes, {containers} containers, {} preemptions, {victims} victims, {} asks not helped: \
                 {elapsed_ms:.1} ms",
                plan.preemptions.len(),
                plan.unhelped.len()
            );
        }
    }
    run_a_round(&shape)
}

/// Makes one round at once, and times its plan and the groups that carry it out.
fn run_a_round(shape: &Shape) -> Result<(), Box<dyn Error>> {
    let mut config = config(shape.leaves);
    let rounds = PreemptionRounds { max_wait_before_kill_ms: 0, ..PreemptionRounds::default() };
    config.preemption = Some(rounds);
    let clock = Arc::new(ManualClock::new());
    let (engine, mut parts) = Engine::assemble(config, 1, Arc::clone(&clock) as _, None)?;
    let (committer, proposer) = (&mut parts.committer, &mut parts.proposers[0]);
    let mut run_all = || loop {
        while committer.step() == Step::Worked {}
        match proposer.propose() {
            Some(batch) => drop(proposer.send(batch)),
            None => break,
        }
    };
    shape.fill(&engine.handle(), &mut run_all)?;
    clock.set(PreemptionRounds::default().interval_ms);
    while parts.committer.step() == Step::Worked {}
    let start = Instant::now();
    let round = parts.proposers[0].propose().ok_or("no round is wanted")?;
    let planning_ms = start.elapsed().as_secs_f64() * 1e3;
    parts.proposers[0].send(round).map_err(|_| "the committer has ended")?;
    let mut groups_ms = Vec::new();
    loop {
        let start = Instant::now();
        if parts.committer.step() != Step::Worked {
            break;
        }
        groups_ms.push(start.elapsed().as_secs_f64() * 1e3);
    }
    println!(
        "a round: {planning_ms:.1} ms to plan, {} containers ended in {} groups, the longest {:.2} ms",
        engine.stats().preempted,
        groups_ms.len(),
        groups_ms.iter().copied().fold(0.0, f64::max)
    );
    Ok(())
}

struct Shape {
    nodes: i64,
    on_node: i64,
    leaves: i64,
    sizes: i64,
}

fn config(leaves: i64) -> EngineConfig {
    let leaf = |number: i64| {
        QueueConfig::leaf(format!("q{number}"), Capacity::Weight(Factor::ONE)).with_user_limit_factor(None)
    };
    let root = QueueConfig::root((0..leaves).map(leaf));
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
    config.reservations.delay_ms = None;
    config
}

impl Shape {
    /// Leaves with even numbers fill the cluster; the others then ask for containers of several sizes.
    fn fill(&self, handle: &Handle, mut run_all: impl FnMut()) -> Result<(), Box<dyn Error>> {
        let &Self { nodes, on_node, leaves, sizes } = self;
        let events = handle.event_stream(1 << 24);
        let size = |times: i64| Resources::new(&[1_024 * times, 1_000 * times]);
        for number in 0..nodes {
            handle.add_node(NodeSpec::new(format!("n{number}"), size(on_node)))?;
            if number % 500 == 0 {
                run_all();
            }
        }
        let mut submit = |number: i64, times: i64, count: i64| -> Result<(), Box<dyn Error>> {
            let spec = ApplicationSpec::new("application", format!("root.q{number}"), "user");
            let application = handle.submit_application(spec, &events)?;
            handle.submit_ask(application, AskSpec::new(size(times), u32::try_from(count)?))?;
            run_all();
            Ok(())
        };
        let each = nodes * on_node * 2 / leaves / 10;
        for number in (0..leaves).step_by(2) {
            (0..10).try_for_each(|_| submit(number, 1, each))?;
        }
        for number in (1..leaves).step_by(2) {
            (1..=sizes).try_for_each(|times| submit(number, times, each))?;
        }
        Ok(())
    }
}
