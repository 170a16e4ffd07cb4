//! Recorded decisions: what serial mode decided for fixed random loads.
//!
//! The properties and the model say which decisions are right. Often several are. A record says which one the engine
//! takes, so a change that was meant to keep all decisions shows that it does. `tests/recorded/` has a file for each
//! kind of load, with one digest of the changes of each load.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use apportion::log::LogReader;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use xxhash_rust::xxh3::Xxh3;

/// Set to `write`, it replaces the records by the present decisions.
const VARIABLE: &str = "APPORTION_RECORDED";

/// The first `count` values of a strategy, the same in each run.
pub fn draw<S: Strategy>(strategy: S, count: usize) -> impl Iterator<Item = S::Value> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[13; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..count).map(move |_| strategy.new_tree(&mut runner).unwrap().current())
}

/// Compares the changes in the logs of loads with the record of this name.
///
/// # Panics
///
/// If the decisions for a load differ. The message names the load and a file with its changes.
pub fn assert_decides_as_recorded(name: &str, logs: impl IntoIterator<Item = Vec<u8>>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded").join(format!("{name}.txt"));
    let logs: Vec<Vec<u8>> = logs.into_iter().collect();
    let digests: Vec<String> = logs.iter().map(|log| digest_of(log)).collect();
    if std::env::var_os(VARIABLE).is_some_and(|value| value == "write") {
        return std::fs::write(&file, digests.join("\n") + "\n").unwrap();
    }
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let recorded: Vec<&str> = text.lines().collect();
    let differs = |number: &usize| recorded.get(*number) != digests.get(*number).map(String::as_str).as_ref();
    let differing: Vec<usize> = (0..digests.len().max(recorded.len())).filter(differs).collect();
    if let Some(&first) = differing.first() {
        let changes = logs.get(first).map(|log| write_changes(name, first, log));
        panic!(
            "serial mode decides differently for {} of {} loads of {name}, the first is {first}.\n\
             Its changes are in {}: compare them with those of the commit before.\n\
             If the decisions should differ, write the records with {VARIABLE}=write.",
            differing.len(),
            digests.len(),
            changes.unwrap_or_default().display(),
        );
    }
}

/// The changes of a log, one line of JSON each. The header is left out: it has the whole configuration.
fn changes_of(log: &[u8]) -> impl Iterator<Item = String> {
    let mut reader = LogReader::new(log).unwrap();
    std::iter::from_fn(move || {
        reader.next_change().unwrap().map(|change| serde_json::to_string(&change).unwrap())
    })
}

fn digest_of(log: &[u8]) -> String {
    let mut hasher = Xxh3::new();
    changes_of(log).for_each(|change| hasher.update(change.as_bytes()));
    format!("{:016x}", hasher.digest())
}

fn write_changes(name: &str, number: usize, log: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("apportion-recorded-{name}-{number}.jsonl"));
    let mut text = String::new();
    changes_of(log).for_each(|change| writeln!(text, "{change}").unwrap());
    std::fs::write(&path, text).unwrap();
    path
}
