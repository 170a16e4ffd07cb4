//! An engine goes on where a log ends, as if nothing had happened.

use std::sync::Arc;

use apportion::config::LocalityDelay;
use apportion::log::{LogError, LogReader, SharedLog};
use apportion::replay::Replay;
use apportion::{Change, Engine, ManualClock, Mode};
use apportion_tests::support::check::{is_due, read_log};
use apportion_tests::support::cluster::{Cluster, Source};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::generate::{EVERYTHING, WITH_REQUESTS, plan};
use crate::mode;
use crate::plan::{ClusterPlan, Operation};
use crate::play::{play, play_with_crashes};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The sequential model goes on too, and checks everything that the second engine does.
    #[test]
    fn an_engine_goes_on_after_a_crash(plan in plan(EVERYTHING), crashes in crashes(mode()), mode in mode()) {
        play_with_crashes(&plan, mode, &crashes);
    }

    #[test]
    fn a_serial_run_with_crashes_writes_the_log_of_one_without(
        plan in plan(WITH_REQUESTS),
        crashes in crashes(Just(Mode::Serial)),
    ) {
        let (whole, crashed) = (play(&plan, Mode::Serial), play_with_crashes(&plan, Mode::Serial, &crashes));
        if is_exact(&plan.cluster) && !refuses_submissions(&whole) {
            expect_equal(&read_log(&whole.log()), &read_log(&crashed.log()));
            prop_assert!(whole.engine.canonical_bytes() == crashed.engine.canonical_bytes(), "the states differ");
            prop_assert!(whole.log() == crashed.log(), "the groups differ");
        }
    }

    #[test]
    fn a_snapshot_replaces_the_log_before_it(plan in plan(WITH_REQUESTS), at in any::<Index>(), mode in mode()) {
        let cluster = play(&plan, mode);
        let log = cluster.log();
        let ends = group_ends(&log);
        let cut = ends[at.index(ends.len())];
        let mut before = Replay::read(&log[..cut], None).unwrap();
        let mut shorter = Vec::new();
        before.write_snapshot(&mut shorter).unwrap();
        let mut read = Replay::read(&shorter[..], None).unwrap();
        prop_assert_eq!(read.seq(), before.seq());
        prop_assert!(read.canonical_bytes() == before.canonical_bytes(), "the state is another");
        prop_assert!(read.audit().is_clean(), "{}", read.audit());
        shorter.extend_from_slice(&log[cut..]);
        let mut all = Replay::read(&shorter[..], None).unwrap();
        prop_assert!(all.canonical_bytes() == cluster.engine.canonical_bytes(), "the changes have other effects");
        let mut again = Vec::new();
        all.write_snapshot(&mut again).unwrap();
        let mut whole = Vec::new();
        Replay::read(&log[..], None).unwrap().write_snapshot(&mut whole).unwrap();
        prop_assert_eq!(again.len(), whole.len());
    }

    #[test]
    fn a_damaged_snapshot_is_noticed(plan in plan(EVERYTHING), at in any::<Index>(), bit in 0..8u32) {
        let mut snapshot = Vec::new();
        Replay::read(&play(&plan, Mode::Serial).log()[..], None).unwrap().write_snapshot(&mut snapshot).unwrap();
        let at = at.index(snapshot.len());
        let cut = Replay::read(&snapshot[..at], None);
        prop_assert!(matches!(cut, Err(LogError::NotALog | LogError::Snapshot)), "cut at byte {}", at);
        snapshot[at] ^= 1 << bit;
        prop_assert!(Replay::read(&snapshot[..], None).is_err(), "bit {} of byte {} was flipped", bit, at);
    }

    /// A recovered engine finishes the work of the crashed one exactly as that one would have.
    #[test]
    fn a_serial_run_that_was_cut_between_two_groups_ends_alike(mut plan in plan(EVERYTHING), at in any::<Index>()) {
        // The log does not say that a caller asked for a pass.
        plan.operations.retain(|operation| !matches!(operation, Operation::Pass { .. }));
        let whole = play(&plan, Mode::Serial);
        let log = whole.log();
        let ends = group_ends(&log);
        let cut = ends[at.index(ends.len())];
        let clock = Arc::new(ManualClock::new());
        let (engine, recovered) = Engine::recover(&log[..cut], Mode::Serial, clock, None).unwrap();
        engine.run_until_quiet();
        let next = whole.history().iter().find(|(seq, _)| seq.0 >= recovered.end.last);
        let changes = read_log(&log);
        if let Some((seq, digest)) = next
            && is_exact(&plan.cluster)
            && !refuses_submissions(&whole)
            && changes[recovered.end.last as usize..seq.0 as usize].iter().all(is_own)
        {
            prop_assert_eq!(engine.digest(), *digest, "cut behind change {}", recovered.end.last);
        }
    }

    /// The rest of an interrupted group is cut off. What the engine then does is legal and in the log.
    #[test]
    fn a_log_that_was_cut_anywhere_is_continued(plan in plan(EVERYTHING), at in any::<Index>(), mode in mode()) {
        let log = play(&plan, mode).log();
        let cut = &log[..at.index(log.len())];
        let Some(whole) = whole_changes(cut) else { return Ok(()) };
        let sink = SharedLog::of(cut);
        let clock = Arc::new(ManualClock::new());
        let (engine, recovered) = Engine::recover(cut, mode, clock, Some(Box::new(sink.clone()))).unwrap();
        prop_assert_eq!(recovered.end.last, whole);
        prop_assert_eq!(recovered.was_torn, recovered.end.at < cut.len() as u64);
        engine.run_until_quiet();
        let report = engine.audit();
        prop_assert!(report.is_clean(), "{}", report);
        engine.shutdown();
        prop_assert_eq!(engine.log_error(), None);
        let continued = sink.bytes();
        prop_assert_eq!(&continued[..recovered.end.at as usize], &cut[..recovered.end.at as usize]);
        prop_assert_eq!(Replay::read(&continued[..], None).unwrap().canonical_bytes(), engine.canonical_bytes());
    }
}

/// For each of the first runs, whether the engine crashes afterwards, from what the next one recovers, and its mode.
fn crashes(mode: impl Strategy<Value = Mode>) -> impl Strategy<Value = Vec<Option<(Source, Mode)>>> {
    vec(option::of((prop_oneof![Just(Source::Log), Just(Source::Snapshot)], mode)), 1..6)
}

fn expect_equal(whole: &[Change], crashed: &[Change]) {
    for (number, changes) in (1..).zip(whole.iter().zip(crashed)) {
        assert_eq!(changes.0, changes.1, "change {number}, without a crash and with one");
    }
    assert_eq!(whole.len(), crashed.len(), "the numbers of changes");
}

/// The positions behind the groups of a whole log.
fn group_ends(log: &[u8]) -> Vec<usize> {
    const HEADER_BYTES: usize = 8;
    const FRAME_HEADER_BYTES: usize = 8;
    let next = |at: &usize| {
        let length = log[*at..].first_chunk().map(|length| u32::from_le_bytes(*length) as usize)?;
        Some(at + FRAME_HEADER_BYTES + length)
    };
    std::iter::successors(next(&HEADER_BYTES), next).collect()
}

/// Whether an engine makes the change by itself, at the same time.
fn is_own(change: &Change) -> bool {
    matches!(change, Change::Committed { .. }) || is_due(change)
}

/// The number of changes in the whole groups of a log; `None` if not even the configuration is whole.
fn whole_changes(log: &[u8]) -> Option<u64> {
    let mut reader = LogReader::new(log).ok()?;
    let mut changes = 0;
    while let Ok(Some(_)) = reader.next_change() {
        changes += 1;
    }
    (changes > 0).then_some(changes)
}

/// Whether a new engine knows all that the configured policies look at. Offers to asks that wait for their hosts are
/// not in the log, or are counted again.
fn is_exact(plan: &ClusterPlan) -> bool {
    !matches!(plan.locality_delay, LocalityDelay::Nodes { .. })
}

/// Whether an identifier was given out for an object that was refused. A later engine may give it out again.
fn refuses_submissions(cluster: &Cluster) -> bool {
    !cluster.engine.stats().refused.is_empty()
}
