//! Explanations of a replayed log, of a busy engine, and of nodes on which containers are being stopped.

use apportion::explain::{Explanation, Standing};
use apportion::replay::Replay;
use apportion::{AskId, Mode};
use apportion_tests::support::cluster::Cluster;

use crate::explain::{plain, why};
use crate::{engine, leaf};

/// At every log position where the engine explained, a replay explains the same, except for rejections.
#[test]
fn a_replayed_log_explains_as_the_engine_did() {
    let (mut cluster, application) = plain();
    cluster.node("n1", &[8]);
    let ask = cluster.ask(application, &[3], 6);
    let mut said: Vec<Explanation> = Vec::new();
    for _ in 0..2 {
        cluster.run();
        said.push(cluster.engine.explain(ask));
        cluster.complete(cluster.running(application)[0]);
    }
    cluster.run();
    cluster.cancel(ask, 9);
    cluster.run();
    said.push(cluster.engine.explain(ask));
    assert!(matches!(said[2].standing, Standing::Cancelled { .. }));
    for mut expected in said {
        let mut replay = Replay::read(&cluster.log()[..], Some(expected.seq.0)).unwrap();
        if let Standing::Pending(why) = &mut expected.standing {
            assert_eq!(why.rejections.take(), Some(vec![]));
        }
        assert_eq!(replay.view().explain(ask), expected);
    }
}

/// On a busy engine an explanation shows a single moment: its counts always add up.
#[test]
fn a_busy_engine_explains() {
    let mut cluster = Cluster::start(engine([leaf("default", 100)]), Mode::Parallel { proposers: 2 });
    for number in 0..20 {
        cluster.node(&format!("n{number}"), &[50]);
    }
    let application = cluster.application("root.default", "ann");
    let asks: Vec<AskId> = (0..50).map(|_| cluster.ask(application, &[1], 30)).collect();
    for ask in asks.iter().cycle().take(500) {
        if let Some(why) = cluster.engine.explain(*ask).pending() {
            assert_eq!(why.funnel.stages.values().sum::<usize>(), why.funnel.nodes);
        }
    }
    cluster.run();
    assert_eq!(why(&cluster, asks[49], &["Of 20 nodes: 20 with too little room."]).outstanding, 30);
}

/// Only nodes that the ask could use if a container ended there.
#[test]
fn nodes_on_which_containers_are_being_stopped() {
    let (mut cluster, application) = plain();
    for name in ["n1", "n2", "n3"] {
        cluster.node(name, &[10]);
    }
    cluster.ask(application, &[10], 3);
    cluster.run();
    let ask = cluster.ask(application, &[10], 1);
    cluster.run();
    for (number, words) in [(0, ""), (1, "1 more node may gain"), (2, "2 more nodes may gain")] {
        if number > 0 {
            let running = cluster.running(application);
            cluster.stop(running[number - 1]);
            cluster.run();
        }
        assert_eq!(why(&cluster, ask, &[words]).stopping, number);
    }
}
