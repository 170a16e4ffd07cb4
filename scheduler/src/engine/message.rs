//! Messages to the committer.

use std::sync::Arc;

use super::answered_call::AnsweredCall;
use super::refusals::RefusalList;
use super::stream::StreamCore;
use crate::change::{ApplicationSpec, Change, SubmittedAsk};
use crate::event::Refusal;
use crate::ids::{ApplicationId, ContainerId};
use crate::log::EncodedKind;
use crate::propose::ProposalBatch;
use crate::sync::Promise;

/// For each container that a node reported, its present identifier or why it was refused.
pub(crate) type RecoveryResult = Vec<Result<ContainerId, Refusal>>;

/// A message to the committer.
pub(crate) enum Message {
    /// A call whose refusals go to the list of its caller.
    Call { call: Call, caller: Arc<RefusalList> },
    /// A call whose caller waits for the answer.
    Answered(AnsweredCall),
    /// A new kind of asks; the kinds are numbered in the order of these messages.
    AskKind(Box<EncodedKind>),
    /// The proposals of a pass. The gate does not count them: the lease shows that the batch is on its way.
    Batch(Box<ProposalBatch>),
    /// The driver moved the clock.
    Tick,
    /// Asks the committer to look again. Amounts in flight came back, a proposer found no set or panicked, starved
    /// asks are due, or shutdown was announced. The gate does not count it.
    LookAgain,
}

/// A call whose refusals go to the list of its caller.
pub(crate) enum Call {
    Change(Change),
    /// Several changes in one message.
    Changes(Vec<Change>),
    Asks(Vec<SubmittedAsk>),
    Completions(Vec<ContainerId>),
    /// A submission and the stream for the application's events.
    Application {
        application: ApplicationId,
        spec: Box<ApplicationSpec>,
        stream: Arc<StreamCore>,
    },
    /// A node, then its running containers. No other message comes between, so no pass sees the node as empty.
    Recovery {
        changes: Vec<Change>,
        answer: Promise<RecoveryResult>,
    },
}

impl Message {
    /// The weight in the group size G. Kinds and attachments have none, because callers repeat them after a crash.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Batch(batch) => batch.requests().len().max(1),
            Self::Call { call: Call::Asks(asks), .. } => asks.len(),
            Self::Call { call: Call::Completions(containers), .. } => containers.len(),
            Self::Call { call: Call::Changes(changes) | Call::Recovery { changes, .. }, .. } => changes.len(),
            Self::Answered(AnsweredCall::Reconcile { report, .. }) => report.running.len().max(1),
            Self::AskKind(_) | Self::Answered(AnsweredCall::Attach { .. }) => 0,
            _ => 1,
        }
    }

    /// Whether the gate has counted the message.
    pub(super) fn is_counted(&self) -> bool {
        !matches!(self, Self::Batch(_) | Self::LookAgain)
    }
}
