//! Calls of a handle that end, stop, preempt and resize containers.

use super::bulk::CHUNK;
use super::handle::Handle;
use super::message::Call;
use super::submit_error::SubmitError;
use crate::change::Change;
use crate::event::Refusal;
use crate::facts::EndCause;
use crate::ids::ContainerId;
use crate::request::CommitSeq;
use crate::resource::Resources;
use crate::sync::Ticket;

/// # Containers
///
/// A [`ContainerId`] is unknown once the container has ended, also if another container has its slot. The refusal is
/// [`UnknownContainer`](Refusal::UnknownContainer).
impl Handle {
    /// Reports that a container has finished, by itself or after a [stop](Self::stop_container). An unknown container
    /// is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn complete_container(&self, container: ContainerId) -> Result<(), SubmitError> {
        self.send(Change::ContainerEnded { container, cause: EndCause::Completed })
    }

    /// Reports that many containers have finished, as [`complete_container`](Self::complete_container) does for
    /// one. Each unknown container is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the engine is shut down; the first reports may have been taken.
    pub fn complete_containers(
        &self,
        containers: impl IntoIterator<Item = ContainerId>,
    ) -> Result<(), SubmitError> {
        self.send_in_chunks(containers, CHUNK, Call::Completions)
    }

    /// Returns a container in which nothing runs; its room is free at once. To wait for a running process,
    /// [stop](Self::stop_container) the container instead. An unknown container is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn release_container(&self, container: ContainerId) -> Result<(), SubmitError> {
        self.send(Change::ContainerEnded { container, cause: EndCause::Released })
    }

    /// Stops a container. Its application gets [`ContainerStopping`](crate::event::EventKind::ContainerStopping).
    /// The container keeps its node and its charge until [`complete_container`](Self::complete_container) confirms
    /// the end. After [`stop_timeout_ms`](crate::config::EngineConfig::stop_timeout_ms) the engine ends it with
    /// [`EndCause::StopTimedOut`]. The ticket tells whether the stop began, or refuses an unknown container.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn stop_container(
        &self,
        container: ContainerId,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        self.send_answered(Change::ContainerStopping { container, cause: EndCause::Released })
    }

    /// Preempts a container: as a [stop](Self::stop_container), but the confirmed end has the cause
    /// [`EndCause::Preempted`]. To free the room at once, and place another container there, use a commit request
    /// that [releases](Self::commit) the container. The ticket refuses an unknown container.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn preempt_container(
        &self,
        container: ContainerId,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        self.send_answered(Change::ContainerStopping { container, cause: EndCause::Preempted })
    }

    /// Sets the size of a container, rounded up as for asks; its devices stay. Shrinking takes effect at once. For
    /// growth, the ticket tells whether node, queues and user have room for the difference, as for a
    /// new container of that size. If not, it names the obstacle and the container stays as it is. The engine
    /// queues nothing: after a refusal the caller may try again. The ticket refuses an unknown container.
    ///
    /// # Errors
    /// If the size is not valid.
    pub fn resize_container(
        &self,
        container: ContainerId,
        mut size: Resources,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        let types = &self.shared.config.resources;
        types.check(&size)?;
        types.device_type().into_iter().for_each(|devices| size.set(devices, 0));
        self.normalize(&mut size)?;
        self.send_answered(Change::ContainerResized { container, size })
    }
}
