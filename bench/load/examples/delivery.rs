//! Measures containers from ask to completion by the reader of their events. The reader is a thread that waits for the
//! stream, or a task of a tokio runtime.
//!
//! ```text
//! cargo run --release -p apportion-load --example delivery
//! ```
//!
//! The two take turns, so that a change of the machine's speed meets both.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use apportion::config::{EngineConfig, QueueConfig};
use apportion::event::{Event, EventKind};
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, Engine, EventStream, Handle, Mode, NodeSpec, ResourceTypes,
    Resources, SystemClock,
};
use futures_util::StreamExt;

const CONTAINERS: u32 = 300_000;
/// Containers asked for and not yet completed.
const OPEN: u32 = 2_000;
const ROUNDS: usize = 7;

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let (mut waited, mut awaited) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        waited.push(measure(|application, events| {
            while let Some(event) = events.wait_next()? {
                if application.is_done_with(&event)? {
                    break;
                }
            }
            Ok(())
        })?);
        awaited.push(measure(|application, mut events| {
            runtime.block_on(async {
                while let Some(event) = events.next().await {
                    if application.is_done_with(&event?)? {
                        break;
                    }
                }
                Ok(())
            })
        })?);
    }
    let (waited, awaited) = (median(waited), median(awaited));
    println!("a thread that waits: {waited:.0} containers/s");
    println!("a task that waits:  {awaited:.0} containers/s, {:.2} of the thread's", awaited / waited);
    Ok(())
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Asks for a container whenever one has ended.
struct Application {
    handle: Handle,
    id: ApplicationId,
    size: Resources,
    asked: u32,
    ended: u32,
}

impl Application {
    fn is_done_with(&mut self, event: &Event) -> anyhow::Result<bool> {
        match event.kind {
            EventKind::Allocated { container, .. } => self.handle.complete_container(container)?,
            EventKind::ContainerEnded { .. } => {
                self.ended += 1;
                if self.asked < CONTAINERS {
                    self.ask(1)?;
                }
            }
            _ => {}
        }
        Ok(self.ended == CONTAINERS)
    }

    fn ask(&mut self, count: u32) -> anyhow::Result<()> {
        self.handle.submit_ask(self.id, AskSpec::new(self.size, count))?;
        self.asked += count;
        Ok(())
    }
}

/// The containers per second.
fn measure(read: impl FnOnce(&mut Application, EventStream) -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let engine = Engine::start(config, Mode::Background, Arc::new(SystemClock::new()), None)?;
    let handle = engine.handle();
    for number in 0..500 {
        handle.add_node(NodeSpec::new(format!("n{number}"), Resources::new(&[64, 64])))?;
    }
    let events = handle.event_stream(1 << 20);
    let id = handle.submit_application(ApplicationSpec::new("load", "root.default", "ann"), &events)?;
    let size = Resources::new(&[1, 1]);
    let mut application = Application { handle, id, size, asked: 0, ended: 0 };
    let begun = Instant::now();
    application.ask(OPEN)?;
    read(&mut application, events).context("the reader fell behind")?;
    Ok(f64::from(CONTAINERS) / begun.elapsed().as_secs_f64())
}
