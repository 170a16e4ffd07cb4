//! Commit requests from proposers to the committer.

mod outcome;

pub use outcome::{CommitOutcome, CommitSeq, RejectReason};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use thin_vec::{ThinVec, thin_vec};

use crate::ids::{AskId, ContainerId, NodeId, ReservationId};

/// A commit request. The committer applies the whole request or nothing.
///
/// Three of the lists are those of YARN-5139. `unreserve` names reservations, which YARN-5139 releases as reserved
/// containers. A gang, a reservation swap and a preemption with its beneficiary are one request each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceAllocationCommitRequest {
    /// Containers to start.
    pub allocate: SmallVec<[AllocationProposal; 1]>,
    /// Nodes to reserve.
    pub reserve: ThinVec<ReservationProposal>,
    /// Containers to end; `allocate` can use their room. A container counts as released if the same request starts a
    /// container for its application, otherwise as preempted.
    pub release: ThinVec<ContainerId>,
    /// Reservations to drop.
    pub unreserve: ThinVec<ReservationId>,
}

/// One container to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationProposal {
    /// The ask that gets the container.
    pub ask: AskId,
    /// The node for the container.
    pub node: NodeId,
    /// The reservation on that node which the container fulfils.
    pub from_reservation: Option<ReservationId>,
}

/// One node to reserve for one unit of an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservationProposal {
    /// The ask that gets the reservation.
    pub ask: AskId,
    /// The node to reserve.
    pub node: NodeId,
}

impl ResourceAllocationCommitRequest {
    /// A request for one container.
    #[must_use]
    #[inline]
    pub fn allocate(ask: AskId, node: NodeId) -> Self {
        let proposal = AllocationProposal { ask, node, from_reservation: None };
        Self { allocate: SmallVec::from_buf([proposal]), ..Self::default() }
    }

    /// A request to reserve one node.
    #[must_use]
    pub fn reserve(ask: AskId, node: NodeId) -> Self {
        Self { reserve: thin_vec![ReservationProposal { ask, node }], ..Self::default() }
    }

    /// Whether all lists are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.allocate.is_empty()
            && self.reserve.is_empty()
            && self.release.is_empty()
            && self.unreserve.is_empty()
    }

    /// Its only proposal, if it consists of one container that fulfils no reservation.
    pub(crate) fn as_single(&self) -> Option<&AllocationProposal> {
        let is_rest_empty = self.reserve.is_empty() && self.release.is_empty() && self.unreserve.is_empty();
        match &self.allocate[..] {
            [proposal] if is_rest_empty && proposal.from_reservation.is_none() => Some(proposal),
            _ => None,
        }
    }

    /// The asks whose units it has in flight, one entry for each unit.
    pub(crate) fn units(&self) -> impl Iterator<Item = AskId> {
        let allocated = self.allocate.iter().map(|proposal| proposal.ask);
        allocated.chain(self.reserve.iter().map(|proposal| proposal.ask))
    }
}
