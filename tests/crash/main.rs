//! Kills a process that runs an engine with a log on the disk, again and again. What the process had announced is there
//! after the recovery.
//!
//! `APPORTION_KILLS=1000 cargo test -p apportion-tests --test crash` kills it a thousand times.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly, and the child writes to its parent"
)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::event::EventKind;
use apportion::file_log::{Compactor, Durability, FileLog, FileLogOptions};
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, ContainerId, Engine, EventStream, ManualClock, Mode, NodeSpec,
    ResourceTypes, Resources,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const FOLDER: &str = "APPORTION_CRASH_FOLDER";
const NODES: usize = 20;

/// Segments of a few thousand changes, so that every round has several and compacts some.
fn open(folder: &Path) -> FileLog {
    let options = FileLogOptions { durability: Durability::BeforeEvents, segment_bytes: 10_000 };
    FileLog::open(folder, options).unwrap()
}

/// The engine of this folder, and its application with all that it has.
fn start(folder: &Path, mode: Mode) -> (Engine, EventStream, ApplicationId, BTreeSet<ContainerId>) {
    let log = open(folder);
    let clock = Arc::new(ManualClock::new());
    let engine = match log.contents().unwrap() {
        Some(contents) => Engine::recover(contents, mode, clock, Some(Box::new(log))).unwrap().0,
        None => {
            let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
            Engine::start(config, mode, clock, Some(Box::new(log))).unwrap()
        }
    };
    let handle = engine.handle();
    let events = handle.event_stream(1 << 16);
    for number in 0..NODES {
        let name = format!("node{number}");
        if handle.node(&name).is_none() {
            handle.add_node(NodeSpec::new(name, Resources::new(&[100, 100]))).unwrap();
        }
    }
    let known = engine.read(|view| view.applications().next().map(|(id, _)| id));
    let application = known.unwrap_or_else(|| {
        handle.submit_application(ApplicationSpec::new("job", "root.default", "ann"), &events).unwrap()
    });
    let attached = handle.attach(application, &events).unwrap();
    engine.run_until_quiet();
    let attached = attached.wait().unwrap().unwrap();
    (engine, events, application, attached.containers.iter().map(|one| one.container).collect())
}

/// The process that is killed: starts and completes containers, and writes down each step. Without a folder it is done.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let (engine, events, application, mut running) = start(Path::new(&folder), Mode::Background);
    let handle = engine.handle();
    let compactor = std::thread::spawn(move || {
        let compactor = Compactor::open(&folder).unwrap();
        loop {
            compactor.compact().unwrap();
        }
    });
    let mut out = std::io::stdout();
    let mut wanted = running.len();
    loop {
        while wanted < 150 {
            handle.submit_ask(application, AskSpec::new(Resources::new(&[10, 1]), 7)).unwrap();
            wanted += 7;
        }
        while running.len() > 100 {
            let Some(container) = running.pop_first() else { break };
            writeln!(out, "complete {container}").unwrap();
            handle.complete_container(container).unwrap();
            wanted -= 1;
        }
        let mut told = Vec::new();
        events.drain_into(&mut told).unwrap();
        for event in told {
            match event.kind {
                EventKind::Allocated { container, .. } => {
                    writeln!(out, "allocated {container}").unwrap();
                    running.insert(container);
                }
                EventKind::ContainerEnded { container, .. } => writeln!(out, "ended {container}").unwrap(),
                _ => {}
            }
        }
        assert!(engine.is_running() && !compactor.is_finished(), "{:?}", engine.log_error());
    }
}

/// Runs the child until it has written so many lines, kills it, and returns all that it wrote.
fn run_and_kill(folder: &Path, lines: usize) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut written = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut all: Vec<String> = written.by_ref().take(lines).map(Result::unwrap).collect();
    assert_eq!(all.len(), lines, "the child ended by itself: {:?}", all.last());
    child.kill().unwrap();
    all.extend(written.map_while(Result::ok));
    child.wait().unwrap();
    all
}

#[test]
fn what_was_announced_is_there_after_a_kill() {
    let kills = std::env::var("APPORTION_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(20);
    let folder = tempfile::tempdir().unwrap();
    let mut random = Pcg64Mcg::seed_from_u64(23);
    let (mut announced, mut ended) = (BTreeSet::new(), BTreeSet::new());
    for round in 0..kills {
        let mut completed = BTreeSet::new();
        for line in run_and_kill(folder.path(), random.random_range(20..2_000)) {
            let Some((step, container)) = line.split_once(' ') else { continue };
            let Ok(container) = container.parse::<ContainerId>() else { continue };
            match step {
                "allocated" => assert!(announced.insert(container), "round {round}: {container} came twice"),
                "ended" => assert!(ended.insert(container), "round {round}: {container} ended twice"),
                _ => drop(completed.insert(container)),
            }
        }
        let (engine, _, _, running) = start(folder.path(), Mode::Serial);
        assert!(engine.audit().is_clean(), "round {round}");
        let lost = announced
            .iter()
            .find(|id| !running.contains(id) && !ended.contains(id) && !completed.contains(id));
        assert_eq!(lost, None, "round {round}: announced, and gone");
        assert_eq!(running.intersection(&ended).next(), None, "round {round}: ended, and there again");
        // Those that ended unannounced, and those that were not announced yet, are known from now on.
        ended.extend(announced.difference(&running).copied());
        announced.extend(running);
    }
    assert!(announced.len() > 100 * usize::from(kills > 1), "only {} containers", announced.len());
}
