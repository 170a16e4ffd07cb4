//! Batches that are decided late. The finding of a failed pass is recorded only if nothing has happened since
//! that could help (I13). The amounts that a pass put in flight come back in any case (I9).

use std::sync::Arc;

use super::{Bench, config, leaf, memory, with_ask};
use crate::backlog::WaitKey;
use crate::change::{ApplicationSpec, AskSpec, NodeSpec};
use crate::clock::ManualClock;
use crate::config::{EngineConfig, Factor, Maximum, Percent, QueueConfig, QueueUpdate};
use crate::engine::message::Message;
use crate::engine::proposer::propose;
use crate::engine::{Engine, Handle, Parts, Step};
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId, PartitionId, SetId};
use crate::propose::{Observation, ProposalBatch, Scratch};
use crate::request::ResourceAllocationCommitRequest;

impl Bench {
    /// Commits a batch as the committer would, after everything sent before.
    pub(super) fn decide(&self, batch: Box<ProposalBatch>) {
        assert!(self.shared.outbox.send(Message::Batch(batch)).is_ok());
        self.commit();
    }

    pub(super) fn containers(&self) -> Vec<ContainerId> {
        self.engine.read(|view| view.containers().map(|(id, _)| id).collect())
    }

    pub(super) fn complete_one(&self) {
        self.engine.handle().complete_container(self.containers()[0]).unwrap();
        self.commit();
    }

    /// A node of 8, and idle capacity elsewhere that keeps limits out of the way.
    fn with_one_node() -> Self {
        let bench = Self::serial(config([leaf("a")]));
        bench.node("n1", 8);
        bench.add_idle_room();
        bench
    }

    /// Checks that the pass made the expected observation.
    pub(super) fn expect_observed(batch: &ProposalBatch, is_it: impl Fn(&Observation) -> bool) {
        let observations = &batch.proposals.observations;
        assert!(observations.iter().any(is_it), "{observations:?}");
    }

    /// Runs the engine; checks the number of running containers.
    pub(super) fn expect_running(&self, containers: usize) {
        self.engine.run_until_quiet();
        assert_eq!(self.containers().len(), containers);
        assert!(self.engine.audit().is_clean());
    }
}

#[test]
fn a_batch_that_is_rejected_gives_everything_back() {
    let bench = with_ask();
    let batch = bench.pass(0);
    let handle = bench.engine.handle();
    let node = handle.node("n1").unwrap();
    handle.drain_node(node).unwrap();
    bench.decide(batch);
    assert_eq!(bench.containers().len(), 0, "the node takes nothing");
    handle.activate_node(node).unwrap();
    bench.expect_untouched(5);
}

/// Four containers are proposed; before the decision, a request made by hand takes half of the limit's headroom.
fn expect_limit_kept(leaf: QueueConfig) {
    let bench = Bench::serial(config([leaf]));
    let node = bench.node("n1", 8);
    let application = bench.application("root.a");
    bench.ask(application, 1, 4);
    bench.commit();
    let batch = bench.pass(0);
    assert_eq!(batch.proposals.requests.len(), 4);
    let quick = bench.ask(application, 1, 2);
    for _ in 0..2 {
        bench.engine.handle().commit(ResourceAllocationCommitRequest::allocate(quick, node)).unwrap();
    }
    bench.decide(batch);
    bench.expect_running(4);
}

#[test]
fn a_batch_that_has_become_too_much_for_its_queue_is_validated_one_by_one() {
    expect_limit_kept(leaf("a").with_maximum(Maximum::absolute(&[4])));
}

#[test]
fn a_batch_that_has_become_too_much_for_its_user_is_validated_one_by_one() {
    expect_limit_kept(leaf("a").with_user_limit_factor(Some(Factor::ONE)));
}

/// Alone, the user may have all four; beside a second active user, half of the guarantee.
#[test]
fn a_batch_whose_users_shares_moved_is_validated_one_by_one() {
    let shared = leaf("a").with_user_limit_minimum(Percent::whole(50));
    let bench = Bench::serial(config([shared]));
    bench.node("n1", 8);
    let application = bench.application("root.a");
    bench.ask(application, 1, 4);
    bench.commit();
    let batch = bench.pass(0);
    assert_eq!(batch.proposals.requests.len(), 4);
    let competitor = bench.application_of("root.a", "competitor");
    bench.ask(competitor, 1, 4);
    bench.decide(batch);
    assert_eq!(bench.containers().len(), 2);
    bench.engine.run_until_quiet();
    let used =
        |user| bench.engine.read(|view| view.queue("root.a").unwrap().used_by(user, PartitionId::DEFAULT));
    assert_eq!((used("user"), used("competitor")), (memory(4), memory(4)));
}

/// A queue at its maximum of 3, and a pass that sees it there.
fn at_the_maximum() -> (Bench, Box<ProposalBatch>) {
    let bench = Bench::serial(config([leaf("a").with_maximum(Maximum::absolute(&[3]))]));
    bench.node("n1", 8);
    let application = bench.application("root.a");
    bench.ask(application, 1, 5);
    bench.engine.run_until_quiet();
    assert_eq!(bench.containers().len(), 3);
    // Another lane: the lane of the first ask is parked already.
    bench.ask(application, 2, 1);
    bench.commit();
    let batch = bench.pass(0);
    Bench::expect_observed(&batch, |seen| {
        is_blocked(seen, |reason| matches!(reason, WaitKey::QueueLimit(_)))
    });
    (bench, batch)
}

#[test]
fn a_limit_that_gives_way_before_the_batch_is_decided_parks_nobody() {
    let (bench, batch) = at_the_maximum();
    bench.engine.handle().cancel_ask(first_ask(&bench), u32::MAX).unwrap();
    bench.complete_one();
    bench.complete_one();
    bench.decide(batch);
    bench.expect_running(2);
}

pub(super) fn is_blocked(seen: &Observation, is_it: impl Fn(WaitKey) -> bool) -> bool {
    matches!(seen, Observation::Blocked { reason, .. } if is_it(*reason))
}

pub(super) fn first_ask(bench: &Bench) -> AskId {
    bench.engine.read(|view| view.asks().map(|ask| ask.id()).next().unwrap())
}

/// A user's limit may be raised before any lane was parked for it.
#[test]
fn limits_that_change_before_the_batch_is_decided_park_no_lane() {
    let half = Some("0.5".parse().unwrap());
    let bench = Bench::serial(config([leaf("a").with_user_limit_factor(half)]));
    bench.node("n1", 8);
    let application = bench.application("root.a");
    bench.ask(application, 3, 1);
    bench.commit();
    let batch = bench.pass(0);
    // Half of a guarantee of 4 is less than 3.
    Bench::expect_observed(&batch, |seen| is_blocked(seen, |reason| matches!(reason, WaitKey::UserLimit(_))));
    let handle = bench.engine.handle();
    let update = QueueUpdate { user_limit_factor: Some(None), ..QueueUpdate::default() };
    let _answer = handle.update_queue(handle.queue("root.a").unwrap(), update).unwrap();
    bench.commit();
    bench.decide(batch);
    bench.expect_running(1);
}

#[test]
fn units_that_come_before_the_batch_is_decided_park_no_lane() {
    let bench = Bench::serial(config([leaf("a")]));
    bench.node("n1", 8);
    let application = bench.application("root.a");
    bench.ask(application, 1, 5);
    bench.commit();
    let batch = bench.pass(0);
    Bench::expect_observed(&batch, |seen| is_blocked(seen, |reason| reason == WaitKey::AllInFlight));
    bench.ask(application, 1, 2);
    bench.decide(batch);
    bench.expect_running(7);
}

/// A full node of 8, an ask for all of it, and a pass that finds no room.
fn without_room() -> (Bench, Box<ProposalBatch>) {
    let bench = Bench::with_one_node();
    let application = bench.application("root.a");
    bench.ask(application, 8, 1);
    bench.engine.run_until_quiet();
    bench.ask(application, 7, 1);
    bench.commit();
    let batch = bench.pass(0);
    Bench::expect_observed(&batch, |seen| matches!(seen, Observation::NoRoom { .. }));
    (bench, batch)
}

#[test]
fn room_that_comes_before_the_batch_is_decided_keeps_the_shape_open() {
    let (bench, batch) = without_room();
    bench.complete_one();
    bench.decide(batch);
    bench.expect_running(1);
}

#[test]
fn a_shape_that_took_over_the_slot_stays_open() {
    let bench = Bench::with_one_node();
    let application = bench.application("root.a");
    bench.ask(application, 9, 1);
    bench.commit();
    let batch = bench.pass(0);
    Bench::expect_observed(&batch, |seen| matches!(seen, Observation::NoRoom { .. }));
    bench.engine.handle().cancel_ask(first_ask(&bench), 1).unwrap();
    bench.ask(application, 3, 1);
    bench.decide(batch);
    bench.expect_running(1);
}

/// Slots of shapes and lanes are reused: the first lane's report is about a limit that the second lane never meets.
#[test]
fn a_lane_that_took_over_the_slot_stays_runnable() {
    let bench = Bench::serial(config([leaf("a").with_maximum(Maximum::absolute(&[3])), leaf("b")]));
    bench.node("n1", 8);
    let [first, second] = ["root.a", "root.b"].map(|leaf| bench.application(leaf));
    bench.ask(first, 4, 1);
    bench.commit();
    let batch = bench.pass(0);
    let is_at_queue = |seen: &Observation| is_blocked(seen, |key| matches!(key, WaitKey::QueueLimit(_)));
    Bench::expect_observed(&batch, is_at_queue);
    bench.engine.handle().cancel_ask(first_ask(&bench), 1).unwrap();
    bench.commit();
    bench.ask(second, 2, 1);
    bench.commit();
    let leaf = bench.engine.handle().queue("root.b").unwrap();
    for seen in &batch.proposals.observations {
        let Observation::Blocked { lane, .. } = seen else { continue };
        assert_eq!(bench.shared.state.read().backlog.lane(*lane).leaf, leaf, "the slot was not taken over");
    }
    bench.decide(batch);
    bench.expect_running(1);
}

#[test]
fn a_batch_with_a_rejection_closes_no_shape() {
    let bench = Bench::with_one_node();
    let application = bench.application("root.a");
    bench.ask(application, 5, 1);
    bench.ask(application, 5, 1);
    bench.commit();
    let batch = bench.pass(0);
    assert_eq!(batch.proposals.requests.len(), 1);
    // The second ask finds no room after the first.
    Bench::expect_observed(&batch, |seen| matches!(seen, Observation::NoRoom { .. }));
    bench.engine.handle().cancel_ask(batch.requests()[0].allocate[0].ask, 1).unwrap();
    bench.decide(batch);
    bench.expect_running(1);
}

#[test]
fn a_host_that_gains_room_before_the_batch_is_decided_lets_no_ask_wait() {
    let bench = Bench::with_one_node();
    let host = bench.engine.handle().node("n1").unwrap();
    let application = bench.application("root.a");
    bench.ask(application, 8, 1);
    bench.engine.run_until_quiet();
    let local = AskSpec::new(memory(1), 1).on_hosts([host]).strictly_local();
    bench.engine.handle().submit_ask(application, local).unwrap();
    bench.commit();
    let batch = bench.pass(0);
    Bench::expect_observed(&batch, |seen| matches!(seen, Observation::Waits { .. }));
    bench.complete_one();
    bench.decide(batch);
    bench.expect_running(1);
}

/// An engine of two sets with one node each, stepped by hand.
struct TwoSets {
    engine: Engine,
    handle: Handle,
    parts: Parts,
    application: ApplicationId,
    nodes: [NodeId; 2],
}

impl TwoSets {
    fn new() -> Self {
        let mut config: EngineConfig = config([leaf("a")]);
        (config.limits.single_set_nodes, config.limits.set_nodes) = (2, 1);
        let (engine, parts) = Engine::assemble(config, 1, Arc::new(ManualClock::new()), None).unwrap();
        let handle = engine.handle();
        let nodes = ["n1", "n2"].map(|name| handle.add_node(NodeSpec::new(name, memory(8))).unwrap());
        let events = handle.event_stream(64);
        let spec = ApplicationSpec::new("application", "root.a", "user");
        let application = handle.submit_application(spec, &events).unwrap();
        let mut sets = Self { engine, handle, parts, application, nodes };
        sets.step();
        sets
    }

    /// Processes everything sent so far.
    fn step(&mut self) {
        while self.parts.committer.step() == Step::Worked {}
    }

    fn pass(&self, number: u32) -> Box<ProposalBatch> {
        let shared = &self.engine.shared;
        let set = shared.leases.try_take(SetId::new(PartitionId::DEFAULT, number)).unwrap();
        propose(shared, set, &mut Scratch::default())
    }

    fn decide(&mut self, batch: Box<ProposalBatch>) {
        assert!(self.parts.proposers[0].send(batch).is_ok());
        self.step();
    }

    /// An ask for the whole second node, proposed from the first set, and another ask for which the second set
    /// finds the node in use.
    fn with_node_in_use(&mut self) -> [Box<ProposalBatch>; 2] {
        let local = AskSpec::new(memory(8), 1).on_hosts([self.nodes[1]]).strictly_local();
        self.handle.submit_ask(self.application, local.clone()).unwrap();
        self.step();
        let first = self.pass(0);
        assert_eq!(first.proposals.requests.len(), 1);
        self.handle.submit_ask(self.application, local).unwrap();
        self.step();
        let second = self.pass(1);
        Bench::expect_observed(&second, |seen| *seen == Observation::InUse);
        [first, second]
    }

    fn second_is_wanted(&self) -> bool {
        let state = self.engine.shared.state.read();
        state.backlog.is_wanted(SetId::new(PartitionId::DEFAULT, 1))
    }
}

#[test]
fn a_set_is_not_paused_for_what_was_decided_since() {
    let mut sets = TwoSets::new();
    let [first, second] = sets.with_node_in_use();
    drop(first);
    sets.decide(second);
    assert!(sets.second_is_wanted(), "the obstacle is no longer in flight");
}

#[test]
fn a_paused_set_goes_on_when_something_is_decided() {
    let mut sets = TwoSets::new();
    let [first, second] = sets.with_node_in_use();
    sets.decide(second);
    assert!(!sets.second_is_wanted(), "a further pass would find the same");
    drop(first);
    assert!(sets.second_is_wanted());
}

#[test]
fn the_engine_is_not_quiet_while_a_batch_is_on_its_way() {
    let mut sets = TwoSets::new();
    assert!(sets.engine.shared.progress().quiet);
    let ask = sets.handle.submit_ask(sets.application, AskSpec::new(memory(1), 1)).unwrap();
    sets.step();
    let batch = sets.pass(0);
    sets.handle.cancel_ask(ask, 1).unwrap();
    sets.step();
    let progress = sets.engine.shared.progress();
    assert_eq!(progress.processed, sets.engine.shared.sent(), "every message is processed");
    assert!(!progress.quiet, "but a batch is out");
    sets.decide(batch);
    assert!(sets.engine.shared.progress().quiet);
}

/// I14. The gate may have counted a message that is not in the inbox yet when the engine is shut down.
#[test]
fn the_committer_waits_for_what_went_through_the_gate() {
    let mut sets = TwoSets::new();
    let shared = Arc::clone(&sets.engine.shared);
    shared.stop_after(shared.sent() + 1);
    sets.step();
    assert_eq!(sets.parts.committer.step(), Step::Idle, "one is still on its way");
    sets.handle.tick().unwrap();
    sets.step();
    assert_eq!(sets.parts.committer.step(), Step::Ended);
}

/// A unit with a reserved node is not offered elsewhere: such a reservation ends when its node has room, or by age.
#[test]
fn a_reserved_unit_of_an_ask_that_names_its_hosts_waits_for_its_node() {
    let bench = Bench::serial(config([leaf("a")]));
    let hosts = [bench.node("n1", 1), bench.node("n2", 1)];
    let application = bench.application("root.a");
    bench.node("n3", 8);
    bench.engine.handle().drain_node(bench.engine.handle().node("n3").unwrap()).unwrap();
    bench.ask(application, 1, 2);
    bench.engine.run_until_quiet();
    let spec = AskSpec::new(memory(1), 1).on_hosts(hosts).strictly_local();
    let ask = bench.engine.handle().submit_ask(application, spec).unwrap();
    bench.engine.run_until_quiet();
    bench.engine.handle().commit(ResourceAllocationCommitRequest::reserve(ask, hosts[0])).unwrap();
    bench.commit();
    let on = |node: NodeId| bench.engine.read(|view| view.node(node).unwrap().containers()[0]);
    bench.engine.handle().complete_container(on(hosts[1])).unwrap();
    bench.expect_running(1);
    bench.engine.handle().complete_container(on(hosts[0])).unwrap();
    bench.expect_running(1);
    assert!(bench.engine.read(|view| view.ask(ask).is_none()), "it runs on its node");
}

/// One of two wanted containers has a reserved node, and the other is in flight. If that one is rejected, the ask
/// still wants both.
#[test]
fn a_reservation_stays_while_another_container_of_the_ask_is_in_flight() {
    let mut config = config([leaf("a")]);
    config.reservations.delay_ms = Some(0);
    let bench = Bench::serial(config);
    let (n1, application) = (bench.node("n1", 8), bench.application("root.a"));
    bench.ask(application, 8, 1);
    bench.engine.run_until_quiet();
    let handle = bench.engine.handle();
    bench.add_idle_room();
    let ask = bench.ask(application, 8, 2);
    bench.engine.run_until_quiet();
    assert_eq!(bench.reservations(ask), 1);
    let n2 = bench.node("n2", 8);
    bench.commit();
    let batch = bench.pass(0);
    assert_eq!(*batch.requests(), [ResourceAllocationCommitRequest::allocate(ask, n2)]);
    let n3 = bench.node("n3", 8);
    assert_eq!(bench.pass_on(n3), 0);
    handle.drain_node(n2).unwrap();
    bench.decide(batch);
    let reserved = bench
        .engine
        .read(|view| view.reservations().map(|(_, reservation)| reservation.node).collect::<Vec<_>>());
    assert_eq!(reserved, [n1]);
    bench.expect_running(2);
}
