//! Source files as the rules see them.

use std::path::{Path, PathBuf};

use super::files;

/// Where a file's unit tests begin.
const TESTS: &str = "#[cfg(test)]\nmod tests {";

/// Whether the file holds unit tests of their own.
fn is_unit_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || (path.contains("/src/") && path.contains("/tests/"))
}

/// One file.
pub(crate) struct Source {
    /// Path from the workspace's root.
    pub(crate) path: String,
    text: String,
}

impl Source {
    /// All source files below a folder, given from the workspace's root, without files that only hold unit tests.
    pub(crate) fn of(folder: &str) -> Vec<Self> {
        let mut sources = Vec::new();
        add(&files::root().join(folder), &mut sources);
        sources.retain(|source| !is_unit_test(&source.path));
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        sources
    }

    pub(crate) fn read(file: &Path) -> Self {
        let path = file.strip_prefix(files::root()).unwrap_or(file).display().to_string();
        Self { path, text: std::fs::read_to_string(file).expect("source is readable text") }
    }

    /// The top-level module it belongs to.
    pub(crate) fn room(&self) -> String {
        let inside = self.path.split("/src/").nth(1).unwrap_or(&self.path);
        inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs").to_owned()
    }

    /// Numbered lines before the unit tests, without comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let shipped = self.text.split(TESTS).next().unwrap_or(&self.text);
        shipped
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
            .map(|(n, l)| (n + 1, l))
    }

    /// The number of lines, without unit tests.
    pub(crate) fn code_lines(&self) -> usize {
        self.text.split(TESTS).next().map_or(0, |shipped| shipped.lines().count())
    }

    /// The lines of code that contain a word.
    pub(crate) fn lines_with(&self, word: &str) -> Vec<String> {
        let found = self.code().filter(|(_, line)| line.contains(word));
        found.map(|(number, line)| format!("{}:{number}: {}", self.path, line.trim())).collect()
    }

    /// The functions that are tests.
    pub(crate) fn tests(&self) -> Vec<String> {
        let behind = self.text.split("#[test]").skip(1);
        let name = |text: &str| text.split_once("fn ")?.1.split_once('(').map(|(name, _)| name.to_owned());
        behind.filter_map(name).collect()
    }

    /// The fields of its structs, with their line numbers.
    pub(crate) fn fields(&self) -> Vec<(usize, String)> {
        let (mut fields, mut is_inside) = (Vec::new(), false);
        for (number, line) in self.code() {
            let is_struct = line.trim_start().split(' ').any(|word| word == "struct");
            is_inside |= is_struct;
            if is_inside {
                fields.push((number, line.trim().to_owned()));
            }
            // A struct ends with its brace, or on its own line if its fields have no names.
            is_inside &= !(line.starts_with('}') || line.ends_with(';') || line.ends_with("{}"));
        }
        fields
    }

    /// The rooms of the same crate that its code names, with line numbers.
    pub(crate) fn rooms_used(&self) -> Vec<(usize, String)> {
        let mut used = Vec::new();
        for (number, line) in self.code() {
            for (place, _) in line.match_indices("crate::") {
                let before = line[..place].chars().next_back();
                let name: String =
                    line[place + 7..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
                if before != Some('$') && !name.is_empty() {
                    used.push((number, name));
                }
            }
        }
        used
    }
}

fn add(folder: &PathBuf, sources: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            add(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(Source::read(&path));
        }
    }
}
