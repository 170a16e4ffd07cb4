//! An idle engine uses no processor time. The test has a process of its own, so every other thread in it belongs to
//! an engine.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use apportion::config::{EngineConfig, HeartbeatPolicy, QueueConfig};
use apportion::event::EventKind;
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, Clock, Engine, EventStream, ManualClock, Mode, NodeSpec,
    ResourceTypes, Resources, SystemClock,
};

/// Long enough that a thread that wakes up once a second is seen several times.
const IDLE: Duration = Duration::from_secs(5);
/// Time for the threads to go to sleep.
const ON_THE_WAY: Duration = Duration::from_millis(200);
const PARALLEL: Mode = Mode::Parallel { proposers: 2 };

/// Returns the context switches, voluntary and involuntary, of each thread of the process except this one.
fn switches() -> BTreeMap<String, Vec<String>> {
    let mut switches = BTreeMap::new();
    let own = std::fs::read_link("/proc/thread-self").unwrap();
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let read = |file: &str| std::fs::read_to_string(task.path().join(file)).unwrap();
        if Some(task.file_name().as_os_str()) != own.file_name() {
            let status = read("status");
            let counts = status.lines().filter(|line| line.contains("ctxt_switches")).map(str::to_owned);
            switches.insert(format!("{} {}", task.path().display(), read("comm").trim()), counts.collect());
        }
    }
    switches
}

/// An engine with one node and an application.
fn engine(
    mode: Mode,
    clock: Arc<dyn Clock>,
    heartbeat: HeartbeatPolicy,
) -> (Engine, EventStream, ApplicationId) {
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    config.heartbeat = Some(heartbeat);
    let engine = Engine::start(config, mode, clock, None).unwrap();
    let handle = engine.handle();
    let events = handle.event_stream(1_000);
    handle.add_node(NodeSpec::new("n1", Resources::new(&[4]))).unwrap();
    let spec = ApplicationSpec::new("application", "root.default", "user");
    let application = handle.submit_application(spec, &events).unwrap();
    (engine, events, application)
}

/// Pending asks and set timers, but no room, and a clock that stands still: there is nothing to do.
fn waiting_for_room(mode: Mode) -> Engine {
    let heartbeat = HeartbeatPolicy { interval_ms: 1, missed_max: 1 };
    let (engine, _, application) = engine(mode, Arc::new(ManualClock::new()), heartbeat);
    engine.handle().submit_ask(application, AskSpec::new(Resources::new(&[1]), 10)).unwrap();
    engine.run_until_quiet();
    assert_eq!(engine.read(|view| view.container_count()), 4);
    engine
}

/// An engine that has finished its work. The next of its timers is due in an hour of real time.
fn after_work(mode: Mode) -> Engine {
    let heartbeat = HeartbeatPolicy { interval_ms: 3_600_000, missed_max: 1 };
    let (engine, events, application) = engine(mode, Arc::new(SystemClock::new()), heartbeat);
    let handle = engine.handle();
    handle.submit_ask(application, AskSpec::new(Resources::new(&[1]), 100)).unwrap();
    let mut completed = 0;
    while completed < 100 {
        if let EventKind::Allocated { container, .. } = events.wait_next().unwrap().unwrap().kind {
            handle.complete_container(container).unwrap();
            completed += 1;
        }
    }
    engine.run_until_quiet();
    assert!(engine.next_timer_ms().is_some(), "a timer is set");
    engine
}

#[test]
fn an_idle_engine_uses_no_processor_time() {
    let engines = [PARALLEL, Mode::Background].map(|mode| [waiting_for_room(mode), after_work(mode)]);
    let engines = engines.as_flattened();
    sleep(ON_THE_WAY);
    let groups = || engines.iter().map(|engine| engine.stats().groups).collect::<Vec<_>>();
    let (groups_before, before) = (groups(), switches());
    let of_engines = before.keys().filter(|name| name.contains(" ap-")).count();
    assert_eq!(of_engines, 2 * 3 + 2, "a committer and two proposers, or one thread: {before:?}");
    sleep(IDLE);
    assert_eq!(switches(), before, "threads woke up with nothing to do");
    assert_eq!(groups(), groups_before);
}
