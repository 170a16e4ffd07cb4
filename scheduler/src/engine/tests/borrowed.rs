//! Borrowed containers on nodes that another partition lends.

use super::{Bench, config, leaf, memory, propose};
use crate::change::{AskSpec, NodeSpec};
use crate::config::{
    Capacity, EngineConfig, Maximum, PartitionAccess, PartitionCapacity, Percent, QueueConfig,
};
use crate::explain::PendingReason;
use crate::ids::{PartitionId, SetId};
use crate::propose::Scratch;

/// This queue below the root, and a partition that lends its nodes.
fn lending(queue: QueueConfig) -> EngineConfig {
    EngineConfig {
        partitions: vec!["x".to_owned()],
        non_exclusive_partitions: vec!["x".to_owned()],
        ..config([queue])
    }
}

/// A container on a borrowed node keeps its borrowed shape when no ask has its own shape any more. Then the same
/// ask comes again and its own shape gets another number. The borrowed shape now belongs to the new shape only.
#[test]
fn the_shape_of_a_borrowed_container_that_outlives_its_ask_belongs_to_the_next() {
    let bench = Bench::serial(lending(leaf("a")));
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
    let bench = Bench::serial(lending(leaf("a").with_maximum(Maximum::absolute(&[1]))));
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

/// In the lending partition, the first queue waits at the maximum of the queue above and blocks headroom. Both queues
/// borrow a node in one pass, because borrowed containers need no headroom.
#[test]
fn blocked_headroom_keeps_no_queue_from_borrowing() {
    let capacity =
        |maximum| PartitionCapacity { capacity: Some(Capacity::Percent(Percent::whole(50))), maximum };
    let whole = || Some(Maximum::Percent(Percent::ALL));
    let queue = |name| leaf(name).with_access(PartitionAccess::All);
    let both = ["a", "b"].map(|name| queue(name).with_partition("x", capacity(whole())));
    let both = queue("p").with_partition("x", capacity(Some(Maximum::absolute(&[10])))).with_children(both);
    let bench = Bench::serial(lending(both));
    let lent = |name: &str, amount| NodeSpec::new(name, memory(amount)).in_partition(PartitionId(1));
    bench.engine.handle().add_node(lent("n1", 8)).unwrap();
    let [a, b] = ["root.p.a", "root.p.b"].map(|leaf| bench.application(leaf));
    for (application, size, running) in [(b, 8, 1), (a, 4, 1)] {
        let own = AskSpec::new(memory(size), 1).in_partition(PartitionId(1));
        bench.engine.handle().submit_ask(application, own).unwrap();
        bench.expect_running(running);
    }
    bench.node("full", 1);
    bench.ask(a, 1, 1);
    bench.expect_running(2);
    let borrowing = [a, b].map(|application| bench.ask(application, 2, 1));
    bench.expect_running(2);
    bench.engine.handle().add_node(lent("n2", 9)).unwrap();
    bench.commit();
    let pass_over_lender = || {
        let set = bench.shared.leases.try_take(SetId::new(PartitionId(1), 0)).unwrap();
        propose(&bench.shared, set, &mut Scratch::default())
    };
    // These passes look at the limits again, and find nothing for the borrowing asks in their own partition.
    bench.decide(pass_over_lender());
    bench.decide(bench.pass(0));
    let batch = pass_over_lender();
    let asks: Vec<_> = batch.requests().iter().map(|request| request.allocate[0].ask).collect();
    assert_eq!(asks, borrowing);
}
