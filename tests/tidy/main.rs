//! House rules that no compiler checks.

mod architecture;
mod commits;
mod defects;
mod edges;
mod features;
mod files;
mod happy_path;
mod models;
mod semantics;
mod sentences;
mod source;
mod subjects;
mod waits;
mod words;

use source::Source;

/// Engine modules use each other only along the arrows of `ARCHITECTURE.md`.
#[test]
fn modules_use_each_other_only_along_allowed_edges() {
    let allowed = edges::allowed();
    let mut wrong = Vec::new();
    for source in Source::of("scheduler/src") {
        let module = source.module();
        let edges = allowed.get(module.as_str());
        for (line, other) in source.modules_used() {
            if other != module && module != "lib" && !edges.is_some_and(|edges| edges.contains(&other)) {
                wrong.push(format!("{}:{line}: {module} uses {other}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "not among the allowed edges of ARCHITECTURE.md:\n{}", wrong.join("\n"));
}

/// An arrow that no code follows makes the picture wrong.
#[test]
fn every_allowed_edge_is_used() {
    let mut unused = edges::allowed();
    for source in Source::of("scheduler/src") {
        let used: Vec<String> = source.modules_used().into_iter().map(|(_, module)| module).collect();
        if let Some(edges) = unused.get_mut(source.module().as_str()) {
            edges.retain(|edge| !used.contains(edge));
        }
    }
    unused.retain(|_, edges| !edges.is_empty());
    assert!(unused.is_empty(), "ARCHITECTURE.md allows edges that nothing uses: {unused:?}");
}

/// Then no two modules use each other, directly or indirectly.
#[test]
fn no_module_uses_a_module_below_it() {
    let listed = edges::listed();
    let place = |module: &str| listed.iter().position(|(listed, _)| listed == module);
    for (number, (module, others)) in listed.iter().enumerate() {
        // Modules that use no other are not in the list.
        let below = others.iter().find(|other| place(other).is_some_and(|place| place >= number));
        assert_eq!(
            below, None,
            "{module} uses this module, which is not above it in the edges of ARCHITECTURE.md"
        );
    }
}

/// A user of the engine meets these names first; other names are in modules by purpose.
#[test]
fn the_crate_root_has_at_most_60_names() {
    let root = std::fs::read_to_string(files::root().join("scheduler/src/lib.rs")).expect("readable");
    let names: Vec<&str> = root
        .split("\npub use ")
        .skip(1)
        .flat_map(|rest| rest.split(';').next().unwrap_or_default().rsplit("::").next())
        .flat_map(|list| list.trim_matches(['{', '}']).split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    assert!((30..=60).contains(&names.len()), "{} names: {names:?}", names.len());
}

/// The lists of public items cover all features, so they cannot show that an item needs none.
#[test]
fn what_a_feature_adds_is_public_only_with_it() {
    const ADDED: [(&str, &str, &str); 8] = [
        ("lib.rs", "file-log", "pub mod file_log;"),
        ("lib.rs", "store-log", "pub mod store_log;"),
        ("lib.rs", "metrics", "pub mod metrics;"),
        ("lib.rs", "model", "pub mod model;"),
        ("lib.rs", "model", "pub mod sync;"),
        ("log/mod.rs", "model", "pub use shared::SharedLog;"),
        ("log/mod.rs", "file-log", "pub use medium::{Compacted, Durability};"),
        ("replay/mod.rs", "fuzz", "pub use fuzz::fuzz_log;"),
    ];
    for (file, feature, item) in ADDED {
        let path = files::root().join("scheduler/src").join(file);
        let text = std::fs::read_to_string(path).expect("readable");
        let condition =
            text.lines().zip(text.lines().skip(1)).find(|(_, line)| *line == item).map(|(line, _)| line);
        let needed = format!("feature = \"{feature}\"");
        assert!(
            condition.is_some_and(|line| line.starts_with("#[cfg(") && line.contains(&needed)),
            "{file}: `{item}` follows {condition:?}, which does not ask for {needed}"
        );
    }
}

/// Proposers and committer share one fit test: Nomad's #9506 shows the harm of two.
#[test]
fn there_is_one_fits() {
    let all = Source::of("scheduler/src").into_iter().chain(Source::of("placement/src"));
    let found: Vec<String> = all.flat_map(|source| source.lines_with("fn fits(")).collect();
    assert_eq!(found.len(), 1, "`fn fits(` must exist once; it is at {found:?}");
}

/// A tuple of parameters hides how many there are, and its parts have no names where it is made.
#[test]
fn no_function_takes_several_parameters_as_one() {
    let sources = files::all_sources();
    let wrong: Vec<String> = sources.iter().flat_map(Source::tuple_parameters).collect();
    assert!(wrong.is_empty(), "pass these one by one, or as a struct:\n{}", wrong.join("\n"));
}

/// Primitives are named only in `sync/`.
#[test]
fn primitives_are_named_only_in_sync() {
    let words =
        ["parking_lot", "crossbeam", "dashmap", "std::sync::atomic", "std::sync::mpsc", "std::sync::Mutex"];
    let mut wrong = Vec::new();
    for source in Source::of("scheduler/src").into_iter().filter(|source| source.module() != "sync") {
        wrong.extend(words.iter().flat_map(|word| source.lines_naming(word)));
    }
    assert!(wrong.is_empty(), "primitives outside sync/:\n{}", wrong.join("\n"));
}

/// The engine and the placement crate have no clock, no randomness and no sleep of their own. A driver may take the
/// clock that is ready for it.
#[test]
fn time_and_chance_come_from_the_driver() {
    let words = ["Instant::now", "SystemTime", "thread::sleep", "rand::", "thread_rng"];
    let all = Source::of("scheduler/src").into_iter().chain(Source::of("placement/src"));
    let all = all.filter(|source| source.module() != "clock");
    let wrong: Vec<String> =
        all.flat_map(|source| words.iter().flat_map(|w| source.lines_with(w)).collect::<Vec<_>>()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A file covers one subject. Split it at 450 lines.
#[test]
fn no_file_is_too_long() {
    let long: Vec<String> = files::all_sources()
        .into_iter()
        .filter(|source| source.code_lines() > 450)
        .map(|source| format!("{}: {} lines", source.path, source.code_lines()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// The formatter leaves comments as they are.
#[test]
fn comments_are_as_narrow_as_code() {
    let wide: Vec<String> = files::all_sources().iter().flat_map(source::Source::wide_comments).collect();
    assert!(wide.is_empty(), "wider than 120 columns:\n{}", wide.join("\n"));
}

/// The engine's reference is read without the repository, and documents of the project's notes are not in the
/// repository.
#[test]
fn the_engines_docs_name_no_document() {
    let sources = Source::of("scheduler/src").into_iter();
    let shipped = sources.filter(|source| !source.path.contains("/engine/models/"));
    let wrong: Vec<String> = shipped.flat_map(|source| source.docs_with(".md")).collect();
    assert!(wrong.is_empty(), "say it in words:\n{}", wrong.join("\n"));
}

/// Unfinished work is an issue, not a line of code.
#[test]
fn nothing_is_left_for_later_in_the_code() {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("#[ign", "ore")];
    let wrong: Vec<String> = files::all_sources()
        .iter()
        .flat_map(|source| words.iter().flat_map(|word| source.lines_with(word)).collect::<Vec<_>>())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Only `.ci/nightly` builds fuzz targets, so this test checks that each calls an existing function.
#[test]
fn every_fuzz_target_calls_a_function_that_is_there() {
    let folder = files::root().join("fuzz/fuzz_targets");
    let functions = defects::functions();
    let manifest = std::fs::read_to_string(files::root().join("fuzz/Cargo.toml")).expect("readable");
    let targets: Vec<_> =
        std::fs::read_dir(folder).expect("readable").flatten().map(|entry| entry.path()).collect();
    assert!(!targets.is_empty());
    for target in targets {
        let text = std::fs::read_to_string(&target).expect("readable");
        let called = text.split_once("(data));").and_then(|(before, _)| before.rsplit("::").next());
        let called = called.unwrap_or_else(|| panic!("{} calls no function with its data", target.display()));
        assert!(functions.contains(called), "{}: there is no `fn {called}`", target.display());
        let name = target.file_name().expect("a file").to_string_lossy().into_owned();
        assert!(
            manifest.contains(&format!("fuzz_targets/{name}\"")),
            "fuzz/Cargo.toml does not build {name}"
        );
    }
}

/// Every library and program forbids unsafe code by its own attribute as well as by the workspace's lints.
#[test]
fn every_crate_takes_the_workspace_lints() {
    assert!(files::text("Cargo.toml").contains("unsafe_code = \"forbid\""));
    let mut wrong = Vec::new();
    for folder in files::crates() {
        let manifest = format!("{folder}/Cargo.toml");
        if !files::text(&manifest).contains("[lints]\nworkspace = true") {
            wrong.push(format!("{manifest} does not take the lints"));
        }
        let roots = files::crate_roots(&folder);
        assert!(!roots.is_empty(), "{folder} has neither a library nor a program");
        let allowing = roots.iter().filter(|file| !files::text(file).contains("\n#![forbid(unsafe_code)]\n"));
        wrong.extend(allowing.map(|file| format!("{file} lacks #![forbid(unsafe_code)]")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A defect without a test proves nothing.
#[test]
fn every_defect_names_a_test() {
    let (defects, functions) = (defects::all(), defects::functions());
    for defect in &defects {
        for test in &defect.tests {
            let name = test.rsplit("::").next().unwrap_or(test);
            assert!(functions.contains(name), "{}: there is no `fn {name}`", defect.file);
        }
        let first = format!("{}_", defect.invariants[0].to_lowercase());
        assert!(defect.file.starts_with(&first), "{}: its name does not begin with {first}", defect.file);
    }
}

/// An invariant without a defect may have no test.
#[test]
fn every_invariant_has_a_defect() {
    let (defects, invariants) = (defects::all(), invariants());
    assert!(invariants.len() >= 20, "{invariants:?}");
    for name in invariants {
        let has = |defect: &&apportion_tests::support::mutants::Mutant| defect.invariants.contains(&name);
        assert!(defects.iter().find(has).is_some(), "no patch in tests/mutants/ breaks {name}");
    }
}

/// The names of the engine's invariants: the first cells of the table in `ARCHITECTURE.md`.
fn invariants() -> Vec<String> {
    let text = files::text("ARCHITECTURE.md");
    let cells = text.lines().filter_map(|line| line.strip_prefix("| I")?.split(" |").next());
    cells.flat_map(|cell| format!("I{cell}").split(", ").map(str::to_owned).collect::<Vec<_>>()).collect()
}
