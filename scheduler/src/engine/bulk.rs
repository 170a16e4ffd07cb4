//! Many changes in one call: what a heartbeat of a resource manager brings.

use std::sync::Arc;

use super::handle::{Handle, SubmitError};
use super::shared::Message;
use crate::change::{AskSpec, Change};
use crate::facts::EndCause;
use crate::ids::{ApplicationId, AskId, ContainerId};

/// So many go to the committer together; it decides others between them.
const CHUNK: usize = 32;

impl Handle {
    /// Asks for containers, of several applications if need be, as [`submit_ask`](Self::submit_ask) does one by one,
    /// for a part of the cost. The identifiers are in the order of the asks.
    ///
    /// # Errors
    /// When one of the asks is not possible in itself: then none is submitted. When the engine is shut down: then the
    /// first of many may have been.
    pub fn submit_asks(
        &self,
        asks: impl IntoIterator<Item = (ApplicationId, AskSpec)>,
    ) -> Result<Vec<AskId>, SubmitError> {
        let mut asks: Vec<_> = asks.into_iter().collect();
        asks.iter_mut().try_for_each(|(_, spec)| self.check_ask(spec))?;
        if self.shared.is_closed() {
            return Err(SubmitError::Closed);
        }
        let ids: Vec<AskId> = {
            let mut pool = self.shared.ids.asks.lock();
            asks.iter().map(|_| pool.take()).collect()
        };
        let changes = ids.iter().zip(asks).map(|(ask, (application, spec))| {
            let ask = *ask;
            Change::AskSubmitted { ask, application, spec }
        });
        self.send_all(changes)?;
        Ok(ids)
    }

    /// Reports that containers have finished by themselves, as [`complete_container`](Self::complete_container) does
    /// one by one; those that have ended already are [refused](Self::take_refusals).
    ///
    /// # Errors
    /// When the engine is shut down; the first of many may have been taken.
    pub fn complete_containers(
        &self,
        containers: impl IntoIterator<Item = ContainerId>,
    ) -> Result<(), SubmitError> {
        let completed = |container| Change::ContainerEnded { container, cause: EndCause::Completed };
        self.send_all(containers.into_iter().map(completed))
    }

    fn send_all(&self, mut changes: impl Iterator<Item = Change>) -> Result<(), SubmitError> {
        loop {
            let chunk: Vec<_> = changes.by_ref().take(CHUNK).collect();
            if chunk.is_empty() {
                return Ok(());
            }
            self.shared.send(Message::Changes { changes: chunk, caller: Arc::clone(&self.refusals) })?;
        }
    }
}
