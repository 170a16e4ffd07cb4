//! `DEFINITION.md` agrees with the code.

use std::collections::BTreeMap;

use apportion_placement::instance::{ConfFile, ExitCode, KEYS, RunState, Scope, Verb};

const DOCUMENT: &str = include_str!("../../DEFINITION.md");

/// The rows of tables whose first cell is in code font.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    DOCUMENT.lines().filter(|line| line.starts_with("| `")).map(cells)
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_known() {
    let mut documented = BTreeMap::new();
    for row in rows().filter(|row| row.len() == 5) {
        let twice = documented.insert(row[0].trim_matches('`'), (row[1], row[2].trim_matches('`')));
        assert!(twice.is_none(), "{row:?} stands there twice");
    }
    let known: BTreeMap<&str, (&str, &str)> = KEYS
        .iter()
        .map(|key| {
            let section = match (key.file, key.scope) {
                (ConfFile::Internal, _) => "internal global",
                (_, Scope::Global) => "global",
                (_, Scope::Component) => "component",
            };
            (key.name, (section, key.default))
        })
        .collect();
    assert_eq!(documented, known);
}

#[test]
fn every_exit_code_and_verb_is_documented() {
    let documented: Vec<i32> =
        rows().filter(|row| row.len() == 3).filter_map(|row| row[0].trim_matches('`').parse().ok()).collect();
    let known: Vec<i32> = ExitCode::ALL.iter().map(|code| code.code()).collect();
    assert_eq!(documented, known);
    for verb in Verb::ALL {
        assert!(DOCUMENT.contains(&format!("`{}", verb.word())), "{}", verb.word());
    }
    for state in RunState::ALL {
        assert!(DOCUMENT.contains(state.word()), "{state}");
    }
}

#[test]
fn a_shell_sees_a_byte() {
    assert_eq!(ExitCode::False.process_code(), 255);
    assert_eq!(ExitCode::BadConfiguration.process_code(), 77);
}
