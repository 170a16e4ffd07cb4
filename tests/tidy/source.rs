//! Source files as the rules see them.

use std::path::{Path, PathBuf};

use super::files;

/// Where a file's unit tests begin.
const TESTS: &str = "#[cfg(test)]\nmod tests {";

/// Whether the file holds only unit tests.
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
    pub(crate) fn module(&self) -> String {
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

    /// Parameters of functions that are patterns of several values, as in `fn f((a, b): (A, B))`.
    pub(crate) fn tuple_parameters(&self) -> Vec<String> {
        let code: Vec<(usize, &str)> = self.code().collect();
        let text = code.iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n");
        let line_at = |at: usize| code[text[..at].matches('\n').count()].0;
        let functions =
            text.match_indices("fn ").filter(|(at, _)| !text[..*at].ends_with(char::is_alphanumeric));
        let of_function = |at: usize| {
            let head = &text[at..];
            let behind_name = &head[head.find(['(', '<'])?..];
            let list = if behind_name.starts_with('<') { behind_generics(behind_name)? } else { behind_name };
            let parameters = parameters(list.strip_prefix('(')?);
            parameters.into_iter().find(|one| one.starts_with('(') || one.starts_with("&("))
        };
        let found = functions.filter_map(|(at, _)| Some((at, of_function(at)?)));
        found.map(|(at, parameter)| format!("{}:{}: {parameter}", self.path, line_at(at))).collect()
    }

    /// Comments that are wider than a line of code may be. Rows of tables are one line each.
    pub(crate) fn wide_comments(&self) -> Vec<String> {
        let is_row = |line: &str| line.trim_start_matches('/').trim_start_matches('!').starts_with(" |");
        let lines = self.text.lines().enumerate();
        let wide =
            lines.filter(|(_, line)| line.chars().count() > 120 && line.trim_start().starts_with("//"));
        let wide = wide.filter(|(_, line)| !is_row(line.trim_start()));
        wide.map(|(number, _)| format!("{}:{}", self.path, number + 1)).collect()
    }

    /// The lines of documentation comments that contain a word.
    pub(crate) fn docs_with(&self, word: &str) -> Vec<String> {
        let is_doc = |line: &str| line.starts_with("///") || line.starts_with("//!");
        let lines = self.text.lines().map(str::trim).enumerate();
        let found = lines.filter(|(_, line)| is_doc(line) && line.contains(word));
        found.map(|(number, line)| format!("{}:{}: {line}", self.path, number + 1)).collect()
    }

    /// The same as [`lines_with`](Self::lines_with), and the imports that name the word once their groups are written
    /// out.
    pub(crate) fn lines_naming(&self, word: &str) -> Vec<String> {
        let mut found = self.lines_with(word);
        let imports = self.imports().into_iter().filter(|(_, path)| path.contains(word));
        found.extend(imports.map(|(number, path)| format!("{}:{number}: use {path}", self.path)));
        found
    }

    /// The paths of all `use` declarations, with their line numbers. Groups are written out: `a::{b, c::d}` is `a::b`
    /// and `a::c::d`.
    fn imports(&self) -> Vec<(usize, String)> {
        let (mut imports, mut lines) = (Vec::new(), self.code());
        while let Some((number, line)) = lines.next() {
            let Some((visibility, tree)) = line.trim_start().split_once("use ") else { continue };
            if !visibility.is_empty() && !visibility.starts_with("pub") {
                continue;
            }
            let mut tree = tree.to_owned();
            while !tree.contains(';') {
                let Some((_, more)) = lines.next() else { break };
                tree.push_str(more.trim());
            }
            let tree = tree.split(';').next().unwrap_or_default();
            imports.extend(written_out(tree).into_iter().map(|path| (number, path)));
        }
        imports
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

    /// The modules of the same crate that its code names, with line numbers. A name of the crate's root, which could
    /// hide a module, counts as `lib`.
    pub(crate) fn modules_used(&self) -> Vec<(usize, String)> {
        let mut used = Vec::new();
        for (number, line) in self.code() {
            for (place, _) in line.match_indices("crate::") {
                let inside = &line[place + 7..];
                if !line[..place].ends_with('$') && !inside.starts_with('{') {
                    used.push((number, module_of(inside)));
                }
            }
        }
        // The loop finds imports of one path, but no module of a group.
        for (number, path) in self.imports() {
            let found = path.strip_prefix("crate::").map(|inside| (number, module_of(inside)));
            used.extend(found.filter(|found| !used.contains(found)));
        }
        used
    }
}

/// The first part of a path in the crate, if that is a module.
fn module_of(path: &str) -> String {
    let module: String = path.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
    if module.is_empty() { "lib".to_owned() } else { module }
}

/// The parameters at the begin of a text, up to the parenthesis behind them.
fn parameters(text: &str) -> Vec<&str> {
    let (mut parameters, mut begin, mut depth, mut before) = (Vec::new(), 0, 0, ' ');
    for (at, c) in text.char_indices() {
        match c {
            ',' if depth == 0 => {
                parameters.push(text[begin..at].trim());
                begin = at + 1;
            }
            ')' if depth == 0 => {
                parameters.push(text[begin..at].trim());
                break;
            }
            '(' | '[' | '<' => depth += 1,
            ')' | ']' => depth -= 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        before = c;
    }
    parameters
}

/// The text behind the parameters of types with which it begins.
pub(crate) fn behind_generics(block: &str) -> Option<&str> {
    let mut depth = 0;
    let mut before = ' ';
    let end = block.find(|c| {
        depth += i32::from(c == '<') - i32::from(c == '>' && before != '-');
        before = c;
        depth == 0
    });
    block.get(end? + 1..)
}

/// The paths of a tree of imports.
fn written_out(tree: &str) -> Vec<String> {
    let Some((before, group)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let (mut members, mut depth) = (vec![String::new()], 0);
    for c in group.trim_end().strip_suffix('}').unwrap_or(group).chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match members.last_mut() {
            Some(member) if c != ',' || depth > 0 => member.push(c),
            _ => members.push(String::new()),
        }
    }
    let named = members.iter().filter(|member| !member.trim().is_empty());
    named.flat_map(|member| written_out(member)).map(|rest| format!("{}{rest}", before.trim())).collect()
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

#[test]
fn a_parameter_that_is_a_tuple_is_found() {
    let of = |rest: &str| Source { path: "a.rs".to_owned(), text: format!("fn a{rest}") }.tuple_parameters();
    for tuple in [
        "((b, c): (B, C)) {",
        "<T: Fn(B) -> C>(d: &D, (b, c): Pair) {",
        "(\n    b: Map<B, (C, D)>,\n    (c, d): &mut (C, D),\n) {",
        "(\n    (\n        b,\n        c,\n    ): (B, C),\n) {",
        "(&(b, c): &(B, C)) {",
    ] {
        assert_eq!(of(tuple).len(), 1, "{tuple}");
    }
    let others = [
        "(b: Map<B, (C, D)>, e: (E, F)) -> (G, H) {",
        "() {\n    let (b, c): (B, C) = d(|(e, f): (E, F)| e);",
    ];
    for other in others {
        assert_eq!(of(other), Vec::<String>::new(), "{other}");
    }
}

/// Rules about names must see through `use std::{sync::Mutex, ...}`.
#[test]
fn a_group_of_imports_names_each_of_its_paths() {
    let text = "use std::{fmt, sync::{Arc, Mutex}};\npub(crate) use crate::{\n    facts::{Ask, Node},\n    ids::AskId, Engine,\n};\n\
                use crate::place::Leases;\nlet reuse = crate::backlog::Lane;\n";
    let source = Source { path: "scheduler/src/state.rs".to_owned(), text: text.to_owned() };
    assert_eq!(source.lines_naming("std::sync::Mutex"), ["scheduler/src/state.rs:1: use std::sync::Mutex"]);
    let mut modules = source.modules_used();
    modules.sort();
    let expected = [(2, "facts"), (2, "ids"), (2, "lib"), (6, "place"), (7, "backlog")];
    assert_eq!(modules, expected.map(|(line, module)| (line, module.to_owned())));
}
