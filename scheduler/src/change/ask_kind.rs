//! Asks of registered kinds.

use serde::{Deserialize, Serialize};

use super::{AskSpec, Change};
use crate::ids::{ApplicationId, AskId, AskKindId};

/// An ask for containers of a registered kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskOfKind {
    /// The application that asks.
    pub application: ApplicationId,
    /// The kind of its containers.
    pub kind: AskKindId,
    /// The number of containers, at least 1.
    pub count: u32,
    /// As in [`AskSpec::allocation_request_id`].
    pub allocation_request_id: u64,
}

/// The same with its identifier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubmittedAsk {
    pub(crate) ask: AskId,
    pub(crate) of: AskOfKind,
}

impl SubmittedAsk {
    /// The change that submits the ask; `kind` describes its kind.
    pub(crate) fn change(&self, kind: &AskSpec) -> Change {
        let AskOfKind { application, count, allocation_request_id, .. } = self.of;
        let spec = AskSpec { count, allocation_request_id, ..kind.clone() };
        Change::AskSubmitted { ask: self.ask, application, spec }
    }
}
