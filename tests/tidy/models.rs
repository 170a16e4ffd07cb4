//! Checks the engine's loom models and the table beside them.

use std::collections::BTreeSet;

use apportion_tests::support::mutants::Suite;

use super::defects;
use super::files;
use super::source::Source;

const ROOM: &str = "scheduler/src/engine/models";

/// The table lists every model and nothing else.
#[test]
fn the_table_of_models_names_every_model() {
    let models: BTreeSet<String> = Source::of(ROOM).iter().flat_map(models_of).collect();
    let text = std::fs::read_to_string(files::root().join(ROOM).join("README.md")).expect("readable");
    let rows: Vec<String> = text.lines().filter_map(name_in_row).collect();
    let table: BTreeSet<String> = rows.iter().cloned().collect();
    assert_eq!(rows.len(), table.len(), "the table lists a model twice");
    let missing: Vec<&String> = models.difference(&table).collect();
    let gone: Vec<&String> = table.difference(&models).collect();
    assert!(missing.is_empty(), "not in the table of {ROOM}/README.md: {missing:?}");
    assert!(gone.is_empty(), "in the table of {ROOM}/README.md, but not a model: {gone:?}");
    assert!(!models.is_empty(), "there are models");
}

/// A model that no defect turns red may test nothing.
#[test]
fn every_model_is_turned_red_by_a_defect() {
    let defects = defects::all();
    let of_models = defects.iter().filter(|defect| defect.suite == Suite::Loom);
    let named: BTreeSet<String> = of_models.flat_map(|defect| defect.tests.clone()).collect();
    let models: BTreeSet<String> = Source::of(ROOM).iter().flat_map(models_of).collect();
    let unproven: Vec<&String> = models.difference(&named).collect();
    assert!(unproven.is_empty(), "no patch in tests/mutants/ names them: {unproven:?}");
    let gone: Vec<&String> = named.difference(&models).collect();
    assert!(gone.is_empty(), "patches name them as models: {gone:?}");
}

/// A model of a copy proves nothing. So the module's own code only sets up the engine, and threads share no lock or
/// atomic of its own.
#[test]
fn models_make_no_shared_state_of_their_own() {
    let primitives = ["Mutex", "RwLock", "Condvar", "Atomic"];
    let is_shared = |field: &str| primitives.iter().any(|word| field.contains(word));
    let wrong: Vec<String> = Source::of(ROOM)
        .iter()
        .flat_map(|source| source.fields().into_iter().map(|field| (source.path.clone(), field)))
        .filter(|(_, (_, field))| is_shared(field))
        .map(|(path, (line, field))| format!("{path}:{line}: {field}"))
        .collect();
    assert!(wrong.is_empty(), "a model may share only the engine's own state:\n{}", wrong.join("\n"));
}

/// The models of one file, as `file::model`.
fn models_of(source: &Source) -> Vec<String> {
    let file = source.path.rsplit('/').next().unwrap_or(&source.path).trim_end_matches(".rs");
    source.tests().into_iter().map(|test| format!("{file}::{test}")).collect()
}

/// The model that a table row describes.
fn name_in_row(line: &str) -> Option<String> {
    let name = line.strip_prefix("| `")?.split_once('`')?.0;
    name.contains("::").then(|| name.to_owned())
}
