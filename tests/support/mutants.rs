//! Mutants: each is a patch in `tests/mutants/` with one deliberate defect and the tests that detect it.
//!
//! Above its diff, each patch has three lines. They name the broken invariants, the tests of one program that all
//! turn red, and the defect. `cargo mutate` applies the patches one after another, and `tests/tidy` checks
//! the headers.

use std::fs;
use std::path::{Path, PathBuf};

/// The test programs that a patch can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suite {
    /// Models of the engine: every interleaving of a few steps.
    Loom,
    /// The engine's unit tests.
    Unit,
    /// Scenarios.
    Integration,
    /// Random clusters against the sequential model.
    Property,
    /// One allocation, step by step.
    Walkthrough,
    /// Gangs.
    Gangs,
    /// Opportunistic containers.
    Opportunistic,
    /// An engine at rest.
    Idle,
    /// Tests of services on clusters, in the placement crate.
    Placement,
    /// Tests of application instances, in the placement crate.
    Instance,
    /// Tests of history files, in the placement crate.
    History,
    /// The unit tests of the placement crate.
    PlacementUnit,
}

impl Suite {
    /// All suites.
    pub const ALL: [Self; 12] = [
        Self::Loom,
        Self::Unit,
        Self::Integration,
        Self::Property,
        Self::Walkthrough,
        Self::Gangs,
        Self::Opportunistic,
        Self::Idle,
        Self::Placement,
        Self::Instance,
        Self::History,
        Self::PlacementUnit,
    ];

    /// The suite's name in a patch.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Loom => "loom",
            Self::Unit => "unit",
            Self::Integration => "integration",
            Self::Property => "property",
            Self::Walkthrough => "walkthrough",
            Self::Gangs => "gangs",
            Self::Opportunistic => "opportunistic",
            Self::Idle => "idle",
            Self::Placement => "placement",
            Self::Instance => "instance",
            Self::History => "history",
            Self::PlacementUnit => "placement-unit",
        }
    }

    fn named(word: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|suite| suite.name() == word);
        found.ok_or_else(|| format!("unknown suite `{word}`; use one of {names}"))
    }
}

/// One deliberate defect.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The file name of the patch.
    pub file: String,
    /// The path of the patch.
    pub path: PathBuf,
    /// The invariants that it breaks, the main one first: `I1` to `I20` of the engine. `F1` to `F21` and `D1` to
    /// `D35` are of services, `Z1` to `Z17` and `X1` to `X8` of container control.
    pub invariants: Vec<String>,
    /// The program with the tests that turn red.
    pub suite: Suite,
    /// The names of these tests, each with enough of its modules to be unique.
    pub tests: Vec<String>,
    /// The defect, in words.
    pub defect: String,
    /// Whether the tests turn red by not ending. Otherwise a test that does not end proves nothing.
    pub hangs: bool,
    /// The files that the diff changes, from the workspace's root.
    pub changes: Vec<String>,
}

impl Mutant {
    fn read(path: &Path) -> Result<Self, String> {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(file, path, &text).map_err(|problem| format!("{}: {problem}", path.display()))
    }

    fn parse(file: String, path: &Path, text: &str) -> Result<Self, String> {
        let header: Vec<&str> = text.lines().take_while(|line| !line.starts_with("diff --git ")).collect();
        let invariants: Vec<String> = field(&header, "Invariant")?.split(", ").map(str::to_owned).collect();
        if let Some(wrong) = invariants.iter().find(|name| !is_invariant(name)) {
            return Err(format!(
                "unknown invariant `{wrong}`; use I1 to I20, F1 to F21, D1 to D35, Z1 to Z17 or X1 to X8"
            ));
        }
        let red = field(&header, "Turned red by")?;
        let Some((suite, tests)) = red.split_once(' ') else {
            return Err(format!("`Turned red by: {red}` names no test; write `<suite> <test>, <test>`"));
        };
        let hangs = match field(&header, "Red by").ok() {
            None => false,
            Some("hang") => true,
            Some(other) => {
                return Err(format!("`Red by: {other}` is unknown; write `hang` or remove the line"));
            }
        };
        let changes: Vec<String> =
            text.lines().filter_map(|line| line.strip_prefix("+++ b/")).map(str::to_owned).collect();
        if changes.is_empty() {
            return Err("the patch has no diff of a file".to_owned());
        }
        Ok(Self {
            suite: Suite::named(suite)?,
            tests: tests.split(',').map(|test| test.trim().to_owned()).collect(),
            defect: field(&header, "Defect")?.to_owned(),
            path: path.to_owned(),
            file,
            invariants,
            hangs,
            changes,
        })
    }
}

/// Reads every patch of a folder, sorted by invariant: those of the engine, then those of services and of container
/// control, each by number.
///
/// # Errors
/// If patches cannot be used. The text has one line for each of them, with the reason.
pub fn mutants(folder: &Path) -> Result<Vec<Mutant>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "patch"));
    paths.sort();
    let (mut mutants, mut problems) = (Vec::new(), Vec::new());
    for path in paths {
        match Mutant::read(&path) {
            Ok(mutant) => mutants.push(mutant),
            Err(problem) => problems.push(problem),
        }
    }
    mutants.sort_by_cached_key(|mutant| place(&mutant.file));
    if problems.is_empty() { Ok(mutants) } else { Err(problems.join("\n")) }
}

/// The letters of invariants, in lower case as in file names.
const LETTERS: &[u8] = b"ifdzx";

/// A file's place in the order of invariants, in which I2 comes before I13.
fn place(file: &str) -> (usize, u32, String) {
    let letter = LETTERS.iter().position(|letter| file.as_bytes().first() == Some(letter));
    (letter.unwrap_or(LETTERS.len()), number(file), file.to_owned())
}

fn number(name: &str) -> u32 {
    let digits: String = name.chars().skip(1).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(u32::MAX)
}

fn is_invariant(name: &str) -> bool {
    let last = match name.as_bytes().first() {
        Some(b'F') => 21,
        Some(b'D') => 35,
        Some(b'I') => 20,
        Some(b'Z') => 17,
        Some(b'X') => 8,
        _ => return false,
    };
    (1..=last).contains(&number(name)) && name[1..].chars().all(|c| c.is_ascii_digit())
}

fn field<'a>(header: &[&'a str], name: &str) -> Result<&'a str, String> {
    let value = |line: &&'a str| line.strip_prefix(name)?.strip_prefix(": ");
    let found = header.iter().find_map(value).map(str::trim).filter(|value| !value.is_empty());
    found.ok_or_else(|| format!("a line `{name}: ...` is missing above the diff"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invariants_of_the_engine_come_first() {
        let mut files = ["x1_a", "z2_a", "d8_a", "f11_a", "f9_a", "i13_a", "i2_b", "i2_a"]
            .map(|name| format!("{name}.patch"));
        files.sort_by_key(|file| place(file));
        let expected = ["i2_a", "i2_b", "i13_a", "f9_a", "f11_a", "d8_a", "z2_a", "x1_a"];
        assert_eq!(files, expected.map(|name| format!("{name}.patch")));
    }
}
