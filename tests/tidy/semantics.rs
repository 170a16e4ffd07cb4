//! The table of what other schedulers do and what this engine does instead.

use super::{defects, files};

/// What is promised is shown by something that is there and runs, and what is missing is said.
#[test]
fn the_table_of_semantics_names_what_shows_it() {
    let text = std::fs::read_to_string(files::root().join("docs/semantics.md")).expect("readable");
    let functions = defects::functions();
    let scenarios = files::root().join("tests/scenarios");
    let rows = rows(&text);
    assert!(rows.len() > 80, "{} rows", rows.len());
    for row in rows {
        let [feature, word, how, _, shown_by] = row[..] else { panic!("not five cells: {row:?}") };
        let needs_proof = match word {
            "supported" | "different" => true,
            "not yet" | "not" => false,
            _ => panic!("{feature}: `{word}` is none of supported, different, not yet, not"),
        };
        let named: Vec<&str> = shown_by.split('`').skip(1).step_by(2).collect();
        for name in &named {
            let is_there = match name.ends_with(".yaml") {
                true => scenarios.join(name).is_file(),
                false => functions.contains(*name),
            };
            assert!(is_there, "{feature}: there is no `{name}`");
        }
        let is_shown = named.iter().any(|name| !name.starts_with("todo/"));
        assert_eq!(is_shown, needs_proof, "{feature} is {word}, and shown by: {shown_by}");
        assert!(!how.is_empty() || word == "supported", "{feature}: {word}, but not how or why");
    }
}

/// The cells of all rows, those of the table of words and the heads excepted.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let tables = text.split_once("\n## ").expect("the tables have headings").1;
    let lines = tables.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Feature |"));
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}
