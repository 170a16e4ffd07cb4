//! Commands for node agents.

use std::sync::Arc;

use crate::client::{ContainerRef, Launch};

/// A command for the agent of a node. An agent carries commands out in the order in which they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeCommand {
    /// Start this in the container, then call [`report_started`](super::EngineClient::report_started) or
    /// [`report_start_failed`](super::EngineClient::report_start_failed).
    Launch {
        /// Which container.
        container: ContainerRef,
        /// The host it is on.
        host: Arc<str>,
        /// The process to start.
        launch: Launch,
    },
    /// End what runs in the container, then call [`report_exit`](super::EngineClient::report_exit). It may come twice,
    /// and for a container in which nothing runs any more.
    Kill {
        /// Which container.
        container: ContainerRef,
        /// The host it is on.
        host: Arc<str>,
    },
}
