//! Commands for node agents.

use std::sync::Arc;

use crate::client::{ContainerRef, Launch};

/// A command for a node agent. An agent carries out commands in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeCommand {
    /// Start the process in the container, then call
    /// [`report_started`](super::EngineClient::report_started) or
    /// [`report_start_failed`](super::EngineClient::report_start_failed).
    Launch {
        /// The container.
        container: ContainerRef,
        /// The host of the container.
        host: Arc<str>,
        /// The process to start.
        launch: Launch,
    },
    /// Kill the process in the container, then call [`report_exit`](super::EngineClient::report_exit). The
    /// command may come twice, and for a container without a process.
    Kill {
        /// The container.
        container: ContainerRef,
        /// The host of the container.
        host: Arc<str>,
    },
}
