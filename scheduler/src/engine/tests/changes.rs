//! Containers that change after placement, and nodes that move to another partition.

use super::{Bench, config, leaf, memory};
use crate::change::{AskSpec, NodeSpec, RunningContainer};
use crate::config::{ApplicationOrdering, Maximum};
use crate::event::Refusal;
use crate::facts::{ApplicationEnd, ExecutionType, NodeAttributes};
use crate::ids::{ApplicationId, ContainerId, NodeId, PartitionId, SlotId};
use crate::request::RejectReason;
use crate::resource::{AMOUNT_MAX, DeviceNeed, ResourceTypes, Resources};

const OTHER: PartitionId = PartitionId(1);

impl Bench {
    /// The running containers; checks the state as well.
    fn running(&self) -> Vec<ContainerId> {
        self.engine.run_until_quiet();
        let report = self.engine.audit();
        assert!(report.is_clean(), "{report}");
        self.engine.read(|view| view.containers().map(|(id, _)| id).collect())
    }

    fn resize(&self, container: ContainerId, amount: i64) -> Result<(), Refusal> {
        let ticket = self.engine.handle().resize_container(container, memory(amount)).unwrap();
        self.engine.run_until_quiet();
        ticket.try_take().unwrap().map(drop)
    }

    fn promote(&self, container: ContainerId, is_up: bool) -> Result<(), Refusal> {
        let handle = self.engine.handle();
        let ticket =
            if is_up { handle.promote_container(container) } else { handle.demote_container(container) };
        self.engine.run_until_quiet();
        ticket.unwrap().try_take().unwrap().map(drop)
    }

    fn used(&self, partition: PartitionId) -> i64 {
        self.engine.read(|view| view.queue("root.a").unwrap().quota(partition).used[0])
    }
}

/// A node of 8 in the default partition and another node of 8 in a second partition.
fn two_partitions() -> (Bench, [NodeId; 2], ApplicationId) {
    let mut config = config([leaf("a").with_maximum(Maximum::absolute(&[8]))]);
    config.partitions = vec!["x".into()];
    let bench = Bench::serial(config);
    let spec = NodeSpec::new("n2", memory(8)).in_partition(OTHER);
    let nodes = [bench.node("n1", 8), bench.engine.handle().add_node(spec).unwrap()];
    let application = bench.application("root.a");
    (bench, nodes, application)
}

/// One container of 4 on a node of 8, in a leaf with a maximum of 6.
fn grown_later() -> (Bench, NodeId, ContainerId) {
    let bench = Bench::serial(config([leaf("a").with_maximum(Maximum::absolute(&[6]))]));
    let node = bench.node("n1", 8);
    bench.ask(bench.application("root.a"), 4, 1);
    let container = bench.running()[0];
    (bench, node, container)
}

#[test]
fn a_node_takes_its_containers_to_another_partition() {
    let (bench, nodes, application) = two_partitions();
    bench.ask(application, 2, 3);
    assert_eq!(bench.running().len(), 3);
    bench.engine.handle().set_node_partition(nodes[0], OTHER).unwrap();
    let running = bench.running();
    assert_eq!((bench.used(PartitionId::DEFAULT), bench.used(OTHER)), (0, 6));
    running.into_iter().for_each(|id| bench.engine.handle().complete_container(id).unwrap());
    assert!(bench.running().is_empty());
    assert_eq!(bench.used(OTHER), 0);
}

#[test]
fn proposals_for_a_node_that_changes_its_partition_are_rejected() {
    let (bench, nodes, application) = two_partitions();
    bench.ask(application, 2, 3);
    bench.commit();
    let batch = bench.pass(0);
    assert_eq!(batch.requests().len(), 3);
    bench.engine.handle().set_node_partition(nodes[0], OTHER).unwrap();
    bench.decide(batch);
    assert!(bench.running().is_empty());
    bench.engine.handle().set_node_partition(nodes[1], PartitionId::DEFAULT).unwrap();
    assert_eq!(bench.running().len(), 3);
}

#[test]
fn a_container_grows_by_what_its_node_has() {
    let (bench, node, container) = grown_later();
    bench.engine.handle().update_node(node, memory(5), NodeAttributes::new()).unwrap();
    let full = Err(Refusal::CannotGrow(RejectReason::NodeFull));
    assert_eq!([5, 6].map(|amount| bench.resize(container, amount)), [Ok(()), full]);
    assert_eq!((bench.running().len(), bench.used(PartitionId::DEFAULT)), (1, 5));
}

#[test]
fn a_container_grows_as_far_as_its_queue_may() {
    let (bench, _, container) = grown_later();
    let limited = Err(Refusal::CannotGrow(RejectReason::QueueLimit));
    assert_eq!([6, 7].map(|amount| bench.resize(container, amount)), [Ok(()), limited]);
    assert_eq!((bench.running().len(), bench.used(PartitionId::DEFAULT)), (1, 6));
}

#[test]
fn others_get_the_room_that_a_container_gives_back() {
    let (bench, _, container) = grown_later();
    bench.ask(bench.application_of("root.a", "other"), 5, 1);
    assert_eq!(bench.running().len(), 1);
    assert_eq!(bench.resize(container, 1), Ok(()));
    assert_eq!((bench.running().len(), bench.used(PartitionId::DEFAULT)), (2, 6));
}

#[test]
fn a_container_is_promoted_if_there_is_room() {
    let (bench, node, container) = grown_later();
    let other = bench.ask(bench.application_of("root.a", "other"), 6, 1);
    assert_eq!(bench.running().len(), 1);
    assert_eq!(bench.promote(container, false), Ok(()));
    assert_eq!((bench.running().len(), bench.used(PartitionId::DEFAULT)), (2, 6), "{other} is in its place");
    assert_eq!(bench.promote(container, false), Err(Refusal::SameExecutionType));
    assert_eq!(bench.resize(container, 1), Err(Refusal::Opportunistic));
    assert_eq!(bench.promote(container, true), Err(Refusal::CannotGrow(RejectReason::NodeFull)));
    let seen = bench
        .engine
        .read(|view| (view.container(container).unwrap(), view.node(node).unwrap().opportunistic()));
    assert_eq!(
        (seen.0.size, seen.0.execution_type, seen.1),
        (memory(4), ExecutionType::Opportunistic, memory(4))
    );
    bench.engine.handle().update_node(node, memory(10), NodeAttributes::new()).unwrap();
    assert_eq!(bench.promote(container, true), Err(Refusal::CannotGrow(RejectReason::QueueLimit)));
    let other = bench.running().into_iter().find(|id| *id != container).unwrap();
    bench.engine.handle().complete_container(other).unwrap();
    assert_eq!(
        [true, true].map(|is_up| bench.promote(container, is_up)),
        [Ok(()), Err(Refusal::SameExecutionType)]
    );
    assert_eq!((bench.running().len(), bench.used(PartitionId::DEFAULT)), (1, 4));
}

#[test]
fn an_opportunistic_container_ends_as_others_do() {
    let (bench, node, container) = grown_later();
    assert_eq!(bench.promote(container, false), Ok(()));
    bench.engine.handle().remove_node(node).unwrap();
    assert!(bench.running().is_empty());
    assert_eq!(bench.promote(container, true), Err(Refusal::UnknownContainer));
}

/// Its devices stay assigned and charged.
#[test]
fn a_demoted_container_keeps_its_devices() {
    let mut config = config([leaf("a")]);
    config.resources = ResourceTypes::new(["memory", "gpu"]).unwrap().with_devices("gpu").unwrap();
    let bench = Bench::serial(config);
    bench.engine.handle().add_node(NodeSpec::new("n1", memory(8)).with_devices(1)).unwrap();
    let spec = AskSpec::new(memory(4), 1).with_devices(DeviceNeed { count: 1, milli: 600 });
    bench.engine.handle().submit_ask(bench.application("root.a"), spec).unwrap();
    let container = bench.running()[0];
    let used = || bench.engine.read(|view| view.queue("root.a").unwrap().quota(PartitionId::DEFAULT).used);
    assert_eq!(bench.promote(container, false), Ok(()));
    assert_eq!((bench.running().len(), used()), (1, Resources::new(&[0, 600])));
    assert_eq!(bench.promote(container, true), Ok(()));
    assert_eq!((bench.running().len(), used()), (1, Resources::new(&[4, 600])));
}

#[test]
fn what_was_proposed_beside_a_container_that_grew_is_validated_by_what_is_left() {
    let (bench, _, container) = grown_later();
    bench.ask(bench.application_of("root.a", "other"), 2, 1);
    bench.commit();
    let batch = bench.pass(0);
    assert_eq!(batch.requests().len(), 1);
    let ticket = bench.engine.handle().resize_container(container, memory(6)).unwrap();
    bench.decide(batch);
    assert!(ticket.try_take().unwrap().is_ok());
    assert_eq!((bench.running().len(), bench.used(PartitionId::DEFAULT)), (1, 6));
}

#[test]
fn running_containers_are_charged_before_others_are_placed_on_their_node() {
    let bench = Bench::serial(config([leaf("a")]));
    let application = bench.application("root.a");
    bench.ask(application, 4, 1);
    let running = [3, 7].map(|amount| RunningContainer::new(application, memory(amount))).to_vec();
    let recovery = bench.engine.handle().recover_node(NodeSpec::new("n1", memory(8)), running).unwrap();
    let known = bench.running();
    let answers = recovery.containers.try_take().unwrap();
    assert_eq!(answers, known.iter().copied().map(Ok).collect::<Vec<_>>());
    assert_eq!((known.len(), bench.used(PartitionId::DEFAULT)), (2, 10));
    bench.engine.handle().complete_container(known[1]).unwrap();
    assert_eq!(bench.running().len(), 2, "the ask gets what is free");
}

#[test]
fn containers_that_sum_up_to_an_impossible_size_are_refused() {
    let bench = Bench::serial(config([leaf("a")]));
    let application = bench.application("root.a");
    let running =
        [1, AMOUNT_MAX, 1].map(|amount| RunningContainer::new(application, memory(amount))).to_vec();
    let recovery = bench.engine.handle().recover_node(NodeSpec::new("n1", memory(8)), running).unwrap();
    let known = bench.running();
    let answers = recovery.containers.try_take().unwrap();
    assert_eq!(answers, [Ok(known[0]), Err(Refusal::OutOfRange), Ok(known[1])]);
}

#[test]
fn a_container_of_an_ended_application_is_refused_and_leaves_no_trace() {
    let bench = Bench::serial(config([leaf("a")]));
    let gone = bench.application("root.a");
    bench.engine.handle().end_application(gone, ApplicationEnd::Finished).unwrap();
    let running = vec![RunningContainer::new(gone, memory(1))];
    let recovery = bench.engine.handle().recover_node(NodeSpec::new("n1", memory(8)), running).unwrap();
    assert!(bench.running().is_empty());
    assert_eq!(recovery.containers.try_take().unwrap(), [Err(Refusal::ApplicationEnded)]);
    // The refused container's ask identifier goes to the next ask.
    let ask = bench.ask(bench.application("root.a"), 1, 1);
    assert_eq!(ask.index(), recovery.asks[0].index());
}

/// The size-based weight counts pending asks: after most of its asks are cancelled, the application comes second.
#[test]
fn an_application_that_cancels_most_of_its_asks_weighs_less() {
    let fair = leaf("a").with_ordering(ApplicationOrdering::FairBySize);
    let bench = Bench::serial(config([fair, leaf("c")]));
    bench.node("n1", 5);
    let other = bench.application("root.c");
    bench.ask(other, 1, 1);
    let [first, second] = [(); 2].map(|()| bench.application("root.a"));
    [first, second].iter().for_each(|application| _ = bench.ask(*application, 1, 2));
    bench.expect_running(5);
    let [large, small] =
        [(first, 100), (second, 5)].map(|(application, count)| bench.ask(application, 1, count));
    bench.engine.run_until_quiet();
    bench.engine.handle().cancel_ask(large, 99).unwrap();
    let of_other = bench.engine.read(|view| {
        let running = view.containers().find(|(_, container)| container.application == other);
        running.map(|(id, _)| id).unwrap()
    });
    bench.engine.handle().complete_container(of_other).unwrap();
    bench.expect_running(5);
    let left = [large, small].map(|ask| bench.engine.read(|view| view.ask(ask).unwrap().outstanding()));
    assert_eq!(left, [1, 4]);
}

/// The growth of a container counts in the fair order.
#[test]
fn an_application_whose_container_grew_comes_later() {
    let bench = Bench::serial(config([leaf("a").with_ordering(ApplicationOrdering::Fair), leaf("c")]));
    bench.node("n1", 8);
    let [first, second, other] = ["root.a", "root.a", "root.c"].map(|queue| bench.application(queue));
    [(first, 1), (second, 2), (other, 3)].iter().for_each(|(whose, size)| _ = bench.ask(*whose, *size, 1));
    bench.expect_running(3);
    let running_of = |application| {
        bench.engine.read(|view| view.containers().find(|(_, one)| one.application == application).unwrap().0)
    };
    let handle = bench.engine.handle();
    let [left, placed] = [first, second].map(|application| bench.ask(application, 3, 5));
    bench.engine.run_until_quiet();
    handle.resize_container(running_of(first), memory(3)).unwrap();
    bench.engine.run_until_quiet();
    handle.complete_container(running_of(other)).unwrap();
    bench.expect_running(3);
    assert_eq!(
        [left, placed].map(|ask| bench.engine.read(|view| view.ask(ask).unwrap().outstanding())),
        [5, 4]
    );
}
