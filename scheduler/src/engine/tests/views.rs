//! A set's view after its own debits, and after changes while the set was away (I12).

use super::hand::Hand;
use super::{Bench, config, leaf, memory};
use crate::change::AskSpec;
use crate::engine::proposer::propose;
use crate::ids::{PartitionId, SetId};
use crate::propose::Scratch;

impl Bench {
    /// A node of 8 with one container of 1.
    fn with_container() -> Self {
        let bench = Self::serial(config([leaf("a")]));
        bench.node("n1", 8);
        bench.ask(bench.application("root.a"), 1, 1);
        bench.engine.run_until_quiet();
        bench
    }
}

/// The set's view shows a full node; the next pass must not rely on it.
#[test]
fn a_set_looks_again_at_what_a_dropped_batch_took() {
    let bench = Bench::serial(config([leaf("a")]));
    bench.node("n1", 8);
    bench.ask(bench.application("root.a"), 8, 1);
    bench.commit();
    let batch = bench.pass(0);
    assert_eq!(batch.proposals.requests.len(), 1);
    drop(batch);
    bench.expect_running(1);
}

/// The ask is gone when its container is decided, so the node has not changed.
#[test]
fn a_set_looks_again_at_what_was_rejected() {
    let bench = Bench::serial(config([leaf("a")]));
    bench.node("n1", 8);
    let application = bench.application("root.a");
    let ask = bench.ask(application, 8, 1);
    bench.commit();
    let batch = bench.pass(0);
    bench.engine.handle().cancel_ask(ask, 1).unwrap();
    bench.decide(batch);
    bench.ask(application, 8, 1);
    bench.expect_running(1);
}

/// The container's release is recorded after the view's own debit.
#[test]
fn a_container_that_ends_while_a_batch_is_on_its_way_is_counted_once() {
    let bench = Bench::with_container();
    bench.ask(bench.application("root.a"), 2, 1);
    bench.commit();
    let batch = bench.pass(0);
    bench.complete_one();
    bench.decide(batch);
    bench.expect_running(1);
}

/// The set looks at the node again, which has regained the room by then.
#[test]
fn a_container_that_ends_before_a_rejection_is_counted_once() {
    let bench = Bench::with_container();
    let ask = bench.ask(bench.application("root.a"), 2, 1);
    bench.commit();
    let batch = bench.pass(0);
    bench.engine.handle().cancel_ask(ask, 1).unwrap();
    bench.complete_one();
    bench.decide(batch);
    bench.engine.run_until_quiet();
    // The set looks when the next ask comes.
    bench.ask(bench.application("root.a"), 8, 1);
    bench.expect_running(1);
}

/// The view of the node's own set does not know the pick before.
#[test]
fn a_pick_by_another_set_is_news_to_the_nodes_own() {
    let mut config = config([leaf("a")]);
    (config.limits.single_set_nodes, config.limits.set_nodes) = (2, 1);
    let mut hand = Hand::new(config);
    hand.node("n1", 8);
    let host = hand.node("n2", 8);
    let application = hand.application();
    // One container more than the nodes hold: from here on each set has a view.
    hand.ask(application, AskSpec::new(memory(1), 12));
    hand.run_until_idle();
    hand.ask(application, AskSpec::new(memory(1), 1).on_hosts([host]).strictly_local());
    hand.commit();
    let set = hand.engine.shared.leases.try_take(SetId::new(PartitionId::DEFAULT, 0)).unwrap();
    let batch = propose(&hand.engine.shared, set, &mut Scratch::default());
    assert_eq!(batch.requests().len(), 1, "on the other set's node");
    hand.parts.proposers[0].send(batch).unwrap();
    hand.run_until_idle();
    assert_eq!(hand.engine.read(|view| view.container_count()), 13);
    let report = hand.engine.audit();
    assert!(report.is_clean(), "{report}");
}
