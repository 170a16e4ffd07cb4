//! Helpers for the tests of logs on a disk.

use std::error::Error;
use std::io::Read;
use std::sync::Arc;

use super::LogSink;
use crate::config::{EngineConfig, QueueConfig};
use crate::{
    ApplicationSpec, AskSpec, Engine, Handle, ManualClock, Mode, NodeSpec, ResourceTypes, Resources,
};

/// The engine that goes on with these contents of its log, or begins a log.
pub(crate) fn begin_or_go_on(
    contents: Option<impl Read>,
    log: Box<dyn LogSink>,
) -> Result<Engine, Box<dyn Error>> {
    let clock = Arc::new(ManualClock::new());
    Ok(match contents {
        Some(contents) => Engine::recover(contents, Mode::Serial, clock, Some(log))?.0,
        None => {
            let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
            Engine::start(config, Mode::Serial, clock, Some(log))?
        }
    })
}

pub(crate) fn add_node(handle: &Handle, name: &str) {
    handle.add_node(NodeSpec::new(name, Resources::new(&[100, 10]))).unwrap();
}

/// Several groups: a node, an application and its containers.
pub(crate) fn work(engine: &Engine, name: &str) {
    let handle = engine.handle();
    add_node(&handle, name);
    engine.run_until_quiet();
    let events = handle.event_stream(100);
    let application =
        handle.submit_application(ApplicationSpec::new(name, "root.default", "ann"), &events).unwrap();
    engine.run_until_quiet();
    handle.submit_ask(application, AskSpec::new(Resources::new(&[10, 1]), 3)).unwrap();
    engine.run_until_quiet();
}
