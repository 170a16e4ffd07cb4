//! Recorded decisions: what serial mode decided for fixed random loads.
//!
//! The properties and the model say which decisions are right. Often several are. A record says which one the engine
//! takes, so a change that was meant to keep all decisions shows that it does. Each kind of load has a file here. It
//! has a line for each load: a digest of the load, and one of the decisions.
//!
//! If a test reports a load, run it with `APPORTION_RECORDED=<folder>` on this commit and on the one before, with two
//! folders. Each gets the decisions for all loads. Compare those for the load. If every difference is meant, replace
//! the records with `APPORTION_RECORDED=write`, and say why in the commit.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use apportion::Change;
use apportion::log::LogReader;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use xxhash_rust::xxh3::xxh3_64;

/// `write` replaces the records. Any other value is a folder for the decisions.
const VARIABLE: &str = "APPORTION_RECORDED";

/// Plays `count` values of the strategy, the same in each run, and compares the decisions in their logs with the record
/// of this name.
///
/// # Panics
///
/// If the loads or the decisions differ from the recorded ones. The message names the loads.
pub(crate) fn assert_decides_as_recorded<S: Strategy<Value: Debug>>(
    name: &str,
    loads: S,
    count: usize,
    play: impl Fn(&S::Value) -> Vec<u8>,
) {
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &[13; 32]));
    let (mut lines, mut decisions) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let load = loads.new_tree(&mut runner).unwrap().current();
        let decided = decisions_of(&play(&load));
        lines.push(format!("{} {}", digest(&format!("{load:?}")), digest(&decided)));
        decisions.push(decided);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded").join(format!("{name}.txt"));
    match std::env::var_os(VARIABLE) {
        Some(value) if value == "write" => {
            fs::write(&file, lines.join("\n") + "\n").unwrap();
            panic!("{} is written; run the test again without {VARIABLE}", file.display());
        }
        Some(folder) => write_decisions(&PathBuf::from(folder), name, &decisions),
        None => {}
    }
    compare(name, &lines, &fs::read_to_string(&file).unwrap_or_default());
}

fn compare(name: &str, lines: &[String], recorded: &str) {
    let recorded: Vec<&str> = recorded.lines().collect();
    let load_of = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let has_same_loads = lines.len() == recorded.len()
        && lines.iter().zip(&recorded).all(|(line, recorded)| load_of(line) == load_of(recorded));
    assert!(
        has_same_loads,
        "the loads of {name} are not the recorded ones: their strategy or the version of proptest has changed. Check \
         out the commit before the change of the engine, write the records there, and then compare."
    );
    let differing: Vec<usize> = (0..lines.len()).filter(|load| lines[*load] != recorded[*load]).collect();
    assert!(
        differing.is_empty(),
        "serial mode decides differently for {} of {} loads of {name}, by number: {differing:?}. The documentation of \
         tests/recorded/mod.rs says how to compare the decisions and how to replace the records.",
        differing.len(),
        lines.len(),
    );
}

/// The decisions in a log, one line of JSON each. Calls are left out, because the load has them.
fn decisions_of(log: &[u8]) -> String {
    let mut reader = LogReader::new(log).unwrap();
    let changes = std::iter::from_fn(|| reader.next_change().unwrap());
    changes.filter(is_decision).map(|change| serde_json::to_string(&change).unwrap() + "\n").collect()
}

fn is_decision(change: &Change) -> bool {
    matches!(
        change,
        Change::Committed { .. }
            | Change::ExecutionTypeSet { .. }
            | Change::NodeSilenceSet { .. }
            | Change::QueueExpired { .. }
            | Change::OpportunitiesMissed { .. }
            | Change::ReservedAgain { .. }
            | Change::ReservationExpired { .. }
            | Change::ContainerStopping { .. }
            | Change::ContainerEnded { .. }
            | Change::PreemptionAnnounced { .. }
            | Change::PreemptionWithdrawn { .. }
            | Change::GangEnded { .. }
            | Change::PlaceholdersTimedOut { .. }
            | Change::RoomHeld { .. }
            | Change::RoomGivenBack { .. }
            | Change::GangTurnEnded { .. }
    )
}

fn digest(text: &str) -> String {
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

fn write_decisions(folder: &Path, name: &str, decisions: &[String]) {
    fs::create_dir_all(folder).unwrap();
    for (load, text) in decisions.iter().enumerate() {
        fs::write(folder.join(format!("{name}-{load}.jsonl")), text).unwrap();
    }
}
