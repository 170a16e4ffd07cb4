//! Sessions of nodes: leases and incarnations.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ids::NodeId;

/// Tells one registration of a node from another. A later one is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Incarnation {
    /// The manager's number, see [`NodeSessions::new`].
    pub epoch: u64,
    /// The number of the registration, among all that this manager has served.
    pub number: u64,
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.number)
    }
}

/// The answer to a registration. The agent sends it back with each heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NodeSession {
    /// The node.
    pub node: NodeId,
    /// The registration.
    pub incarnation: Incarnation,
    /// How long the session lasts without a heartbeat.
    pub lease_ms: u64,
}

/// Why a session cannot go on. The agent has to register again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum SessionError {
    /// The node has no session: its lease has run out, or it was removed, or it registered with an earlier manager.
    #[error("{node} has no session; register the node")]
    Unknown {
        /// The node.
        node: NodeId,
    },
    /// The node has registered again since, or the manager has started again.
    #[error("incarnation {given} of {node} is over, the present one is {present}; register the node again")]
    Stale {
        /// The node.
        node: NodeId,
        /// The incarnation that the heartbeat named.
        given: Incarnation,
        /// The incarnation that the node has now.
        present: Incarnation,
    },
}

/// The sessions of all nodes. A session lasts as long as heartbeats renew its lease.
#[derive(Debug)]
pub struct NodeSessions {
    lease_ms: u64,
    last: Incarnation,
    sessions: BTreeMap<NodeId, Session>,
}

#[derive(Debug)]
struct Session {
    incarnation: Incarnation,
    /// The lease has run out at this time.
    expires_ms: u64,
}

impl NodeSessions {
    /// No sessions. `epoch` has to be greater than that of every earlier manager of these nodes, such as the time of
    /// the start in milliseconds. So no session of an earlier manager is valid.
    #[must_use]
    pub fn new(epoch: u64, lease_ms: u64) -> Self {
        Self { lease_ms, last: Incarnation { epoch, number: 0 }, sessions: BTreeMap::new() }
    }

    /// Opens a session of a node. It has a higher incarnation than all sessions before, and replaces the node's earlier
    /// session. To give a node that has not registered yet some time to do so, open a session and keep it to yourself.
    pub fn open(&mut self, node: NodeId, now_ms: u64) -> NodeSession {
        self.last.number += 1;
        let incarnation = self.last;
        let session = Session { incarnation, expires_ms: now_ms.saturating_add(self.lease_ms) };
        self.sessions.insert(node, session);
        NodeSession { node, incarnation, lease_ms: self.lease_ms }
    }

    /// Renews the lease of a session. A session whose lease has run out goes on if it was not [closed](Self::close).
    ///
    /// # Errors
    /// If the node has no session, or another one.
    pub fn renew(&mut self, session: &NodeSession, now_ms: u64) -> Result<(), SessionError> {
        let (node, given) = (session.node, session.incarnation);
        let open = self.sessions.get_mut(&node).ok_or(SessionError::Unknown { node })?;
        if open.incarnation != given {
            return Err(SessionError::Stale { node, given, present: open.incarnation });
        }
        open.expires_ms = open.expires_ms.max(now_ms.saturating_add(self.lease_ms));
        Ok(())
    }

    /// Ends the node's session, if it has one.
    pub fn close(&mut self, node: NodeId) {
        self.sessions.remove(&node);
    }

    /// The sessions whose lease has run out, by node. They stay open.
    #[must_use]
    pub fn expired(&self, now_ms: u64) -> Vec<NodeSession> {
        let over = self.sessions.iter().filter(|(_, session)| session.expires_ms <= now_ms);
        over.map(|(node, session)| self.session(*node, session)).collect()
    }

    /// The node's session.
    #[must_use]
    pub fn get(&self, node: NodeId) -> Option<NodeSession> {
        self.sessions.get(&node).map(|session| self.session(node, session))
    }

    fn session(&self, node: NodeId, session: &Session) -> NodeSession {
        NodeSession { node, incarnation: session.incarnation, lease_ms: self.lease_ms }
    }
}
