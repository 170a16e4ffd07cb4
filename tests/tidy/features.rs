//! Features in one place: how many engine files outside a feature's own name it in their code.

use super::source::Source;

/// A feature whose own files say so in their paths.
struct Feature {
    /// Parts of the names that its code uses.
    names: &'static [&'static str],
    /// Parts of the paths of its own files.
    modules: &'static [&'static str],
    /// Other files that name it today. Lower the number when a file no longer does.
    outside: usize,
}

const FEATURES: [Feature; 8] = [
    Feature {
        // Not `borrow`, a word of the standard library.
        names: &["borrowed", "Borrowed", "borrowing", "Borrowing", "may_borrow", "lends", "lending"],
        modules: &["borrowed"],
        outside: 13,
    },
    // What walk, limits and sums ask about it, without a branch of their own.
    Feature {
        names: &[
            "PartitionShare",
            "own_shape",
            "may_reserve",
            "is_limited_by_queues",
            "unless_lent",
            "lenders",
            "staying_in",
            "new_variants",
        ],
        modules: &["borrowed"],
        outside: 33,
    },
    Feature {
        names: &[
            "blocked_headroom",
            "BlockedHeadroom",
            "blocks_headroom",
            "block_headroom",
            "lacks_headroom",
        ],
        modules: &["headroom"],
        outside: 13,
    },
    Feature { names: &["compatible", "Compatible"], modules: &["config/semantics.rs"], outside: 0 },
    // The same for the rules of YARN.
    Feature { names: &["semantics.", "Semantics::"], modules: &["config/semantics.rs"], outside: 6 },
    Feature {
        names: &["opportunistic", "Opportunistic"],
        modules: &["opportunistic", "node_queues"],
        outside: 40,
    },
    Feature {
        names: &["preempt", "Preempt"],
        modules: &["preempt", "rounds", "victims", "disruption"],
        outside: 34,
    },
    Feature {
        names: &["gang", "Gang"],
        modules: &["gang", "gather", "placeholder", "task_group", "member_walk", "turn"],
        outside: 71,
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
    let is_own = |source: &Source| feature.modules.iter().any(|module| source.path.contains(module));
    let names = |source: &Source| feature.names.iter().any(|name| !source.lines_with(name).is_empty());
    let outside = sources.iter().filter(|source| !is_own(source) && names(source));
    outside.map(|source| source.path.trim_start_matches("scheduler/src/")).collect()
}
