//! Calls whose callers wait for the answer.

use std::sync::Arc;

use super::attach::Attachment;
use super::group::GroupCommitter;
use super::handle::Handle;
use super::message::Message;
use super::reconciliation::{NodeReport, Reconciliation};
use super::stream::StreamCore;
use super::submit_error::SubmitError;
use crate::change::{Change, GangSpec};
use crate::config::ConfigError;
use crate::event::{GangRefusal, Refusal, TaskGroupRefusal};
use crate::ids::{ApplicationId, AskId, NodeId};
use crate::request::{CommitOutcome, CommitSeq, ResourceAllocationCommitRequest};
use crate::state::State;
use crate::sync::{Promise, Ticket};

/// Whether a queue's new limits were valid, and the change that set them.
pub(crate) type UpdateResult = Result<CommitSeq, ConfigError>;

/// The change that carried a call out, or why it was refused.
pub(crate) type ChangeResult = Result<CommitSeq, Refusal>;

/// The change with which a gang began to wait, or why it was refused.
pub(crate) type GangResult = Result<CommitSeq, GangRefusal>;

/// The change with which an ask of a task group was submitted, or why it was refused.
pub(crate) type TaskGroupResult = Result<CommitSeq, TaskGroupRefusal>;

/// The containers and asks of an application, or why no stream was connected to it.
pub(crate) type AttachResult = Result<Attachment, Refusal>;

/// A call whose caller waits for the answer. Rare ones box their change, so that they make no message larger.
pub(crate) enum AnsweredCall {
    Change {
        change: Change,
        answer: Promise<ChangeResult>,
    },
    Request {
        request: ResourceAllocationCommitRequest,
        answer: Promise<CommitOutcome>,
    },
    /// A change of the configuration.
    Configure {
        change: Box<Change>,
        answer: Promise<UpdateResult>,
    },
    /// The containers on a node, to be compared with the engine's.
    Reconcile {
        node: NodeId,
        report: Box<NodeReport>,
        answer: Promise<Result<Reconciliation, Refusal>>,
    },
    Gang {
        asks: Vec<AskId>,
        spec: Box<GangSpec>,
        answer: Promise<GangResult>,
    },
    /// An ask of a task group.
    TaskGroupAsk {
        change: Box<Change>,
        answer: Promise<TaskGroupResult>,
    },
    /// A new stream for a running application.
    Attach {
        application: ApplicationId,
        stream: Arc<StreamCore>,
        answer: Promise<AttachResult>,
    },
}

impl Handle {
    /// Sends a call that `make` makes with the promise of its answer.
    pub(super) fn send_for_answer<T>(
        &self,
        make: impl FnOnce(Promise<T>) -> AnsweredCall,
    ) -> Result<Ticket<T>, SubmitError> {
        let (answer, ticket) = Ticket::new();
        self.shared.send(Message::Answered(make(answer)))?;
        Ok(ticket)
    }

    /// Sends a change; the ticket has the number of the change, or the refusal.
    pub(super) fn send_answered(&self, change: Change) -> Result<Ticket<ChangeResult>, SubmitError> {
        self.send_for_answer(|answer| AnsweredCall::Change { change, answer })
    }
}

impl GroupCommitter {
    /// Carries a call out. Its caller gets the answer when the group is published.
    pub(super) fn answer(&mut self, state: &mut State, call: AnsweredCall) {
        match call {
            AnsweredCall::Change { change, answer } => {
                let result = self.change(state, change);
                self.publisher.answer(answer, result);
            }
            AnsweredCall::Request { request, answer } => {
                let outcome = self.committer(state).commit(request);
                self.publisher.answer(answer, outcome);
            }
            AnsweredCall::Configure { change, answer } => {
                let result = self.configure(state, *change);
                self.publisher.answer(answer, result);
            }
            AnsweredCall::Reconcile { node, report, answer } => {
                let result = self.reconcile(state, node, *report);
                self.publisher.answer(answer, result);
            }
            AnsweredCall::Gang { asks, spec, answer } => {
                let result = self.gang(state, asks, spec);
                self.publisher.answer(answer, result);
            }
            AnsweredCall::TaskGroupAsk { change, answer } => {
                let result = self.ask_of_group(state, *change);
                self.publisher.answer(answer, result);
            }
            AnsweredCall::Attach { application, stream, answer } => {
                let result = self.attach(state, application, stream);
                self.publisher.answer(answer, result);
            }
        }
    }
}
