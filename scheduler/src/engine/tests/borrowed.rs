//! Borrowed containers on nodes that another partition lends.

use super::{Bench, config, leaf, memory};
use crate::change::NodeSpec;
use crate::config::{EngineConfig, Maximum};
use crate::explain::PendingReason;
use crate::ids::PartitionId;

/// A container on a borrowed node keeps its borrowed shape when no ask has its own shape any more. Then the same
/// ask comes again and its own shape gets another number. The borrowed shape now belongs to the new shape only.
#[test]
fn the_shape_of_a_borrowed_container_that_outlives_its_ask_belongs_to_the_next() {
    let lending = EngineConfig {
        partitions: vec!["x".to_owned()],
        non_exclusive_partitions: vec!["x".to_owned()],
        ..config([leaf("a")])
    };
    let bench = Bench::serial(lending);
    let handle = bench.engine.handle();
    bench.node("n1", 1);
    let lent = |name: &str, amount| NodeSpec::new(name, memory(amount)).in_partition(PartitionId(1));
    handle.add_node(lent("n2", 9)).unwrap();
    for idle in [NodeSpec::new("idle", memory(99)), lent("idle lent", 99)] {
        handle.drain_node(handle.add_node(idle).unwrap()).unwrap();
    }
    let application = bench.application("root.a");
    bench.ask(application, 1, 1);
    bench.expect_running(1);
    let others = [50, 51].map(|amount| bench.ask(application, amount, 1));
    bench.ask(application, 2, 1);
    bench.expect_running(2);
    others.iter().for_each(|ask| handle.cancel_ask(*ask, 1).unwrap());
    bench.ask(application, 2, 1);
    bench.expect_running(3);
    let report = bench.engine.audit();
    assert!(report.is_clean(), "{report}");
}

/// The reason and the blocker of an ask at its queue's limit agree, whether it may borrow a node or not.
#[test]
fn a_limit_is_no_obstacle_for_an_ask_that_may_borrow_a_node() {
    let lending = EngineConfig {
        partitions: vec!["x".to_owned()],
        non_exclusive_partitions: vec!["x".to_owned()],
        ..config([leaf("a").with_maximum(Maximum::absolute(&[1]))])
    };
    let bench = Bench::serial(lending);
    bench.node("n1", 8);
    let ask = bench.ask(bench.application("root.a"), 1, 2);
    bench.expect_running(1);
    let explained = || bench.engine.explain(ask).pending().map(|why| (why.reason, why.blocker.is_some()));
    assert_eq!(explained(), Some((PendingReason::QueueLimit, true)));
    let lent = NodeSpec::new("n2", memory(4)).in_partition(PartitionId(1));
    bench.engine.handle().add_node(lent).unwrap();
    bench.commit();
    assert_eq!(explained(), Some((PendingReason::Runnable, false)));
    bench.expect_running(2);
}
