//! Blocks of configuration.

use apportion_bench::scenario;
use apportion_formats::toml::from_toml;

use super::blocks::Block;
use super::page::{Page, root};

fn blocks(language: &'static str) -> impl Iterator<Item = Block> {
    let of_language = move |block: &Block| block.language == language;
    Page::all().into_iter().flat_map(|page| page.blocks()).filter(of_language)
}

/// A block of TOML is a whole configuration, or the dependencies of a manifest.
#[test]
fn configurations_are_valid() {
    let mut count = 0;
    for block in blocks("toml") {
        if block.text.starts_with("[dependencies]") {
            for path in block.text.split("path = \"apportion/").skip(1) {
                let folder = path.split('"').next().unwrap_or_default();
                assert!(root().join(folder).join("Cargo.toml").is_file(), "{}: {folder}", block.place);
            }
        } else {
            from_toml(&block.text, &block.place).unwrap_or_else(|error| panic!("{error}"));
            count += 1;
        }
    }
    assert!(count > 5, "{count} configurations");
}

/// A block of YAML that begins with `about` is a scenario, and its expectations hold. The book has no other blocks of
/// YAML.
#[test]
fn scenarios_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    for block in blocks("yaml") {
        if !block.text.starts_with("about:") {
            assert!(!block.place.starts_with("docs/book/"), "{}: this is not a scenario", block.place);
            continue;
        }
        let file = folder.path().join("block.yaml");
        std::fs::write(&file, &block.text).expect("writable");
        let scenario = scenario::read_file(&file).unwrap_or_else(|error| panic!("{}: {error}", block.place));
        for setting in scenario.settings() {
            let run =
                scenario::run(&scenario, setting).unwrap_or_else(|error| panic!("{}: {error}", block.place));
            assert!(run.failure.is_none(), "{}: {:?}", block.place, run.failure);
        }
    }
}
