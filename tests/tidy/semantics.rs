//! Checks the table that compares other schedulers with this engine.

use super::{defects, files};

/// A row that is `supported` or `different` names existing tests or scenarios. Every row but a `supported` one says
/// how or why.
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
            _ => panic!("{feature}: unknown word `{word}`; write supported, different, not yet or not"),
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
        assert!(
            !how.is_empty() || word == "supported",
            "{feature} is {word}, but the row does not say how or why"
        );
    }
}

/// The cells of all rows, except those of the table of words and the headings.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let tables = text.split_once("\n## ").expect("the tables have headings").1;
    let lines = tables.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Feature |"));
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}
