//! Follows events, and makes the directives of nodes from them.

use std::collections::{BTreeMap, BTreeSet};

use super::directives::{ContainerStart, NodeDirectives};
use super::table::{NodeTable, Progress};
use crate::engine::{Handle, Reconciliation};
use crate::event::{Event, EventKind};
use crate::ids::{AskId, ContainerId, NodeId};
use crate::request::CommitSeq;
use crate::view::View;

/// Tracks the containers that each node has to start and stop. It follows the events of all applications, and forgets
/// starts and stops that nodes have confirmed.
///
/// It holds about one entry for each container of the engine. Start it before the first application is submitted, or
/// right after an engine recovered. Then connect the streams of the applications and [resynchronise](Self::resync).
#[derive(Debug)]
pub struct DirectiveTracker {
    handle: Handle,
    /// The view that was read last. Events up to here are part of it.
    known: CommitSeq,
    /// The last version given to a change. Versions of all nodes come from here.
    version: u64,
    nodes: BTreeMap<NodeId, NodeTable>,
    /// The node of each container that the engine has not ended, as far as is known.
    nodes_of: BTreeMap<ContainerId, NodeId>,
}

/// A container in a view.
struct Present {
    container: ContainerId,
    node: NodeId,
    ask: AskId,
    is_stopping: bool,
    is_placeholder: bool,
}

impl DirectiveTracker {
    /// Takes all containers of the engine for running: an earlier tracker may have told their nodes to start them.
    #[must_use]
    pub fn new(handle: Handle) -> Self {
        let (known, present) = handle.read(present_in);
        let (nodes, nodes_of) = (BTreeMap::new(), BTreeMap::new());
        let mut tracker = Self { handle, known, version: 0, nodes, nodes_of };
        for one in present {
            let progress = match one {
                Present { is_stopping: true, .. } => Progress::Stopping,
                Present { is_placeholder: true, ask, .. } => Progress::Starting(ask),
                _ => Progress::Running,
            };
            tracker.add(one.node, one.container, progress, !one.is_placeholder);
        }
        tracker
    }

    /// Follows an event. Pass on the events of every application, each stream in its order. Events that are part of the
    /// view that was read last are ignored.
    pub fn on_event(&mut self, event: &Event) {
        if event.seq <= self.known {
            return;
        }
        match event.kind {
            EventKind::Allocated { ask, container, node, .. }
            | EventKind::OpportunisticStarted { ask, container, node } => {
                self.add(node, container, Progress::Starting(ask), false);
            }
            EventKind::ContainerRecovered { container, node, .. } => {
                self.add(node, container, Progress::Running, true);
            }
            EventKind::ContainerStopping { container, node, .. } => self.stopping(node, container),
            EventKind::ContainerEnded { container, .. } => self.ended(container),
            _ => {}
        }
    }

    /// Compares everything with the engine. Call it after a stream [lagged](crate::engine::Lagging) and was
    /// [resynchronised](Handle::resync), and after streams were [attached](Handle::attach): events are missing then.
    /// Containers that are new here have not been handed out, and are started.
    pub fn resync(&mut self) {
        let (known, present) = self.handle.read(present_in);
        self.known = known;
        let there: BTreeSet<_> = present.iter().map(|one| one.container).collect();
        let gone: Vec<_> = self.nodes_of.keys().filter(|id| !there.contains(id)).copied().collect();
        gone.into_iter().for_each(|container| self.ended(container));
        for one in present {
            self.add(one.node, one.container, Progress::Starting(one.ask), false);
            if one.is_stopping {
                self.stopping(one.node, one.container);
            }
        }
    }

    /// The directives for a node that has carried out everything up to `version`. With 0, or with a version that is
    /// too old or not reached yet, these are the full picture. The versions of another tracker mean nothing here:
    /// begin with 0. A node that asks again with the same version gets the same answer, and later directives too.
    pub fn since(&mut self, node: NodeId, version: u64) -> NodeDirectives {
        let starts = self.table(node).starts_since(version);
        let start =
            if starts.is_empty() { Vec::new() } else { self.handle.read(|view| describe(view, starts)) };
        self.table(node).directives(version, start)
    }

    /// Records that the node ended a container. Returns whether the engine may not know that yet, so that the caller
    /// [completes](Handle::complete_containers) the container.
    pub fn complete(&mut self, node: NodeId, container: ContainerId) -> bool {
        self.nodes.get_mut(&node).is_some_and(|table| table.complete(container))
    }

    /// Records that a new incarnation of the node runs exactly these containers. Returns the containers that the node
    /// has been told of, for [`NodeReport::told`](crate::engine::NodeReport::told). Starts that it was told of and
    /// does not report are not repeated.
    pub fn report(&mut self, node: NodeId, running: &BTreeSet<ContainerId>) -> BTreeSet<ContainerId> {
        self.version += 1;
        let (table, version) = self.change(node);
        table.report(running, version)
    }

    /// Takes up the engine's answer to the node's report.
    pub fn reconciled(&mut self, node: NodeId, result: &Reconciliation) {
        for &container in &result.ended {
            self.ended(container);
        }
        for &container in result.refused.keys() {
            self.stop_unknown(node, container);
        }
        let mut adopted: Vec<_> = result.adopted.values().copied().collect();
        // Some have ended since, and the caller may have passed on the events of their ends.
        self.handle.read(|view| adopted.retain(|id| view.container(*id).is_some()));
        adopted.into_iter().for_each(|container| self.add(node, container, Progress::Running, true));
        if !result.adopted.is_empty() {
            let (table, version) = self.change(node);
            table.adopt(result.adopted.clone(), version);
        }
    }

    /// Tells the node to stop a container that the engine does not have there.
    pub fn stop_unknown(&mut self, node: NodeId, container: ContainerId) {
        let (table, version) = self.change(node);
        table.set(container, Progress::Ended, true, version);
    }

    /// Forgets a node that was removed.
    pub fn forget_node(&mut self, node: NodeId) {
        let table = self.nodes.remove(&node);
        for container in table.iter().flat_map(|table| table.entries.keys()) {
            if self.nodes_of.get(container) == Some(&node) {
                self.nodes_of.remove(container);
            }
        }
    }

    /// The number of nodes and of containers that are known.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.nodes.len(), self.nodes_of.len())
    }

    /// Adds a container that is not here yet.
    fn add(&mut self, node: NodeId, container: ContainerId, progress: Progress, is_told: bool) {
        if self.nodes_of.contains_key(&container) {
            return;
        }
        self.nodes_of.insert(container, node);
        let (table, version) = self.change(node);
        table.set(container, progress, is_told, version);
    }

    fn stopping(&mut self, node: NodeId, container: ContainerId) {
        self.nodes_of.insert(container, node);
        let (table, version) = self.change(node);
        table.stop(container, version);
    }

    fn ended(&mut self, container: ContainerId) {
        let Some(node) = self.nodes_of.remove(&container) else { return };
        let (table, version) = self.change(node);
        table.end(container, version);
        if table.entries.is_empty() && !table.has_asked {
            self.nodes.remove(&node);
        }
    }

    /// The node's table, and the version of a change to it.
    fn change(&mut self, node: NodeId) -> (&mut NodeTable, u64) {
        self.table(node);
        self.version += 1;
        let version = self.version;
        (self.table(node), version)
    }

    fn table(&mut self, node: NodeId) -> &mut NodeTable {
        let version = &mut self.version;
        self.nodes.entry(node).or_insert_with(|| {
            *version += 1;
            NodeTable::new(*version)
        })
    }
}

/// All containers that nodes run. Those in the queues of nodes have not started.
fn present_in(view: &View<'_>) -> (CommitSeq, Vec<Present>) {
    let containers = view.applications().flat_map(|(_, application)| application.containers());
    let present = containers.filter(|one| !one.is_waiting).map(|one| Present {
        container: one.container,
        node: one.node,
        ask: one.ask,
        is_stopping: one.stopping.is_some(),
        is_placeholder: view.container(one.container).is_some_and(|known| known.placeholder.is_some()),
    });
    (view.seq(), present.collect())
}

/// The starts of containers that have not ended and are not being stopped. Events about the others are on their way.
/// Placeholders are not started: they are room, not processes.
fn describe(view: &View<'_>, starts: Vec<(ContainerId, AskId)>) -> Vec<ContainerStart> {
    let described = starts.into_iter().filter_map(|(container, ask)| {
        let found = view.container(container)?;
        if found.stopping.is_some() || found.placeholder.is_some() {
            return None;
        }
        Some(ContainerStart {
            container,
            application: found.application,
            ask,
            allocation_request_id: found.allocation_request_id,
            size: found.size,
            execution_type: found.execution_type,
        })
    });
    described.collect()
}
