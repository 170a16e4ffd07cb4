//! The message of a pass to the committer: requests, observations, amounts in flight and the lease.

use std::fmt;
use std::sync::Arc;

use super::amounts::Amounts;
use super::gang::GangFindings;
use crate::backlog::WaitKey;
use crate::facts::{Locality, PreemptionNotice, PreemptionRule};
use crate::ids::{AskId, ContainerId, LaneId, NodeId, ShapeId};
use crate::place::{GangMemory, PlacementSet};
use crate::request::ResourceAllocationCommitRequest;
use crate::resource::Resources;

/// A finding of a pass that is not a request. Proposers only report it; the committer records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Observation {
    /// No node of the pass's set has room for the shape.
    NoRoom { shape: ShapeId },
    /// No ask of the lane could be placed in any set. At a queue's limit the lane blocks this much headroom.
    Blocked { lane: LaneId, reason: WaitKey, blocks: Resources },
    /// No host or rack at the ask's allowed locality had room; these distinct other nodes had room.
    Waits { ask: AskId, allowed: Locality, offered: Vec<NodeId> },
    /// The pass proposed nothing, and passed over an ask or a node because of units or amounts in flight.
    InUse,
    /// The pass tried to reserve nodes of its set for the shape. Its requests contain the reservations.
    ReserveTried { shape: ShapeId },
    /// A pass confined to this node, which the ask has reserved, found it still too full.
    ReservedAgain { ask: AskId, node: NodeId },
    /// The shape's first ask may reserve a node only at this time.
    ReserveLater { shape: ShapeId, at_ms: u64 },
}

/// Receives batches that are dropped before the committer decides them.
pub(crate) trait BatchOwner: Send + Sync {
    /// Takes back everything that the batch holds: units and amounts in flight, and the lease.
    fn undo(&self, batch: &mut ProposalBatch);
}

/// A step of a round of preemption. The committer checks each step again when its turn comes.
#[derive(Debug)]
pub(crate) enum RoundStep {
    /// Ends the victims and starts the beneficiary's containers.
    Preempt(ResourceAllocationCommitRequest, PreemptionRule),
    /// Announces a victim.
    Announce(ContainerId, PreemptionNotice),
    /// Takes an announcement back.
    Withdraw(ContainerId),
}

/// The work whose result a batch is.
#[derive(Default)]
pub(crate) enum Work {
    /// A pass over a set. The batch owns its lease.
    Pass(Box<PlacementSet>),
    /// A pass with a view of its own. Also any batch whose lease, round or memory was taken out of it.
    #[default]
    Unleased,
    /// A round of preemption, with its steps. It puts nothing in flight.
    Round(Vec<RoundStep>),
    /// A search for gangs. It puts nothing in flight.
    GangSearch(GangSearch),
}

/// A search for gangs and its findings. A start of a gang is one of the requests instead.
#[derive(Debug)]
pub(crate) struct GangSearch {
    pub(crate) memory: Box<GangMemory>,
    pub(crate) found: Box<GangFindings>,
}

impl GangSearch {
    pub(crate) fn new(memory: Box<GangMemory>) -> Self {
        Self { memory, found: Box::default() }
    }
}

/// The result of one pass.
#[derive(Debug, Default)]
pub(crate) struct Proposals {
    pub(crate) requests: Vec<ResourceAllocationCommitRequest>,
    pub(crate) observations: Vec<Observation>,
    pub(crate) amounts: Amounts,
    /// The state version that the pass saw.
    pub(crate) version: u64,
    /// How many nodes the pass looked at.
    pub(crate) visits: usize,
    /// The pass proposed nothing, and units or amounts that it could have used were in flight or reserved.
    pub(crate) lost_race: bool,
}

/// A proposer's result on its way to the committer: of a pass, a round of preemption or a search for gangs.
///
/// It owns its amounts in flight and its lease, round or memory of searches. Dropping it gives them back. A thread that
/// holds a guard of the state must not drop it, since giving back takes the write guard.
pub struct ProposalBatch {
    pub(crate) proposals: Proposals,
    pub(crate) work: Work,
    /// When the proposer began to look at the state, and for how long it did.
    pub(crate) begun_ns: u64,
    pub(crate) proposing_ns: u64,
    owner: Arc<dyn BatchOwner>,
}

impl ProposalBatch {
    pub(crate) fn new(work: Work, owner: Arc<dyn BatchOwner>) -> Self {
        Self { proposals: Proposals::default(), work, begun_ns: 0, proposing_ns: 0, owner }
    }

    /// The requests to the committer.
    #[must_use]
    pub fn requests(&self) -> &[ResourceAllocationCommitRequest] {
        &self.proposals.requests
    }

    /// Takes the steps of a round out of the batch, if it is the result of one.
    pub(crate) fn take_round(&mut self) -> Option<Vec<RoundStep>> {
        let Work::Round(steps) = &mut self.work else { return None };
        let steps = std::mem::take(steps);
        self.work = Work::Unleased;
        Some(steps)
    }

    /// Discards the end of a gang's turn, if the batch is a search that found one: then it found nothing else. The
    /// turn stays overdue. Returns whether there was one.
    pub(crate) fn discard_turn_end(&mut self) -> bool {
        let Work::GangSearch(search) = &mut self.work else { return false };
        let is_found = search.found.turn_end.take().is_some();
        if is_found {
            search.found.reviewed.clear();
        }
        is_found
    }

    /// Whether the batch is a search that decided on overdue turns of gangs.
    pub(crate) fn reviews_turns(&self) -> bool {
        matches!(&self.work, Work::GangSearch(search) if !search.found.reviewed.is_empty())
    }

    /// Whether the batch belongs to this owner.
    pub(crate) fn is_for(&self, owner: &dyn BatchOwner) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.owner), owner)
    }

    /// Whether units or amounts of it are in flight.
    pub(crate) fn is_in_flight(&self) -> bool {
        let has_any = !self.proposals.requests.is_empty() || !self.proposals.amounts.is_empty();
        has_any && !matches!(self.work, Work::GangSearch(_))
    }

    /// Whether the batch has nothing to give back.
    fn has_nothing_to_give_back(&self) -> bool {
        !self.is_in_flight() && matches!(self.work, Work::Unleased)
    }
}

impl Drop for ProposalBatch {
    fn drop(&mut self) {
        if !self.has_nothing_to_give_back() {
            let owner = Arc::clone(&self.owner);
            owner.undo(self);
        }
    }
}

/// Without the nodes of the set.
impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass(set) => f.debug_tuple("Pass").field(&set.id()).finish(),
            Self::Unleased => f.write_str("Unleased"),
            Self::Round(steps) => f.debug_tuple("Round").field(&steps.len()).finish(),
            Self::GangSearch(_) => f.write_str("GangSearch"),
        }
    }
}

impl fmt::Debug for ProposalBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProposalBatch")
            .field("requests", &self.proposals.requests.len())
            .field("observations", &self.proposals.observations)
            .field("work", &self.work)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::amounts::Amount;
    use super::*;
    use crate::config::NodeOrderKind;
    use crate::facts::PartitionShare;
    use crate::ids::{LeafUserId, PartitionId, QueueId, SetId, SlotId};
    use crate::sync::Counter;

    /// Counts the batches that come back.
    #[derive(Default)]
    struct Owner(Counter);

    impl BatchOwner for Owner {
        fn undo(&self, _: &mut ProposalBatch) {
            self.0.count();
        }
    }

    fn amount<Id>(of: Id, resources: Resources) -> Amount<Id> {
        Amount { of, share: PartitionShare::own(PartitionId::DEFAULT), resources }
    }

    /// Whether a batch goes back to its owner if it is dropped after these changes.
    fn goes_back(change: impl FnOnce(&mut ProposalBatch)) -> bool {
        let owner = Arc::new(Owner::default());
        let mut batch =
            ProposalBatch::new(Work::Unleased, Arc::<Owner>::clone(&owner) as Arc<dyn BatchOwner>);
        change(&mut batch);
        drop(batch);
        owner.0.get() == 1
    }

    #[test]
    fn a_dropped_batch_goes_back_to_its_owner_while_it_holds_anything() {
        let (ask, node) = (AskId::new(0, 0), NodeId::new(0, 0));
        let (size, partition) = (Resources::new(&[1]), PartitionId::DEFAULT);
        assert!(!goes_back(|_| ()));
        assert!(!goes_back(|batch| batch.proposals.observations.push(Observation::InUse)));
        let request = ResourceAllocationCommitRequest::allocate(ask, node);
        assert!(goes_back(|batch| batch.proposals.requests.push(request)));
        assert!(goes_back(|batch| {
            let set = PlacementSet::new(SetId::new(partition, 0), NodeOrderKind::First);
            batch.work = Work::Pass(Box::new(set));
        }));
        assert!(goes_back(|batch| batch.work = Work::Round(Vec::new())));
        assert!(goes_back(|batch| batch.work = Work::GangSearch(GangSearch::new(Box::default()))));
        let fill: [fn(&mut Amounts, Resources); 4] = [
            |amounts, size| amounts.queues.push(amount(QueueId::ROOT, size)),
            |amounts, size| amounts.users.push(amount(LeafUserId(0), size)),
            |amounts, size| amounts.nodes.push((NodeId::new(0, 0), size)),
            |amounts, _| amounts.units.push(AskId::new(0, 0)),
        ];
        for (number, fill) in fill.into_iter().enumerate() {
            assert!(goes_back(|batch| fill(&mut batch.proposals.amounts, size)), "amounts {number}");
            let clear = |batch: &mut ProposalBatch| {
                fill(&mut batch.proposals.amounts, size);
                batch.proposals.amounts.clear();
            };
            assert!(!goes_back(clear), "amounts {number} after they were taken back");
        }
    }
}
