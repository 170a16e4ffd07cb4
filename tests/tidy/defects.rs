//! Reads the deliberate defects of `tests/mutants/` and the names of all functions.

use std::collections::BTreeSet;
use std::path::Path;

use apportion_tests::support::mutants::{Mutant, mutants};

use super::files;

/// Reads every patch; panics if a header is invalid.
pub(crate) fn all() -> Vec<Mutant> {
    mutants(&files::root().join("tests/mutants")).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The names of all functions in all sources, unit tests included.
pub(crate) fn functions() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for folder in ["scheduler", "formats", "placement", "bench", "tests"] {
        add_functions(&files::root().join(folder), &mut names);
    }
    names
}

fn add_functions(path: &Path, names: &mut BTreeSet<String>) {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("a folder is readable");
        entries.flatten().for_each(|entry| add_functions(&entry.path(), names));
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        let text = std::fs::read_to_string(path).expect("source is readable text");
        let named = text.lines().filter_map(|line| {
            line.trim_start().trim_start_matches("pub ").strip_prefix("fn ")?.split(['(', '<']).next()
        });
        names.extend(named.map(str::to_owned));
    }
}
