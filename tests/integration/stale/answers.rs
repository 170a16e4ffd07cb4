//! How a caller is told of an unknown identifier.

use apportion::config::ConfigError;
use apportion::engine::{SubmitError, SubmittedGang, SubmittedGroupAsk};
use apportion::event::{Refusal, Subject};
use apportion::request::RejectReason;
use apportion::{AskId, CommitOutcome, CommitSeq, PartitionId, ResourceAllocationCommitRequest, Ticket};

use super::world::World;

/// How the caller is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The call itself fails.
    AtOnce(SubmitError),
    /// The ticket has the refusal.
    Ticket(Refusal),
    /// The ticket has the reason.
    Rejected(RejectReason),
    /// The ticket has the mistake.
    Mistake(ConfigError),
    /// `Handle::take_refusals` has it.
    Listed(Subject, Refusal),
    /// The same, under the identifier of the new ask, which may also be an event.
    AskRefused(Refusal),
    /// The ticket has the refusal, which may also be an event.
    GangRefused(Refusal),
    /// The ticket has the refusal, which may also be an event of the new ask.
    GroupAskRefused(Refusal),
    /// The ticket's answer names the container as one to be stopped.
    ToBeStopped(Refusal),
    /// The answer leaves it out.
    LeftOut,
    /// The call was taken.
    Accepted,
}

/// The refusal of a call without a ticket.
pub(super) fn listed(w: &World, sent: Result<(), SubmitError>) -> Answer {
    if let Err(error) = sent {
        return Answer::AtOnce(error);
    }
    w.engine.run_until_quiet();
    let list = w.handle.take_refusals().list;
    assert!(list.len() < 2, "{list:?}");
    list.first().map_or(Answer::Accepted, |refused| Answer::Listed(refused.subject, refused.refusal))
}

/// The refusal of asks, which are refused alike.
pub(super) fn asked(w: &World, sent: Result<Vec<AskId>, SubmitError>) -> Answer {
    let asks = match sent {
        Ok(asks) => asks,
        Err(error) => return Answer::AtOnce(error),
    };
    w.engine.run_until_quiet();
    let list = w.handle.take_refusals().list;
    let subjects: Vec<_> = list.iter().map(|refused| refused.subject).collect();
    assert_eq!(subjects, asks.into_iter().map(Subject::Ask).collect::<Vec<_>>());
    list.first().map_or(Answer::Accepted, |refused| Answer::AskRefused(refused.refusal))
}

/// The answer that the ticket has.
pub(super) fn answer<T>(w: &World, sent: Result<Ticket<T>, SubmitError>) -> Result<T, SubmitError> {
    let ticket = sent?;
    w.engine.run_until_quiet();
    let refusals = w.handle.take_refusals();
    assert!(refusals.list.is_empty(), "{refusals:?}");
    Ok(ticket.try_take().expect("an answer"))
}

pub(super) fn ticket<T>(w: &World, sent: Result<Ticket<Result<T, Refusal>>, SubmitError>) -> Answer {
    match answer(w, sent) {
        Err(error) => Answer::AtOnce(error),
        Ok(Err(refusal)) => Answer::Ticket(refusal),
        Ok(Ok(_)) => Answer::Accepted,
    }
}

/// The refusal of a gang, which needs no numbers.
pub(super) fn ganged(w: &World, sent: Result<SubmittedGang, SubmitError>) -> Answer {
    match answer(w, sent.map(|submitted| submitted.ticket)) {
        Err(error) => Answer::AtOnce(error),
        Ok(Err(refusal)) => Answer::GangRefused(refusal.refusal()),
        Ok(Ok(_)) => Answer::Accepted,
    }
}

/// The refusal of an ask of a task group.
pub(super) fn grouped(w: &World, sent: Result<SubmittedGroupAsk, SubmitError>) -> Answer {
    match answer(w, sent.map(|submitted| submitted.ticket)) {
        Err(error) => Answer::AtOnce(error),
        Ok(Err(refusal)) => Answer::GroupAskRefused(refusal.refusal()),
        Ok(Ok(_)) => Answer::Accepted,
    }
}

pub(super) fn commit(w: &World, request: ResourceAllocationCommitRequest) -> Answer {
    match answer(w, w.handle.commit(request)) {
        Err(error) => Answer::AtOnce(error),
        Ok(CommitOutcome::Rejected(reason)) => Answer::Rejected(reason),
        Ok(CommitOutcome::Accepted(CommitSeq(_))) => Answer::Accepted,
    }
}

pub(super) fn node_refused(w: &World) -> Answer {
    Answer::Listed(Subject::Node(w.unknown_ids.node), Refusal::UnknownNode)
}

pub(super) fn no_node(_: &World) -> Answer {
    Answer::Ticket(Refusal::UnknownNode)
}

pub(super) fn application_refused(w: &World) -> Answer {
    Answer::Listed(Subject::Application(w.unknown_ids.application), Refusal::ApplicationEnded)
}

pub(super) fn no_application(_: &World) -> Answer {
    Answer::Ticket(Refusal::ApplicationEnded)
}

pub(super) fn late_ask(_: &World) -> Answer {
    Answer::AskRefused(Refusal::ApplicationEnded)
}

pub(super) fn ask_refused(w: &World) -> Answer {
    Answer::Listed(Subject::Ask(w.unknown_ids.ask), Refusal::UnknownAsk)
}

pub(super) fn container_refused(w: &World) -> Answer {
    Answer::Listed(Subject::Container(w.unknown_ids.container), Refusal::UnknownContainer)
}

pub(super) fn no_container(_: &World) -> Answer {
    Answer::Ticket(Refusal::UnknownContainer)
}

pub(super) fn no_partition(w: &World) -> Answer {
    Answer::AtOnce(SubmitError::UnknownPartitionId { partition: w.partition, last: PartitionId::DEFAULT })
}

pub(super) fn no_rack(_: &World) -> Answer {
    Answer::AskRefused(Refusal::UnknownRack)
}
