//! Links between pages.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::page::{Page, root};

/// Files and anchors that pages name exist. Links of the book stay in the book, because it is read without the
/// repository.
#[test]
fn links_resolve() {
    let pages = Page::all();
    let anchors: BTreeMap<PathBuf, Vec<String>> =
        pages.iter().map(|page| (PathBuf::from(&page.path), anchors(page))).collect();
    let mut wrong = Vec::new();
    for page in &pages {
        let is_chapter = page.path.starts_with("docs/book/src/");
        for link in links(page).filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = target(&page.path, file);
            let is_there = root().join(&target).exists();
            let is_in_book = !is_chapter || target.starts_with("docs/book/src");
            let has_anchor = anchor.is_empty()
                || anchors.get(&target).is_some_and(|known| known.iter().any(|a| a == anchor));
            if !is_there || !is_in_book || !has_anchor {
                wrong.push(format!("{}: {link}", page.path));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere, or out of the book:\n{}", wrong.join("\n"));
}

/// The targets of links and pictures.
fn links(page: &Page) -> impl Iterator<Item = &str> {
    page.text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next())
}

/// The path of a linked file from the workspace's root; of the page itself without a file.
fn target(page: &str, file: &str) -> PathBuf {
    let page = Path::new(page);
    if file.is_empty() {
        return page.to_owned();
    }
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
    }
    path
}

/// The anchors of the headings, as GitHub and mdBook name them.
fn anchors(page: &Page) -> Vec<String> {
    let prose = page.prose();
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[test]
fn anchors_are_those_of_the_readers() {
    assert_eq!(anchor("`explain --json`"), "explain---json");
    assert_eq!(anchor("Shares in parallel mode"), "shares-in-parallel-mode");
    assert_eq!(target("docs/json.md", "../bench/RESULTS.md"), Path::new("bench/RESULTS.md"));
}
