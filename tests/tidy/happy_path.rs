//! "The happy path of one ask" in `ARCHITECTURE.md`: the files that a reader follows, and all files of which something
//! runs.

use super::files;
use super::source::Source;

/// The goal for the files that a reader follows.
const READ_FILES_MAX: usize = 15;
const READ_LINES_MAX: usize = 2_500;
/// Today's counts of all files of which something runs, lines rounded up to fifty. A change that raises them says why.
const RUN_FILES_MAX: usize = 121;
const RUN_LINES_MAX: usize = 17_400;

/// A file on the path.
#[derive(Clone)]
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
    let wrong: Vec<String> = [followed(&section()), others()]
        .concat()
        .into_iter()
        .filter(|row| row.lines.abs_diff(row.code_lines) * 10 > row.lines)
        .map(|row| format!("{}: {} lines, not {}", row.path, row.code_lines, row.lines))
        .collect();
    assert!(wrong.is_empty(), "ARCHITECTURE.md, the happy path:\n{}", wrong.join("\n"));
}

#[test]
fn a_reader_follows_one_ask_through_15_files_and_2500_lines() {
    let text = section();
    let rows = followed(&text);
    let lines = sum(&rows);
    assert!((1..=READ_FILES_MAX).contains(&rows.len()), "{} files, at most {READ_FILES_MAX}", rows.len());
    assert!(lines <= READ_LINES_MAX, "{lines} lines, at most {READ_LINES_MAX}");
    states(&text, "The path has", &rows);
}

/// No file is listed twice, and the sums do not grow.
#[test]
fn no_more_files_run_for_one_ask() {
    let text = section();
    let rows = [followed(&text), others()].concat();
    let mut paths: Vec<&str> = rows.iter().map(|row| row.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), rows.len(), "a file is listed twice");
    let lines = sum(&rows);
    assert!(rows.len() <= RUN_FILES_MAX, "{} files, at most {RUN_FILES_MAX}", rows.len());
    assert!(lines <= RUN_LINES_MAX, "{lines} lines, at most {RUN_LINES_MAX}");
    states(&text, "One ask runs code of", &rows);
}

fn sum(rows: &[Row]) -> usize {
    rows.iter().map(|row| row.code_lines).sum()
}

/// The section gives the sums of its rows.
fn states(section: &str, begin: &str, rows: &[Row]) {
    let lines: usize = rows.iter().map(|row| row.lines).sum();
    let sentence = format!("{begin} {} files and {},{:03} lines", rows.len(), lines / 1_000, lines % 1_000);
    assert!(section.contains(&sentence), "the section does not say: {sentence}");
}

fn section() -> String {
    let text = std::fs::read_to_string(files::root().join("ARCHITECTURE.md")).expect("readable");
    let section =
        text.split("\n## The happy path of one ask\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    section.expect("ARCHITECTURE.md has the happy path").to_owned()
}

/// The rows of the table.
fn followed(section: &str) -> Vec<Row> {
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")).map(|line| {
        let (path, rest) = line.split_once("` | ").expect("`path` | lines | sentence");
        let (lines, sentence) = rest.split_once(" | ").expect("`path` | lines | sentence");
        assert!(sentence.len() > 2, "{path}: the row has no description");
        row(path, lines)
    });
    rows.collect()
}

/// The other files of which something runs.
fn others() -> Vec<Row> {
    let lines = include_str!("happy_path.txt").lines();
    lines
        .map(|line| line.split_once(' ').expect("path lines"))
        .map(|(path, lines)| row(path, lines))
        .collect()
}

fn row(path: &str, lines: &str) -> Row {
    let file = files::root().join("scheduler/src").join(path);
    assert!(file.is_file(), "the happy path names {path}, which does not exist");
    let lines = lines.parse().expect("a number of lines");
    Row { path: path.to_owned(), lines, code_lines: Source::read(&file).code_lines() }
}
