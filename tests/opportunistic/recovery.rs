//! Engines that go on where a log or a snapshot with queues ends.

use std::sync::Arc;

use apportion::replay::Replay;
use apportion::{Engine, ManualClock, Mode};

use crate::{Cluster, ask, opportunistic};

pub(crate) fn recovered(log: &[u8], mode: Mode) -> Engine {
    Engine::recover(log, mode, Arc::new(ManualClock::new()), None).unwrap().0
}

/// Containers run and wait, and an ask is pending. A log and a snapshot lead to the same decisions.
#[test]
fn queues_go_on_after_a_recovery() {
    let cluster = Cluster::serial(2);
    let (a, b) = (cluster.node("a", 4), cluster.node("b", 4));
    let job = cluster.application();
    cluster.ask(job, opportunistic(3, 7));
    cluster.ask(job, ask(1, 1));
    let mut snapshot = Vec::new();
    Replay::read(&cluster.log.bytes()[..], None).unwrap().write_snapshot(&mut snapshot).unwrap();
    let log = cluster.log.bytes();
    let mut ends = Vec::new();
    for bytes in [&log[..], &snapshot[..]] {
        for mode in [Mode::Serial, Mode::Background, Mode::Parallel { proposers: 2 }] {
            let engine = recovered(bytes, mode);
            assert_eq!(engine.digest(), cluster.engine.digest());
            let report = engine.audit();
            assert!(report.is_clean(), "{report}");
            let handle = engine.handle();
            let next = handle.submit_ask(job, opportunistic(1, 1)).unwrap();
            handle.complete_containers([a, b].map(|node| cluster.at(node).1[0])).unwrap();
            engine.run_until_quiet();
            let report = engine.audit();
            assert!(report.is_clean(), "{report}");
            ends.push((next, engine.digest()));
        }
    }
    assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
}
