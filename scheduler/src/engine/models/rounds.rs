//! Rounds of preemption between committer and proposers.

use std::sync::Arc;

use loom::thread;

use super::{Bound, Cluster, Workers, half, model, propose_once, with_queues, work_off};
use crate::change::{AskSpec, NodeSpec};
use crate::clock::ManualClock;
use crate::config::{Percent, PreemptionPolicy, PreemptionRounds, QueueConfig};
use crate::engine::{Engine, Parts};
use crate::resource::Resources;

/// An engine without nodes that makes rounds of preemption. Leaf `a` has an application.
pub(super) fn with_rounds() -> (Cluster, Workers, Arc<ManualClock>) {
    let mut config = with_queues(QueueConfig::root([half("a"), half("b")]));
    let policy = PreemptionPolicy { natural_termination: Percent::ALL, ..PreemptionPolicy::default() };
    let policy = PreemptionPolicy { per_round: Percent::ALL, ..policy };
    let rounds = PreemptionRounds { policy, interval_ms: 1, ..PreemptionRounds::default() };
    config.preemption = Some(PreemptionRounds { max_wait_before_kill_ms: 0, ..rounds });
    let clock = Arc::new(ManualClock::new());
    let (engine, Parts { committer, proposers }) =
        Engine::assemble(config, 2, Arc::clone(&clock) as _, None).unwrap();
    (Cluster::new(engine, "root.a", 0), Workers { committer, proposers }, clock)
}

/// Leaf `a` has two nodes of this size, and `b` waits for one memory. `wait` may let other asks wait, too. A round is
/// wanted: it ends one container of `a` for `b`.
fn owed(size: i64, wait: impl FnOnce(&Cluster)) -> (Cluster, Workers) {
    let (cluster, mut workers, clock) = with_rounds();
    let (handle, size) = (&cluster.handle, Resources::new(&[size]));
    for name in ["n0", "n1"] {
        handle.add_node(NodeSpec::new(name, size)).unwrap();
    }
    handle.submit_ask(cluster.application, AskSpec::new(size, 2)).unwrap();
    workers.run_until_idle();
    wait(&cluster);
    cluster.ask_of(cluster.submit("root.b", "user"), 1);
    workers.run_until_idle();
    clock.set(1);
    work_off(&mut workers.committer);
    (cluster, workers)
}

/// I13. Two proposers come for one round. The bug: a round that is looked for and taken in two steps, so that both
/// compute it and two containers are lost. Or an engine that looks quiet while the round is on its way.
#[test]
fn a_round_is_computed_once() {
    model(Bound::None, || {
        let (cluster, mut workers) = owed(1, |_| ());
        let (one, other) = (workers.proposer(), workers.proposer());
        let first = thread::spawn(move || propose_once(one));
        // A group that reports while the round may be under way.
        cluster.handle.tick().unwrap();
        work_off(&mut workers.committer);
        let other = propose_once(other);
        let progress = cluster.engine.shared.progress();
        assert!(!progress.quiet || progress.stats.preempted == 1, "quiet, and the round is not over");
        workers.proposers = vec![first.join().unwrap(), other];
        workers.run_until_idle();
        let stats = cluster.engine.stats();
        assert_eq!((stats.preemption_rounds, stats.preempted), (1, 1));
        cluster.expect_sound();
    });
}

/// I13. A watchdog looks while a round ends. The round's victim is larger than the container in its place, so the set
/// is worth a pass for another ask. The bug: a round that ends before that set is published, or a watchdog that reads
/// the sets before the round.
#[test]
fn a_watchdog_sees_work_when_a_round_ends() {
    model(Bound::None, || {
        let (cluster, mut workers) = owed(2, |cluster| _ = cluster.ask(1));
        let round = workers.proposers[0].propose().expect("a round is wanted");
        workers.proposers[0].send(round).unwrap();
        let engine = Arc::clone(&cluster.engine);
        let watching = thread::spawn(move || assert!(engine.health().has_work(), "a set is worth a pass"));
        work_off(&mut workers.committer);
        assert_eq!((cluster.engine.stats().preempted, cluster.containers()), (1, 2));
        watching.join().unwrap();
        workers.run_until_idle();
        assert_eq!(cluster.containers(), 3, "the ask of `a` has the rest of the room");
        cluster.expect_sound();
    });
}
