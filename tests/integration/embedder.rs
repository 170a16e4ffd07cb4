//! Faults in an embedder's code: it fails, panics, or looks at the engine while the engine works.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake};
use std::time::Duration;

use apportion::config::EngineConfig;
use apportion::config::{HeartbeatPolicy, QueueState, QueueUpdate};
use apportion::engine::SubmitError;
use apportion::event::EventKind;
use apportion::log::{LogDigest, LogSink, LoggedGroup, SharedLog};
use apportion::replay::Replay;
use apportion::{
    ApplicationEnd, ApplicationSpec, AskSpec, Engine, EventStream, Handle, ManualClock, Mode, NodeAttributes,
    NodeSpec, PartitionId, Resources,
};

use crate::{engine, leaf};

type Append = Box<dyn FnMut(&LoggedGroup<'_>) -> io::Result<()> + Send>;

/// A sink that calls a closure for each group.
struct Sink(Append);

impl LogSink for Sink {
    fn start(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        (self.0)(group)
    }
}

fn start(mode: Mode, append: Append) -> Engine {
    let config = engine([leaf("default", 100)]);
    Engine::start(config, mode, Arc::new(ManualClock::new()), Some(Box::new(Sink(append)))).unwrap()
}

fn application(name: &str) -> ApplicationSpec {
    ApplicationSpec::new(name, "root.default", "user")
}

#[test]
fn a_sink_that_panics_ends_the_engine_and_nobody_waits_for_ever() {
    for mode in [Mode::Parallel { proposers: 2 }, Mode::Background] {
        panic_in_the_sink(mode);
    }
}

fn panic_in_the_sink(mode: Mode) {
    let append = |group: &LoggedGroup<'_>| {
        assert!(group.last().0 < 10, "the disk is gone");
        Ok(())
    };
    let engine = start(mode, Box::new(append));
    let handle = engine.handle();
    let events = handle.event_stream(100);
    assert!(engine.is_running());
    let mut refused = None;
    for number in 0..1_000_000 {
        refused = handle.add_node(NodeSpec::new(format!("n{number}"), Resources::new(&[1]))).err();
        if refused.is_some() {
            break;
        }
    }
    assert_eq!(refused, Some(SubmitError::Closed));
    engine.run_until_quiet();
    assert!(!engine.is_running());
    assert_eq!(events.wait_next(), Ok(None), "the stream is closed");
    assert_eq!(handle.event_stream(1).wait_next(), Ok(None), "and so is a later one");
    engine.shutdown();
}

#[test]
fn a_sink_that_fails_stops_the_log_and_nothing_else() {
    let engine =
        start(Mode::Serial, Box::new(|_: &LoggedGroup<'_>| Err(io::Error::other("the disk is full"))));
    let node = NodeSpec::new("n1", Resources::new(&[1]));
    engine.handle().add_node(node).unwrap();
    engine.run_until_quiet();
    assert_eq!(engine.log_error().as_deref(), Some("the disk is full"));
    assert_eq!(engine.read(|view| view.nodes().count()), 1);
}

/// A log that has to have every change before it is announced.
struct Required(u32);

impl LogSink for Required {
    fn start(&mut self, _: &[u8]) -> io::Result<()> {
        self.append_one()
    }

    fn append(&mut self, _: &LoggedGroup<'_>) -> io::Result<()> {
        self.append_one()
    }

    fn is_required(&self) -> bool {
        true
    }
}

impl Required {
    fn append_one(&mut self) -> io::Result<()> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| io::Error::other("the disk is full"))?;
        Ok(())
    }
}

#[test]
fn an_engine_whose_log_is_required_announces_nothing_that_is_not_logged() {
    for mode in [Mode::Serial, Mode::Background, Mode::Parallel { proposers: 2 }] {
        let start = |writes| {
            let config = engine([leaf("default", 100)]);
            Engine::start(config, mode, Arc::new(ManualClock::new()), Some(Box::new(Required(writes))))
        };
        let refused = start(0).unwrap_err();
        assert_eq!(refused.to_string(), "the log cannot be written: the disk is full", "{mode}");
        // The header, the configuration and the node.
        let engine = start(3).unwrap();
        let handle = engine.handle();
        let events = handle.event_stream(100);
        let node = handle.add_node(NodeSpec::new("n1", Resources::new(&[1]))).unwrap();
        engine.run_until_quiet();
        assert!(engine.is_running(), "{mode}");
        let submitted = handle.submit_application(application("a"), &events);
        let removed = handle.remove_node(node);
        engine.run_until_quiet();
        assert_eq!(events.wait_next(), Ok(None), "{mode}: the stream is closed");
        assert!(submitted.is_err() || !engine.is_running(), "{mode}");
        assert!(removed.is_err() || removed.unwrap().wait().is_none(), "{mode}: no answer will come");
        assert_eq!(engine.log_error().as_deref(), Some("the disk is full"), "{mode}");
    }
}

/// The group that the log lacks has events, an answer, a refusal and a new stream. None of them is announced.
#[test]
fn a_group_with_events_that_is_not_logged_is_not_announced() {
    for groups in 3..8 {
        let clock = Arc::new(ManualClock::new());
        let log = SharedLog::new();
        let (written, config) = (log.clone(), engine([leaf("default", 100)]));
        let sink = Box::new(Counted(log, groups));
        let engine = Engine::start(config, Mode::Serial, clock, Some(sink)).unwrap();
        let handle = engine.handle();
        let events = handle.event_stream(1_000);
        let mut answers = Vec::new();
        for round in 0..8 {
            let node = handle.add_node(NodeSpec::new(format!("n{round}"), Resources::new(&[1])));
            let application = handle.submit_application(application("a"), &events);
            let (Ok(node), Ok(application)) = (node, application) else { break };
            let _ = handle.submit_ask(application, AskSpec::new(Resources::new(&[1]), 1));
            answers.extend(handle.preempt_container("container-77".parse().unwrap()).ok());
            answers.extend((round % 2 == 1).then(|| handle.remove_node(node).ok()).flatten());
            engine.run_until_quiet();
        }
        assert!(!engine.is_running(), "the log is required");
        let bytes = written.bytes();
        let last = Replay::read(&bytes[..], None).unwrap().seq();
        let mut told = Vec::new();
        while let Ok(Some(event)) = events.try_next() {
            told.push(event.seq);
        }
        assert!(told.iter().all(|seq| *seq <= last), "{groups}: {told:?} and the log ends with {last:?}");
        let answered = answers.iter().filter_map(|ticket| ticket.try_take()?.ok());
        assert!(answered.clone().all(|seq| seq <= last), "{groups}: {last:?}");
    }
}

/// Writes some groups, and fails then.
pub(crate) struct Counted(pub(crate) SharedLog, pub(crate) u32);

impl LogSink for Counted {
    fn start(&mut self, header: &[u8]) -> io::Result<()> {
        self.0.start(header)
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        self.1 = self.1.checked_sub(1).ok_or_else(|| io::Error::other("the disk is full"))?;
        self.0.append(group)
    }

    fn is_required(&self) -> bool {
        true
    }
}

/// The reader that the end of the engine wakes asks why.
#[test]
fn the_end_of_a_stream_comes_after_its_reason() {
    struct Reader(Arc<Engine>, Mutex<Vec<Option<String>>>);
    impl Wake for Reader {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0.log_error());
        }
    }
    let clock = Arc::new(ManualClock::new());
    let engine =
        Engine::start(engine([leaf("default", 100)]), Mode::Serial, clock, Some(Box::new(Required(2))));
    let engine = Arc::new(engine.unwrap());
    let events = engine.handle().event_stream(100);
    let reader = Arc::new(Reader(Arc::clone(&engine), Mutex::default()));
    let waker = Arc::clone(&reader).into();
    assert!(events.poll_next(&mut Context::from_waker(&waker)).is_pending());
    engine.handle().add_node(NodeSpec::new("n1", Resources::new(&[1]))).unwrap();
    engine.run_until_quiet();
    assert_eq!(*reader.1.lock().unwrap(), [Some("the disk is full".to_owned())]);
}

/// After a crash, the log contains every change whose events an application has seen.
#[test]
fn events_are_logged_before_they_are_published() {
    let place: Arc<Mutex<Option<EventStream>>> = Arc::default();
    let stream = Arc::clone(&place);
    let append = move |_: &LoggedGroup<'_>| {
        if let Some(events) = &*stream.lock().unwrap() {
            assert_eq!(events.try_next(), Ok(None), "told before it was logged");
        }
        Ok(())
    };
    let engine = start(Mode::Serial, Box::new(append));
    let handle = engine.handle();
    let events = handle.event_stream(100);
    *place.lock().unwrap() = Some(events.clone());
    handle.add_node(NodeSpec::new("n1", Resources::new(&[1]))).unwrap();
    let application = handle.submit_application(application("a"), &events).unwrap();
    handle.submit_ask(application, AskSpec::new(Resources::new(&[1]), 1)).unwrap();
    engine.run_until_quiet();
    assert!(
        matches!(events.try_next(), Ok(Some(event)) if matches!(event.kind, EventKind::Allocated { .. }))
    );
}

/// A reader resynchronises between the commit and the publication of its events.
#[test]
fn a_resynchronisation_in_between_repeats_nothing_and_loses_no_refusal() {
    let place: Arc<Mutex<Option<(Handle, EventStream)>>> = Arc::default();
    let reader = Arc::clone(&place);
    let append = move |_: &LoggedGroup<'_>| {
        if let Some((handle, events)) = &*reader.lock().unwrap() {
            let _ = handle.resync(events, &[]);
        }
        Ok(())
    };
    let engine = start(Mode::Serial, Box::new(append));
    let handle = engine.handle();
    let events = handle.event_stream(100);
    let gone = handle.submit_application(application("gone"), &events).unwrap();
    handle.end_application(gone, ApplicationEnd::Finished).unwrap();
    let here = handle.submit_application(application("here"), &events).unwrap();
    engine.run_until_quiet();
    while events.try_next().unwrap().is_some() {}
    *place.lock().unwrap() = Some((engine.handle(), events.clone()));
    handle.add_node(NodeSpec::new("n1", Resources::new(&[1]))).unwrap();
    handle.submit_ask(here, AskSpec::new(Resources::new(&[1]), 1)).unwrap();
    // The sum overflows, so the engine refuses the ask.
    let refused = handle.submit_ask(here, AskSpec::new(Resources::new(&[1 << 40]), u32::MAX)).unwrap();
    // The queue is stopped before the committer comes to the application.
    let stopped = QueueUpdate { state: Some(QueueState::Stopped), ..QueueUpdate::default() };
    let _answer = handle.update_queue(handle.queue("root.default").unwrap(), stopped).unwrap();
    handle.submit_application(application("late"), &events).unwrap();
    engine.run_until_quiet();
    let mut told = Vec::new();
    while let Some(event) = events.try_next().unwrap() {
        told.push(event.kind);
    }
    assert!(
        matches!(told[..], [EventKind::AskRefused { ask, .. }, EventKind::ApplicationRefused { .. }] if ask == refused),
        "the allocation is part of what the resynchronisation returned: {told:?}"
    );
}

/// The audit is for production: it is clean on a correct engine, also while callers and proposers work.
#[test]
fn an_audit_of_a_busy_engine_is_clean() {
    let mut config = engine([leaf("default", 100)]);
    config.limits.batch_requests = 4;
    config.limits.group_requests = 4;
    config.limits.single_set_nodes = 2;
    config.limits.set_nodes = 4;
    for mode in [Mode::Parallel { proposers: 3 }, Mode::Background] {
        audit_while_busy(&config, mode);
    }
}

fn audit_while_busy(config: &EngineConfig, mode: Mode) {
    let engine = Engine::start(config.clone(), mode, Arc::new(ManualClock::new()), None).unwrap();
    let handle = engine.handle();
    let events = handle.event_stream(1 << 20);
    let node = |name: String| handle.add_node(NodeSpec::new(name, Resources::new(&[1 << 30]))).unwrap();
    let hosts: Vec<_> = (0..64).map(|number| node(format!("n{number}"))).collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let application = handle.submit_application(application("a"), &events).unwrap();
            for number in 0..3_000usize {
                let ask = AskSpec::new(Resources::new(&[1]), 2);
                handle.submit_ask(application, ask.clone()).unwrap();
                let local = ask.on_hosts([hosts[number % 64]]).strictly_local();
                handle.submit_ask(application, local).unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
        });
        while !is_over.load(Ordering::Relaxed) {
            let report = engine.audit();
            assert!(report.is_clean(), "{report}");
        }
    });
    engine.run_until_quiet();
    assert!(engine.audit().is_clean());
}

/// `capacity-scheduler.md` 6.1 case 9. The engine has more proposers than any other in this program, so the names are
/// its own.
#[test]
#[cfg(target_os = "linux")]
fn threads_have_names_that_tell_them_apart() {
    let is_running = |name: &str| {
        let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let mut names = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
        names.any(|running| running.trim_end() == name)
    };
    let engine = start(Mode::Parallel { proposers: 13 }, Box::new(|_| Ok(())));
    // A thread gets its name only when it runs, and the system still lists it for a moment after its end.
    let comes_true = |is_so: &dyn Fn() -> bool| {
        (0..3_000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            is_so()
        })
    };
    let all = || (0..13).all(|number| is_running(&format!("ap-proposer-{number}")));
    assert!(comes_true(&|| is_running("ap-committer") && all()));
    engine.shutdown();
    assert!(comes_true(&|| !is_running("ap-proposer-12")));
}

/// The version moves with every change of a node, so a reader that compares versions misses none.
#[test]
fn the_version_of_the_nodes_moves_with_the_nodes() {
    let mut config = engine([leaf("default", 100)]);
    config.partitions = vec!["gpu".into()];
    config.heartbeat = Some(HeartbeatPolicy { interval_ms: 100, missed_max: 2 });
    let clock = Arc::new(ManualClock::new());
    let engine = Engine::start(config, Mode::Serial, clock.clone(), None).unwrap();
    let handle = engine.handle();
    let mut seen = engine.read(|view| view.nodes_version());
    let mut moves = || {
        engine.run_until_quiet();
        let now = engine.read(|view| view.nodes_version());
        std::mem::replace(&mut seen, now) < now
    };
    let node = handle.add_node(NodeSpec::new("n1", Resources::new(&[8]))).unwrap();
    assert!(moves(), "the node was added");
    let gpu = handle.partition("gpu").unwrap();
    handle.set_node_partition(node, gpu).unwrap();
    assert!(moves(), "it is in another partition");
    handle.set_node_partition(node, PartitionId::DEFAULT).unwrap();
    assert!(moves(), "and back");
    handle.update_node(node, Resources::new(&[9]), NodeAttributes::default()).unwrap();
    assert!(moves(), "it is larger");
    handle.drain_node(node).unwrap();
    assert!(moves(), "it takes nothing new");
    handle.activate_node(node).unwrap();
    assert!(moves(), "it takes containers again");
    clock.set(300);
    assert!(moves(), "it is stale");
    handle.heartbeat(&[node]).unwrap();
    assert!(moves(), "it has reported again");

    let events = handle.event_stream(100);
    let running = handle.submit_application(application("a"), &events).unwrap();
    handle.submit_ask(running, AskSpec::new(Resources::new(&[1]), 3)).unwrap();
    handle.heartbeat(&[node]).unwrap();
    assert!(
        !moves() && engine.read(|view| view.container_count()) == 3,
        "containers do not move the version"
    );
    handle.remove_node(node).unwrap();
    assert!(moves(), "it is gone");
}

/// Equal for equal changes, however they were grouped.
#[test]
fn the_digest_of_a_log_is_that_of_its_changes() {
    let digest = |sizes: &[i64], at_once: bool| {
        let digest = Arc::new(Mutex::new(LogDigest::new()));
        let log = Arc::clone(&digest);
        let append = move |group: &LoggedGroup<'_>| {
            log.lock().unwrap().update(group);
            Ok(())
        };
        let engine = start(Mode::Serial, Box::new(append));
        for (number, size) in sizes.iter().enumerate() {
            let spec = NodeSpec::new(format!("n{number}"), Resources::new(&[*size]));
            engine.handle().add_node(spec).unwrap();
            if !at_once {
                engine.run_until_quiet();
            }
        }
        engine.run_until_quiet();
        digest.lock().unwrap().value()
    };
    let both = digest(&[1, 2], true);
    assert_eq!(digest(&[1, 2], false), both);
    for other in [&[][..], &[1], &[2, 1], &[1, 3]] {
        assert_ne!(digest(other, true), both, "{other:?}");
    }
    assert_ne!(digest(&[], true), digest(&[1], true));
}
