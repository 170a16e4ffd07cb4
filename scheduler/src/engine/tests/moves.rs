//! What is moved while something is in flight for it, or while others are kept out by it.

use super::{Bench, config, leaf, memory, propose};
use crate::change::NodeSpec;
use crate::config::{EngineConfig, Maximum, QueueConfig, QueueOrdering};
use crate::ids::{ApplicationId, PartitionId, SetId};
use crate::propose::{ProposalBatch, Scratch};

/// Four containers are proposed for an application that is moved to a leaf which may use two.
fn moved_in_flight() -> (Bench, ApplicationId, Box<ProposalBatch>) {
    let bench = Bench::serial(config([leaf("a"), leaf("b").with_maximum(Maximum::absolute(&[2]))]));
    bench.node("n1", 8);
    let application = bench.application("root.a");
    bench.ask(application, 1, 4);
    bench.commit();
    let batch = bench.pass(0);
    assert_eq!(batch.requests().len(), 4);
    let _answer = bench.engine.handle().move_application(application, "root.b").unwrap();
    (bench, application, batch)
}

#[test]
fn what_was_proposed_is_judged_by_the_new_queues() {
    let (bench, _, batch) = moved_in_flight();
    bench.decide(batch);
    bench.expect_running(2);
}

#[test]
fn what_was_proposed_and_is_dropped_comes_back_to_the_old_queues() {
    let (bench, application, batch) = moved_in_flight();
    bench.commit();
    drop(batch);
    bench.expect_running(2);
    // Where nothing is in its way any more, the rest is placed.
    let _answer = bench.engine.handle().move_application(application, "root.a").unwrap();
    bench.expect_running(4);
}

/// Four guests are proposed on a node that then goes to the default partition, where their leaf may have nothing more.
#[test]
fn guests_that_were_proposed_are_judged_where_their_node_is() {
    let lending = EngineConfig {
        partitions: vec!["x".to_owned()],
        non_exclusive_partitions: vec!["x".to_owned()],
        ..config([leaf("a").with_maximum(Maximum::absolute(&[2]))])
    };
    let bench = Bench::serial(lending);
    bench.node("n1", 8);
    bench.ask(bench.application("root.a"), 1, 6);
    bench.expect_running(2);
    let lent = NodeSpec::new("n2", memory(4)).in_partition(PartitionId(1));
    let node = bench.engine.handle().add_node(lent).unwrap();
    bench.commit();
    // The own partition has its chance first, and its limit is in the way.
    let at_home = bench.pass(0);
    bench.decide(at_home);
    let set = bench.shared.leases.try_take(SetId::new(PartitionId(1), 0)).unwrap();
    let batch = propose(&bench.shared, set, &mut Scratch::default());
    assert_eq!(batch.requests().len(), 4);
    bench.engine.handle().set_node_partition(node, PartitionId::DEFAULT).unwrap();
    bench.decide(batch);
    bench.expect_running(2);
}

/// Room is kept for the queue with the more urgent application, until the other one's is.
#[test]
fn whoever_becomes_more_urgent_is_kept_out_no_longer() {
    let root = QueueConfig::root([leaf("a"), leaf("b")]).with_child_ordering(QueueOrdering::DemandPriority);
    let bench = Bench::serial(EngineConfig { root, ..config([leaf("a")]) });
    bench.node("n1", 10);
    let (a, b) = (bench.application("root.a"), bench.application("root.b"));
    bench.ask(b, 8, 1);
    bench.expect_running(1);
    bench.engine.handle().set_application_priority(a, 5).unwrap();
    bench.ask(a, 4, 1);
    bench.ask(b, 2, 1);
    bench.expect_running(1);
    bench.engine.handle().set_application_priority(b, 9).unwrap();
    bench.expect_running(2);
}
