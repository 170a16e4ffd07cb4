//! Checks the tables of `placement/README.md` and `placement/CONTROL.md`, which name the tests for each row of the
//! specification.

use std::collections::BTreeSet;

use super::{defects, files};

/// Every row exists and names existing tests.
#[test]
fn the_tables_of_services_name_what_shows_them() {
    let rows = [("D", 35), ("F", 21)];
    check_tables("placement/README.md", &rows);
}

#[test]
fn the_tables_of_container_control_name_what_shows_them() {
    let rows = [("Z", 17), ("X", 8), ("I", 6)];
    check_tables("placement/CONTROL.md", &rows);
    let text = std::fs::read_to_string(files::root().join("placement/CONTROL.md")).expect("readable");
    let has = |row: &str| {
        let mut firsts = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
        firsts.any(|first| first.split(", ").any(|named| named == row))
    };
    let others = [1, 3, 4, 6, 7, 9, 10, 11, 12, 14, 17, 19, 20].map(|number| format!("P{number}"));
    for row in others.iter().map(String::as_str).chain(["1.9", "budget"]) {
        assert!(has(row), "not in the table: {row}");
    }
}

fn check_tables(path: &str, rows: &[(&str, u32)]) {
    let text = std::fs::read_to_string(files::root().join(path)).expect("readable");
    let functions = defects::functions();
    let mut seen = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let rows: Vec<&str> = cells[0].split(", ").filter(|row| is_row(row)).collect();
        if rows.is_empty() {
            continue;
        }
        let shown_by = cells.last().expect("a table has cells");
        let named: Vec<&str> = shown_by.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "{}: the row names no test", cells[0]);
        for name in named {
            assert!(functions.contains(name), "{}: there is no `{name}`", cells[0]);
        }
        seen.extend(rows);
    }
    let all =
        rows.iter().flat_map(|(letter, most)| (1..=*most).map(move |number| format!("{letter}{number}")));
    let missing: Vec<String> = all.filter(|row| !seen.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "{path}: not in the tables: {missing:?}");
}

/// Whether the cell is a letter and a number, or the name of a row without a number.
fn is_row(text: &str) -> bool {
    if ["1.9", "budget"].contains(&text) {
        return true;
    }
    let number = text.strip_prefix(['D', 'S', 'F', 'Z', 'X', 'I', 'P']);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
