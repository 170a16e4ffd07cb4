//! The nodes' side of a resource manager: which containers each node starts and stops, and which nodes are alive.
//!
//! The types here use only a [`Handle`](crate::Handle) and events. They know no sockets, threads or clock: the caller
//! passes on the messages of the nodes' agents, and gives the time.
//!
//! | type | what it does |
//! |---|---|
//! | [`ResourceTracker`] | serves registrations and heartbeats of agents; uses the next two |
//! | [`DirectiveTracker`] | follows events, and tells a node which containers to start and stop since a version |
//! | [`NodeSessions`] | gives each node a lease, and refuses agents of the past |
//!
//! # Protocol of an agent
//!
//! 1. The agent registers with the containers that it runs, and with those that have ended since its last heartbeat.
//!    Its version is then 0.
//! 2. It sends heartbeats with its version and with the containers that have ended. It repeats these until an answer
//!    comes, and drops an answer to an earlier heartbeat.
//! 3. It carries out the answer in this order: renames [adopted](NodeDirectives::adopted) containers, stops, starts.
//!    Then the answer's version is its version.
//! 4. It reports a container as ended when the processes have ended, also after a stop. It does so at once for a
//!    container that it does not run and is told to stop or keep.
//! 5. After an answer that [is complete](NodeDirectives::is_complete) it stops all containers that the answer does not
//!    name. It does not start a container that it runs or has reported as ended.
//! 6. If a heartbeat is refused, it registers again.
//! 7. It sends one registration at a time. The transport delivers messages in order and none twice, as one connection
//!    does. A late copy of a registration would report a state of the past.
//!
//! # Starts and crashes
//!
//! A container is started at most once. An agent that lost an answer asks again with its old version, and the answer
//! names the same starts. An agent that registers again may have lost its memory. A start that was handed out before
//! and not confirmed is then not repeated. If the agent does not report the container, it has ended as
//! [lost](crate::EndCause::NodeLost). A start that was never handed out is still to come.
//!
//! After a manager [recovered](crate::Engine::recover), the tracker takes all containers of the engine for handed out,
//! because the former manager may have done so.

mod directives;
mod registration;
mod service;
mod sessions;
mod table;
#[cfg(test)]
mod tests;
mod tracker;

pub use directives::{ContainerStart, NodeDirectives};
pub use registration::{NodeRegistration, UnknownContainers};
pub use service::{HeartbeatError, NodeHeartbeat, ResourceTracker, TrackerOptions};
pub use sessions::{Incarnation, NodeSession, NodeSessions, SessionError};
pub use tracker::DirectiveTracker;
