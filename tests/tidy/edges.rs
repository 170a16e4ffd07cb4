//! The allowed edges, read from `ARCHITECTURE.md`.

use std::collections::BTreeMap;

use super::files;

/// For each module of the engine, the modules that it may use.
pub(crate) fn allowed() -> BTreeMap<String, Vec<String>> {
    listed().into_iter().collect()
}

/// The same in the order of the list.
pub(crate) fn listed() -> Vec<(String, Vec<String>)> {
    let text = std::fs::read_to_string(files::root().join("ARCHITECTURE.md")).expect("readable");
    let block = text.split("```edges\n").nth(1).and_then(|rest| rest.split("```").next());
    let lines = block.expect("ARCHITECTURE.md has a block of edges").lines();
    let edge = |line: &str| {
        let (module, others) = line.split_once(" -> ").expect("`module -> module, module`");
        (module.to_owned(), others.split(", ").map(str::to_owned).collect())
    };
    lines.map(edge).collect()
}
