//! Messages that a test sent to the engine, and their answers.

use apportion::config::ConfigError;
use apportion::event::{Refusal, Subject};
use apportion::{Change, CommitOutcome, CommitSeq, ResourceAllocationCommitRequest};

use crate::support::oracle::{Hints, Oracle};

/// A message that was sent.
#[derive(Clone, Debug)]
pub enum Sent {
    /// A change without an answer.
    Change(Change),
    /// A change of queues, with its answer.
    Queue(Change, Result<CommitSeq, ConfigError>),
    /// Another change with its answer.
    Answered(Change, Result<CommitSeq, Refusal>),
    /// A commit request, with the verdict.
    Request(ResourceAllocationCommitRequest, CommitOutcome),
}

impl Sent {
    /// The identifiers in the refusals if this is refused; none if a ticket carries the answer. Written independently
    /// on purpose: it checks the engine's own mapping.
    #[must_use]
    pub fn subjects(&self) -> Vec<Subject> {
        let Self::Change(change) = self else { return Vec::new() };
        if let Change::Heartbeats { nodes } = change {
            return nodes.iter().copied().map(Subject::Node).collect();
        }
        let subject = match change {
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
        };
        subject.into_iter().collect()
    }

    /// Whether this message is the change at `seq` in the log.
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

    /// Whether the engine is right to refuse it, if the model's state is the engine's state at that time.
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

    /// Asserts that the engine was right to refuse it. `is_exact` says that the model's state is the engine's at the
    /// decision; otherwise commits may have come between.
    pub fn expect_refused(&self, oracle: &Oracle, is_exact: bool) {
        match self {
            Self::Change(change) => {
                assert!(!oracle.makes_sense(change), "sent and valid, but not in the log: {change:?}");
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
