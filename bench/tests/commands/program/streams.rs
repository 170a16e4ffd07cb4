//! Closed or full standard output and standard error.

use std::fs::File;
use std::process::{Command, Output, Stdio};

use crate::case::{Case, contains_all};

fn run(case: &Case, arguments: &str, stdout: impl Into<Stdio>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_apportion-bench"))
        .args(arguments.split_whitespace())
        .current_dir(case.folder.path())
        .stdout(stdout)
        .output()
        .unwrap()
}

const REPLAY: &str = "replay --format openb --nodes nodes.csv --workload pods.csv";

/// All commands that print.
fn commands(case: &Case) -> Vec<String> {
    assert!(case.run(&format!("{REPLAY} --log run.log")).status.success());
    let outputs = ["", " --json -", " --report -", " --jobs-csv -", " --containers-csv -"];
    let more = outputs.map(|output| format!("{REPLAY}{output}"));
    let others = [
        "--help",
        "help log",
        "replay --help",
        "--version",
        "completions bash",
        "config schema",
        "verify run.log",
        "explain run.log",
        "preempt run.log",
        "log run.log",
        "log run.log --json",
        "sweep --demo 20",
        "sweep --demo 20 --json -",
        "limit --seconds 0.1 --repeat 1",
    ];
    more.into_iter().chain(others.map(str::to_owned)).collect()
}

#[test]
fn a_full_device_is_one_line_and_code_1() {
    let case = Case::new();
    for arguments in commands(&case) {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = run(&case, &arguments, full);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments}: {message}");
        contains_all(&message, &["apportion-bench: ", "No space left"]);
        assert_eq!(message.lines().count(), 1, "{arguments}: {message}");
        assert!(!message.contains("writing -"), "{arguments}: {message}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let case = Case::new();
    for arguments in commands(&case) {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = run(&case, &arguments, writer);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), message.as_str()), (Some(0), ""), "{arguments}");
    }
}

/// Files are written even if the pipe is closed, and a message that cannot be printed causes no crash.
#[test]
fn files_and_codes_do_not_depend_on_who_listens() {
    let case = Case::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = run(&case, &format!("{REPLAY} --json out.json --report out.html"), writer);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(case.folder.path().join("out.json").exists() && case.folder.path().join("out.html").exists());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = run(&case, &format!("{REPLAY} --json - --report page.html --jobs-csv jobs.csv"), writer);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(case.folder.path().join("page.html").exists() && case.folder.path().join("jobs.csv").exists());
    let sweep = "sweep --demo 20 --json - --report sweep.html";
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(run(&case, sweep, writer).status.code(), Some(0));
    assert!(case.folder.path().join("sweep.html").exists());
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut refused = Command::new(env!("CARGO_BIN_EXE_apportion-bench"));
    let status = refused.args(["verify", "none.log"]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(2));
}
