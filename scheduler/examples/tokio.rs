//! An engine beside a tokio runtime: streams and tickets are awaited, and no task blocks a thread of the runtime.
//!
//! ```sh
//! cargo run -p apportion --features async --example tokio
//! ```
//!
//! A task adds and drains nodes, a task for each job waits for its containers, runs them and completes them. The engine
//! decides on its own thread.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::event::EventKind;
use apportion::{
    ApplicationEnd, ApplicationSpec, AskSpec, Engine, Handle, Mode, NodeSpec, ResourceTypes, Resources,
    SystemClock,
};
use futures_util::StreamExt;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const CONTAINERS: u32 = 20;

#[tokio::main]
async fn main() -> Result<()> {
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let engine = Engine::start(config, Mode::Background, Arc::new(SystemClock::new()), None)?;
    let handle = engine.handle();
    let room = handle.resources(&[("memory_mib", 8_192), ("vcore_milli", 8_000)])?;
    for name in ["alpha", "beta", "gamma"] {
        handle.add_node(NodeSpec::new(name, room))?;
    }
    let size = handle.resources(&[("memory_mib", 1_024), ("vcore_milli", 1_000)])?;
    let mut jobs = JoinSet::new();
    for number in 0..5 {
        jobs.spawn(run_job(handle.clone(), format!("job-{number}"), size));
    }
    let maintenance = tokio::spawn(replace_node(handle.clone(), room));
    let mut completed = 0;
    while let Some(job) = jobs.join_next().await {
        completed += job??;
    }
    maintenance.await??;
    println!("5 jobs, {completed} containers");
    assert_eq!(completed, 5 * CONTAINERS);
    // The threads of the engine are joined away from the runtime's.
    tokio::task::spawn_blocking(move || engine.shutdown()).await?;
    Ok(())
}

/// Runs the job's containers as they are allocated. A container that is lost with its node is asked for again.
async fn run_job(handle: Handle, name: String, size: Resources) -> Result<u32> {
    let mut events = handle.event_stream(256);
    let application =
        handle.submit_application(ApplicationSpec::new(name, "root.default", "ann"), &events)?;
    handle.submit_ask(application, AskSpec::new(size, CONTAINERS))?;
    let mut completed = 0;
    while completed < CONTAINERS {
        // `None` if the engine is shut down. `Lagging` if this task is too slow; it would resynchronise then.
        let event =
            timeout(Duration::from_secs(10), events.next()).await?.ok_or("the engine has ended")??;
        match event.kind {
            EventKind::Allocated { container, .. } => {
                let handle = handle.clone();
                tokio::spawn(async move {
                    sleep(Duration::from_millis(2)).await;
                    // The container may have ended with its node; then the call is refused.
                    let _ = handle.complete_container(container);
                });
            }
            EventKind::ContainerEnded { cause: apportion::EndCause::Completed, .. } => completed += 1,
            EventKind::ContainerEnded { .. } => drop(handle.submit_ask(application, AskSpec::new(size, 1))?),
            _ => {}
        }
    }
    handle.end_application(application, ApplicationEnd::Finished)?;
    Ok(completed)
}

/// Removes a node while containers run on it, waits for the answer, and adds another.
async fn replace_node(handle: Handle, room: Resources) -> Result<()> {
    sleep(Duration::from_millis(5)).await;
    let node = handle.node("alpha").ok_or("alpha is registered")?;
    match handle.remove_node(node)?.await {
        Some(Ok(at)) => println!("alpha is removed by change {}", at.0),
        Some(Err(refusal)) => return Err(refusal.into()),
        None => return Err("the engine has ended".into()),
    }
    handle.add_node(NodeSpec::new("delta", room))?;
    Ok(())
}

#[test]
fn all_containers_complete() {
    main().unwrap();
}
