//! Many changes in one call, such as the contents of a resource manager's heartbeat.

use serde::{Deserialize, Serialize};

use super::group::GroupCommitter;
use super::handle::Handle;
use super::message::Call;
use super::refusals::admit_or_refuse;
use super::submit_error::SubmitError;
use crate::change::{AskSpec, Change};
use crate::facts::EndCause;
use crate::ids::{ApplicationId, AskId, ContainerId};
use crate::state::State;

/// Changes per message; the committer processes other messages between them.
pub(super) const CHUNK: usize = 32;

/// One of the calls that [`Handle::submit_all`] makes together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BulkCall {
    /// As [`Handle::submit_ask`].
    SubmitAsk {
        /// The application that asks.
        application: ApplicationId,
        /// The containers that it asks for.
        spec: AskSpec,
    },
    /// As [`Handle::cancel_ask`].
    CancelAsk {
        /// The ask.
        ask: AskId,
        /// The most units to cancel.
        units: u32,
    },
    /// As [`Handle::complete_container`].
    CompleteContainer(ContainerId),
    /// As [`Handle::release_container`].
    ReleaseContainer(ContainerId),
}

/// # Several calls at once
///
/// The identifiers of each call are known as long as if the call were made alone.
impl Handle {
    /// Submits many asks, also of several applications, for a part of the cost of [`submit_ask`](Self::submit_ask).
    /// The identifiers are in the order of the asks. The committer refuses each ask with an unknown identifier by
    /// itself.
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
        let ids = self.take_ask_ids(asks.len())?;
        let changes = ids.iter().zip(asks).map(|(ask, (application, spec))| {
            let ask = *ask;
            Change::AskSubmitted { ask, application, spec }
        });
        self.send_all(changes)?;
        Ok(ids)
    }

    /// Makes many calls of mixed kinds, in this order. Returns the identifiers of the asks, in order. Each call with
    /// an unknown identifier is refused by itself, as if made alone.
    ///
    /// # Errors
    /// If one of the asks is not valid, no call is made. If the engine is shut down meanwhile, the first calls may have
    /// been made.
    pub fn submit_all(&self, calls: impl IntoIterator<Item = BulkCall>) -> Result<Vec<AskId>, SubmitError> {
        let mut calls: Vec<_> = calls.into_iter().collect();
        let mut asks = 0;
        for call in &mut calls {
            if let BulkCall::SubmitAsk { spec, .. } = call {
                self.check_ask(spec)?;
                asks += 1;
            }
        }
        let ids = self.take_ask_ids(asks)?;
        let mut next = ids.iter().copied();
        self.send_all(calls.into_iter().filter_map(|call| change_of(call, &mut next)))?;
        Ok(ids)
    }
}

impl Handle {
    pub(super) fn take_ask_ids(&self, count: usize) -> Result<Vec<AskId>, SubmitError> {
        if self.shared.is_closed() {
            return Err(SubmitError::Closed);
        }
        let mut pool = self.shared.ids.asks.lock();
        Ok((0..count).map(|_| pool.take()).collect())
    }

    pub(super) fn send_all(&self, changes: impl Iterator<Item = Change>) -> Result<(), SubmitError> {
        self.send_in_chunks(changes, CHUNK, Call::Changes)
    }

    /// Sends many items in messages of up to `size` each.
    pub(super) fn send_in_chunks<T>(
        &self,
        items: impl IntoIterator<Item = T>,
        size: usize,
        call: impl Fn(Vec<T>) -> Call,
    ) -> Result<(), SubmitError> {
        let mut items = items.into_iter();
        loop {
            let chunk: Vec<_> = items.by_ref().take(size).collect();
            if chunk.is_empty() {
                return Ok(());
            }
            self.send_call(call(chunk))?;
        }
    }
}

impl GroupCommitter {
    /// Applies several changes, each as if sent alone.
    pub(super) fn changes(&mut self, state: &mut State, changes: Vec<Change>) {
        self.committer(state)
            .apply_all(changes, |committer, change| admit_or_refuse(committer, change).is_ok());
    }
}

/// The change that a call asks for. An ask takes the next identifier; `None` without one.
fn change_of(call: BulkCall, ids: &mut impl Iterator<Item = AskId>) -> Option<Change> {
    Some(match call {
        BulkCall::SubmitAsk { application, spec } => {
            Change::AskSubmitted { ask: ids.next()?, application, spec }
        }
        BulkCall::CancelAsk { ask, units } => Change::AskCancelled { ask, units },
        BulkCall::CompleteContainer(container) => {
            Change::ContainerEnded { container, cause: EndCause::Completed }
        }
        BulkCall::ReleaseContainer(container) => {
            Change::ContainerEnded { container, cause: EndCause::Released }
        }
    })
}
