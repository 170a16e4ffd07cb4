//! An idle engine uses no processor time. A process of its own, so that every engine thread in it is this
//! engine's.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use apportion::config::{EngineConfig, HeartbeatPolicy, QueueConfig};
use apportion::{ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};

/// How often each engine thread has left the processor.
fn switches() -> BTreeMap<String, String> {
    let mut switches = BTreeMap::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let read = |file: &str| std::fs::read_to_string(task.path().join(file)).unwrap();
        if read("comm").starts_with("apportion-") {
            let counts = read("status").lines().filter(|line| line.contains("ctxt_switches")).collect();
            switches.insert(format!("{}{}", task.path().display(), read("comm")), counts);
        }
    }
    switches
}

#[test]
fn an_idle_engine_uses_no_processor_time() {
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    config.heartbeat = Some(HeartbeatPolicy { interval_ms: 1, missed_max: 1 });
    let mode = Mode::Parallel { proposers: 2 };
    let engine = Engine::start(config, mode, Arc::new(ManualClock::new()), None).unwrap();
    let handle = engine.handle();
    let events = handle.event_stream(64);
    handle.add_node(NodeSpec::new("n1", Resources::new(&[4]))).unwrap();
    let application = ApplicationSpec::new("application", "root.default", "user");
    let application = handle.submit_application(application, &events).unwrap();
    // More than fits: asks are pending, timers are set, and still there is nothing to do.
    handle.submit_ask(application, AskSpec::new(Resources::new(&[1]), 10)).unwrap();
    engine.run_until_quiet();
    // Threads may still be on their way to sleep; give them time, then count.
    std::thread::sleep(Duration::from_millis(200));
    let (groups, before) = (engine.stats().groups, switches());
    assert_eq!(before.len(), 3, "a committer and two proposers: {before:?}");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(switches(), before, "threads woke up with nothing to do");
    assert_eq!(engine.stats().groups, groups);
}
