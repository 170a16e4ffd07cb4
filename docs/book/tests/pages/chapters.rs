//! The list of chapters.

use super::page::{Page, included};

const SUMMARY: &str = include_str!("../../src/SUMMARY.md");
const TESTED: &str = include_str!("../../lib.rs");

/// A chapter without an entry is not in the book, and a chapter that `lib.rs` does not name is not tested.
#[test]
fn every_chapter_is_listed_and_tested() {
    for page in Page::chapters().iter().filter(|page| page.name() != "SUMMARY.md") {
        let name = page.name();
        assert!(SUMMARY.contains(&format!("({name})")), "SUMMARY.md does not list {name}");
        let source = std::fs::read_to_string(format!("{}/src/{name}", env!("CARGO_MANIFEST_DIR")));
        let source = source.expect("a chapter is readable");
        // Pages of reference consist of a document of the repository.
        let is_document = source.lines().count() == 1 && source.lines().all(|line| included(line).is_some());
        assert_ne!(TESTED.contains(&format!("\"{name}\"")), is_document, "lib.rs, about {name}");
    }
}

/// A chapter is read in one sitting.
#[test]
fn chapters_are_short() {
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).expect("readable").flatten() {
        if file.path().extension().is_some_and(|extension| extension == "md") {
            let lines = std::fs::read_to_string(file.path()).expect("readable").lines().count();
            assert!(lines <= 200, "{}: {lines} lines, at most 200", file.path().display());
        }
    }
}

/// Each chapter begins with a title and ends with the way on.
#[test]
fn chapters_lead_from_one_to_the_next() {
    let listed: Vec<&str> = SUMMARY.split('(').skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let pages = Page::chapters();
    let page = |name: &str| pages.iter().find(|page| page.name() == name);
    for pair in listed.windows(2) {
        let page = page(pair[0]).unwrap_or_else(|| panic!("SUMMARY.md lists {}", pair[0]));
        assert!(page.text.starts_with("# "), "{} begins with a title", page.path);
        let last = page.text.lines().last().unwrap_or_default();
        if last.starts_with("Next: ") {
            assert!(last.contains(&format!("({})", pair[1])), "{}: {} follows", page.path, pair[1]);
        }
    }
}
