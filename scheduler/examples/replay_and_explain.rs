//! Looks into the log of an engine: the state after each change, why an ask waited at a past moment, and how
//! it ended.
//!
//! ```sh
//! cargo run -p apportion --example replay_and_explain             # a log that the example makes
//! cargo run -p apportion --example replay_and_explain -- FILE     # each change of a log on the disk
//! ```

#![allow(clippy::disallowed_types, reason = "an embedder brings its own locks")]

use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};

use apportion::config::{EngineConfig, QueueConfig};
use apportion::log::{LogEnd, LogReader, LogSink, LoggedGroup};
use apportion::replay::Replay;
use apportion::{ApplicationSpec, AskId, AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// A log in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    fn append_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(())
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl LogSink for Memory {
    fn start(&mut self, header: &[u8]) -> io::Result<()> {
        self.append_bytes(header)
    }

    fn resume(&mut self, end: LogEnd) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).truncate(end.at as usize);
        Ok(())
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        self.append_bytes(group.frame())
    }
}

fn main() -> Fallible<()> {
    match std::env::args().nth(1) {
        Some(path) => list(BufReader::new(File::open(&path).map_err(|error| format!("{path}: {error}"))?)),
        None => demonstrate(),
    }
}

fn demonstrate() -> Fallible<()> {
    let (log, ask) = make_log()?;
    list(&log[..])?;

    // A container ends with the last change but one, and the last one places the ask that waited for it.
    let mut end = Replay::read(&log[..], None)?;
    let mut before = Replay::read(&log[..], Some(end.seq().0 - 2))?;
    let waiting = before.view().explain(ask).to_string();
    println!("\nat change {}:\n{waiting}", before.seq().0);
    assert!(waiting.contains("2 nodes"), "{waiting}");
    let ended = end.view().explain(ask).to_string();
    println!("\nat change {}:\n{ended}", end.seq().0);
    assert_ne!(ended, waiting);
    Ok(())
}

/// Two nodes are full, so an ask waits until a container ends.
fn make_log() -> Fallible<(Vec<u8>, AskId)> {
    let log = Memory::default();
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let engine =
        Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), Some(Box::new(log.clone())))?;
    let handle = engine.handle();
    let size = handle.resources(&[("memory_mib", 8_192), ("vcore_milli", 1_000)])?;
    for name in ["alpha", "beta"] {
        handle.add_node(NodeSpec::new(name, size))?;
    }
    let events = handle.event_stream(100);
    let job = handle.submit_application(ApplicationSpec::new("job", "root.default", "ann"), &events)?;
    handle.submit_ask(job, AskSpec::new(size, 2))?;
    let waiting = handle.submit_ask(job, AskSpec::new(size, 1))?;
    engine.run_until_quiet();
    let first = engine.read(|view| view.nodes().next().and_then(|node| node.containers().first().copied()));
    handle.complete_container(first.ok_or("two containers run")?)?;
    engine.run_until_quiet();
    engine.shutdown();
    Ok((log.bytes(), waiting))
}

/// Writes each change and the size of the state after it.
fn list(log: impl Read) -> Fallible<()> {
    let mut reader = LogReader::new(log)?;
    let mut replay = Replay::begin(&mut reader)?;
    while let Some(change) = reader.next_change()? {
        let label = change.label();
        let seq = replay.step(change)?;
        let (nodes, containers) = (replay.view().node_count(), replay.view().container_count());
        println!("{:>6} {label:<24} {nodes} nodes, {containers} containers", seq.0);
    }
    Ok(())
}

#[test]
fn the_demonstration_is_true() {
    demonstrate().unwrap();
}
