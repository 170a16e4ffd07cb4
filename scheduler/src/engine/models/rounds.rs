//! Rounds of preemption between committer and proposers.

use std::sync::Arc;

use loom::thread;

use super::{Bound, Cluster, Workers, half, model, propose_once, with_queues, work_off};
use crate::clock::ManualClock;
use crate::config::{Percent, PreemptionPolicy, PreemptionRounds, QueueConfig};
use crate::engine::{Engine, Parts, Step};

/// Leaf `a` has both nodes, and `b` waits for one. A round is wanted: it ends one container of `a` for `b`.
fn owed() -> (Cluster, Workers) {
    let mut config = with_queues(QueueConfig::root([half("a"), half("b")]));
    let policy = PreemptionPolicy { natural_termination: Percent::ALL, ..PreemptionPolicy::default() };
    let policy = PreemptionPolicy { per_round: Percent::ALL, ..policy };
    let rounds = PreemptionRounds { policy, interval_ms: 1, ..PreemptionRounds::default() };
    config.preemption = Some(PreemptionRounds { max_wait_before_kill_ms: 0, ..rounds });
    let clock = Arc::new(ManualClock::new());
    let (engine, Parts { committer, proposers }) =
        Engine::assemble(config, 2, Arc::clone(&clock) as _, None).unwrap();
    let (cluster, mut workers) = (Cluster::new(engine, "root.a", 2), Workers { committer, proposers });
    cluster.ask(2);
    workers.run_until_idle();
    cluster.ask_of(cluster.submit("root.b", "user"), 1);
    workers.run_until_idle();
    clock.set(1);
    while workers.committer.step() == Step::Worked {}
    (cluster, workers)
}

/// I13. Two proposers come for one round. The bug: a round that is looked for and taken in two steps, so that both
/// compute it and two containers are lost. Or an engine that looks quiet while the round is on its way.
#[test]
fn a_round_is_computed_once() {
    model(Bound::None, || {
        let (cluster, mut workers) = owed();
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
