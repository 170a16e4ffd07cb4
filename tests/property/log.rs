//! The log is complete: any position can be rebuilt, and equal input writes an equal log.

use apportion::config::{
    ApplicationLimits, Lifetimes, QueueConfig, QueueMapping, QueueState, QueueUpdate, Reconfiguration,
};
use apportion::log::LogReader;
use apportion::replay::Replay;
use apportion::{ApplicationSpec, CommitSeq, Mode};
use apportion_tests::support::check::read_log;
use apportion_tests::support::cluster::Cluster;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::generate::{EVERYTHING, WITH_REQUESTS, plan};
use crate::mode;
use crate::plan::{Plan, QueuePlan};
use crate::play::play;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn log_replays_at_any_position(plan in plan(EVERYTHING), mode in mode()) {
        replays_everywhere(&play(&plan, mode));
    }

    #[test]
    fn same_input_same_log(plan in plan(WITH_REQUESTS)) {
        let first = play(&plan, Mode::Serial);
        let second = play(&plan, Mode::Serial);
        prop_assert!(first.log() == second.log(), "the logs of equal runs differ");
        prop_assert_eq!(first.engine.canonical_bytes(), second.engine.canonical_bytes());
    }

    #[test]
    fn one_ask_changed_another_log(plan in plan(EVERYTHING), count in 1..=3u32) {
        let Some(log) = log_with_ask(&plan, count) else { return Err(TestCaseError::reject("no application was accepted")) };
        prop_assert!(Some(&log) == log_with_ask(&plan, count).as_ref());
        prop_assert!(Some(&log) != log_with_ask(&plan, count + 1).as_ref());
    }

    #[test]
    fn a_log_that_was_cut_is_read_up_to_the_cut(plan in plan(EVERYTHING), at in any::<Index>()) {
        let log = play(&plan, Mode::Serial).log();
        let (all, cut) = (read_log(&log), at.index(log.len()));
        let mut read = Vec::new();
        if let Ok(mut reader) = LogReader::new(&log[..cut]) {
            while let Ok(Some(change)) = reader.next_change() {
                read.push(change);
            }
        }
        prop_assert_eq!(&read[..], &all[..read.len()]);
    }

    #[test]
    fn a_damaged_log_is_noticed(plan in plan(EVERYTHING), at in any::<Index>(), bit in 0..8u32) {
        let mut log = play(&plan, Mode::Serial).log();
        let at = at.index(log.len());
        log[at] ^= 1 << bit;
        prop_assert!(Replay::read(&log[..], None).is_err(), "bit {} of byte {} was flipped", bit, at);
    }
}

/// Replays the log up to each position and also step by step. Both give the same state, which also equals the
/// engine's own state at that position.
fn replays_everywhere(cluster: &Cluster) {
    let log = cluster.log();
    let mut reader = LogReader::new(&log[..]).unwrap();
    let mut stepwise = Replay::begin(&mut reader).unwrap();
    loop {
        let at = stepwise.seq();
        let mut replayed = Replay::read(&log[..], Some(at.0)).unwrap();
        assert_eq!(replayed.seq(), at);
        assert_eq!(replayed.digest(), stepwise.digest(), "at {at:?}");
        assert!(replayed.audit().is_clean(), "at {at:?}: {:?}", replayed.audit());
        if let Some((_, digest)) = cluster.history().iter().find(|(seq, _)| *seq == at) {
            assert_eq!(replayed.digest(), *digest, "the engine's own digest at {at:?}");
        }
        let Some(change) = reader.next_change().unwrap() else { break };
        assert_eq!(stepwise.step(change).unwrap(), CommitSeq(at.0 + 1));
    }
    assert_eq!(stepwise.canonical_bytes(), cluster.engine.canonical_bytes());
    assert!(Replay::read(&log[..], Some(stepwise.seq().0 + 1)).is_err(), "beyond the end");
}

/// The log of a plan without access lists that ends with one more application and its ask.
fn log_with_ask(plan: &Plan, count: u32) -> Option<Vec<u8>> {
    let mut plan = plan.clone();
    plan.cluster.queues.iter_mut().for_each(QueuePlan::open);
    let mut cluster = play(&plan, Mode::Serial);
    let mut root = cluster.handle.read(|view| view.queue_tree());
    let_live(&mut root);
    cluster.reconfigure(Reconfiguration { root, queue_mapping: QueueMapping::default() });
    let queues = &cluster.checker.oracle.tree.queues;
    let leaf = queues.iter().find(|queue| queue.is_present && queue.is_leaf).map(|queue| queue.path.clone());
    // Without any leaf, the root creates leaves on demand.
    let leaf = leaf.unwrap_or_else(|| "root.made".to_owned());
    let ends = leaf.match_indices('.').map(|(end, _)| end).chain([leaf.len()]);
    let anybody = QueueUpdate {
        state: Some(QueueState::Running),
        applications: Some(ApplicationLimits::default()),
        ..QueueUpdate::default()
    };
    for path in ends.map(|end| &leaf[..end]) {
        cluster.update_queue(path, &anybody);
    }
    let application = cluster.try_submit(ApplicationSpec::new("application", &leaf, "user")).ok()?;
    cluster.ask(application, &[0], count);
    cluster.run();
    cluster.engine.read(|view| view.application(application).map(|_| ()))?;
    Some(cluster.log())
}

/// Removes the lifetimes, so that no application expires.
fn let_live(queue: &mut QueueConfig) {
    queue.lifetimes = Lifetimes::default();
    if let Some(creation) = &mut queue.auto_creation {
        [&mut creation.leaf, &mut creation.parent].into_iter().for_each(let_live);
    }
    queue.children.iter_mut().for_each(let_live);
}
