//! Tests that need internals: dropped batches, limits of a pass, resharding.

#![allow(clippy::disallowed_methods, reason = "tests bring threads of their own")]

mod activation;
mod ask_kinds;
mod at_once;
mod attach;
mod borrowed;
mod bulk;
mod changes;
mod compatible;
mod endings;
mod faults;
mod forged;
mod gangs;
mod hand;
mod ladder;
mod late;
mod moves;
mod queue_order;
mod refusals;
mod rounds;
mod shares;
mod single_step;
mod stale_rounds;
mod stops;
mod views;
mod waiting;
mod wakes;

use std::sync::Arc;

use super::message::Message;
use super::proposer::propose;
use super::shared::Shared;
use super::{Driver, Engine, Mode};
use crate::change::{ApplicationSpec, AskSpec, NodeSpec};
use crate::clock::ManualClock;
use crate::config::{
    Capacity, EngineConfig, LocalityDelay, Maximum, PartitionAccess, Percent, QueueConfig, QueueOrdering,
};
use crate::engine::EventStream;
use crate::ids::{ApplicationId, AskId, NodeId, PartitionId, SetId};
use crate::propose::{ProposalBatch, Scratch, Work};
use crate::resource::{ResourceTypes, Resources};
use crate::sync::fault;

/// A serial engine whose passes the test makes one at a time.
struct Bench {
    engine: Engine,
    shared: Arc<Shared>,
    events: EventStream,
}

fn config(queues: impl IntoIterator<Item = QueueConfig>) -> EngineConfig {
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root(queues));
    config.reservations.delay_ms = None;
    config
}

fn leaf(name: &str) -> QueueConfig {
    QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50))).with_user_limit_factor(None)
}

fn memory(amount: i64) -> Resources {
    Resources::new(&[amount])
}

impl Bench {
    fn new(config: EngineConfig, mode: Mode) -> Self {
        let engine = Engine::start(config, mode, Arc::new(ManualClock::new()), None).unwrap();
        let shared = Arc::clone(&engine.shared);
        Self { events: engine.handle().event_stream(1 << 16), engine, shared }
    }

    fn serial(config: EngineConfig) -> Self {
        Self::new(config, Mode::Serial)
    }

    /// An idle node that takes no containers. Its room keeps limits out of the way.
    fn add_idle_room(&self) {
        let idle = self.node("idle", 100);
        self.engine.handle().drain_node(idle).unwrap();
    }

    fn node(&self, name: &str, amount: i64) -> NodeId {
        self.engine.handle().add_node(NodeSpec::new(name, memory(amount))).unwrap()
    }

    fn application(&self, queue: &str) -> ApplicationId {
        self.application_of(queue, "user")
    }

    fn application_of(&self, queue: &str, user: &str) -> ApplicationId {
        let spec = ApplicationSpec::new("application", queue, user);
        self.engine.handle().submit_application(spec, &self.events).unwrap()
    }

    fn ask(&self, application: ApplicationId, amount: i64, count: u32) -> AskId {
        self.engine.handle().submit_ask(application, AskSpec::new(memory(amount), count)).unwrap()
    }

    /// Commits everything sent so far, without proposing.
    fn commit(&self) {
        let Driver::Serial(driver) = &mut *self.engine.driver.lock() else { panic!("a serial engine") };
        driver.commit_waiting();
    }

    fn pass(&self, number: u32) -> Box<ProposalBatch> {
        let set = self.shared.leases.try_take(SetId::new(PartitionId::DEFAULT, number)).unwrap();
        propose(&self.shared, set, &mut Scratch::default())
    }

    /// Checks the state after a batch was dropped: all work is left, and nothing is in flight.
    fn expect_untouched(&self, containers: usize) {
        assert!(self.shared.leases.all_in_pool());
        let mut report = self.engine.audit();
        self.shared.state.read().audit_nothing_in_flight(&mut report);
        assert!(report.is_clean(), "{report}");
        self.engine.run_until_quiet();
        assert_eq!(self.engine.read(|view| view.container_count()), containers);
        assert!(self.engine.audit().is_clean());
    }
}

fn with_ask() -> Bench {
    let bench = Bench::serial(config([leaf("a")]));
    bench.node("n1", 8);
    let application = bench.application("root.a");
    bench.ask(application, 1, 5);
    bench.commit();
    bench
}

#[test]
fn batches_may_be_without_bound() {
    let mut config = config([leaf("a")]);
    config.limits.batch_requests = usize::MAX;
    let bench = Bench::serial(config);
    bench.node("n1", 1_000);
    bench.ask(bench.application("root.a"), 1, 600);
    bench.commit();
    assert_eq!(bench.pass(0).requests().len(), 600);
}

/// The first reservation shows that nothing fits, yet the pass goes on to reserve for the other units.
#[test]
fn a_pass_reserves_nodes_for_every_unit_that_fits_nowhere() {
    let mut config = config([leaf("a").with_maximum(Maximum::Percent(Percent::ALL))]);
    (config.reservations.delay_ms, config.reservations.nodes) = (Some(0), Percent::ALL);
    let bench = Bench::serial(config);
    for number in 0..3 {
        bench.node(&format!("n{number}"), 4);
    }
    let application = bench.application("root.a");
    bench.ask(application, 1, 3);
    bench.engine.run_until_quiet();
    bench.add_idle_room();
    for _ in 0..3 {
        bench.ask(application, 4, 1);
    }
    bench.commit();
    let reservations = bench.pass(0).requests().iter().filter(|request| !request.reserve.is_empty()).count();
    assert_eq!(reservations, 3);
}

#[test]
fn a_batch_that_is_dropped_gives_everything_back() {
    let bench = with_ask();
    let batch = bench.pass(0);
    assert_eq!(batch.proposals.requests.len(), 5);
    assert!(!bench.shared.leases.all_in_pool());
    drop(batch);
    bench.expect_untouched(5);
}

#[test]
fn a_batch_that_nobody_receives_gives_everything_back() {
    let bench = with_ask();
    let batch = bench.pass(0);
    let (outbox, inbox) = crate::sync::channel(None);
    drop(inbox);
    drop(outbox.send(batch));
    bench.expect_untouched(5);
}

#[test]
fn a_batch_that_waits_in_a_channel_nobody_reads_gives_everything_back() {
    let bench = with_ask();
    let (outbox, inbox) = crate::sync::channel(None);
    assert!(outbox.send(bench.pass(0)).is_ok());
    drop((outbox, inbox));
    bench.expect_untouched(5);
}

#[test]
fn a_batch_of_preferred_hosts_gives_the_nodes_back() {
    let mut config = config([leaf("a")]);
    (config.limits.single_set_nodes, config.limits.set_nodes) = (2, 1);
    let bench = Bench::new(config, Mode::Parallel { proposers: 1 });
    let hosts = [bench.node("n1", 8), bench.node("n2", 8)];
    bench.engine.run_until_quiet();
    // From here on only this thread proposes.
    bench.shared.work.close();
    let application = bench.application("root.a");
    let ask = AskSpec::new(memory(1), 2).on_hosts([hosts[1]]).strictly_local();
    bench.engine.handle().submit_ask(application, ask).unwrap();
    while bench.engine.read(|view| view.asks().count()) == 0 {
        std::thread::yield_now();
    }
    let batch = bench.pass(0);
    assert_eq!(batch.proposals.requests.len(), 2, "on the other set's node");
    let in_flight = || bench.shared.state.read().in_flight.on_node(hosts[1]);
    assert_eq!(in_flight(), memory(2));
    drop(batch);
    assert_eq!(in_flight(), Resources::ZERO);
    assert!(bench.shared.state.read().in_flight.is_zero());
}

#[test]
fn a_pass_counts_what_others_have_in_flight() {
    let mut limited = config([leaf("a").with_maximum(Maximum::absolute(&[3]))]);
    (limited.limits.single_set_nodes, limited.limits.set_nodes) = (2, 1);
    let bench = Bench::new(limited, Mode::Parallel { proposers: 1 });
    bench.node("n1", 8);
    bench.node("n2", 8);
    bench.engine.run_until_quiet();
    bench.shared.work.close();
    let application = bench.application("root.a");
    // Another user, so that only the queue's limit is reached and not the user's.
    let other = ApplicationSpec::new("application", "root.a", "other");
    let other = bench.engine.handle().submit_application(other, &bench.events).unwrap();
    bench.ask(application, 1, 2);
    bench.ask(other, 1, 2);
    while bench.engine.read(|view| view.asks().count()) < 2 {
        std::thread::yield_now();
    }
    let (first, second) = (bench.pass(0), bench.pass(1));
    let proposed = [&first, &second].map(|batch| batch.proposals.requests.len());
    assert_eq!(proposed, [3, 0], "3 is the queue's maximum, and nobody has decided yet");
}

#[test]
fn a_pass_ends_after_v_nodes_visited() {
    let mut config = config([leaf("a")]);
    config.limits.pass_visits = 1;
    let bench = Bench::serial(config);
    for number in 0..4 {
        bench.node(&format!("n{number}"), 8);
    }
    let application = bench.application("root.a");
    bench.ask(application, 1, 5);
    bench.commit();
    assert_eq!(bench.pass(0).proposals.requests.len(), 1);
}

/// The named host is visited first, then all four nodes that may be offered.
#[test]
fn nodes_that_are_offered_count_as_visited() {
    for (visits, proposed) in [(5, 0), (6, 1)] {
        let mut config = config([leaf("a")]);
        config.locality_delay = LocalityDelay::nodes(9, 9);
        config.limits.pass_visits = visits;
        let bench = Bench::serial(config);
        let nodes = ["n0", "n1", "n2", "n3"].map(|name| bench.node(name, 8));
        bench.engine.handle().drain_node(nodes[0]).unwrap();
        let application = bench.application("root.a");
        let with_host = AskSpec::new(memory(1), 1).on_hosts([nodes[0]]);
        bench.engine.handle().submit_ask(application, with_host).unwrap();
        bench.ask(application, 2, 1);
        bench.commit();
        assert_eq!(bench.pass(0).requests().len(), proposed, "at most {visits} visits");
    }
}

#[test]
fn a_pass_ends_after_b_requests() {
    let mut config = config([leaf("a")]);
    config.limits.batch_requests = 2;
    let bench = Bench::serial(config);
    bench.node("n1", 8);
    let application = bench.application("root.a");
    bench.ask(application, 1, 5);
    bench.commit();
    assert_eq!(bench.pass(0).proposals.requests.len(), 2);
}

/// An engine with two partitions, of which each has a large node.
fn with_two_partitions(pass_visits: usize) -> (Bench, impl Fn(u32, u32)) {
    let mut config = config([leaf("a").with_access(PartitionAccess::All)]);
    config.partitions = vec!["x".to_owned()];
    (config.limits.batch_requests, config.limits.pass_visits) = (2, pass_visits);
    let bench = Bench::serial(config);
    bench.node("n1", 100);
    let handle = bench.engine.handle();
    handle.add_node(NodeSpec::new("n2", memory(100)).in_partition(PartitionId(1))).unwrap();
    let application = bench.application("root.a");
    let ask = move |partition, count| {
        let spec = AskSpec::new(memory(1), count).in_partition(PartitionId(partition));
        handle.submit_ask(application, spec).unwrap();
    };
    (bench, ask)
}

/// The partitions of the batches that the thread of background mode makes, one after another.
fn partitions_in_turn(bench: &Bench) -> Vec<u32> {
    bench.commit();
    let Driver::Serial(driver) = &mut *bench.engine.driver.lock() else { panic!("a serial engine") };
    let batches = std::iter::from_fn(|| {
        let batch = driver.proposer.propose_or_recover()?;
        let Work::Pass(set) = &batch.work else { panic!("a pass") };
        let partition = set.id().partition().0;
        driver.committer.commit_group(Some(Message::Batch(batch)));
        Some(partition)
    });
    batches.collect()
}

#[test]
fn a_turn_in_background_mode_ends_after_four_batches() {
    let (bench, ask) = with_two_partitions(usize::MAX);
    ask(0, 20);
    ask(1, 12);
    // Six full batches of the second partition; its last turn has only two.
    assert_eq!(partitions_in_turn(&bench), [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0]);
    // The first partition's turn has two batches left. Then the second gets its one batch.
    ask(0, 8);
    ask(1, 1);
    assert_eq!(partitions_in_turn(&bench), [0, 0, 1, 0, 0]);
}

#[test]
fn a_turn_ends_with_a_batch_that_is_not_full() {
    let (bench, ask) = with_two_partitions(1);
    ask(0, 3);
    ask(1, 3);
    assert_eq!(partitions_in_turn(&bench), [0, 1, 0, 1, 0, 1]);
}

/// Otherwise a set in which each pass panics would keep the others waiting until the proposer gives up.
#[test]
fn a_set_whose_pass_panics_loses_its_turn() {
    let order_after_panic_at = |step| {
        let (bench, ask) = with_two_partitions(usize::MAX);
        ask(0, 4);
        ask(1, 4);
        bench.commit();
        {
            let Driver::Serial(driver) = &mut *bench.engine.driver.lock() else { panic!("a serial engine") };
            fault::ask_for_panic(step);
            assert!(driver.proposer.propose_or_recover().is_none(), "no panic at step {step}");
        }
        partitions_in_turn(&bench)
    };
    // Before a set is taken, a panic changes no turn. Some step is the first of a pass.
    let order = (0..).map(order_after_panic_at).find(|order| order != &[0, 0, 1, 1]);
    assert_eq!(order, Some(vec![1, 1, 0, 0]));
}

/// If a pass left the most deserving leaf early, its room would go to the others.
#[test]
fn a_pass_of_parallel_mode_goes_on_with_the_most_deserving_leaf() {
    let mut first = leaf("a");
    first.priority = 1;
    let mut config = config([first, leaf("b")]);
    config.root.child_ordering = QueueOrdering::PriorityUtilization;
    config.limits.batch_requests = 200;
    let bench = Bench::new(config, Mode::Parallel { proposers: 1 });
    bench.node("n1", 1_000);
    bench.engine.run_until_quiet();
    bench.shared.work.close();
    let [first, _] = ["root.a", "root.b"].map(|queue| {
        let application = bench.application(queue);
        bench.ask(application, 1, 1_000)
    });
    while bench.engine.read(|view| view.asks().count()) < 2 {
        std::thread::yield_now();
    }
    let batch = bench.pass(0);
    assert_eq!(batch.proposals.requests.len(), 200);
    assert!(batch.requests().iter().flat_map(|request| &request.allocate).all(|placed| placed.ask == first));
}

#[test]
fn a_partition_that_grows_is_cut_into_more_sets_and_into_one_when_it_shrinks() {
    let mut config = config([leaf("a")]);
    (config.limits.single_set_nodes, config.limits.set_nodes) = (8, 4);
    let bench = Bench::new(config, Mode::Parallel { proposers: 2 });
    let application = bench.application("root.a");
    let sets = || bench.shared.state.read().node_shards.sets(PartitionId::DEFAULT);
    let nodes: Vec<NodeId> = (0..32).map(|number| bench.node(&format!("n{number}"), 8)).collect();
    bench.ask(application, 1, 100);
    bench.engine.run_until_quiet();
    assert_eq!(sets(), 8);
    let (nodes, removed) = nodes.split_at(12);
    removed.iter().for_each(|node| drop(bench.engine.handle().remove_node(*node).unwrap()));
    bench.engine.run_until_quiet();
    assert_eq!(sets(), 8, "twice as many nodes would still be cut into eight");
    nodes[2..].iter().for_each(|node| drop(bench.engine.handle().remove_node(*node).unwrap()));
    bench.engine.run_until_quiet();
    assert_eq!(sets(), 1);
    assert!(bench.engine.audit().is_clean());
}

#[test]
fn the_audit_compares_sets_with_rebuilt_ones() {
    let bench = with_ask();
    bench.engine.run_until_quiet();
    assert!(bench.engine.audit().is_clean());
    let mut state = bench.shared.state.write();
    let node = state.facts.nodes.iter().next().unwrap().0;
    state.facts.nodes.at_mut(node).room.free += memory(1);
    drop(state);
    let report = bench.engine.audit();
    assert!(report.violations.iter().any(|violation| violation.invariant == "I12"), "{report}");
}

/// The engine keeps no stream without a reader, whether its applications run or have ended.
#[test]
fn a_stream_lives_as_long_as_its_readers() {
    let Bench { engine, events, .. } = with_ask();
    let reader = events.clone();
    let stream = Arc::downgrade(events.core());
    drop(events);
    assert_eq!(stream.strong_count(), 1);
    drop(reader);
    assert_eq!(stream.strong_count(), 0);
    engine.run_until_quiet();
    assert_eq!(engine.read(|view| view.container_count()), 5, "the same as with a reader");
}
