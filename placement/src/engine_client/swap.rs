//! Swaps that the engine has not answered yet.

use apportion::{AskId, CommitOutcome, ContainerId, NodeId, ResourceAllocationCommitRequest, Ticket};

use crate::client::ContainerRef;

/// The container ends and the ask is served on the node, in one commit.
pub(super) fn commit_request(
    container: ContainerId,
    ask: AskId,
    node: NodeId,
) -> ResourceAllocationCommitRequest {
    let allocate = ResourceAllocationCommitRequest::allocate(ask, node);
    ResourceAllocationCommitRequest { release: [container].into_iter().collect(), ..allocate }
}

/// Commit requests handed in, and the containers that they end.
#[derive(Debug, Default)]
pub(super) struct Swaps(Vec<(ContainerRef, Ticket<CommitOutcome>)>);

impl Swaps {
    pub(super) fn begun(&mut self, container: ContainerRef, ticket: Ticket<CommitOutcome>) {
        self.0.push((container, ticket));
    }

    /// Takes out what was answered. Says which containers were not ended.
    pub(super) fn take_refused(&mut self) -> Vec<ContainerRef> {
        let mut refused = Vec::new();
        self.0.retain(|(container, ticket)| {
            let outcome = ticket.try_take();
            if let Some(CommitOutcome::Rejected(_)) = outcome {
                refused.push(*container);
            }
            outcome.is_none()
        });
        refused
    }
}

#[cfg(test)]
mod tests {
    use apportion::RejectReason;

    use super::*;

    #[test]
    fn each_answer_is_taken_once() {
        let mut swaps = Swaps::default();
        let ((refused, first), (_unanswered, second)) = (Ticket::new(), Ticket::new());
        swaps.begun(ContainerRef(1), first);
        swaps.begun(ContainerRef(2), second);
        refused.answer(CommitOutcome::Rejected(RejectReason::NodeFull));
        assert_eq!(swaps.take_refused(), [ContainerRef(1)]);
        assert_eq!((swaps.take_refused(), swaps.0.len()), (Vec::new(), 1), "one is not answered yet");
    }
}
