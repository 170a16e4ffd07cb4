//! Containers change and end.

use super::handle::{Handle, SubmitError};
use super::shared::Message;
use crate::change::Change;
use crate::commit::CommitSeq;
use crate::event::Refusal;
use crate::facts::EndCause;
use crate::ids::ContainerId;
use crate::resource::Resources;
use crate::sync::Ticket;

impl Handle {
    /// Reports that a container has finished by itself.
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn complete_container(&self, container: ContainerId) -> Result<(), SubmitError> {
        self.send(Change::ContainerEnded { container, cause: EndCause::Completed })
    }

    /// Gives a container back.
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn release_container(&self, container: ContainerId) -> Result<(), SubmitError> {
        self.send(Change::ContainerEnded { container, cause: EndCause::Released })
    }

    /// Gives a container another size, rounded up as those of asks are; its devices stay. Where it shrinks, that is so at
    /// once. Where it grows, the ticket says whether the node, the queues and the user have room for the difference, as for
    /// a container of that size, or what is in the way: then it stays as it is. Nothing waits; whoever is refused may ask
    /// again.
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
