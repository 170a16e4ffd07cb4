//! Panics at every step, stalls, lost batches: nothing is lost with them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::change::{ApplicationSpec, AskSpec, NodeSpec};
use crate::clock::ManualClock;
use crate::config::EngineConfig;
use crate::engine::{Engine, EventStream, Parts, Step};
use crate::ids::{ApplicationId, AskId, NodeId};
use crate::sync::fault;

use super::{config, leaf, memory};

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
        let spec = ApplicationSpec::new("application", "root.a", "user");
        self.engine.handle().submit_application(spec, &self.events).unwrap()
    }

    pub(super) fn ask(&self, application: ApplicationId, spec: AskSpec) -> AskId {
        self.engine.handle().submit_ask(application, spec).unwrap()
    }

    pub(super) fn commit(&mut self) {
        while self.parts.committer.step() == Step::Worked {}
    }

    /// Until nothing is left to do.
    fn settle(&mut self) {
        loop {
            self.commit();
            let Some(batch) = self.parts.proposers[0].propose() else { return };
            self.parts.proposers[0].send(batch).unwrap();
        }
    }

    /// Nothing is in flight, every lease is at home, and nothing is left to do.
    pub(super) fn expect_settled(&mut self, containers: usize) {
        self.settle();
        assert!(self.engine.shared.leases.all_home());
        let report = self.engine.audit();
        assert!(report.is_clean(), "{report}");
        assert!(self.engine.shared_state().in_flight.is_zero());
        assert!(!self.engine.health().has_work(), "{:?}", self.engine.health());
        assert_eq!(self.engine.read(|view| view.container_count()), containers);
    }
}

/// Several sets, and asks of every kind: plain ones, some with hosts, and one for which a node has to be claimed and
/// never gets room. Returns how many containers there will be.
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
    hand.settle();
    hand.ask(application, AskSpec::new(memory(5), 1));
    hand.ask(application, AskSpec::new(memory(1), 2).on_hosts([nodes[3], nodes[0]]).strictly_local());
    hand.ask(application, AskSpec::new(memory(1), 3));
    hand.ask(application, AskSpec::new(memory(1), 1).on_hosts([nodes[1]]));
    hand.commit();
    (hand, 7)
}

#[test]
fn a_proposer_may_panic_at_any_step() {
    let mut steps = 0;
    loop {
        let (mut hand, containers) = busy();
        fault::ask_for_panic(steps);
        let proposer = &mut hand.parts.proposers[1];
        let pass = catch_unwind(AssertUnwindSafe(|| {
            let batch = proposer.propose().expect("a set is wanted");
            proposer.send(batch).expect("the committer lives");
        }));
        let has_come_through = fault::withdraw();
        assert_eq!(pass.is_ok(), has_come_through, "step {steps}");
        hand.expect_settled(containers);
        if has_come_through {
            break;
        }
        steps += 1;
    }
    assert!(steps > 10, "a pass takes more than {steps} steps");
}

/// The supervised loop starts again, and says so.
#[test]
fn panics_are_counted_and_the_work_goes_on() {
    let (mut hand, containers) = busy();
    let proposer = hand.parts.proposers.pop().unwrap();
    let proposing = std::thread::spawn(move || {
        fault::ask_for_panics(7, 60);
        // The first one within the first pass.
        fault::ask_for_panic(10);
        proposer.run();
    });
    while hand.engine.health().has_work() {
        hand.commit();
        std::thread::yield_now();
    }
    hand.engine.shared.work.close();
    proposing.join().unwrap();
    assert!(hand.engine.stats().proposer_panics > 0);
    assert_eq!(hand.engine.health().proposers_given_up, 0);
    hand.expect_settled(containers);
}

/// One that panics each time is not started for ever, and that can be seen.
#[test]
fn a_proposer_that_only_panics_gives_up() {
    let (mut hand, containers) = busy();
    let proposer = hand.parts.proposers.pop().unwrap();
    std::thread::spawn(move || {
        fault::ask_for_panics(1, 1);
        proposer.run();
    })
    .join()
    .unwrap();
    let health = hand.engine.health();
    assert_eq!((health.proposer_panics, health.proposers_given_up), (100, 1));
    assert!(health.is_running && health.has_work(), "{health:?}");
    hand.expect_settled(containers);
}

/// Batches may come late, out of order, or not at all.
#[test]
fn batches_may_be_held_up_and_lost() {
    let (mut hand, containers) = busy();
    let mut batches = Vec::new();
    while let Some(batch) = hand.parts.proposers[0].propose() {
        batches.push(batch);
    }
    assert!(batches.len() > 2 && hand.engine.health().sets_out == batches.len() as u64);
    let lost = batches.remove(0);
    while let Some(late) = batches.pop() {
        hand.parts.proposers[1].send(late).unwrap();
        hand.commit();
    }
    drop(lost);
    hand.expect_settled(containers);
}

/// A committer that stands still holds callers back, and loses nothing of what they sent.
#[test]
fn a_stalled_committer_holds_callers_back() {
    let mut config = config([leaf("a")]);
    config.limits.inbox = 3;
    let mut hand = Hand::new(config);
    hand.node("n", 100);
    let application = hand.application();
    hand.commit();
    let handle = hand.engine.handle();
    let caller = std::thread::spawn(move || {
        for _ in 0..100 {
            handle.submit_ask(application, AskSpec::new(memory(1), 1)).unwrap();
        }
    });
    while hand.engine.health().messages_waiting < 3 {
        std::thread::yield_now();
    }
    // The fourth waits, however long nobody commits.
    assert!(!caller.is_finished());
    assert!(hand.engine.health().messages_waiting <= 4, "{:?}", hand.engine.health());
    while !caller.is_finished() {
        hand.commit();
    }
    caller.join().unwrap();
    hand.expect_settled(100);
}
