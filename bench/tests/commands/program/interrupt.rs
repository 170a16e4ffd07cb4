//! Signals: the files of an interrupted run.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::case::{Case, contains_all, json};

/// A run far longer than the test.
const LONG: &str = "demo --nodes 200 --seconds 3600 --proposers 0";

/// The program, with signals as a terminal leaves them. Tests that `nohup` or a script's `&` started ignore some, and
/// so would the program.
fn program() -> Command {
    let program = env!("CARGO_BIN_EXE_apportion-bench");
    let [hangup, interrupt, terminate] = [1, 2, 15];
    if ![hangup, interrupt, terminate].into_iter().any(apportion_load::process::is_ignored) {
        return Command::new(program);
    }
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", program]);
    command
}

pub(super) fn start(case: &Case, arguments: &str, stdout: impl Into<Stdio>) -> Child {
    program()
        .args(arguments.split_whitespace())
        .current_dir(case.folder.path())
        // One simulation at a time, so that most of the run lies between the first figures and the end.
        .env("RAYON_NUM_THREADS", "1")
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(super) fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

pub(super) fn temporary_files(folder: &Path) -> usize {
    let all = fs::read_dir(folder).unwrap().flatten();
    all.filter(|entry| entry.file_name().to_string_lossy().ends_with(".tmp")).count()
}

pub(super) fn wait_until(what: &str, mut is_done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_done() {
        assert!(started.elapsed() < Duration::from_secs(120), "{what} did not happen");
        sleep(Duration::from_millis(5));
    }
}

/// The signal comes while results are written, or shortly after.
#[test]
fn a_signal_between_two_files_leaves_both() {
    let case = Case::new();
    let run = "demo --nodes 500 --seconds 60 --proposers 0 --json out.json --report out.html";
    let child = start(&case, run, Stdio::piped());
    wait_until("the first file", || case.folder.path().join("out.json").exists());
    send("TERM", &child);
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(matches!(output.status.code(), Some(0 | 143)), "{message}");
    let page = fs::read_to_string(case.folder.path().join("out.html"));
    assert!(page.is_ok_and(|page| page.contains("</html>")), "{message}");
}

#[test]
fn an_interrupted_run_reports_what_it_got() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let case = Case::new();
        let outputs = "--json out.json --report out.html --log run.log";
        let child = start(&case, &format!("{LONG} {outputs}"), Stdio::piped());
        wait_until("the run", || temporary_files(case.folder.path()) == 3);
        sleep(Duration::from_millis(300));
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{message}");
        contains_all(&message, &["interrupted at", "of virtual time"]);
        assert_eq!(temporary_files(case.folder.path()), 0, "{signal}");
        contains_all(&String::from_utf8(output.stdout).unwrap(), &["interrupted at", "audit violations"]);
        let figures = json(&fs::read(case.folder.path().join("out.json")).unwrap());
        let count = |key: &str| figures[key].as_u64().unwrap();
        assert!(figures["interrupted_at_s"].as_f64().unwrap() < 3_600.0, "{figures}");
        let groups = count("placed") + count("unplaceable") + count("cancelled") + count("pending_at_end");
        assert_eq!((count("asks"), count("audit_violations")), (groups, 0), "all asks are accounted for");
        let page = fs::read_to_string(case.folder.path().join("out.html")).unwrap();
        contains_all(&page, &["Interrupted at", "</html>"]);
        let verified = json(&case.run("verify run.log --json").stdout);
        assert_eq!(verified["state_digest"], figures["state_digest"], "the log is whole");
    }
}

#[test]
fn an_interrupted_sweep_reports_the_simulations_that_ended() {
    let case = Case::new();
    let seeds: Vec<String> = (0..400).map(|seed| seed.to_string()).collect();
    let sweep =
        format!("sweep --demo 100 --threads 1 --sizes 1,2 --seeds {} --json out.json", seeds.join(","));
    let child = start(&case, &sweep, Stdio::piped());
    wait_until("the sweep", || temporary_files(case.folder.path()) == 1);
    sleep(Duration::from_secs(4));
    send("INT", &child);
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{message}");
    contains_all(&message, &["interrupted after", "of 800 simulations; size 2: none ended"]);
    assert_eq!(temporary_files(case.folder.path()), 0);
    let runs = json(&fs::read(case.folder.path().join("out.json")).unwrap());
    let (stopped, whole) = runs.as_array().unwrap().split_last().unwrap();
    assert!(!whole.is_empty() && whole.len() < 400);
    assert!(whole.iter().all(|run| run["interrupted_at_s"].is_null()));
    assert_eq!(whole[0]["over_seeds"]["runs"].as_u64(), Some(whole.len() as u64));
    assert!(stopped["interrupted_at_s"].is_number() && stopped["over_seeds"].is_null(), "{stopped}");
    let text = String::from_utf8(case.run("compare out.json out.json").stdout).unwrap();
    contains_all(&text, &["; left out because they did not end: 1 simulation", "0 figures differ"]);
}

/// The run blocks on its table because the reader of the pipe does not read.
#[test]
fn a_second_signal_ends_the_program_at_once() {
    let case = Case::new();
    let (_reader, mut writer) = std::io::pipe().unwrap();
    // As much as a pipe can hold.
    writer.write_all(&[b' '; 1 << 16]).unwrap();
    let child = start(&case, &format!("{LONG} --json out.json --report out.html"), writer);
    wait_until("the run", || temporary_files(case.folder.path()) == 2);
    sleep(Duration::from_millis(300));
    send("TERM", &child);
    wait_until("the report", || case.folder.path().join("out.json").exists());
    sleep(Duration::from_millis(300));
    send("INT", &child);
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{message}");
    contains_all(&message, &["interrupted again"]);
    assert_eq!(temporary_files(case.folder.path()), 0);
}

/// A thread stuck on standard error holds its lock. The handling of the second signal must not wait for the lock.
#[test]
fn a_second_signal_ends_the_program_though_standard_error_takes_nothing() {
    let case = Case::new();
    let (_reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[b' '; 1 << 16]).unwrap();
    let mut child = program()
        .args(format!("{LONG} --json out.json --report out.html").split_whitespace())
        .current_dir(case.folder.path())
        .stdout(Stdio::null())
        .stderr(writer)
        .spawn()
        .unwrap();
    wait_until("the run", || temporary_files(case.folder.path()) == 2);
    sleep(Duration::from_millis(300));
    send("TERM", &child);
    // The last file to be written; then the program prints its path.
    wait_until("the report", || case.folder.path().join("out.html").exists());
    sleep(Duration::from_millis(300));
    assert_eq!(child.try_wait().unwrap(), None, "it is stuck");
    send("INT", &child);
    let mut code = None;
    for _ in 0..6_000 {
        code = child.try_wait().unwrap().map(|status| status.code());
        if code.is_some() {
            break;
        }
        sleep(Duration::from_millis(5));
    }
    drop(child.kill());
    assert_eq!(code, Some(Some(130)));
    assert_eq!(temporary_files(case.folder.path()), 0);
}

/// A part of the first run of `fill` has no figures to report.
#[test]
fn what_cannot_be_reported_in_part_leaves_nothing() {
    let case = Case::new();
    case.file("out.json", "the last one");
    let fill = "throughput --workload fill --nodes 1000 --asks 5000000 --json out.json";
    let child = start(&case, fill, Stdio::piped());
    wait_until("the measurement", || temporary_files(case.folder.path()) == 1);
    send("TERM", &child);
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(143), true), "{message}");
    contains_all(&message, &["interrupted; no report was written"]);
    assert_eq!(temporary_files(case.folder.path()), 0);
    assert_eq!(fs::read_to_string(case.folder.path().join("out.json")).unwrap(), "the last one");
}

/// Starts the program as `nohup` does.
#[test]
#[cfg(target_os = "linux")]
fn a_signal_that_is_ignored_stays_so() {
    let case = Case::new();
    let program = env!("CARGO_BIN_EXE_apportion-bench");
    let script = format!("trap '' HUP; exec {program} limit --seconds 2 --repeat 1 --json out.json");
    let child = Command::new("sh").args(["-c", &script]).current_dir(case.folder.path()).spawn().unwrap();
    wait_until("the measurement", || temporary_files(case.folder.path()) == 1);
    send("HUP", &child);
    assert!(child.wait_with_output().unwrap().status.success());
    assert!(case.folder.path().join("out.json").exists());
}
