//! An engine in parts, driven by hand.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::{config, leaf, memory};
use crate::change::{ApplicationSpec, AskSpec, NodeSpec};
use crate::clock::ManualClock;
use crate::config::EngineConfig;
use crate::engine::{Engine, EventStream, Parts, Step};
use crate::ids::{ApplicationId, AskId, NodeId};

/// An engine in parts, on the test's own thread.
pub(super) struct Hand {
    pub(super) engine: Engine,
    pub(super) parts: Parts,
    pub(super) events: EventStream,
}

impl Hand {
    pub(super) fn new(config: EngineConfig) -> Self {
        let (engine, parts) = Engine::assemble(config, 2, Arc::new(ManualClock::new()), None).unwrap();
        Self { events: engine.handle().event_stream(1 << 10), engine, parts }
    }

    pub(super) fn node(&self, name: &str, amount: i64) -> NodeId {
        self.engine.handle().add_node(NodeSpec::new(name, memory(amount))).unwrap()
    }

    pub(super) fn application(&self) -> ApplicationId {
        self.application_in("root.a")
    }

    pub(super) fn application_in(&self, queue: &str) -> ApplicationId {
        let spec = ApplicationSpec::new("application", queue, "user");
        self.engine.handle().submit_application(spec, &self.events).unwrap()
    }

    pub(super) fn ask(&self, application: ApplicationId, spec: AskSpec) -> AskId {
        self.engine.handle().submit_ask(application, spec).unwrap()
    }

    pub(super) fn commit(&mut self) {
        while self.parts.committer.step() == Step::Worked {}
    }

    /// Commits the batches of a proposing thread until no work is left, and ends the thread.
    pub(super) fn commit_beside(&mut self, proposing: JoinHandle<()>) {
        while self.engine.health().has_work() {
            self.commit();
            std::thread::yield_now();
        }
        self.engine.shared.work.close();
        proposing.join().unwrap();
    }

    /// Proposes and commits until no work is left.
    pub(super) fn run_until_idle(&mut self) {
        loop {
            self.commit();
            let Some(batch) = self.parts.proposers[0].propose() else { return };
            self.parts.proposers[0].send(batch).unwrap();
        }
    }

    /// Checks that nothing is in flight, every lease is in the pool, and no work is left.
    pub(super) fn expect_idle(&mut self, containers: usize) {
        self.run_until_idle();
        assert!(self.engine.shared.leases.all_in_pool());
        let report = self.engine.audit();
        assert!(report.is_clean(), "{report}");
        assert!(self.engine.shared_state().in_flight.is_zero());
        assert!(!self.engine.health().has_work(), "{:?}", self.engine.health());
        assert_eq!(self.engine.read(|view| view.container_count()), containers);
    }
}

/// Several sets and all kinds of asks: plain asks, asks with hosts, and one whose reserved node never gets room.
/// Returns the number of containers that will run.
pub(super) fn busy() -> (Hand, usize) {
    let mut config = config([leaf("a")]);
    config.reservations.delay_ms = Some(0);
    config.limits.single_set_nodes = 2;
    config.limits.set_nodes = 2;
    let mut hand = Hand::new(config);
    let nodes: Vec<NodeId> = (0..4).map(|number| hand.node(&format!("n{number}"), 4)).collect();
    let big = hand.node("big", 6);
    let application = hand.application();
    hand.ask(application, AskSpec::new(memory(2), 1).on_hosts([big]).strictly_local());
    hand.run_until_idle();
    hand.ask(application, AskSpec::new(memory(5), 1));
    hand.ask(application, AskSpec::new(memory(1), 2).on_hosts([nodes[3], nodes[0]]).strictly_local());
    hand.ask(application, AskSpec::new(memory(1), 3));
    hand.ask(application, AskSpec::new(memory(1), 1).on_hosts([nodes[1]]));
    hand.commit();
    (hand, 7)
}
