//! Containers change and end.

use super::handle::{Handle, SubmitError};
use super::shared::Message;
use crate::change::Change;
use crate::event::Refusal;
use crate::facts::{EndCause, ExecutionType};
use crate::ids::ContainerId;
use crate::request::CommitSeq;
use crate::resource::Resources;
use crate::sync::Ticket;

impl Handle {
    /// Reports that a container has finished: by itself, or because it was [stopped](Self::stop_container). A container
    /// that has ended already is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn complete_container(&self, container: ContainerId) -> Result<(), SubmitError> {
        self.send(Change::ContainerEnded { container, cause: EndCause::Completed })
    }

    /// Gives a container back in which nothing runs: what it holds is free at once. To wait for the end of what runs in
    /// it, [stop](Self::stop_container) it. A container that has ended already is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn release_container(&self, container: ContainerId) -> Result<(), SubmitError> {
        self.send(Change::ContainerEnded { container, cause: EndCause::Released })
    }

    /// Stops a container. Its application gets [`ContainerStopping`](crate::event::EventKind::ContainerStopping); the
    /// container keeps its node and its charge until [`complete_container`](Self::complete_container) confirms the end.
    /// After [`stop_timeout_ms`](crate::config::EngineConfig::stop_timeout_ms) the engine ends it with
    /// [`EndCause::StopTimedOut`]. The ticket says whether the stop began, or why not.
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn stop_container(
        &self,
        container: ContainerId,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        self.stop(container, EndCause::Released)
    }

    /// Takes a container away from its application, which gets the time of a [stop](Self::stop_container) for it: the
    /// confirmed end has the cause [`EndCause::Preempted`]. A commit request that [releases](Self::commit) a container
    /// frees its room at once instead, and may place another container there.
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn preempt_container(
        &self,
        container: ContainerId,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        self.stop(container, EndCause::Preempted)
    }

    fn stop(
        &self,
        container: ContainerId,
        cause: EndCause,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        let (answer, ticket) = Ticket::new();
        let change = Change::ContainerStopping { container, cause };
        self.shared.send(Message::Answered { change, answer })?;
        Ok(ticket)
    }

    /// Lets a container go on with what is left over on its node: what it holds is free for others at once, and it is
    /// charged nothing from now on but its devices. It still counts where containers with its tags are limited, and
    /// ends as others do; to see that what runs fits the node is up to the node. The ticket says if it is so already.
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn demote_container(
        &self,
        container: ContainerId,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        self.set_execution_type(container, ExecutionType::Opportunistic)
    }

    /// Guarantees an opportunistic container its size again. The ticket says whether its node, the queues and the user
    /// have room for all of it, as for a container of that size, or what is in the way: then it stays as it is. A
    /// borrowed container is promoted, as it grows, only as far as the partition's own may. Nothing waits; whoever is
    /// refused may ask again.
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn promote_container(
        &self,
        container: ContainerId,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        self.set_execution_type(container, ExecutionType::Guaranteed)
    }

    fn set_execution_type(
        &self,
        container: ContainerId,
        execution_type: ExecutionType,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        let (answer, ticket) = Ticket::new();
        let change = Change::ExecutionTypeSet { container, execution_type };
        self.shared.send(Message::Answered { change, answer })?;
        Ok(ticket)
    }

    /// Gives a container another size, rounded up as those of asks are; its devices stay. Where it shrinks, that is so
    /// at once. Where it grows, the ticket says whether the node, the queues and the user have room for the difference,
    /// as for a container of that size, or what is in the way: then it stays as it is. Nothing waits; whoever is
    /// refused may ask again.
    ///
    /// # Errors
    /// When the size is not possible.
    pub fn resize_container(
        &self,
        container: ContainerId,
        mut size: Resources,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        let types = &self.shared.config.resources;
        types.check(&size)?;
        types.device_type().into_iter().for_each(|devices| size.set(devices, 0));
        let size = self.normalized(&size)?;
        let (answer, ticket) = Ticket::new();
        let change = Change::ContainerResized { container, size };
        self.shared.send(Message::Answered { change, answer })?;
        Ok(ticket)
    }
}
