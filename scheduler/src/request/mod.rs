//! Commit requests: a proposer's requests to the committer.

mod outcome;

pub use outcome::{CommitOutcome, CommitSeq, RejectReason};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use thin_vec::{ThinVec, thin_vec};

use crate::ids::{AskId, ContainerId, NodeId, ReservationId};

/// A proposal: all of it is applied, or nothing.
///
/// The three lists are those of the seed (YARN-5139); `unreserve` names the reservations that it released as
/// reserved containers. A gang, a reservation swap and a preemption with its beneficiary are one request each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceAllocationCommitRequest {
    /// Containers to start.
    pub allocate: SmallVec<[AllocationProposal; 1]>,
    /// Nodes to reserve.
    pub reserve: ThinVec<ReservationProposal>,
    /// Containers to end; their room can be used by `allocate`. One whose application starts another one by the same
    /// request counts as given back, any other as preempted.
    pub release: ThinVec<ContainerId>,
    /// Reservations to drop.
    pub unreserve: ThinVec<ReservationId>,
}

/// One container to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationProposal {
    /// Whose unit it is.
    pub ask: AskId,
    /// Where.
    pub node: NodeId,
    /// The reservation on that node which this fulfils.
    pub from_reservation: Option<ReservationId>,
}

/// One node to reserve for one unit of an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservationProposal {
    /// Whose reservation it is.
    pub ask: AskId,
    /// Which node.
    pub node: NodeId,
}

impl ResourceAllocationCommitRequest {
    /// A request for one container.
    #[must_use]
    pub fn allocate(ask: AskId, node: NodeId) -> Self {
        let proposal = AllocationProposal { ask, node, from_reservation: None };
        Self { allocate: [proposal].into_iter().collect(), ..Self::default() }
    }

    /// A request to reserve one node.
    #[must_use]
    pub fn reserve(ask: AskId, node: NodeId) -> Self {
        Self { reserve: thin_vec![ReservationProposal { ask, node }], ..Self::default() }
    }

    /// Whether it asks for nothing at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.allocate.is_empty()
            && self.reserve.is_empty()
            && self.release.is_empty()
            && self.unreserve.is_empty()
    }

    /// Its only content, if that is one container and no reservation.
    pub(crate) fn as_single(&self) -> Option<&AllocationProposal> {
        let is_rest_empty = self.reserve.is_empty() && self.release.is_empty() && self.unreserve.is_empty();
        match &self.allocate[..] {
            [proposal] if is_rest_empty && proposal.from_reservation.is_none() => Some(proposal),
            _ => None,
        }
    }

    /// The asks of which it takes units in flight, one entry for each unit.
    pub(crate) fn units(&self) -> impl Iterator<Item = AskId> {
        let allocated = self.allocate.iter().map(|proposal| proposal.ask);
        allocated.chain(self.reserve.iter().map(|proposal| proposal.ask))
    }
}
