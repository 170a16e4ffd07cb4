//! "The happy path of one ask" in `ARCHITECTURE.md`: the number of files and lines that a reader has to follow.

use super::files;
use super::source::Source;

/// Today's counts, lines rounded up to fifty. The goal is 15 files and 2,500 lines: lower these limits when the
/// path gets shorter.
const FILES_MAX: usize = 85;
const LINES_MAX: usize = 15_150;

/// A file on the path.
struct Row {
    path: String,
    /// The count in the document.
    lines: usize,
    /// The real count, without unit tests.
    code_lines: usize,
}

/// Every file exists and has about as many lines as the document says.
#[test]
fn the_happy_path_says_how_long_its_files_are() {
    let text = section();
    let wrong: Vec<String> = rows(&text)
        .iter()
        .filter(|row| row.lines.abs_diff(row.code_lines) * 10 > row.lines)
        .map(|row| format!("{}: {} lines, not {}", row.path, row.code_lines, row.lines))
        .collect();
    assert!(wrong.is_empty(), "ARCHITECTURE.md, the happy path:\n{}", wrong.join("\n"));
}

/// No file is listed twice, and the sums do not grow.
#[test]
fn the_happy_path_gets_no_longer() {
    let text = section();
    let rows = rows(&text);
    let mut paths: Vec<&str> = rows.iter().map(|row| row.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), rows.len(), "a file is listed twice");
    let lines: usize = rows.iter().map(|row| row.code_lines).sum();
    assert!(rows.len() <= FILES_MAX, "{} files, at most {FILES_MAX}", rows.len());
    assert!(lines <= LINES_MAX, "{lines} lines, at most {LINES_MAX}");
    let stated: usize = rows.iter().map(|row| row.lines).sum();
    let sentence =
        format!("The path has {} files and {},{:03} lines", rows.len(), stated / 1_000, stated % 1_000);
    assert!(text.contains(&sentence), "the section does not say: {sentence}");
}

fn section() -> String {
    let text = std::fs::read_to_string(files::root().join("ARCHITECTURE.md")).expect("readable");
    let section =
        text.split("\n## The happy path of one ask\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    section.expect("ARCHITECTURE.md has the happy path").to_owned()
}

/// The rows of the table, then the other files that run.
fn rows(section: &str) -> Vec<Row> {
    let mut named = Vec::new();
    for line in section.lines().filter_map(|line| line.strip_prefix("| `")) {
        let (path, rest) = line.split_once("` | ").expect("`path` | lines | sentence");
        let (lines, sentence) = rest.split_once(" | ").expect("`path` | lines | sentence");
        assert!(sentence.len() > 2, "{path}: the row has no description");
        named.push((path, lines));
    }
    let others = include_str!("happy_path.txt").lines();
    named.extend(others.map(|line| line.split_once(' ').expect("path lines")));
    named.into_iter().map(|(path, lines)| row(path, lines)).collect()
}

fn row(path: &str, lines: &str) -> Row {
    let file = files::root().join("scheduler/src").join(path);
    assert!(file.is_file(), "the happy path names {path}, which does not exist");
    let lines = lines.parse().expect("a number of lines");
    Row { path: path.to_owned(), lines, code_lines: Source::read(&file).code_lines() }
}
