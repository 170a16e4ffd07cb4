//! Placement sets: resharded, and at work on one reservation.

use loom::thread;

use super::{Bound, Cluster, Workers, model, one, plain, propose_once, several_sets, work_off};
use crate::change::{AskSpec, NodeSpec};
use crate::config::EngineConfig;
use crate::engine::Handle;
use crate::ids::{ContainerId, PartitionId};
use crate::resource::Resources;

/// A proposer runs one pass and sends its result while `happens` is sent and committed.
fn pass_while(workers: &mut Workers, handle: &Handle, happens: impl FnOnce(&Handle)) {
    work_off(&mut workers.committer);
    let proposer = workers.proposer();
    let other = thread::spawn(move || propose_once(proposer));
    happens(handle);
    work_off(&mut workers.committer);
    other.join().unwrap();
    workers.run_until_idle();
}

fn sets(cluster: &Cluster) -> u32 {
    cluster.engine.shared.state.read().node_shards.sets(PartitionId::DEFAULT)
}

/// I12, I13. A partition grows and is split into two sets while a proposer takes the lease of its one set. The bug:
/// a split that waits for the lease and is not tried again when the lease comes back.
#[test]
fn a_partition_is_cut_while_a_proposer_takes_a_lease() {
    model(Bound::Four, || {
        let (cluster, mut workers) = Cluster::assembled(several_sets(), 2, 1);
        cluster.ask(2);
        pass_while(&mut workers, &cluster.handle, |handle| {
            handle.add_node(NodeSpec::new("new", one())).unwrap();
        });
        assert_eq!((sets(&cluster), cluster.containers()), (2, 2));
        cluster.expect_nothing_in_flight();
        cluster.expect_sound();
    });
}

/// I12, I13. A partition shrinks to one set while a proposer that looked before takes the lease of a set that will
/// not exist. The bug: the same, with the lease of such a set.
#[test]
fn a_partition_is_joined_while_a_proposer_takes_a_lease() {
    model(Bound::Four, || {
        let (cluster, mut workers) = Cluster::assembled(several_sets(), 2, 4);
        cluster.ask(1);
        let nodes = cluster.nodes.clone();
        pass_while(&mut workers, &cluster.handle, move |handle| {
            nodes[..3].iter().for_each(|node| drop(handle.remove_node(*node).unwrap()));
        });
        assert_eq!((sets(&cluster), cluster.containers() <= 1), (1, true));
        cluster.expect_nothing_in_flight();
        cluster.expect_sound();
    });
}

/// Two nodes of two memory, each with a container of one, and an ask for one container of two.
pub(super) fn half_full(mut config: EngineConfig) -> (Cluster, Workers, [ContainerId; 2]) {
    config.reservations.delay_ms = Some(0);
    let (cluster, mut workers) = Cluster::assembled(config, 2, 0);
    let two = Resources::new(&[2]);
    let nodes = ["a", "b"].map(|name| cluster.handle.add_node(NodeSpec::new(name, two)).unwrap());
    work_off(&mut workers.committer);
    for node in nodes {
        cluster.ask_on(node, 1);
    }
    workers.run_until_idle();
    let running = nodes.map(|node| cluster.container_on(node));
    cluster.handle.submit_ask(cluster.application, AskSpec::new(two, 1)).unwrap();
    (cluster, workers, running)
}

fn reserved(cluster: &Cluster) -> usize {
    cluster.engine.read(|view| view.reservations().count())
}

/// I6 (YARN-8546). Both nodes get room: one proposer fulfils the reservation on its node, another swaps it for its
/// own set's node. The bug: a unit placed twice, or a reservation that never ends.
#[test]
fn two_proposers_and_one_reservation() {
    model(Bound::None, || {
        let (cluster, mut workers, running) = half_full(several_sets());
        workers.run_until_idle();
        assert_eq!(reserved(&cluster), 1);
        running.iter().for_each(|container| cluster.handle.complete_container(*container).unwrap());
        work_off(&mut workers.committer);
        let theirs = workers.proposer();
        let other = thread::spawn(move || propose_once(theirs));
        if let Some(batch) = workers.proposers[0].propose() {
            workers.proposers[0].send(batch).unwrap();
        }
        other.join().unwrap();
        workers.run_until_idle();
        assert_eq!((cluster.containers(), reserved(&cluster)), (1, 0));
        cluster.expect_nothing_in_flight();
        cluster.expect_sound();
    });
}

/// I6, I13. One node gets room and a pass fulfils the reservation there, while the other node gets room. The bug: a
/// reservation that is used twice, or that waits although a node is free.
#[test]
fn a_reservation_is_fulfilled_while_another_node_gets_room() {
    model(Bound::Four, || {
        let (cluster, mut workers, [first, second]) = half_full(several_sets());
        workers.run_until_idle();
        assert_eq!(reserved(&cluster), 1);
        cluster.handle.complete_container(first).unwrap();
        pass_while(&mut workers, &cluster.handle, |handle| handle.complete_container(second).unwrap());
        assert_eq!((cluster.containers(), reserved(&cluster)), (1, 0));
        cluster.expect_nothing_in_flight();
        cluster.expect_sound();
    });
}

/// I6, I13. A pass finds no room and reserves a node while that node gets room. The bug: a reservation that is
/// never ready, because the room came before the reservation.
#[test]
fn a_reservation_is_made_while_its_node_gets_room() {
    model(Bound::None, || {
        let (cluster, mut workers, [first, _]) = half_full(plain());
        pass_while(&mut workers, &cluster.handle, |handle| handle.complete_container(first).unwrap());
        assert_eq!((cluster.containers(), reserved(&cluster)), (2, 0));
        cluster.expect_nothing_in_flight();
        cluster.expect_sound();
    });
}
