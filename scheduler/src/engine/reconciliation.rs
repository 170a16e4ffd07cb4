//! Reconciliation: nodes report the containers that run on them, and the engine adopts or ends containers to match.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::group::GroupCommitter;
use super::message::RecoveryResult;
use super::refusals::refuse;
use crate::change::{Change, RunningContainer};
use crate::event::Refusal;
use crate::facts::EndCause;
use crate::ids::{ContainerId, NodeId};
use crate::state::State;

/// The containers that a node runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeReport {
    /// Each container under the identifier that the node knows, with its description in case the engine does not know
    /// it.
    pub running: BTreeMap<ContainerId, RunningContainer>,
    /// Containers whose start is on the way to the node. They may be missing. A container whose event the caller has
    /// not read yet ends if it is missing, and its end follows in the stream. Pass each end on to the node as a stop.
    pub starting: BTreeSet<ContainerId>,
    /// The containers that the node has been told of. Only these end if they are missing, so a container that was
    /// placed a moment ago goes on. A reported container of this set that the engine does not know has ended, and
    /// is refused. `None`: the node has been told of all containers but placeholders, which are not processes.
    pub told: Option<BTreeSet<ContainerId>>,
}

/// The outcome of a reconciliation. Without differences, all lists are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconciliation {
    /// Containers that the engine had on the node and the node did not report. They have ended as
    /// [lost](EndCause::NodeLost), or as they were being stopped.
    pub ended: Vec<ContainerId>,
    /// The engine's identifier of each adopted container, by the identifier that the node reported.
    pub adopted: BTreeMap<ContainerId, ContainerId>,
    /// Containers that the node has to stop, and why the engine does not take them.
    pub refused: BTreeMap<ContainerId, Refusal>,
}

impl GroupCommitter {
    pub(super) fn reconcile(
        &mut self,
        state: &mut State,
        node: NodeId,
        report: NodeReport,
    ) -> Result<Reconciliation, Refusal> {
        let known = state.facts.nodes.get(node).ok_or(Refusal::UnknownNode)?.containers.clone();
        let NodeReport { running, starting, told } = report;
        // No node runs a placeholder, unless it was told to.
        let placeholders: BTreeSet<_> =
            known.iter().filter(|id| state.facts.placeholders.of(**id).is_some()).copied().collect();
        let is_told = |id: &ContainerId| match &told {
            Some(told) => told.contains(id),
            None => !placeholders.contains(id),
        };
        let is_missing = |id: &ContainerId| {
            let application = state.facts.containers.at(*id).application;
            let is_reported = running.get(id).is_some_and(|reported| reported.application == application);
            // A waiting container has not started.
            is_told(id) && !starting.contains(id) && !is_reported && !state.facts.is_waiting(*id)
        };
        // Found before the first end: it may start or end containers that wait on the node.
        let missing: Vec<_> = known.into_iter().filter(is_missing).collect();
        let mut reconciled = Reconciliation::default();
        for container in missing {
            // The report confirms the end of a container that is being stopped.
            let is_stopping = state.facts.stopping.contains_key(&container);
            let cause = if is_stopping { EndCause::Completed } else { EndCause::NodeLost };
            // An earlier end may have ended it, too.
            if state.facts.containers.get(container).is_some() {
                self.change(state, Change::ContainerEnded { container, cause })?;
                reconciled.ended.push(container);
            }
        }
        for (reported, container) in running {
            let result = match state.facts.containers.get(reported).map(|known| known.node) {
                Some(known) if known == node => continue,
                Some(_) => Err(Refusal::IdentifierTaken),
                None if told.as_ref().is_some_and(|told| told.contains(&reported)) => {
                    Err(Refusal::UnknownContainer)
                }
                None => self.adopt(state, node, container),
            };
            match result {
                Ok(container) => reconciled.adopted.insert(reported, container).map(drop),
                Err(refusal) => reconciled.refused.insert(reported, refusal).map(drop),
            };
        }
        Ok(reconciled)
    }

    fn adopt(
        &mut self,
        state: &mut State,
        node: NodeId,
        container: RunningContainer,
    ) -> Result<ContainerId, Refusal> {
        let ask = self.shared.ids.asks.lock().take();
        let container = Box::new(container);
        self.change(state, Change::ContainerRecovered { ask, node, container })?;
        last_on(state, node)
    }

    /// Registers a node and those of its running containers whose applications are known.
    pub(super) fn register_with_containers(
        &mut self,
        state: &mut State,
        changes: Vec<Change>,
    ) -> RecoveryResult {
        let mut changes = changes.into_iter();
        let Some(node) = changes.next() else { return Vec::new() };
        let Change::NodeAdded { node: id, .. } = node else { return Vec::new() };
        let is_there = self.change(state, node).is_ok();
        let mut recover = |container: Change| {
            if !is_there {
                refuse(&mut self.committer(state), &container, Refusal::UnknownNode);
                return Err(Refusal::UnknownNode);
            }
            self.change(state, container)?;
            last_on(state, id)
        };
        changes.map(&mut recover).collect()
    }
}

/// The container that was last put on the node.
fn last_on(state: &State, node: NodeId) -> Result<ContainerId, Refusal> {
    let listed = state.facts.nodes.get(node).and_then(|node| node.containers.last());
    listed.copied().ok_or(Refusal::UnknownNode)
}
