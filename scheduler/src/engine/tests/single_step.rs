//! Passes for at most one container: over one node, over all nodes, and for one leaf.

use std::sync::Arc;
use std::time::Duration;

use super::{Bench, config, leaf, memory};
use crate::change::{AskSpec, NodeSpec};
use crate::clock::Clock;
use crate::config::{EngineConfig, LocalityDelay, Maximum, Percent};
use crate::engine::{Engine, Mode, NotSerial, PassError};
use crate::explain::PendingReason;
use crate::ids::{AskId, NodeId};
use crate::propose::PassScope;
use crate::request::ResourceAllocationCommitRequest;
use crate::sync::{AtomicU64, Ordering};
use crate::view::ReservationView;

impl Bench {
    pub(super) fn pass_on(&self, node: NodeId) -> usize {
        self.engine.pass_once(PassScope { node: Some(node), leaf: None }).unwrap()
    }

    pub(super) fn containers_on(&self, node: NodeId) -> usize {
        self.engine.read(|view| view.node(node).unwrap().containers().len())
    }

    pub(super) fn reservations(&self, ask: AskId) -> u32 {
        self.engine.read(|view| view.ask(ask).map_or(0, |ask| ask.reserved()))
    }

    /// Checks that single steps leave nothing that would disturb ordinary passes.
    pub(super) fn expect_sound(&self) {
        assert!(self.engine.audit().is_clean(), "{}", self.engine.audit());
        self.engine.run_until_quiet();
        assert!(self.engine.audit().is_clean(), "{}", self.engine.audit());
    }
}

fn reserving() -> EngineConfig {
    let mut config = config([leaf("a"), leaf("b")]);
    (config.reservations.delay_ms, config.reservations.nodes) = (Some(0), Percent::ALL);
    config
}

#[test]
fn a_single_pass_over_a_node_places_one_container_there() {
    let bench = Bench::serial(config([leaf("a")]));
    let nodes = [bench.node("n1", 8), bench.node("n2", 2)];
    bench.ask(bench.application("root.a"), 1, 5);
    assert_eq!([1, 1, 0].map(|_| bench.pass_on(nodes[1])), [1, 1, 0], "it has room for two");
    assert_eq!(nodes.map(|node| bench.containers_on(node)), [0, 2]);
    assert_eq!(bench.pass_on(nodes[0]), 1, "that the other is full says nothing of this one");
    assert_eq!(bench.engine.pass_once(PassScope::default()), Ok(1));
    assert_eq!(bench.containers_on(nodes[0]), 2);
    bench.expect_sound();
    assert_eq!(bench.containers_on(nodes[0]), 3);
}

#[test]
fn a_single_pass_for_a_leaf_leaves_the_others_alone() {
    let bench = Bench::serial(config([leaf("a"), leaf("b").with_maximum(Maximum::absolute(&[2]))]));
    let node = bench.node("n1", 8);
    let asks = ["root.a", "root.b"].map(|queue| bench.ask(bench.application(queue), 1, 5));
    let leaf = bench.engine.handle().queue("root.b").ok();
    let proposed = [(); 3].map(|()| bench.engine.pass_once(PassScope { node: Some(node), leaf }).unwrap());
    assert_eq!(proposed, [1, 1, 0], "the limits hold all the same");
    let left = asks.map(|ask| bench.engine.read(|view| view.ask(ask).unwrap().outstanding()));
    assert_eq!(left, [5, 3]);
    bench.expect_sound();
}

/// A reservation is only for an ask that fits nowhere, even if the pass looks at one node only.
#[test]
fn a_single_pass_reserves_a_node_only_if_no_other_has_room() {
    let bench = Bench::serial(reserving());
    let nodes = [bench.node("n1", 4), bench.node("n2", 8)];
    let application = bench.application("root.a");
    bench.ask(application, 1, 1);
    assert_eq!(bench.pass_on(nodes[0]), 1);
    let large = bench.ask(application, 4, 1);
    assert_eq!((bench.pass_on(nodes[0]), bench.reservations(large)), (0, 0), "the other has room");
    bench.engine.handle().drain_node(nodes[1]).unwrap();
    assert_eq!((bench.pass_on(nodes[0]), bench.reservations(large)), (1, 1));
    let known =
        bench.engine.read(|view| view.reservations().map(|(_, reservation)| reservation).collect::<Vec<_>>());
    assert_eq!(known, [ReservationView { ask: large, node: nodes[0], created_ms: 0 }]);
    bench.expect_sound();
}

#[test]
fn a_single_pass_fulfils_only_the_reservation_on_its_node() {
    let bench = Bench::serial(reserving());
    let nodes = [bench.node("n1", 4), bench.node("n2", 4)];
    let application = bench.application("root.a");
    let small = bench.ask(application, 1, 2);
    bench.commit();
    let handle = bench.engine.handle();
    for node in nodes {
        drop(handle.commit(ResourceAllocationCommitRequest::allocate(small, node)).unwrap());
    }
    bench.commit();
    bench.add_idle_room();
    let large = bench.ask(application, 4, 2);
    bench.engine.run_until_quiet();
    assert_eq!(bench.reservations(large), 2);
    for node in nodes {
        let small = bench.engine.read(|view| view.node(node).unwrap().containers()[0]);
        handle.complete_container(small).unwrap();
    }
    assert_eq!(bench.pass_on(nodes[1]), 1);
    assert_eq!(nodes.map(|node| bench.containers_on(node)), [0, 1]);
    let other_leaf = bench.engine.handle().queue("root.b").ok();
    let scope = PassScope { node: Some(nodes[0]), leaf: other_leaf };
    assert_eq!(bench.engine.pass_once(scope), Ok(0), "the reservation is another leaf's");
    bench.expect_sound();
    assert_eq!(nodes.map(|node| bench.containers_on(node)), [1, 1]);
}

/// Each ready reservation is a separate request.
#[test]
fn a_single_pass_over_all_fulfils_one_reservation() {
    let bench = Bench::serial(reserving());
    let nodes = [bench.node("n1", 4), bench.node("n2", 4)];
    let application = bench.application("root.a");
    bench.ask(application, 4, 2);
    bench.add_idle_room();
    bench.engine.run_until_quiet();
    let second = bench.ask(application, 4, 2);
    bench.engine.run_until_quiet();
    assert_eq!(bench.reservations(second), 2);
    for node in nodes {
        let running = bench.engine.read(|view| view.node(node).unwrap().containers()[0]);
        bench.engine.handle().complete_container(running).unwrap();
    }
    assert_eq!(bench.engine.pass_once(PassScope::default()), Ok(1));
    assert_eq!(nodes.map(|node| bench.containers_on(node)), [1, 0]);
    bench.expect_sound();
    assert_eq!(nodes.map(|node| bench.containers_on(node)), [1, 1]);
}

/// A clock that measures ten nanoseconds between any two looks at it, and has been running for a second.
#[derive(Debug)]
struct Measuring(AtomicU64);

impl Clock for Measuring {
    fn now_ms(&self) -> u64 {
        0
    }

    fn measured_ns(&self) -> u64 {
        1_000_000_000 + self.0.fetch_add(10, Ordering::Relaxed)
    }
}

#[test]
fn a_single_pass_is_measured_from_its_start() {
    let clock = Arc::new(Measuring(AtomicU64::new(0)));
    let engine = Engine::start(config([leaf("a")]), Mode::Serial, clock, None).unwrap();
    let bench =
        Bench { events: engine.handle().event_stream(100), shared: Arc::clone(&engine.shared), engine };
    let node = bench.node("n1", 8);
    bench.ask(bench.application("root.a"), 1, 1);
    assert_eq!(bench.pass_on(node), 1);
    let timing = bench.engine.take_timing();
    assert_eq!(timing.proposing, Duration::from_nanos(10));
    let ages = &timing.proposal_age_ns;
    assert!(ages.len() == 1 && ages.max() < 100, "{} batches, the oldest {} ns", ages.len(), ages.max());
}

#[test]
fn a_groups_wait_for_the_guard_is_measured() {
    let clock = Arc::new(Measuring(AtomicU64::new(0)));
    let engine = Engine::start(config([leaf("a")]), Mode::Serial, clock.clone(), None).unwrap();
    let node = NodeSpec::new("n1", memory(8));
    engine.handle().add_node(node).unwrap();
    std::thread::scope(|scope| {
        engine.read(|_view| {
            let looks = clock.0.load(Ordering::Relaxed);
            let group = scope.spawn(|| engine.commit_waiting().unwrap());
            // The group looks at the clock, then waits for this guard. A test that fails ends after some seconds.
            let has_looked = (0..10_000).any(|_| {
                std::thread::sleep(Duration::from_millis(1));
                clock.0.load(Ordering::Relaxed) != looks
            });
            assert!(has_looked, "a group looks at the clock before it waits");
            assert!(!group.is_finished(), "a group waits while its state is read");
            clock.0.fetch_add(1_000, Ordering::Relaxed);
        });
    });
    let timing = engine.take_timing();
    assert!(timing.lock_awaited >= Duration::from_nanos(1_000), "{timing:?}");
    assert!(timing.lock_held < Duration::from_nanos(1_000), "{timing:?}");
    assert_eq!(engine.take_timing().lock_awaited, Duration::ZERO);
}

#[test]
fn an_ask_that_names_nothing_waits_for_no_host() {
    let bench = Bench::serial(config([leaf("a")]));
    bench.node("n1", 8);
    let ask = bench.ask(bench.application("root.a"), 1, 1);
    bench.commit();
    let reason = bench.engine.read(|view| view.ask(ask).unwrap().pending_reason());
    assert_eq!(reason, PendingReason::Runnable);
}

#[test]
fn single_passes_offer_one_node_after_the_other() {
    let mut config = config([leaf("a")]);
    config.locality_delay = LocalityDelay::nodes(2, 2);
    let bench = Bench::serial(config);
    let nodes = ["n1", "n2", "n3"].map(|name| bench.node(name, 8));
    let application = bench.application("root.a");
    let named = AskSpec::new(memory(1), 3).on_hosts([nodes[0]]);
    bench.engine.handle().submit_ask(application, named).unwrap();
    assert_eq!(bench.pass_on(nodes[1]), 0);
    assert_eq!(bench.pass_on(nodes[1]), 0, "a node counts once");
    assert_eq!(bench.pass_on(nodes[2]), 0);
    assert_eq!(bench.pass_on(nodes[1]), 1, "two others were offered");
    assert_eq!(bench.pass_on(nodes[0]), 1);
    bench.expect_sound();
}

#[test]
fn a_single_pass_over_a_node_that_is_gone_proposes_nothing() {
    let bench = Bench::serial(config([leaf("a")]));
    let node = bench.node("n1", 8);
    bench.ask(bench.application("root.a"), 1, 5);
    bench.engine.handle().remove_node(node).unwrap();
    assert_eq!(bench.pass_on(node), 0);
    bench.expect_sound();
}

/// Another engine's queue number may exceed the number of queues here.
#[test]
fn a_single_pass_is_about_a_leaf_of_this_engine() {
    let bench = Bench::serial(config([leaf("a")]));
    let other = Bench::serial(config([leaf("a"), leaf("b")]));
    for queue in
        [bench.engine.handle().queue("root").unwrap(), other.engine.handle().queue("root.b").unwrap()]
    {
        let scope = PassScope { node: None, leaf: Some(queue) };
        assert_eq!(bench.engine.pass_once(scope), Err(PassError::NotALeaf(queue)));
    }
}

#[test]
fn single_steps_are_for_serial_mode() {
    let bench = Bench::new(config([leaf("a")]), Mode::Parallel { proposers: 1 });
    assert_eq!(bench.engine.pass_once(PassScope::default()), Err(PassError::NotSerial(NotSerial)));
    assert_eq!(bench.engine.commit_waiting(), Err(NotSerial));
}

/// The reservation uses up the queue's limit, so the other unit waits and the pass may swap the reservation. The set is
/// known to have no room for it.
#[test]
fn a_reservation_at_a_limit_is_not_swapped_where_there_is_known_to_be_no_room() {
    let mut config = config([leaf("a").with_maximum(Maximum::absolute(&[9]))]);
    (config.reservations.delay_ms, config.reservations.nodes) = (Some(0), Percent::ALL);
    let bench = Bench::serial(config);
    bench.node("n1", 8);
    bench.add_idle_room();
    let application = bench.application("root.a");
    bench.ask(application, 6, 1);
    bench.engine.run_until_quiet();
    let large = bench.ask(application, 3, 2);
    bench.engine.run_until_quiet();
    assert_eq!(bench.reservations(large), 1);
    let batch = bench.pass(0);
    let observations = &batch.proposals.observations;
    assert!(observations.is_empty(), "{observations:?}");
}
