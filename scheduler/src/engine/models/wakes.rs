//! Wake-ups: a failed pass reports its findings, against an event that would help it.

use std::sync::Arc;

use loom::thread;

use super::passes::{expect_placed, pass_against};
use super::sets::half_full;
use super::{Bound, Cluster, Workers, half, model, one, plain, several_sets, with_queues, work_off};
use crate::change::{AskSpec, NodeSpec};
use crate::config::{Capacity, EngineConfig, HolderLimit, Maximum, Percent, QueueConfig, QueueUpdate};
use crate::engine::message::Message;
use crate::ids::{ContainerId, NodeId};
use crate::propose::ProposalBatch;

/// One container runs and the next one is pending; the next pass will find no use for it.
fn one_runs_one_waits(config: EngineConfig, nodes: usize) -> (Cluster, Workers) {
    let (cluster, mut workers) = Cluster::assembled_in("root.default", config, 1, nodes);
    cluster.ask(1);
    workers.run_until_idle();
    assert_eq!(cluster.containers(), 1);
    cluster.ask(1);
    (cluster, workers)
}

/// The same, and only room is missing: a draining node counts for limits but takes no containers.
fn one_runs_one_has_no_room() -> (Cluster, Workers) {
    let (cluster, mut workers) = Cluster::assembled(plain(), 1, 2);
    cluster.handle.drain_node(cluster.nodes[1]).unwrap();
    cluster.ask(1);
    workers.run_until_idle();
    assert_eq!(cluster.containers(), 1);
    cluster.ask(1);
    (cluster, workers)
}

fn first_container(cluster: &Cluster) -> ContainerId {
    cluster.engine.read(|view| view.containers().next().expect("one runs").0)
}

/// I13. No room, against the end of the container in the way. The bug: a shape closed by a pass that looked before
/// the node gained room.
#[test]
fn no_room_against_a_release() {
    model(Bound::None, || {
        let (cluster, mut workers) = one_runs_one_has_no_room();
        let running = first_container(&cluster);
        pass_against(&mut workers, &cluster.handle, |handle| handle.complete_container(running).unwrap());
        expect_placed(&cluster, 1);
    });
}

/// I13. No room, against a new node. The bug: a view that is not compared with newer nodes.
#[test]
fn no_room_against_a_new_node() {
    model(Bound::None, || {
        let (cluster, mut workers) = one_runs_one_has_no_room();
        pass_against(&mut workers, &cluster.handle, |handle| {
            handle.add_node(NodeSpec::new("new", one())).unwrap();
        });
        expect_placed(&cluster, 2);
    });
}

/// One leaf with a maximum of one memory.
fn narrow_leaf() -> EngineConfig {
    let leaf = QueueConfig::leaf("default", Capacity::Percent(Percent::ALL)).with_user_limit_factor(None);
    with_queues(QueueConfig::root([leaf.with_maximum(Maximum::absolute(&[1]))]))
}

/// I13. A queue at its maximum, against the end of the container that fills it. The bug: a lane that is parked
/// although its queue was woken after the pass looked.
#[test]
fn a_queue_limit_against_a_release() {
    model(Bound::None, || {
        let (cluster, mut workers) = one_runs_one_waits(narrow_leaf(), 2);
        let running = first_container(&cluster);
        pass_against(&mut workers, &cluster.handle, |handle| handle.complete_container(running).unwrap());
        expect_placed(&cluster, 1);
    });
}

/// I13. A queue at its maximum, against a higher maximum. The bug: limits that change without a stamp on queues
/// without parked lanes.
#[test]
fn a_queue_limit_against_a_higher_maximum() {
    model(Bound::None, || {
        let (cluster, mut workers) = one_runs_one_waits(narrow_leaf(), 2);
        pass_against(&mut workers, &cluster.handle, |handle| {
            let update = QueueUpdate { maximum: Some(Maximum::absolute(&[2])), ..QueueUpdate::default() };
            drop(handle.update_queue(handle.queue("root.default").unwrap(), update).unwrap());
        });
        expect_placed(&cluster, 2);
    });
}

/// I13. A user at the limit, against the end of the user's container. The bug: a wake-up that stops at the queues.
#[test]
fn a_user_limit_against_a_release() {
    model(Bound::None, || {
        let half = || Capacity::Percent(Percent::whole(50));
        let leaves = [QueueConfig::leaf("default", half()), QueueConfig::leaf("other", half())];
        let (cluster, mut workers) = one_runs_one_waits(with_queues(QueueConfig::root(leaves)), 2);
        let running = first_container(&cluster);
        pass_against(&mut workers, &cluster.handle, |handle| handle.complete_container(running).unwrap());
        expect_placed(&cluster, 1);
    });
}

/// I13. A user at a limit that a queue sets for users, against the end of the user's container. The bug: a wake-up
/// that leaves out the limits of users and groups.
#[test]
fn a_limit_of_a_user_against_a_release() {
    model(Bound::None, || {
        let limit = HolderLimit {
            users: std::iter::once("user".to_owned()).collect(),
            maximum: std::array::from_fn(|at| (at == 0).then_some(1)),
            ..HolderLimit::default()
        };
        let leaf = half("default").with_limits([limit]);
        let config = with_queues(QueueConfig::root([leaf, half("other")]));
        let (cluster, mut workers) = one_runs_one_waits(config, 2);
        let running = first_container(&cluster);
        pass_against(&mut workers, &cluster.handle, |handle| handle.complete_container(running).unwrap());
        expect_placed(&cluster, 1);
    });
}

/// I13. A user at its share of the leaf, against the cancellation of the other user's ask. The bug: shares that
/// change without a stamp while no lane is parked for them.
#[test]
fn a_user_share_against_a_cancellation() {
    model(Bound::None, || {
        let leaf = QueueConfig::leaf("default", Capacity::Percent(Percent::ALL))
            .with_user_limit_factor(None)
            .with_user_limit_minimum(Percent::whole(50));
        let (cluster, mut workers) = Cluster::assembled(with_queues(QueueConfig::root([leaf])), 1, 3);
        cluster.handle.drain_node(cluster.nodes[2]).unwrap();
        let other = cluster.submit("root.default", "other");
        let spec = AskSpec::new(one(), 1).on_hosts([cluster.nodes[2]]).strictly_local();
        let pending = cluster.handle.submit_ask(other, spec).unwrap();
        cluster.ask(1);
        workers.run_until_idle();
        assert_eq!(cluster.containers(), 1);
        cluster.ask(1);
        pass_against(&mut workers, &cluster.handle, |handle| handle.cancel_ask(pending, 1).unwrap());
        expect_placed(&cluster, 2);
    });
}

/// I13. An ask that waits for its host, against a release on that host. The bug: an ask that is registered at its
/// host after the host gained room, without a second check.
#[test]
fn a_wait_for_a_host_against_its_release() {
    model(Bound::None, || {
        let (cluster, mut workers) = Cluster::assembled(plain(), 1, 2);
        let host = cluster.nodes[0];
        cluster.ask_on(host, 1);
        workers.run_until_idle();
        let running = cluster.container_on(host);
        cluster.ask_on(host, 1);
        pass_against(&mut workers, &cluster.handle, |handle| handle.complete_container(running).unwrap());
        expect_placed(&cluster, 1);
    });
}

/// I13. All units in flight, against the drop of the batch that holds them. The bug: a lane parked as "all in
/// flight" after its units came back.
#[test]
fn all_in_flight_against_a_batch_that_is_dropped() {
    model(Bound::Four, || {
        let (cluster, mut workers) = Cluster::assembled(several_sets(), 1, 2);
        cluster.ask(1);
        work_off(&mut workers.committer);
        let batch = workers.pass();
        pass_against(&mut workers, &cluster.handle, |_| drop(batch));
        expect_placed(&cluster, 1);
    });
}

/// I13. All units in flight, against the rejection of the batch that holds them, whose node is removed. The bug: a
/// rejected unit that does not make its lane worth a pass.
#[test]
fn all_in_flight_against_a_rejection() {
    model(Bound::Four, || {
        let (cluster, mut workers) = Cluster::assembled(several_sets(), 1, 2);
        cluster.ask(1);
        work_off(&mut workers.committer);
        let batch = workers.pass();
        let node = batch.requests()[0].allocate[0].node;
        cluster.handle.drain_node(node).unwrap();
        let shared = Arc::clone(&cluster.engine.shared);
        pass_against(&mut workers, &cluster.handle, move |_| {
            assert!(shared.outbox.send(Message::Batch(batch)).is_ok());
        });
        expect_placed(&cluster, 1);
    });
}

/// A reservation whose node has room, and a batch on its way that serves the ask on another node, which now drains.
/// The next pass over the reservation's set finds the unit in flight.
fn reservation_in_use() -> (Cluster, Workers, Box<ProposalBatch>) {
    let (cluster, mut workers, running) = half_full(several_sets());
    workers.run_until_idle();
    running.iter().for_each(|container| cluster.handle.complete_container(*container).unwrap());
    work_off(&mut workers.committer);
    let is_reserved =
        |node: NodeId| cluster.engine.read(|view| view.node(node).unwrap().reservation().is_some());
    let batch = loop {
        let batch = workers.pass();
        if !is_reserved(batch.requests()[0].allocate[0].node) {
            break batch;
        }
    };
    cluster.handle.drain_node(batch.requests()[0].allocate[0].node).unwrap();
    (cluster, workers, batch)
}

/// I13. A reservation whose unit another batch has in flight, against the drop of that batch; the pass over the
/// reservation's set is paused. The bug: a set that is paused after its obstacle was decided.
#[test]
fn a_pause_against_a_batch_that_is_dropped() {
    model(Bound::Four, || {
        let (cluster, mut workers, batch) = reservation_in_use();
        pass_against(&mut workers, &cluster.handle, |_| drop(batch));
        expect_placed(&cluster, 1);
    });
}

/// I13. The same, against the committer's decision; the batch's node takes no containers. The bug: a rejection that
/// resumes sets before the pause is recorded, and not after.
#[test]
fn a_pause_against_a_rejection() {
    model(Bound::Four, || {
        let (cluster, mut workers, batch) = reservation_in_use();
        let shared = Arc::clone(&cluster.engine.shared);
        pass_against(&mut workers, &cluster.handle, move |_| {
            assert!(shared.outbox.send(Message::Batch(batch)).is_ok());
        });
        expect_placed(&cluster, 1);
    });
}

/// I13. A sleeping proposer, against the drop of another proposer's batch. The bug: a drop that wakes before the
/// lease is in the pool, or before the set is known to be worth a pass.
#[test]
fn a_sleeping_proposer_against_a_batch_that_is_dropped() {
    model(Bound::None, || {
        let (cluster, mut workers) = Cluster::assembled(plain(), 2, 1);
        cluster.ask(1);
        work_off(&mut workers.committer);
        let batch = workers.pass();
        let mut proposer = workers.proposers.remove(1);
        let other = thread::spawn(move || {
            let batch = proposer.next_batch().expect("the engine runs");
            proposer.send(batch).unwrap();
        });
        drop(batch);
        other.join().unwrap();
        workers.run_until_idle();
        expect_placed(&cluster, 1);
    });
}
