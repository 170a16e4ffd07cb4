//! Who comes first among sibling queues, and whose asks a queue could ever hold.

use std::cmp::Reverse;

use super::Facts;
use crate::config::QueueOrdering;
use crate::ids::{PartitionId, QueueId};
use crate::resource::{Resources, SHARE_ONE, dominant_share};

/// Order among siblings: as [`QueueOrdering`] says, by the first field that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueKey {
    /// Where the parent's order is by priority: whether all of the guarantee is in use (not by demand), and the priority.
    rank: (bool, Reverse<i32>),
    without_guarantee: bool,
    share: u64,
    position: u32,
    pub(crate) queue: QueueId,
}

impl Facts {
    /// Whether the leaf and the queues above it could hold so much if they used nothing.
    pub(crate) fn could_hold(&self, leaf: QueueId, partition: PartitionId, size: &Resources) -> bool {
        let holds = |queue: &QueueId| self.queue(*queue).quota(partition).admits(&Resources::ZERO, size);
        self.queue(leaf).chain.iter().all(holds)
    }

    /// Where the queue comes among its siblings when it uses as much as `level`, and what is pending has this priority.
    pub(crate) fn queue_key(
        &self,
        id: QueueId,
        partition: PartitionId,
        level: &Resources,
        demand_priority: impl FnOnce() -> i32,
    ) -> QueueKey {
        let queue = self.queue(id);
        let quota = queue.quota(partition);
        let without_guarantee = quota.guaranteed.is_zero();
        let share = dominant_share(level, &quota.share_base);
        let rank = match queue.ranked_by {
            QueueOrdering::Utilization => (false, Reverse(0)),
            QueueOrdering::PriorityUtilization => {
                let is_satisfied = share >= if without_guarantee { 1 } else { SHARE_ONE };
                (is_satisfied, Reverse(queue.config.priority))
            }
            QueueOrdering::DemandPriority => (false, Reverse(demand_priority())),
        };
        QueueKey { rank, without_guarantee, share, position: queue.position, queue: id }
    }
}
