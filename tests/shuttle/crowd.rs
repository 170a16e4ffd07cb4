//! Many threads that call one engine at a time.

use std::sync::Arc;

use apportion::config::{
    Capacity, EngineConfig, Maximum, Percent, QueueConfig, QueueUpdate, ReservationPolicy,
};
use apportion::{
    AllocationProposal, ApplicationEnd, ApplicationSpec, AskSpec, Engine, EventKind, Handle, ManualClock,
    Mode, NodeId, NodeSpec, Replay, ResourceAllocationCommitRequest, ResourceTypes, Resources, SharedLog,
};
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;

use crate::{check, schedules};

const CALLERS: usize = 6;
const PROPOSERS: usize = 3;
const NODES: usize = 4;

fn config() -> EngineConfig {
    let leaf = |name: &str| QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50)));
    let types = ResourceTypes::memory_and_vcores();
    let mut config = EngineConfig::new(types, QueueConfig::root([leaf("a"), leaf("b")]));
    config.reservations = ReservationPolicy { delay_ms: Some(0), ..ReservationPolicy::default() };
    config.limits.batch_requests = 2;
    config.limits.group_requests = 3;
    config.limits.inbox = 4;
    config.limits.single_set_nodes = 3;
    config.limits.set_nodes = 2;
    config
}

fn memory(amount: i64) -> Resources {
    Resources::new(&[amount])
}

/// One caller's application: asks, takes back, gives back, asks for two at once, and ends.
fn live(handle: &Handle, nodes: &[NodeId], number: usize) {
    let mut random = thread_rng();
    let queue = if number.is_multiple_of(2) { "root.a" } else { "root.b" };
    let events = handle.event_stream(64);
    let spec = ApplicationSpec::new("application", queue, format!("user{number}"));
    let application = handle.submit_application(spec, &events).unwrap();
    for _ in 0..3 {
        let ask = AskSpec::new(memory(random.gen_range(1..6)), random.gen_range(1..4));
        let ask = handle.submit_ask(application, ask).unwrap();
        match random.gen_range(0..4u32) {
            0 => handle.cancel_ask(ask, 1).unwrap(),
            1 => {
                let on = |node: NodeId| AllocationProposal { ask, node, from_reservation: None };
                let pair = [on(nodes[0]), on(nodes[random.gen_range(0..nodes.len())])];
                let request = ResourceAllocationCommitRequest {
                    allocate: pair.into_iter().collect(),
                    ..Default::default()
                };
                let outcome = handle.commit(request).unwrap().wait();
                assert!(outcome.is_some(), "an engine that runs answers");
            }
            2 => {
                while let Ok(Some(event)) = events.try_next() {
                    if let EventKind::Allocated { container, .. } = event.kind {
                        handle.release_container(container).unwrap();
                    }
                }
            }
            _ => {}
        }
    }
    if number.is_multiple_of(3) {
        handle.end_application(application, ApplicationEnd::Killed).unwrap();
    }
}

/// Nodes come and go, and limits change.
fn disturb(handle: &Handle, nodes: &[NodeId]) {
    handle.drain_node(nodes[1]).unwrap();
    handle.remove_node(nodes[2]).unwrap();
    let update = QueueUpdate { maximum: Some(Maximum::absolute(&[12])), ..QueueUpdate::default() };
    let queue = handle.queue("root.a").unwrap();
    assert!(handle.update_queue(queue, update).unwrap().wait().is_some(), "an engine that runs answers");
    handle.activate_node(nodes[1]).unwrap();
    handle.add_node(NodeSpec::new("late", memory(8))).unwrap();
}

fn crowd() {
    let log = SharedLog::new();
    let mode = Mode::Parallel { proposers: PROPOSERS };
    let clock = Arc::new(ManualClock::new());
    let engine = Arc::new(Engine::start(config(), mode, clock, Some(Box::new(log.clone()))).unwrap());
    let handle = engine.handle();
    let node = |number| handle.add_node(NodeSpec::new(format!("n{number}"), memory(8))).unwrap();
    let nodes: Arc<[NodeId]> = (0..NODES).map(node).collect();
    let mut callers = Vec::new();
    for number in 0..CALLERS {
        let (handle, nodes) = (engine.handle(), Arc::clone(&nodes));
        callers.push(thread::spawn(move || live(&handle, &nodes, number)));
    }
    let (other, nodes) = (engine.handle(), Arc::clone(&nodes));
    callers.push(thread::spawn(move || disturb(&other, &nodes)));
    callers.into_iter().for_each(|caller| caller.join().unwrap());
    engine.run_until_quiet();
    let report = engine.audit();
    assert!(report.is_clean(), "{report}");
    // What could run does: no ask is left that a node, its queue and its user have room for.
    let left: Vec<_> = engine.read(|view| view.asks().map(|ask| ask.pending_reason()).collect());
    assert!(!left.contains(&apportion::PendingReason::Runnable), "left undone: {left:?}");
    engine.shutdown();
    let mut replay = Replay::read(&log.bytes()[..], None).unwrap();
    assert_eq!(replay.digest(), engine.digest());
    assert!(replay.audit().is_clean());
}

/// 6 callers, one that disturbs, 3 proposers, a committer and the one that waits: 12 threads.
#[test]
fn callers_nodes_and_limits_at_a_time() {
    check(crowd, schedules());
}
