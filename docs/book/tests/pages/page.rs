//! Pages of Markdown.

use std::path::{Path, PathBuf};

use super::blocks::Block;

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of Markdown, with the files that it includes.
pub(crate) struct Page {
    /// Path from the workspace's root.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Page {
    fn read(path: &str) -> Self {
        let text = read(&root().join(path));
        let folder = root().join(path).parent().expect("a file is in a folder").to_owned();
        let lines = text.lines().map(|line| match included(line) {
            Some(file) => read(&folder.join(file)),
            None => line.to_owned(),
        });
        Self { path: path.to_owned(), text: lines.collect::<Vec<_>>().join("\n") }
    }

    /// The chapters of the book.
    pub(crate) fn chapters() -> Vec<Self> {
        let pages = Self::of("docs/book/src");
        assert!(pages.len() > 20, "{} chapters", pages.len());
        pages
    }

    /// The chapters, and the documents of the repository that have links or blocks.
    pub(crate) fn all() -> Vec<Self> {
        let mut pages = Self::chapters();
        for folder in ["", "docs", "placement", "bench", "tests", "tests/scenarios"] {
            pages.extend(Self::of(folder));
        }
        pages
    }

    fn of(folder: &str) -> Vec<Self> {
        let entries = std::fs::read_dir(root().join(folder)).expect("the folder exists").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
        names.sort();
        let path = |name: &String| format!("{folder}/{name}").trim_start_matches('/').to_owned();
        names.iter().map(|name| Self::read(&path(name))).collect()
    }

    /// The file's name.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The code blocks.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        Block::of(self)
    }

    /// The text without code blocks.
    pub(crate) fn prose(&self) -> String {
        let mut is_code = false;
        let lines = self.text.lines().filter(|line| {
            let is_fence = line.starts_with("```");
            is_code ^= is_fence;
            !is_code && !is_fence
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// The file that a line of mdBook includes.
pub(crate) fn included(line: &str) -> Option<&str> {
    line.trim().strip_prefix("{{#include ")?.strip_suffix("}}")
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
