//! Kills a process that runs an engine with a log on the disk, again and again. After the recovery, the engine has all
//! that the process announced. The log is in a folder and in a store by turns.
//!
//! `APPORTION_KILLS=1000 cargo test -p apportion-tests --test crash` kills it a thousand times.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly, and the child writes to its parent"
)]

mod medium;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::event::EventKind;
use apportion::log::Durability;
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, ContainerId, Engine, EventStream, ManualClock, Mode, NodeSpec,
    ResourceTypes, Resources,
};
use medium::{Compact, Medium};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Set if the log is never synced. Then a kill must cost nothing either, because the machine goes on.
const UNSYNCED: &str = "APPORTION_CRASH_UNSYNCED";
const NODES: usize = 20;

/// An engine, and its application with all that it has.
struct Started {
    engine: Engine,
    events: EventStream,
    application: ApplicationId,
    running: BTreeSet<ContainerId>,
    compact: Compact,
}

/// The engine that goes on with this log, or begins it.
fn start(medium: &Medium, durability: Durability, mode: Mode) -> Started {
    let (log, contents, compact) = medium.open(durability);
    let clock = Arc::new(ManualClock::new());
    let engine = match contents {
        Some(contents) => Engine::recover(contents, mode, clock, Some(log)).unwrap().0,
        None => {
            let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
            Engine::start(config, mode, clock, Some(log)).unwrap()
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
    let running = attached.containers.iter().map(|one| one.container).collect();
    Started { engine, events, application, running, compact }
}

/// The process that is killed: starts and completes containers, and prints each step. As an ordinary test, without a
/// medium, it does nothing.
#[test]
fn child() {
    let Some(medium) = Medium::of_environment() else { return };
    let durability = match std::env::var_os(UNSYNCED) {
        Some(_) => Durability::None,
        None => Durability::BeforeEvents,
    };
    let started = start(&medium, durability, Mode::Background);
    let Started { engine, events, application, mut running, mut compact } = started;
    let handle = engine.handle();
    let compactor = std::thread::spawn(move || {
        loop {
            compact();
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

/// Runs the child until it has printed `lines` lines, kills it, and returns all lines.
fn run_and_kill(medium: &Medium, durability: Durability, lines: usize) -> Vec<String> {
    let (variable, path) = medium.variable();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(variable, path).stdout(Stdio::piped());
    if durability == Durability::None {
        command.env(UNSYNCED, "1");
    }
    let mut child = command.spawn().unwrap();
    let mut written = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut all: Vec<String> = written.by_ref().take(lines).map(Result::unwrap).collect();
    assert_eq!(all.len(), lines, "the child ended by itself: {:?}", all.last());
    child.kill().unwrap();
    all.extend(written.map_while(Result::ok));
    child.wait().unwrap();
    all
}

/// The containers that processes with this medium have announced and ended so far.
struct Told {
    medium: Medium,
    announced: BTreeSet<ContainerId>,
    ended: BTreeSet<ContainerId>,
}

impl Told {
    fn new(medium: Medium) -> Self {
        Self { medium, announced: BTreeSet::new(), ended: BTreeSet::new() }
    }

    /// Kills a process after it has printed `lines` lines, and recovers its engine.
    fn check_round(&mut self, durability: Durability, lines: usize) {
        let Self { medium, announced, ended } = self;
        let mut completed = BTreeSet::new();
        for line in run_and_kill(medium, durability, lines) {
            let Some((step, container)) = line.split_once(' ') else { continue };
            let Ok(container) = container.parse::<ContainerId>() else { continue };
            match step {
                "allocated" => assert!(announced.insert(container), "{container} came twice"),
                "ended" => assert!(ended.insert(container), "{container} ended twice"),
                _ => drop(completed.insert(container)),
            }
        }
        let Started { engine, running, .. } = start(medium, durability, Mode::Serial);
        assert!(engine.audit().is_clean());
        let lost = announced
            .iter()
            .find(|id| !running.contains(id) && !ended.contains(id) && !completed.contains(id));
        assert_eq!(lost, None, "announced, and gone");
        assert_eq!(running.intersection(ended).next(), None, "ended, and there again");
        // Ends and starts that the child did not print count as announced from now on.
        ended.extend(announced.difference(&running).copied());
        announced.extend(running);
    }
}

#[test]
fn announced_changes_survive_a_kill() {
    let kills: usize =
        std::env::var("APPORTION_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(20);
    let folder = tempfile::tempdir().unwrap();
    let mut random = Pcg64Mcg::seed_from_u64(23);
    let mut media =
        [Medium::Folder(folder.path().join("log")), Medium::Store(folder.path().join("log.redb"))]
            .map(Told::new);
    for round in 0..kills {
        let told = &mut media[round % 2];
        let durability = if random.random_ratio(1, 3) { Durability::None } else { Durability::BeforeEvents };
        let lines = random.random_range(20..2_000);
        println!("round {round}: {:?}, {durability:?}, {lines} lines", told.medium);
        told.check_round(durability, lines);
    }
    for Told { medium, announced, .. } in media {
        assert!(
            announced.len() > 100 * usize::from(kills > 3),
            "{medium:?}: only {} containers",
            announced.len()
        );
    }
}
