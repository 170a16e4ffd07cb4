//! Random work with random losses and crashes.

use apportion::Mode;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::Config;

use super::world::{Fate, World};

const NODES: usize = 3;

#[derive(Clone, Debug)]
enum Operation {
    Ask { application: usize, count: u32 },
    Finish { agent: usize, container: Index },
    Stop { container: Index },
    Release { container: Index },
    Beat { agent: usize, fate: Fate },
    Restart { agent: usize, containers_survive: bool },
    RunEngine,
    ReadEvents,
    Resync,
    Advance { by_ms: u64 },
    CrashManager,
}

fn operation() -> impl Strategy<Value = Operation> {
    let fate =
        prop_oneof![3 => Just(Fate::Arrives), 1 => Just(Fate::RequestIsLost), 1 => Just(Fate::AnswerIsLost)];
    prop_oneof![
        3 => (0..2usize, 1..6u32).prop_map(|(application, count)| Operation::Ask { application, count }),
        3 => (0..NODES, any::<Index>()).prop_map(|(agent, container)| Operation::Finish { agent, container }),
        1 => any::<Index>().prop_map(|container| Operation::Stop { container }),
        1 => any::<Index>().prop_map(|container| Operation::Release { container }),
        10 => (0..NODES, fate).prop_map(|(agent, fate)| Operation::Beat { agent, fate }),
        1 => (0..NODES, any::<bool>())
            .prop_map(|(agent, containers_survive)| Operation::Restart { agent, containers_survive }),
        3 => Just(Operation::RunEngine),
        3 => Just(Operation::ReadEvents),
        1 => Just(Operation::Resync),
        1 => (0..600u64).prop_map(|by_ms| Operation::Advance { by_ms }),
        1 => Just(Operation::CrashManager),
    ]
}

fn carry_out(world: &mut World, operation: &Operation) {
    let any_container = |world: &World, index: &Index| {
        let all: Vec<_> = world.containers().into_values().flatten().collect();
        (!all.is_empty()).then(|| *index.get(&all))
    };
    match operation {
        Operation::Ask { application, count } => world.ask(*application, *count),
        Operation::Finish { agent, container } => {
            let agent = &mut world.agents[*agent];
            if !agent.running.is_empty() {
                let all: Vec<_> = agent.running.keys().copied().collect();
                let ended = *container.get(&all);
                agent.running.remove(&ended);
                agent.done.push(ended);
            }
        }
        Operation::Stop { container } => {
            if let Some(container) = any_container(world, container) {
                drop(world.handle.stop_container(container).unwrap());
            }
        }
        Operation::Release { container } => {
            if let Some(container) = any_container(world, container) {
                world.handle.release_container(container).unwrap();
            }
        }
        Operation::Beat { agent, fate } => drop(world.beat(*agent, *fate)),
        Operation::Restart { agent, containers_survive } => world.restart_agent(*agent, *containers_survive),
        Operation::RunEngine => world.engine.run_until_quiet(),
        Operation::ReadEvents => world.read_events(),
        Operation::Resync => world.tracker.resync(),
        Operation::Advance { by_ms } => drop(world.advance(*by_ms)),
        Operation::CrashManager => world.crash(),
    }
}

fn cases(cases: u32) -> Config {
    Config { failure_persistence: None, ..Config::with_cases(cases) }
}

/// Agents run exactly the containers of the engine, and each container was started once at most.
fn play(operations: &[Operation], mode: Mode, stream: usize) {
    let mut world = World::new(NODES, mode, stream);
    for operation in operations {
        carry_out(&mut world, operation);
    }
    world.run_until_idle();
    let audit = world.engine.audit();
    assert!(audit.is_clean(), "{audit}");
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn agents_run_what_the_engine_has_in_serial_mode(
        operations in vec(operation(), 1..80),
        stream in prop_oneof![Just(2), Just(8), Just(1_000)],
    ) {
        play(&operations, Mode::Serial, stream);
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn agents_run_what_the_engine_has_in_parallel_mode(
        operations in vec(operation(), 1..80),
        stream in prop_oneof![Just(2), Just(8), Just(1_000)],
    ) {
        play(&operations, Mode::Parallel { proposers: 2 }, stream);
    }
}
