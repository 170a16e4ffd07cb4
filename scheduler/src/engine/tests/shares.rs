//! Users held to shares of their leaf, within one pass.

use super::late::is_blocked;
use super::{Bench, config, memory};
use crate::backlog::WaitKey;
use crate::change::AskSpec;
use crate::config::{Capacity, Percent, QueueConfig, Semantics};
use crate::ids::{ApplicationId, AskId};
use crate::propose::ProposalBatch;
use crate::request::{AllocationProposal, CommitOutcome, RejectReason, ResourceAllocationCommitRequest};

/// A leaf with a tiny guarantee. It limits each user to a tenth of its use, or to an equal share of the active users'
/// use if larger, plus one container.
struct Shared {
    bench: Bench,
}

impl Shared {
    /// These nodes, and one that takes no containers: an ask for it keeps its user active.
    fn new(nodes: &[(&str, i64)]) -> Self {
        Self::under(Semantics::Strict, nodes)
    }

    fn under(semantics: Semantics, nodes: &[(&str, i64)]) -> Self {
        let leaf = QueueConfig::leaf("a", Capacity::Percent(Percent::whole(1)));
        let leaf = leaf.with_user_limit_factor(None).with_user_limit_minimum(Percent::whole(10));
        let mut config = config([leaf]);
        config.semantics = semantics;
        (config.reservations.delay_ms, config.reservations.nodes) = (Some(0), Percent::ALL);
        let bench = Bench::serial(config);
        for (name, amount) in nodes {
            bench.node(name, *amount);
        }
        bench.add_idle_room();
        Self { bench }
    }

    fn user(&self, user: &str) -> ApplicationId {
        self.bench.application_of("root.a", user)
    }

    fn pinned(&self, application: ApplicationId, node: &str, size: i64) -> AskId {
        let handle = self.bench.engine.handle();
        let node = handle.node(node).unwrap();
        handle
            .submit_ask(application, AskSpec::new(memory(size), 1).on_hosts([node]).strictly_local())
            .unwrap()
    }

    /// Runs one container.
    fn run(&self, application: ApplicationId, node: &str, size: i64) {
        self.pinned(application, node, size);
        self.bench.engine.run_until_quiet();
    }

    /// Adds an active user without containers, whose ask never fits.
    fn add_hopeless(&self) {
        self.pinned(self.user("hopeless"), "idle", 1);
    }

    fn pass(&self) -> Box<ProposalBatch> {
        self.bench.commit();
        self.bench.pass(0)
    }
}

fn expect_held(batch: &ProposalBatch) {
    let is_held = |reason| matches!(reason, WaitKey::UserShare(_));
    Bench::expect_observed(batch, |seen| is_blocked(seen, is_held));
}

/// A pass counts what it gives a user. After a rejection the user may have the headroom that the pass withheld:
/// here 8 of 8, not 9.
#[test]
fn a_rejected_batch_parks_no_user_who_is_held_because_of_it() {
    let leaf = Shared::new(&[("vanishing", 1), ("n1", 30)]);
    let [held, other] = ["held", "other"].map(|user| leaf.user(user));
    leaf.run(held, "n1", 4);
    leaf.run(other, "n1", 4);
    leaf.pinned(other, "idle", 1);
    leaf.pinned(held, "vanishing", 1);
    leaf.bench.ask(held, 4, 1);
    let batch = leaf.pass();
    assert_eq!(batch.requests().len(), 1);
    expect_held(&batch);
    let handle = leaf.bench.engine.handle();
    handle.drain_node(handle.node("vanishing").unwrap()).unwrap();
    leaf.bench.decide(batch);
    leaf.bench.expect_running(3);
}

/// A user who reserves a node for the last unit stays active: three users share 12, not two of them 4.
#[test]
fn a_user_who_reserves_a_node_is_no_less_active() {
    let leaf = Shared::new(&[("n1", 8), ("n2", 5)]);
    let [reserving, second] = ["reserving", "second"].map(|user| leaf.user(user));
    leaf.run(reserving, "n1", 2);
    leaf.run(second, "n1", 4);
    leaf.bench.ask(reserving, 6, 1);
    leaf.bench.ask(second, 4, 1);
    leaf.add_hopeless();
    let batch = leaf.pass();
    let kinds: Vec<_> = batch.requests().iter().map(|one| (one.reserve.len(), one.allocate.len())).collect();
    assert_eq!(kinds, [(1, 0), (0, 1)]);
}

/// A user whose last unit is placed on its reservation is no longer active: two users share 4, not three 12.
#[test]
fn a_user_whose_last_reservation_is_fulfilled_is_active_no_more() {
    let leaf = Shared::new(&[("n1", 12), ("n2", 5), ("n3", 6)]);
    let [reserving, second, passing] = ["reserving", "second", "passing"].map(|user| leaf.user(user));
    leaf.run(passing, "n1", 12);
    let passing = leaf.bench.containers()[0];
    leaf.run(reserving, "n3", 2);
    leaf.run(second, "n3", 4);
    let reserved = leaf.bench.ask(reserving, 6, 1);
    leaf.bench.engine.run_until_quiet();
    leaf.bench.ask(second, 4, 1);
    leaf.add_hopeless();
    leaf.bench.engine.handle().complete_container(passing).unwrap();
    let batch = leaf.pass();
    let proposed: Vec<AskId> = batch.requests().iter().map(|request| request.allocate[0].ask).collect();
    assert_eq!(proposed, [reserved]);
    expect_held(&batch);
}

/// Two users fill the node in turn within one pass. If the served user still counted, each would be held to a third.
#[test]
fn a_user_who_got_its_last_container_leaves_its_weight_to_the_others() {
    let leaf = Shared::new(&[("n1", 9)]);
    for (user, count) in [("first", 6), ("served", 1), ("last", 6)] {
        leaf.bench.ask(leaf.user(user), 1, count);
    }
    let batch = leaf.pass();
    assert_eq!(batch.requests().iter().filter(|request| !request.allocate.is_empty()).count(), 9);
}

/// One request for two containers counts as two requests: a user within its share gets one container beyond it.
fn verdict_on_two_at_once(semantics: Semantics) -> CommitOutcome {
    let leaf = Shared::under(semantics, &[("n1", 30)]);
    let [greedy, other] = ["greedy", "other"].map(|user| leaf.user(user));
    leaf.run(greedy, "n1", 2);
    leaf.run(other, "n1", 8);
    leaf.add_hopeless();
    let asks = [leaf.bench.ask(greedy, 8, 1), leaf.bench.ask(greedy, 8, 1)];
    leaf.pinned(other, "idle", 1);
    leaf.bench.commit();
    let handle = leaf.bench.engine.handle();
    let node = handle.node("n1").unwrap();
    let allocate =
        asks.map(|ask| AllocationProposal { ask, node, from_reservation: None }).into_iter().collect();
    let request = ResourceAllocationCommitRequest { allocate, ..Default::default() };
    let answer = handle.commit(request).unwrap();
    leaf.bench.commit();
    answer.try_take().unwrap()
}

#[test]
fn several_containers_at_once_are_validated_as_one_by_one() {
    for semantics in [Semantics::Strict, Semantics::YarnCompatible] {
        let verdict = verdict_on_two_at_once(semantics);
        assert_eq!(verdict, CommitOutcome::Rejected(RejectReason::UserLimit), "{semantics:?}");
    }
}
