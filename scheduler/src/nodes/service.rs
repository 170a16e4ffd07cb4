//! Serves the agents of all nodes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::directives::NodeDirectives;
use super::registration::{NodeRegistration, Pending, UnknownContainers, add, update};
use super::sessions::{NodeSession, NodeSessions, SessionError};
use super::tracker::DirectiveTracker;
use crate::engine::{Handle, NodeReport, SubmitError};
use crate::event::{Event, Refusal};
use crate::ids::{ContainerId, NodeId};
use crate::request::CommitSeq;
use crate::sync::Ticket;

/// The settings of a [`ResourceTracker`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackerOptions {
    /// A number greater than that of every earlier manager of these nodes, such as the time of the start in
    /// milliseconds.
    pub epoch: u64,
    /// How long a node may be silent before it is removed.
    pub lease_ms: u64,
    /// The fate of containers that the engine does not know.
    pub unknown: UnknownContainers,
}

/// A heartbeat of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeHeartbeat {
    /// The version of the last answer that the agent has carried out, 0 after a registration.
    pub version: u64,
    /// The containers whose processes have ended. The agent repeats them until an answer comes.
    pub completed: Vec<ContainerId>,
}

/// Why a heartbeat has no answer. Unless the engine is shut down, the agent has to register again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HeartbeatError {
    /// The session is over.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The node was removed from the engine.
    #[error("{node} was removed; register the node again")]
    Removed {
        /// The node.
        node: NodeId,
    },
    /// The engine is shut down.
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

/// Serves registrations and heartbeats of the nodes' agents, like YARN's `ResourceTrackerService`. The caller passes on
/// all events, and calls [`expire`](Self::expire) at regular times.
#[doc = include_str!("../../doc/resource_tracker.md")]
#[derive(Debug)]
pub struct ResourceTracker {
    handle: Handle,
    unknown: UnknownContainers,
    sessions: NodeSessions,
    directives: DirectiveTracker,
    names: BTreeMap<NodeId, String>,
    /// Registrations that the engine has not answered yet.
    pending: BTreeMap<NodeId, Pending>,
    /// The nodes that have sent a heartbeat since the last message to the engine.
    alive: BTreeSet<NodeId>,
}

impl ResourceTracker {
    /// Serves the agents of an engine. Nodes that it has already get a lease, to register in the meantime. See
    /// [`DirectiveTracker`] for the right moment.
    #[must_use]
    pub fn new(handle: Handle, options: TrackerOptions, now_ms: u64) -> Self {
        let mut sessions = NodeSessions::new(options.epoch, options.lease_ms);
        let known: BTreeMap<_, _> =
            handle.read(|view| view.nodes().map(|node| (node.id(), node.name().to_owned())).collect());
        for node in known.keys() {
            sessions.open(*node, now_ms);
        }
        Self {
            directives: DirectiveTracker::new(handle.clone()),
            handle,
            unknown: options.unknown,
            sessions,
            names: known,
            pending: BTreeMap::new(),
            alive: BTreeSet::new(),
        }
    }

    /// Registers a node, or another incarnation of it. The engine adopts or ends containers to match the report. The
    /// next answers to heartbeats tell the agent which containers were adopted, and which to start and stop.
    ///
    /// # Errors
    /// If amounts are not valid, or the engine is shut down.
    pub fn register(
        &mut self,
        registration: NodeRegistration,
        now_ms: u64,
    ) -> Result<NodeSession, SubmitError> {
        let name = registration.spec.name.clone();
        let node = match self.handle.node(&name) {
            Some(node) => self.register_again(node, registration)?,
            None => self.register_new(registration)?,
        };
        self.names.insert(node, name);
        self.alive.insert(node);
        Ok(self.sessions.open(node, now_ms))
    }

    fn register_new(&mut self, registration: NodeRegistration) -> Result<NodeId, SubmitError> {
        let running = registration.running_ids();
        let (adopt, stop) = match self.unknown {
            UnknownContainers::Stop => (BTreeMap::new(), running),
            UnknownContainers::Adopt => {
                let mut adopt = registration.running;
                adopt.retain(|id, _| running.contains(id));
                (adopt, BTreeSet::new())
            }
        };
        let (node, pending) = add(&self.handle, registration.spec, adopt)?;
        stop.into_iter().for_each(|container| self.directives.stop_unknown(node, container));
        self.pending.extend(pending.map(|pending| (node, pending)));
        Ok(node)
    }

    fn register_again(
        &mut self,
        node: NodeId,
        registration: NodeRegistration,
    ) -> Result<NodeId, SubmitError> {
        let running = registration.running_ids();
        let NodeRegistration { spec, running: mut described, completed } = registration;
        described.retain(|id, _| running.contains(id));
        // A registration that is refused changes nothing.
        described.values_mut().try_for_each(|container| self.handle.check_running(container))?;
        update(&self.handle, node, spec)?;
        // The answer to the former registration may name containers that the agent does not know yet.
        self.take_pending(node);
        self.complete(node, &completed)?;
        let mut told = self.directives.report(node, &running);
        if self.unknown == UnknownContainers::Stop {
            told.extend(running);
        }
        let report = NodeReport { running: described, told: Some(told), ..NodeReport::default() };
        let ticket = self.handle.reconcile_node(node, report)?;
        self.pending.insert(node, Pending::Reconciliation(ticket));
        Ok(node)
    }

    /// Renews the lease, takes reports of ended containers, and answers with directives. As long as the engine has not
    /// processed the registration, the answer is empty and its version is 0.
    ///
    /// # Errors
    /// If the session is over or the node was removed, so that the agent registers again, or the engine is shut down.
    pub fn heartbeat(
        &mut self,
        session: &NodeSession,
        heartbeat: &NodeHeartbeat,
        now_ms: u64,
    ) -> Result<NodeDirectives, HeartbeatError> {
        let node = session.node;
        self.sessions.renew(session, now_ms)?;
        let is_there = self.names.get(&node).is_some_and(|name| self.handle.node(name) == Some(node));
        let is_refused = matches!(self.take_pending(node), Some(Err(_)));
        if is_refused || !is_there {
            self.forget(node);
            return Err(HeartbeatError::Removed { node });
        }
        self.alive.insert(node);
        self.complete(node, &heartbeat.completed)?;
        if self.pending.contains_key(&node) {
            return Ok(NodeDirectives::default());
        }
        Ok(self.directives.since(node, heartbeat.version))
    }

    /// Follows an event; see [`DirectiveTracker::on_event`].
    pub fn on_event(&mut self, event: &Event) {
        self.directives.on_event(event);
    }

    /// Compares everything with the engine; see [`DirectiveTracker::resync`].
    pub fn resync(&mut self) {
        self.directives.resync();
    }

    /// Removes the nodes whose lease has run out, and returns their sessions. Their containers end as lost. Also
    /// tells the engine which nodes have sent heartbeats, so call it at least once in each
    /// [interval](crate::config::HeartbeatPolicy::interval_ms).
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn expire(&mut self, now_ms: u64) -> Result<Vec<NodeSession>, SubmitError> {
        let alive: Vec<_> = std::mem::take(&mut self.alive).into_iter().collect();
        if !alive.is_empty() && self.handle.config().heartbeat.is_some() {
            self.handle.heartbeat(&alive)?;
        }
        let expired = self.sessions.expired(now_ms);
        for session in &expired {
            drop(self.remove(session.node)?);
        }
        Ok(expired)
    }

    /// Removes a node at once, for example because its agent said good-bye. Its containers end as lost.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn remove(&mut self, node: NodeId) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        let ticket = self.handle.remove_node(node)?;
        self.forget(node);
        Ok(ticket)
    }

    /// The sessions of all nodes.
    #[must_use]
    pub fn sessions(&self) -> &NodeSessions {
        &self.sessions
    }

    fn complete(&mut self, node: NodeId, completed: &[ContainerId]) -> Result<(), SubmitError> {
        let news = completed.iter().copied().filter(|container| self.directives.complete(node, *container));
        self.handle.complete_containers(news)
    }

    /// Takes the engine's answer to the node's registration, if it has come.
    fn take_pending(&mut self, node: NodeId) -> Option<Result<(), Refusal>> {
        let result = self.pending.get(&node)?.try_take()?;
        self.pending.remove(&node);
        Some(result.map(|reconciled| self.directives.reconciled(node, &reconciled)))
    }

    fn forget(&mut self, node: NodeId) {
        self.sessions.close(node);
        self.directives.forget_node(node);
        self.names.remove(&node);
        self.pending.remove(&node);
        self.alive.remove(&node);
    }
}
