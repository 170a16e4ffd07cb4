//! The resources that a pass puts in flight: other passes count them as used until the committer decides the batch.

use super::batch::Proposals;
use super::queue_walk::QueueWalk;
use crate::facts::PartitionShare;
use crate::ids::{AskId, LeafUserId, LimitUsageId, NodeId, QueueId};
use crate::resource::Resources;

/// Resources in flight of one queue, user or limit usage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount<Id> {
    pub(crate) of: Id,
    pub(crate) share: PartitionShare,
    pub(crate) resources: Resources,
}

/// Resources that this batch has put in flight, summed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Amounts {
    /// Every queue that gets resources, leaf or parent.
    pub(crate) queues: Vec<Amount<QueueId>>,
    pub(crate) users: Vec<Amount<LeafUserId>>,
    pub(crate) limit_usages: Vec<Amount<LimitUsageId>>,
    /// Picks of hosts or racks that asks name, in any set.
    pub(crate) nodes: Vec<(NodeId, Resources)>,
    /// The ask of each unit that is listed as given.
    pub(crate) units: Vec<AskId>,
}

impl Amounts {
    /// Clears the amounts after they were taken back.
    pub(crate) fn clear(&mut self) {
        self.queues.clear();
        self.users.clear();
        self.limit_usages.clear();
        self.nodes.clear();
        self.units.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        // Every amount of a limit usage is also an amount of a user.
        self.queues.is_empty() && self.users.is_empty() && self.nodes.is_empty() && self.units.is_empty()
    }
}

impl QueueWalk<'_> {
    /// Adds the pass's amounts to the amounts in flight, which other passes read, and to the batch, which gives them
    /// back.
    pub(super) fn put_amounts_in_flight(self, proposals: &mut Proposals) {
        let Self { state, scratch, share, .. } = self;
        let partition = share.partition;
        let left = if self.puts_each_pick_in_flight { &[][..] } else { &scratch.touched_queues };
        // Each list is allocated once.
        proposals.amounts.queues.reserve(left.len());
        for &id in left {
            let resources = scratch.queues[id.index()].level.given();
            state.in_flight.queues.add(id, partition, &resources);
            proposals.amounts.queues.push(Amount { of: id, share, resources });
        }
        proposals.amounts.users.reserve(scratch.touched_users.len());
        for &id in &scratch.touched_users {
            let resources = scratch.users[id.index()].level.given();
            state.in_flight.users.add(id, partition, &resources);
            proposals.amounts.users.push(Amount { of: id, share, resources });
        }
        proposals.amounts.limit_usages.reserve(scratch.touched_limit_usages.len());
        for &id in &scratch.touched_limit_usages {
            let resources = scratch.limit_usages[id.index()].given();
            state.in_flight.limit_usages.add(id, partition, &resources);
            proposals.amounts.limit_usages.push(Amount { of: id, share, resources });
        }
    }
}
