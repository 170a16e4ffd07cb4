//! Many changes in one call, such as the contents of a resource manager's heartbeat.

use std::sync::Arc;

use super::handle::{Handle, SubmitError};
use super::shared::Message;
use crate::change::{AskSpec, Change};
use crate::facts::EndCause;
use crate::ids::{ApplicationId, AskId, ContainerId};

/// Changes per message; the committer processes other messages between them.
const CHUNK: usize = 32;

impl Handle {
    /// Submits many asks, also of several applications, for a part of the cost of [`submit_ask`](Self::submit_ask).
    /// The identifiers are in the order of the asks.
    ///
    /// # Errors
    /// If one of the asks is not valid, none is submitted. If the engine is shut down meanwhile, the first asks may
    /// have been submitted.
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

    /// Reports that many containers have finished, as [`complete_container`](Self::complete_container) does for
    /// one. Containers that have ended already are [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the engine is shut down; the first reports may have been taken.
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
