//! Reports of the feature `tracing`. The test has a process of its own, because the subscriber serves all threads of
//! the engine.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is not a part of the engine")]

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use apportion::config::{EngineConfig, HeartbeatPolicy, QueueConfig};
use apportion::log::{LogSink, LoggedGroup};
use apportion::{
    ApplicationSpec, AskSpec, Clock, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources,
};
use tracing::Level;
use tracing_subscriber::fmt::format::FmtSpan;

static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());
/// The engine that the subscriber looks at with each report. Under a lock of the engine, it would wait for ever.
static ENGINE: OnceLock<Engine> = OnceLock::new();
static LOOKS: AtomicUsize = AtomicUsize::new(0);

/// Writes the lines, and looks at the engine.
struct Subscriber;

impl io::Write for Subscriber {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(engine) = ENGINE.get() {
            engine.read(|view| LOOKS.fetch_add(1 + view.node_count(), Ordering::Relaxed));
            assert!(engine.health().sets_checked_out < 64);
        }
        LINES.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct FullDisk;

impl LogSink for FullDisk {
    fn start(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
    fn append(&mut self, _: &LoggedGroup<'_>) -> io::Result<()> {
        Err(io::Error::other("the disk is full"))
    }
}

/// Panics once, on the thread of a proposer.
#[derive(Debug, Default)]
struct FaultyClock(ManualClock, AtomicBool);

impl Clock for FaultyClock {
    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }
    fn until(&self, at_ms: u64) -> Option<Duration> {
        self.0.until(at_ms)
    }
    fn measured_ns(&self) -> u64 {
        let is_proposer = std::thread::current().name().is_some_and(|name| name.starts_with("ap-proposer"));
        if is_proposer && !self.1.swap(true, Ordering::Relaxed) {
            std::panic::resume_unwind(Box::new("the first pass"));
        }
        0
    }
}

/// An engine whose partition is cut into sets, whose nodes fall silent, whose log fails, and whose proposer panics.
fn run() {
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    config.heartbeat = Some(HeartbeatPolicy { interval_ms: 1_000, missed_max: 2 });
    (config.limits.single_set_nodes, config.limits.set_nodes) = (2, 1);
    let clock = Arc::new(FaultyClock::default());
    let mode = Mode::Parallel { proposers: 1 };
    let engine = Engine::start(config, mode, Arc::<FaultyClock>::clone(&clock), Some(Box::new(FullDisk)));
    let engine = ENGINE.get_or_init(|| engine.unwrap());
    let (handle, size) = (engine.handle(), Resources::new(&[1]));
    for number in 0..3 {
        handle.add_node(NodeSpec::new(format!("n{number}"), size)).unwrap();
    }
    let events = handle.event_stream(10);
    let job = ApplicationSpec::new("job", "root.default", "ann");
    let job = handle.submit_application(job, &events).unwrap();
    handle.submit_ask(job, AskSpec::new(size, 1)).unwrap();
    engine.run_until_quiet();
    assert_eq!(engine.read(|view| view.container_count()), 1);
    clock.0.set(10_000);
    handle.tick().unwrap();
    engine.run_until_quiet();
    engine.shutdown();
}

#[test]
fn every_report_is_documented_with_its_level_and_fields() {
    tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(|| Subscriber)
        .with_ansi(false)
        .without_time()
        .init();
    run();
    let text = String::from_utf8(LINES.lock().unwrap().clone()).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut documented = BTreeSet::new();
    for row in include_str!("../doc/tracing.md").lines().filter_map(|line| line.strip_prefix("| `")) {
        let (name, rest) = row.split_once('`').unwrap();
        let [about, level, fields] = rest.splitn(4, '|').map(str::trim).collect::<Vec<_>>()[..3] else {
            panic!()
        };
        let message = if about == "(span)" { "close" } else { name };
        let is_it = |line: &&&str| {
            line.starts_with(&level.to_uppercase()) && line.contains(name) && line.contains(message)
        };
        let line = lines.iter().find(is_it).unwrap_or_else(|| panic!("{level} {name} is not in\n{text}"));
        for field in fields.split('`').skip(1).step_by(2) {
            assert!(line.contains(&format!("{field}=")), "{field} is not in {line}");
        }
        documented.insert(message);
    }
    for line in &lines {
        let (_, report) = line.split_once("apportion: ").unwrap_or_else(|| panic!("the target of {line}"));
        assert!(documented.iter().any(|known| report.starts_with(known)), "{line} is not documented");
    }
    assert!(LOOKS.load(Ordering::Relaxed) > lines.len() / 2, "the subscriber looked at the engine");
}
