//! The subjects of commits.

use std::process::Command;

use super::{files, words};

/// The rules hold for later commits. Earlier ones cannot be mended.
const BEFORE: &str = "22e8c5b5";
/// The longest sentence, as in comments.
const MOST_WORDS: usize = 25;

/// `area: effect`, short and without former words. `.ci/run` says so if a clone does not have the history.
#[test]
fn subjects_of_commits_name_an_area_and_are_short() {
    let git = Command::new("git")
        .args(["log", "--format=%h %s", &format!("{BEFORE}..HEAD")])
        .current_dir(files::root())
        .output();
    let Some(log) = git.ok().filter(|output| output.status.success()) else {
        assert!(
            std::env::var_os("APPORTION_HISTORY_REQUIRED").is_none(),
            "git does not show commits since {BEFORE}"
        );
        return eprintln!("skipped: the subjects of commits; the history since {BEFORE} is not here");
    };
    let log = String::from_utf8_lossy(&log.stdout);
    let wrong: Vec<&str> = log.lines().filter(|line| !is_good(line)).collect();
    assert!(wrong.is_empty(), "not `area: effect` in {MOST_WORDS} words of today:\n{}", wrong.join("\n"));
}

/// Whether a line of the log, the commit's number and its subject, keeps the rules.
fn is_good(line: &str) -> bool {
    let subject = line.split_once(' ').map_or("", |(_, subject)| subject);
    let Some((area, effect)) = subject.split_once(": ") else { return false };
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || ".-_/0123456789".contains(c))
    };
    area.split(", ").all(is_name)
        && !effect.trim().is_empty()
        && subject.split_whitespace().count() <= MOST_WORDS
        && words::former(subject).next().is_none()
}

#[test]
fn bad_subjects_are_found() {
    assert!(is_good("0eda9e4f facts, log: the queue tree is a struct of its own"));
    let long = format!("0eda9e4f facts: {}", "word ".repeat(MOST_WORDS));
    let bad = [
        "0eda9e4f booleans give way to an enum",
        "0eda9e4f : nothing",
        "0eda9e4f facts: ",
        "0eda9e4f fixup! facts: a queue",
        "0eda9e4f Revert \"facts: a queue\"",
        "0eda9e4f Merge branch 'other'",
        concat!("0eda9e4f facts: the engine sett", "les limits"),
        &long,
    ];
    assert!(bad.into_iter().all(|line| !is_good(line)));
}
