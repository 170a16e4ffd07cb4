//! A small resource manager: agents on three nodes run the tasks of a job. One agent fails, its tasks run
//! elsewhere, and the next start of the manager goes on with the log.
//! `cargo run -p apportion-book --example manager`

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::event::EventKind;
use apportion::file_log::{FileLog, FileLogOptions};
use apportion::{
    ApplicationEnd, ApplicationSpec, AskOfKind, AskSpec, ContainerId, EndCause, Engine, Handle, Mode, NodeId,
    NodeSpec, ResourceTypes, SystemClock,
};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// An order to an agent: start a container for a task.
struct Start(ContainerId, u64);

/// A report of an agent.
enum Report {
    /// The processes of a container have ended.
    Ended(ContainerId),
    /// The connection to the agent is broken.
    Gone(NodeId),
}

/// Goes on with the log in the folder, or begins one.
fn start(folder: &Path) -> Fallible<Engine> {
    let log = FileLog::open(folder, FileLogOptions::default())?;
    let (mode, clock) = (Mode::Background, Arc::new(SystemClock::new()));
    if let Some(contents) = log.contents()? {
        return Ok(Engine::recover(contents, mode, clock, Some(Box::new(log)))?.0);
    }
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    Ok(Engine::start(config, mode, clock, Some(Box::new(log)))?)
}

/// Stands for an agent on another machine. The agent `gamma` fails with its first container.
fn connect_agent(name: &'static str, node: NodeId, reports: Sender<Report>) -> Sender<Start> {
    let (orders, received) = channel();
    thread::spawn(move || {
        for Start(container, task) in received {
            if name == "gamma" {
                println!("{name} fails with {container}");
                return reports.send(Report::Gone(node));
            }
            println!("{name} runs task {task} in {container}");
            reports.send(Report::Ended(container))?;
        }
        Ok(())
    });
    orders
}

/// Passes the reports of the agents to the engine.
fn serve(handle: &Handle, reports: Receiver<Report>) {
    for report in reports {
        let passed = match report {
            Report::Ended(container) => handle.complete_container(container),
            Report::Gone(node) => handle.remove_node(node).map(drop),
        };
        if passed.is_err() {
            return; // the engine was shut down
        }
    }
}

/// Runs a job with this many tasks to its end.
fn run_job(handle: &Handle, agents: &BTreeMap<NodeId, Sender<Start>>, tasks: u64) -> Fallible<()> {
    let events = handle.event_stream(10_000);
    let application = ApplicationSpec::new("word-count", "root.default", "ann");
    let application = handle.submit_application(application, &events)?;
    let size = handle.resources(&[("memory_mib", 1_024), ("vcore_milli", 1_000)])?;
    let kind = handle.register_ask_kind(AskSpec::new(size, 1))?;
    let ask_for = |task| AskOfKind { application, kind, count: 1, allocation_request_id: task };
    handle.submit_asks_of_kinds((0..tasks).map(ask_for))?;

    let mut left = tasks;
    while left > 0 {
        let event = events.wait_next()?.ok_or("the engine was shut down")?;
        match event.kind {
            EventKind::Allocated { container, node, allocation_request_id, .. } => {
                // If the connection is broken, the agent's node is about to be removed.
                let _ = agents[&node].send(Start(container, allocation_request_id));
            }
            EventKind::ContainerEnded { cause: EndCause::Completed, .. } => left -= 1,
            EventKind::ContainerEnded { allocation_request_id, .. } => {
                println!("task {allocation_request_id} is asked for again");
                handle.submit_asks_of_kinds([ask_for(allocation_request_id)])?;
            }
            EventKind::ApplicationRefused { refusal } | EventKind::AskRefused { refusal, .. } => {
                return Err(refusal.into());
            }
            _ => {}
        }
    }
    Ok(handle.end_application(application, ApplicationEnd::Finished)?)
}

pub(crate) fn main() -> Fallible<()> {
    let folder = tempfile::tempdir()?;
    let engine = start(folder.path())?;
    let handle = engine.handle();

    let (reports, received) = channel();
    let mut agents = BTreeMap::new();
    for name in ["alpha", "beta", "gamma"] {
        let capacity = handle.resources(&[("memory_mib", 2_048), ("vcore_milli", 2_000)])?;
        let node = handle.add_node(NodeSpec::new(name, capacity))?;
        agents.insert(node, connect_agent(name, node, reports.clone()));
    }
    let server = engine.handle();
    thread::spawn(move || serve(&server, received));
    run_job(&handle, &agents, 12)?;
    drop(engine);

    let engine = start(folder.path())?;
    let nodes = engine.read(|view| view.nodes().map(|node| node.name().to_owned()).collect::<Vec<_>>());
    println!("after the restart the manager knows {}", nodes.join(" and "));
    assert_eq!(nodes, ["alpha", "beta"]);
    assert_eq!(engine.read(|view| (view.container_count(), view.applications().count())), (0, 0));
    assert!(engine.audit().is_clean());
    Ok(())
}
