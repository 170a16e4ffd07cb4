//! An embedder's program that is model-checked together with the engine.
//!
//! The program keeps one container of a service running. It asks for a container, and for another as soon as
//! it learns that the first has ended. Meanwhile an operator removes the container's node. In every order of events
//! the service must end with exactly one container, on the remaining node.
//!
//! The first command does all: it builds the program once more for the checker. The others are for a checkout of the
//! engine, where `.cargo/config.toml` has the flags.
//!
//! ```sh
//! cargo run -p apportion --features model --example model -- -- --features model   # up to two preemptions
//! cargo run -p apportion --features model --example model -- --once                # once, on real threads
//! cargo loom-example                                                               # up to two preemptions
//! cargo shuttle-example                                                            # in 1,000 random orders
//! ```

use std::process::ExitCode;
use std::sync::Arc;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::engine::{Parts, Step};
use apportion::event::EventKind;
use apportion::model::{Model, run};
use apportion::sync::{AtomicU64, Ordering, Thread};
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, Engine, EventStream, Handle, ManualClock, NodeSpec,
    ResourceTypes, Resources,
};

/// The embedder's part: keeps one container running and counts its containers.
struct Service {
    handle: Handle,
    events: EventStream,
    application: ApplicationId,
    /// The count, readable by other threads.
    running: Arc<AtomicU64>,
}

impl Service {
    fn start(handle: Handle, running: Arc<AtomicU64>) -> Self {
        let events = handle.event_stream(16);
        let spec = ApplicationSpec::new("service", "root.default", "user");
        let application = handle.submit_application(spec, &events).expect("a known queue");
        let service = Self { handle, events, application, running };
        service.ask();
        service
    }

    fn ask(&self) {
        let one = AskSpec::new(Resources::new(&[1]), 1);
        self.handle.submit_ask(self.application, one).expect("the engine runs");
    }

    /// Processes the events received.
    fn catch_up(&self) {
        while let Ok(Some(event)) = self.events.try_next() {
            match event.kind {
                EventKind::Allocated { .. } => {
                    self.running.fetch_add(1, Ordering::Release);
                }
                EventKind::ContainerEnded { .. } => {
                    self.running.fetch_sub(1, Ordering::Release);
                    self.ask();
                }
                _ => {}
            }
        }
    }
}

/// Runs the engine's parts on this thread until no work is left.
fn run_until_idle(parts: &mut Parts) {
    loop {
        while parts.committer.step() == Step::Worked {}
        let Some(batch) = parts.proposers[0].propose() else { return };
        parts.proposers[0].send(batch).expect("the committer lives");
    }
}

fn scenario() {
    let mut config =
        EngineConfig::new(ResourceTypes::new(["memory"]).expect("a valid name"), QueueConfig::single_leaf());
    config.reservations.delay_ms = None;
    let (engine, mut parts) =
        Engine::assemble(config, 1, Arc::new(ManualClock::new()), None).expect("a valid configuration");
    let handle = engine.handle();
    let one = Resources::new(&[1]);
    let first = handle.add_node(NodeSpec::new("first", one)).expect("a new name");
    handle.add_node(NodeSpec::new("second", one)).expect("a new name");

    let running = Arc::new(AtomicU64::new(0));
    let service = Service::start(engine.handle(), Arc::clone(&running));
    let operator = Thread::start("operator".into(), move || {
        handle.remove_node(first).expect("the engine runs");
    })
    .expect("a thread");
    run_until_idle(&mut parts);
    service.catch_up();
    operator.join().expect("the operator does not panic");
    // Twice, because the replacement may be asked for only now.
    for _ in 0..2 {
        run_until_idle(&mut parts);
        service.catch_up();
    }

    assert_eq!(engine.read(|view| view.container_count()), 1, "one container on the remaining node");
    assert_eq!(running.load(Ordering::Acquire), 1, "and the program knows it");
    assert!(engine.audit().is_clean());
}

fn main() -> ExitCode {
    run([Model::new("service", scenario)])
}
