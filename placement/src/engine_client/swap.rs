//! Swaps that wait for the end of a container, and swaps that the engine has not answered.

use std::collections::BTreeMap;

use apportion::{AskId, CommitOutcome, ContainerId, NodeId, ResourceAllocationCommitRequest, Ticket};

use crate::client::{ContainerRef, ContainerRequest, RequestId};

/// Creates a commit request that ends the container and serves the ask on the node, in one commit.
pub(super) fn commit_request(
    container: ContainerId,
    ask: AskId,
    node: NodeId,
) -> ResourceAllocationCommitRequest {
    let allocate = ResourceAllocationCommitRequest::allocate(ask, node);
    ResourceAllocationCommitRequest { release: [container].into_iter().collect(), ..allocate }
}

/// Swaps in progress. `waiting` has requests by the container that is being stopped for them. `begun` has
/// the unanswered commit requests with the containers that they end.
#[derive(Debug, Default)]
pub(super) struct Swaps {
    waiting: BTreeMap<ContainerRef, ContainerRequest>,
    begun: Vec<(ContainerRef, Ticket<CommitOutcome>)>,
}

impl Swaps {
    pub(super) fn begun(&mut self, container: ContainerRef, ticket: Ticket<CommitOutcome>) {
        self.begun.push((container, ticket));
    }

    pub(super) fn wait(&mut self, container: ContainerRef, request: ContainerRequest) {
        self.waiting.insert(container, request);
    }

    /// Takes the request that the container makes way for.
    pub(super) fn take_instead_of(&mut self, container: ContainerRef) -> Option<ContainerRequest> {
        self.waiting.remove(&container)
    }

    /// Returns the container that the request waits for.
    pub(super) fn awaited(&self, request: RequestId) -> Option<ContainerRef> {
        let mut waiting = self.waiting.iter();
        waiting.find(|(_, waits)| waits.id == request).map(|(container, _)| *container)
    }

    /// Takes a waiting request back. Returns whether it waited.
    pub(super) fn take_waiting(&mut self, request: RequestId) -> bool {
        self.awaited(request).is_some_and(|container| self.waiting.remove(&container).is_some())
    }

    /// Removes answered commit requests. Returns the containers of rejected ones, which have not ended.
    pub(super) fn take_refused(&mut self) -> Vec<ContainerRef> {
        let mut refused = Vec::new();
        self.begun.retain(|(container, ticket)| {
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
    use apportion::request::RejectReason;

    use super::*;

    #[test]
    fn each_answer_is_taken_once() {
        let mut swaps = Swaps::default();
        let ((refused, first), (_unanswered, second)) = (Ticket::new(), Ticket::new());
        swaps.begun(ContainerRef(1), first);
        swaps.begun(ContainerRef(2), second);
        refused.answer(CommitOutcome::Rejected(RejectReason::NodeFull));
        assert_eq!(swaps.take_refused(), [ContainerRef(1)]);
        assert_eq!((swaps.take_refused(), swaps.begun.len()), (Vec::new(), 1), "one is not answered yet");
    }
}
