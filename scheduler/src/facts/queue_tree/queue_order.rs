//! The order of sibling queues.
//!
//! A share is use divided by the guarantee, or by the partition's total for types without guarantee. Queues without any
//! guarantee come last. Shares are compared in steps of 2^-20. Ties go to the queue that was served longest ago
//! (`Quota::last_served`), then to the place in the configuration.

use super::QueueTree;
use crate::config::QueueOrdering;
use crate::ids::{PartitionId, QueueId};
use crate::resource::{Resources, SHARE_ONE, dominant_share};

/// The key of a queue among its siblings, by [`QueueOrdering`]. The first field that differs decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueKey {
    /// The keys that come before the share, in one number: passes compare them for each container at each level.
    rank: u64,
    share: u64,
    /// Decides between equal shares: smaller for a greater priority, if the ordering uses it.
    demand_rank: u32,
    pub(crate) last_served: u64,
    position: u32,
    pub(crate) queue: QueueId,
}

impl QueueTree {
    /// The key of the queue with the use `level`, this last serve number and this demand priority.
    pub(crate) fn queue_key(
        &self,
        id: QueueId,
        partition: PartitionId,
        level: &Resources,
        last_served: u64,
        demand_priority: impl FnOnce() -> i32,
    ) -> QueueKey {
        let queue = self.queue(id);
        let quota = queue.quota(partition);
        let without_guarantee = quota.guaranteed.is_zero();
        let share = self.dominant_share_of(id, partition, level);
        let (is_satisfied, priority, of_equals) = match queue.ranked_by {
            QueueOrdering::Utilization => (false, 0, 0),
            QueueOrdering::PriorityUtilization => {
                (share >= if without_guarantee { 1 } else { SHARE_ONE }, queue.config.priority, 0)
            }
            QueueOrdering::DemandPriority => (false, demand_priority(), 0),
            QueueOrdering::UtilizationThenDemand => (false, 0, demand_priority()),
        };
        let demand_rank = i32::MAX.abs_diff(of_equals);
        let rank = rank(is_satisfied, priority, without_guarantee);
        QueueKey { rank, share, demand_rank, last_served, position: queue.position, queue: id }
    }

    /// The dominant share of the queue with the use `level`.
    #[inline]
    pub(crate) fn dominant_share_of(&self, id: QueueId, partition: PartitionId, level: &Resources) -> u64 {
        dominant_share(level, &self.queue(id).quota(partition).share_base)
    }
}

impl QueueKey {
    /// Updates the key after a pick. Only for trees that order by use alone: a priority may change more.
    #[inline]
    pub(crate) fn record_pick(&mut self, share: u64, last_served: u64) {
        (self.share, self.last_served) = (share, last_served);
    }
}

/// Ranks first by whether the whole guarantee is in use, if that counts. Priority comes second, the greatest first.
/// A missing guarantee comes third.
fn rank(is_satisfied: bool, priority: i32, without_guarantee: bool) -> u64 {
    let urgency = u64::from(i32::MAX.abs_diff(priority));
    u64::from(is_satisfied) << 33 | urgency << 1 | u64::from(without_guarantee)
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn ranks_are_in_order() {
        let ranks = [
            rank(false, i32::MAX, false),
            rank(false, i32::MAX, true),
            rank(false, 0, true),
            rank(false, -1, false),
            rank(false, i32::MIN, false),
            rank(false, i32::MIN, true),
            rank(true, i32::MAX, false),
        ];
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
    }
}
