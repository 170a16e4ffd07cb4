//! Gangs that gather room, between committer and proposers.

use std::sync::Arc;

use loom::thread;

use super::rounds::with_rounds;
use super::{Bound, Cluster, Workers, model, model_within, one, plain, propose_once, work_off};
use crate::change::{ApplicationSpec, AskSpec, GangSpec, NodeSpec};
use crate::clock::ManualClock;
use crate::engine::{Engine, Parts};
use crate::event::EventKind;
use crate::ids::{ApplicationId, GangId, PartitionId};
use crate::resource::Resources;

/// A node of the default partition and one of partition `q`, each with a container. A gang of the first application
/// wants both nodes and already holds the second one.
fn half_gathered() -> (Cluster, Workers, GangId, PartitionId) {
    let mut config = plain();
    config.partitions = vec!["q".into()];
    let (mut cluster, mut workers) = Cluster::assembled(config, 2, 1);
    let q = cluster.handle.partition("q").unwrap();
    cluster.nodes.push(cluster.handle.add_node(NodeSpec::new("q0", one()).in_partition(q)).unwrap());
    let other = cluster.submit("root.default", "user");
    for partition in [PartitionId::DEFAULT, q] {
        cluster.handle.submit_ask(other, AskSpec::new(one(), 1).in_partition(partition)).unwrap();
    }
    workers.run_until_idle();
    let gang = submit(&cluster, cluster.application, [PartitionId::DEFAULT, q]);
    workers.run_until_idle();
    cluster.handle.complete_container(cluster.container_on(cluster.nodes[1])).unwrap();
    workers.run_until_idle();
    assert_eq!(cluster.engine.read(|view| view.gang(gang).unwrap().held()), 1);
    (cluster, workers, gang, q)
}

fn submit(cluster: &Cluster, application: ApplicationId, partitions: [PartitionId; 2]) -> GangId {
    let [first, second] = partitions.map(|partition| AskSpec::new(one(), 1).in_partition(partition));
    let spec = GangSpec::new(application).with_role("first", first).with_role("second", second);
    cluster.handle.submit_gang(spec).unwrap().gang
}

fn running(cluster: &Cluster, application: ApplicationId) -> usize {
    cluster.engine.read(|view| view.application(application).map_or(0, |known| known.containers().count()))
}

fn end_all(cluster: &Cluster) {
    let running = cluster.engine.read(|view| view.containers().map(|(id, _)| id).collect::<Vec<_>>());
    running.into_iter().for_each(|id| cluster.handle.complete_container(id).unwrap());
}

/// I18. A gang with a higher priority comes while another one holds a half of what both want. The bug: each gets a
/// half and waits for the other one for ever.
#[test]
fn of_two_gangs_that_want_all_each_starts() {
    model(Bound::Three, || {
        let (cluster, mut workers, later, q) = half_gathered();
        let spec = ApplicationSpec::new("urgent", "root.default", "user").with_priority(1);
        let urgent = cluster.handle.submit_application(spec, &cluster.events).unwrap();
        work_off(&mut workers.committer);
        let (one, other) = (workers.proposer(), workers.proposer());
        let first = submit(&cluster, urgent, [q, PartitionId::DEFAULT]);
        work_off(&mut workers.committer);
        let searches = thread::spawn(move || propose_once(one));
        cluster.handle.complete_container(cluster.container_on(cluster.nodes[0])).unwrap();
        work_off(&mut workers.committer);
        let other = propose_once(other);
        work_off(&mut workers.committer);
        workers.proposers = vec![searches.join().unwrap(), other];
        workers.run_until_idle();
        // The later gang may have started before the search for the other one arrived.
        let started = [urgent, cluster.application].map(|application| running(&cluster, application));
        assert!(started == [2, 0] || started == [0, 2], "{started:?}");
        cluster.expect_sound();
        end_all(&cluster);
        workers.run_until_idle();
        let is_waiting = |gang| cluster.engine.read(|view| view.gang(gang).is_some());
        assert!(!is_waiting(first) && !is_waiting(later), "one waits for ever");
        cluster.expect_nothing_in_flight();
        cluster.expect_sound();
    });
}

/// I18. Containers end one by one while a pass looks for room for ordinary asks. The bug: the pass is quicker than the
/// gang, so ordinary asks take each node for ever. One preemption shows it.
#[test]
fn a_gang_gathers_what_a_pass_wants() {
    model_within(1, Bound::Three, || {
        let (cluster, mut workers) = Cluster::assembled(plain(), 2, 2);
        let other = cluster.submit("root.default", "user");
        cluster.ask_of(other, 4);
        workers.run_until_idle();
        let gang = GangSpec::new(cluster.application).with_role("worker", AskSpec::new(one(), 2));
        cluster.handle.submit_gang(gang).unwrap();
        workers.run_until_idle();
        let one = workers.proposer();
        let pass = thread::spawn(move || propose_once(propose_once(one)));
        for node in &cluster.nodes {
            cluster.handle.complete_container(cluster.container_on(*node)).unwrap();
            work_off(&mut workers.committer);
        }
        workers.proposers.push(pass.join().unwrap());
        workers.run_until_idle();
        assert_eq!((running(&cluster, cluster.application), running(&cluster, other)), (2, 0));
        cluster.expect_nothing_in_flight();
        cluster.expect_sound();
    });
}

/// Three full nodes, for which ordinary asks wait, too. The first gang wants all and holds one; its turn is over. The
/// second gang wants one.
fn overdue() -> (Cluster, Workers, [GangId; 2]) {
    let config = crate::config::EngineConfig { gather_limit_ms: Some(1), ..plain() };
    let clock = Arc::new(ManualClock::new());
    let (engine, Parts { committer, proposers }) =
        Engine::assemble(config, 2, Arc::clone(&clock) as _, None).unwrap();
    let (cluster, mut workers) = (Cluster::new(engine, "root.default", 3), Workers { committer, proposers });
    let other = cluster.submit("root.default", "user");
    cluster.ask_of(other, 9);
    workers.run_until_idle();
    let gangs = [3, 1].map(|members| {
        let spec = GangSpec::new(cluster.application).with_role("worker", AskSpec::new(one(), members));
        cluster.handle.submit_gang(spec).unwrap().gang
    });
    workers.run_until_idle();
    cluster.handle.complete_container(cluster.container_on(cluster.nodes[0])).unwrap();
    workers.run_until_idle();
    cluster.events.drain_into(&mut Vec::new()).unwrap();
    clock.set(1);
    cluster.handle.tick().unwrap();
    work_off(&mut workers.committer);
    (cluster, workers, gangs)
}

/// I18. A turn is over, and its room grows while a search decides whether to end it. The bugs: the turn ends although
/// the room has grown; or a pass for ordinary asks is quicker than the next gang.
#[test]
fn a_turn_ends_against_the_growth_of_its_room() {
    model(Bound::Three, || {
        let (cluster, mut workers, [first, second]) = overdue();
        let one = workers.proposer();
        let searches = thread::spawn(move || propose_once(propose_once(one)));
        cluster.handle.complete_container(cluster.container_on(cluster.nodes[1])).unwrap();
        work_off(&mut workers.committer);
        workers.proposers.push(searches.join().unwrap());
        workers.run_until_idle();
        let mut events = Vec::new();
        cluster.events.drain_into(&mut events).unwrap();
        let place = |is_it: fn(&EventKind) -> bool| events.iter().position(|event| is_it(&event.kind));
        let grown = place(|kind| matches!(kind, EventKind::ContainerEnded { .. }));
        let ended = place(|kind| matches!(kind, EventKind::GangTurnEnded { .. }));
        assert!(ended.is_none_or(|ended| Some(ended) < grown), "the room had grown");
        let has_started = cluster.engine.read(|view| view.gang(second).is_none());
        assert_eq!(has_started, ended.is_some(), "the second gang starts if it gets its turn");
        assert!(cluster.engine.read(|view| view.gang(first).is_some()));
        assert_eq!(cluster.containers(), 1 + usize::from(has_started), "ordinary asks got no room");
        cluster.expect_nothing_in_flight();
        cluster.expect_sound();
    });
}

/// One node, filled by leaf `a`. Two gangs of leaf `b` want half of it each. The first holds the room of a container
/// that has ended. Its turn is overdue, and a round is wanted.
fn overdue_beside_a_round() -> (Cluster, Workers) {
    let (cluster, mut workers, clock) = with_rounds();
    let node = cluster.handle.add_node(NodeSpec::new("n0", Resources::new(&[4]))).unwrap();
    cluster.ask(4);
    workers.run_until_idle();
    let gainer = cluster.submit("root.b", "user");
    let member = AskSpec::new(Resources::new(&[2]), 1);
    for _ in 0..2 {
        let spec = GangSpec::new(gainer).with_role("worker", member.clone());
        cluster.handle.submit_gang(spec).unwrap();
    }
    workers.run_until_idle();
    cluster.handle.complete_container(cluster.container_on(node)).unwrap();
    workers.run_until_idle();
    clock.set(cluster.engine.shared.config.gather_limit_ms.unwrap());
    work_off(&mut workers.committer);
    (cluster, workers)
}

/// I18. Proposers search for gangs and compute a round. The bug: the turn ends between plan and commit. The room then
/// belongs to the other gang, so the committer rejects the plan, and neither gang starts.
#[test]
fn a_round_keeps_the_turn_of_the_gang_that_it_helps() {
    model(Bound::Three, || {
        let (cluster, mut workers) = overdue_beside_a_round();
        let threads = [workers.proposer(), workers.proposer()].map(|one| thread::spawn(|| propose_once(one)));
        work_off(&mut workers.committer);
        workers.proposers = threads.map(|one| one.join().unwrap()).into();
        workers.run_until_idle();
        let waiting = cluster.engine.read(|view| view.gangs().count());
        assert_eq!((waiting, cluster.containers()), (1, 3), "one gang starts in place of one container");
        cluster.expect_sound();
    });
}
