//! Moves of applications and nodes with proposals in flight.

use super::{Bench, config, leaf, memory, propose};
use crate::change::NodeSpec;
use crate::config::{EngineConfig, Maximum, Percent};
use crate::ids::{ApplicationId, PartitionId, SetId};
use crate::propose::{ProposalBatch, Scratch};

/// Four containers are proposed for an application that moves to a leaf with a maximum of two.
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
fn proposals_are_checked_by_the_new_queues() {
    let (bench, _, batch) = moved_in_flight();
    bench.decide(batch);
    bench.expect_running(2);
}

#[test]
fn a_dropped_batch_gives_its_amounts_back_to_the_old_queues() {
    let (bench, application, batch) = moved_in_flight();
    bench.commit();
    drop(batch);
    bench.expect_running(2);
    // Where no limit blocks it any more, the rest is placed.
    let _answer = bench.engine.handle().move_application(application, "root.a").unwrap();
    bench.expect_running(4);
}

/// The queues' use includes its reservations.
#[test]
fn a_reservation_moves_with_its_application() {
    let mut config = config([leaf("a"), leaf("b")]);
    (config.reservations.delay_ms, config.reservations.nodes) = (Some(0), Percent::ALL);
    let bench = Bench::serial(config);
    bench.node("n1", 4);
    bench.ask(bench.application("root.b"), 3, 1);
    bench.expect_running(1);
    bench.add_idle_room();
    let application = bench.application("root.a");
    let ask = bench.ask(application, 2, 1);
    bench.expect_running(1);
    assert_eq!(bench.reservations(ask), 1);
    let used =
        |path: &str| bench.engine.read(|view| view.queue(path).unwrap().quota(PartitionId::DEFAULT).used[0]);
    assert_eq!((used("root.a"), used("root.b")), (2, 3));
    let _answer = bench.engine.handle().move_application(application, "root.b").unwrap();
    bench.expect_running(1);
    assert_eq!((used("root.a"), used("root.b"), bench.reservations(ask)), (0, 5, 1));
}

/// Four borrowed containers are proposed on a node that then moves to the default partition, where their leaf is at
/// its limit.
#[test]
fn borrowed_containers_that_were_proposed_are_validated_where_their_node_is() {
    let lending = EngineConfig {
        partitions: vec!["x".to_owned()],
        non_exclusive_partitions: vec!["x".to_owned()],
        ..config([leaf("a").with_maximum(Maximum::absolute(&[2]))])
    };
    let bench = Bench::serial(lending);
    bench.node("n1", 8);
    bench.ask(bench.application("root.a"), 1, 6);
    bench.expect_running(2);
    let lent = |name: &str| NodeSpec::new(name, memory(4)).in_partition(PartitionId(1));
    let node = bench.engine.handle().add_node(lent("n2")).unwrap();
    bench.commit();
    // The application's own partition comes first, and its limit blocks.
    let in_own_partition = bench.pass(0);
    bench.decide(in_own_partition);
    let set = bench.shared.leases.try_take(SetId::new(PartitionId(1), 0)).unwrap();
    let batch = propose(&bench.shared, set, &mut Scratch::default());
    assert_eq!(batch.requests().len(), 4);
    // A node in the lending partition, so that the batch would still fit there.
    bench.engine.handle().add_node(lent("n3")).unwrap();
    bench.engine.handle().set_node_partition(node, PartitionId::DEFAULT).unwrap();
    bench.decide(batch);
    assert_eq!(bench.containers_on(node), 0);
    bench.expect_running(6);
}
