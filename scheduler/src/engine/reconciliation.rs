//! What nodes report about the containers that run on them.

use super::group::GroupCommitter;
use super::handle::Handle;
use super::refusals::refuse;
use super::shared::{Message, RecoveryResult};
use super::submit_error::SubmitError;
use crate::change::{Change, RunningContainer};
use crate::event::Refusal;
use crate::facts::EndCause;
use crate::ids::{ContainerId, NodeId};
use crate::state::State;
use crate::sync::Ticket;

/// The containers that a node runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeReport {
    /// Each container under the identifier that the node knows, with its description in case the engine does not know
    /// it.
    pub running: Vec<(ContainerId, RunningContainer)>,
    /// Containers whose start is on the way to the node. They may be missing.
    pub starting: Vec<ContainerId>,
}

/// How the differences between a node and the engine were settled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettledReport {
    /// Containers that the engine had on the node and the node did not report. They have ended as
    /// [lost](EndCause::NodeLost), or as they were being stopped.
    pub ended: Vec<ContainerId>,
    /// Containers that the engine did not know: the node's identifier, and the one that counts from now on.
    pub adopted: Vec<(ContainerId, ContainerId)>,
    /// Containers that the engine does not take, and why. The node has to stop them.
    pub refused: Vec<(ContainerId, Refusal)>,
}

impl Handle {
    /// Settles the differences between a node and the engine, after an engine [recovered](crate::Engine::recover) or a node
    /// came back. A container that the node does not run has ended. A container that the engine does not know is adopted,
    /// above limits and room if necessary, if its application is known; the others are to be stopped. Each end and each
    /// adoption is an event of the application.
    ///
    /// # Errors
    /// If an amount is not valid, or the engine is shut down.
    pub fn report_node(
        &self,
        node: NodeId,
        mut report: NodeReport,
    ) -> Result<Ticket<Result<SettledReport, Refusal>>, SubmitError> {
        report.running.iter_mut().try_for_each(|(_, container)| self.check_running(container))?;
        let (answer, ticket) = Ticket::new();
        self.shared.send(Message::Report { node, report: Box::new(report), answer })?;
        Ok(ticket)
    }
}

impl GroupCommitter {
    pub(super) fn settle(
        &mut self,
        state: &mut State,
        node: NodeId,
        report: NodeReport,
    ) -> Result<SettledReport, Refusal> {
        let known = state.facts.nodes.get(node).ok_or(Refusal::UnknownNode)?.containers.clone();
        let NodeReport { running, starting } = report;
        let mut settled = SettledReport::default();
        let is_reported = |id: &ContainerId| running.iter().any(|(reported, _)| reported == id);
        for container in known.iter().copied().filter(|id| !is_reported(id) && !starting.contains(id)) {
            // The end of a container that is being stopped is confirmed.
            let is_stopping = state.facts.stopping.contains_key(&container);
            let cause = if is_stopping { EndCause::Completed } else { EndCause::NodeLost };
            self.change(state, Change::ContainerEnded { container, cause })?;
            settled.ended.push(container);
        }
        for (reported, container) in running.into_iter().filter(|(id, _)| !known.contains(id)) {
            match self.adopt(state, node, container) {
                Ok(container) => settled.adopted.push((reported, container)),
                Err(refusal) => settled.refused.push((reported, refusal)),
            }
        }
        Ok(settled)
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
    pub(super) fn recover(&mut self, state: &mut State, changes: Vec<Change>) -> RecoveryResult {
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
