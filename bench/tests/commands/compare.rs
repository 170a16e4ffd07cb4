//! The script that compares two commits, up to the point where it would build.

use std::process::{Command, Output};

fn compare(arguments: &[&str]) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/compare");
    Command::new(script).args(arguments).output().unwrap()
}

#[test]
fn it_says_what_it_takes() {
    let output = compare(&["--help"]);
    assert!(output.status.success());
    let help = String::from_utf8(output.stdout).unwrap();
    for part in ["BASE HEAD", "--pairs", "Exit codes:"] {
        assert!(help.contains(part), "`{part}` is missing in: {help}");
    }
}

#[test]
fn what_it_cannot_compare_is_refused_before_anything_is_built() {
    for (arguments, part) in [
        (&["HEAD"][..], "two commits are needed, BASE and HEAD, not 1"),
        (&["HEAD", "HEAD", "HEAD"], "not 3"),
        (&["no-such-commit", "HEAD"], "'no-such-commit' is not a commit"),
        (&["HEAD", "no-such-commit"], "'no-such-commit' is not a commit"),
        (&["", "HEAD"], "'' is not a commit"),
        (&["HEAD;true", "HEAD"], "'HEAD;true' is not a commit"),
        (&["--pairs", "many", "HEAD", "HEAD"], "--pairs needs a number from 1 to 9999, not 'many'"),
        (&["HEAD", "HEAD", "--pairs"], "--pairs needs a number"),
        (&["--pear", "HEAD", "HEAD"], "no option '--pear'"),
        (&["no-such-commit", "HEAD", "--", "--json", "-"], "leave out --json"),
    ] {
        let output = compare(arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(message.contains(part), "{arguments:?}: {message}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}
