//! Features in one place: counts the engine files that name a feature in their code, besides the feature's own files.
//! Large structs: counts the files that have their methods.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Source, behind_generics};

/// A feature whose own files say so in their paths.
struct Feature {
    /// Parts of the names that its code uses.
    name_parts: &'static [&'static str],
    /// Whole names.
    names: &'static [&'static str],
    /// Words in the paths of its own files; each may be several with the signs between them.
    own_paths: &'static [&'static str],
    /// Other files that name it today. Lower the number when a file no longer does.
    outside: usize,
}

const FEATURES: [Feature; 7] = [
    Feature {
        name_parts: &[
            // Not `borrow`, a word of the standard library.
            "borrowed",
            "Borrowed",
            "borrowing",
            "Borrowing",
            "may_borrow",
            "lending",
            "non_exclusive",
            // The share of a shape.
            ".share()",
        ],
        names: &[
            "lends",
            // Names that the walk, the limits and the sums use without a branch of their own.
            "PartitionShare",
            "own_shape",
            "may_reserve",
            "is_limited_by_queues",
            "unless_lent",
            "lenders",
            "staying_in",
            "new_variants",
        ],
        own_paths: &["borrowed"],
        outside: 40,
    },
    Feature {
        name_parts: &[
            "blocked_headroom",
            "BlockedHeadroom",
            "blocks_headroom",
            "block_headroom",
            "lacks_headroom",
            "without_headroom",
            "begin_blocking",
            "end_blocking",
        ],
        names: &[],
        own_paths: &["backlog/headroom.rs", "explain/headroom.rs", "propose/headroom.rs"],
        outside: 17,
    },
    Feature {
        name_parts: &["compatible", "Compatible"],
        names: &[],
        own_paths: &["config/semantics.rs"],
        outside: 0,
    },
    // YARN's rules, as `Semantics` answers for them.
    Feature {
        name_parts: &["semantics.", "Semantics::", "counts_opportunities", "counts_re_reservations"],
        names: &[],
        own_paths: &["config/semantics.rs"],
        outside: 12,
    },
    Feature {
        name_parts: &["opportunistic", "Opportunistic"],
        names: &[],
        own_paths: &["opportunistic", "node_queues"],
        outside: 40,
    },
    Feature {
        name_parts: &["preempt", "Preempt"],
        names: &[],
        own_paths: &["preempt", "preemption", "rounds", "victims", "disruption"],
        outside: 33,
    },
    Feature {
        name_parts: &["gang", "Gang"],
        names: &[],
        own_paths: &["gang", "gather", "placeholder", "task_group", "member_walk", "turn"],
        outside: 69,
    },
];

#[test]
fn features_spread_no_further() {
    let sources = Source::of("scheduler/src");
    let wrong: Vec<String> = FEATURES
        .iter()
        .map(|feature| (feature, files_outside(feature, &sources)))
        .filter(|(feature, outside)| outside.len() != feature.outside)
        .map(|(feature, outside)| {
            let (count, most) = (outside.len(), feature.outside);
            format!("{:?}: {count} files outside its own, not {most}: {}", feature.names, outside.join(" "))
        })
        .collect();
    assert!(wrong.is_empty(), "features:\n{}", wrong.join("\n"));
}

fn files_outside<'a>(feature: &Feature, sources: &'a [Source]) -> Vec<&'a str> {
    let is_own = |source: &Source| feature.own_paths.iter().any(|word| is_in_path(&source.path, word));
    let has_part = |source: &Source, part: &str| !source.lines_with(part).is_empty();
    let has_name =
        |source: &Source, name: &str| source.lines_with(name).iter().any(|line| has_word(line, name));
    let names = |source: &Source| {
        feature.name_parts.iter().any(|part| has_part(source, part))
            || feature.names.iter().any(|name| has_name(source, name))
    };
    let outside = sources.iter().filter(|source| !is_own(source) && names(source));
    outside.map(|source| source.path.trim_start_matches("scheduler/src/")).collect()
}

/// Whether the path has the word, or its plural.
fn is_in_path(path: &str, word: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphabetic());
    path.match_indices(word).any(|(at, _)| {
        let rest = &path[at + word.len()..];
        !path[..at].ends_with(|c: char| c.is_ascii_alphabetic())
            && (ends(rest) || rest.strip_prefix('s').is_some_and(ends))
    })
}

/// Whether the line has the whole name.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part))
}

#[test]
fn words_are_found_whole() {
    assert!(
        has_word("if shape.may_reserve() {", "may_reserve")
            && has_word("PartitionShare::own(x)", "PartitionShare")
    );
    assert!(!has_word("unknown_shape()", "own_shape") && !has_word("may_reserve_more(ask)", "may_reserve"));
    for path in ["propose/gang.rs", "preempt/whole_gangs.rs", "gang/mod.rs"] {
        assert!(is_in_path(path, "gang"), "{path}");
    }
    assert!(!is_in_path("engine/return.rs", "turn") && !is_in_path("engine/turning.rs", "turn"));
}

/// A struct, the folder of its crate, and how many files have an `impl` block of it. Each file has one subject, which
/// its name says. Split the struct by what it owns rather than raise a number.
const SPREAD: [(&str, &str, usize); 9] = [
    ("Facts", "scheduler/src", 23),
    ("GroupCommitter", "scheduler/src", 19),
    ("Handle", "scheduler/src", 17),
    ("Applier", "scheduler/src", 18),
    ("QueueTree", "scheduler/src", 16),
    ("ApplicationState", "placement/src", 13),
    ("Backlog", "scheduler/src", 10),
    ("QueueWalk", "scheduler/src", 10),
    ("Job", "placement/src", 5),
];
/// No other struct has methods in more files than this.
const SPREAD_MAX: usize = 10;

#[test]
fn structs_spread_no_further() {
    let mut wrong = Vec::new();
    for folder in ["scheduler/src", "placement/src"] {
        let files = files_with_methods(folder);
        for (name, count) in &files {
            let known = SPREAD.iter().find(|(known, of, _)| (*known, *of) == (name.as_str(), folder));
            let (least, most) = known.map_or((0, SPREAD_MAX), |(.., files)| (*files, *files));
            if !(least..=most).contains(count) {
                wrong.push(format!("{folder}: `impl {name}` is in {count} files, not {most}"));
            }
        }
        let gone = SPREAD.iter().filter(|(name, of, _)| *of == folder && !files.contains_key(*name));
        wrong.extend(gone.map(|(name, ..)| format!("{folder}: no `impl {name}`")));
    }
    assert!(wrong.is_empty(), "structs:\n{}", wrong.join("\n"));
}

/// The number of files with an `impl` block of each struct, without blocks of traits and without tests.
fn files_with_methods(folder: &str) -> BTreeMap<String, usize> {
    let mut files = BTreeMap::new();
    for source in Source::of(folder) {
        let blocks = source.lines_with("impl");
        let names: BTreeSet<&str> = blocks.iter().filter_map(|line| struct_of(line)).collect();
        names.into_iter().for_each(|name| *files.entry(name.to_owned()).or_default() += 1);
    }
    files
}

/// The struct of a line that begins an `impl` block.
fn struct_of(line: &str) -> Option<&str> {
    let (_, line) = line.split_once(": ")?;
    let block = line.strip_prefix("impl")?.strip_suffix('{').filter(|block| !block.contains(" for "))?;
    let block = if block.starts_with('<') { behind_generics(block)? } else { block };
    let name = block.split(['<', ' ']).find(|part| !part.is_empty())?;
    name.rsplit("::").next()
}

#[test]
fn the_struct_of_a_block_is_found() {
    let of = |block: &str| struct_of(&format!("a.rs:1: {block}")).map(str::to_owned);
    for block in
        ["impl Facts {", "impl<'a> Facts<'a> {", "impl<T: Into<X> + Y> Facts<T> {", "impl super::Facts {"]
    {
        assert_eq!(of(block).as_deref(), Some("Facts"), "{block}");
    }
    assert_eq!(of("impl<F: Fn(A) -> B> Facts<F> {").as_deref(), Some("Facts"));
    assert_eq!([of("impl Drop for Facts {"), of("let implied = 1;")], [None, None]);
}
