//! The table of defects of other schedulers.

use super::{defects, files};

/// Every test that the table names must exist.
#[test]
fn the_tests_that_the_table_of_lessons_names_are_there() {
    let text = std::fs::read_to_string(files::root().join("tests/README.md")).expect("readable");
    let known = defects::functions();
    let behind = text.split("## Defects of other schedulers").nth(1).expect("the table");
    let rows: Vec<&str> = behind.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() > 30, "{} rows", rows.len());
    for row in rows {
        let answer = row.split(" | ").nth(1).unwrap_or_default();
        let names: Vec<&str> =
            answer.split('`').skip(1).step_by(2).filter(|word| is_test_name(word)).collect();
        assert!(!names.is_empty(), "the row names no test: {row}");
        for name in names {
            assert!(known.contains(name), "the repository has no function `{name}`: {row}");
        }
    }
}

/// Whether the word is a test name, not a path, a command or a method.
fn is_test_name(word: &str) -> bool {
    word.contains('_') && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
