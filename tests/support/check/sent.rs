//! What a test sent to the engine, and what became of it.

use apportion::config::ConfigError;
use apportion::event::{Refusal, Subject};
use apportion::{Change, CommitOutcome, CommitSeq, ResourceAllocationCommitRequest};

use crate::support::oracle::{Hints, Oracle};

/// Something that was sent.
#[derive(Clone, Debug)]
pub enum Sent {
    /// A change that nobody answers.
    Change(Change),
    /// A change of queues, with the answer.
    Queue(Change, Result<CommitSeq, ConfigError>),
    /// Another change that is answered, with the answer.
    Answered(Change, Result<CommitSeq, Refusal>),
    /// A commit request, with the verdict.
    Request(ResourceAllocationCommitRequest, CommitOutcome),
}

impl Sent {
    /// The identifier that the caller is told if this is refused; `None` if a ticket tells. Deliberately written again:
    /// it checks the engine's own mapping.
    #[must_use]
    pub fn subject(&self) -> Option<Subject> {
        let Self::Change(change) = self else { return None };
        match change {
            Change::NodeAdded { node, .. }
            | Change::NodeUpdated { node, .. }
            | Change::NodePartitionSet { node, .. }
            | Change::NodeStateSet { node, .. } => Some(Subject::Node(*node)),
            Change::ApplicationSubmitted { application, .. }
            | Change::ApplicationEnded { application, .. }
            | Change::ApplicationPrioritySet { application, .. }
            | Change::BlacklistUpdated { application, .. } => Some(Subject::Application(*application)),
            Change::AskSubmitted { ask, .. } | Change::AskCancelled { ask, .. } => Some(Subject::Ask(*ask)),
            Change::ContainerEnded { container, .. } => Some(Subject::Container(*container)),
            _ => None,
        }
    }

    /// Whether this is what the log holds at `seq`.
    #[must_use]
    pub fn is_logged_as(&self, seq: CommitSeq, logged: &Change) -> bool {
        match self {
            Self::Change(change) => change == logged,
            Self::Queue(change, answer) => change == logged && *answer == Ok(seq),
            Self::Answered(change, answer) => change == logged && *answer == Ok(seq),
            Self::Request(request, outcome) => {
                let is_equal = matches!(logged, Change::Committed { request: applied } if applied == request);
                is_equal && *outcome == CommitOutcome::Accepted(seq)
            }
        }
    }

    /// Whether the engine is right not to apply it, if the model stands where the engine stood then.
    #[must_use]
    pub fn is_refusable(&self, oracle: &Oracle) -> bool {
        match self {
            Self::Change(change) => !oracle.makes_sense(change),
            Self::Queue(change, answer) => answer.is_err() && !oracle.makes_sense(change),
            Self::Answered(change, answer) => answer.is_err() && !oracle.makes_sense(change),
            Self::Request(request, CommitOutcome::Rejected(reason)) => {
                oracle.clone().validate(request, &Hints::default()).reasons.contains(reason)
            }
            Self::Request(..) => false,
        }
    }

    /// Insists that the engine was right not to apply it. `is_exact` says that the model stands where the
    /// engine stood when it decided; otherwise commits may have come between.
    pub fn expect_refused(&self, oracle: &Oracle, is_exact: bool) {
        match self {
            Self::Change(change) => {
                assert!(!oracle.makes_sense(change), "sent, possible, but not in the log: {change:?}");
            }
            Self::Queue(change, answer) => {
                assert!(answer.is_err() && !oracle.makes_sense(change), "{answer:?} to {change:?}");
            }
            Self::Answered(change, answer) => {
                let is_right = !is_exact || !oracle.makes_sense(change);
                assert!(answer.is_err() && is_right, "{answer:?} to {change:?}");
            }
            Self::Request(request, CommitOutcome::Rejected(reason)) if is_exact => {
                let verdict = oracle.clone().validate(request, &Hints::default());
                let reasons = verdict.reasons;
                assert!(reasons.contains(reason), "{request:?}: {reason}, should be one of {reasons:?}");
            }
            Self::Request(request, outcome) => {
                assert!(!outcome.is_accepted(), "accepted, but not in the log: {request:?}");
            }
        }
    }
}
