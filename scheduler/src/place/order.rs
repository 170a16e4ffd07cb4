//! Node orders: which fitting node a pass tries first.
//!
//! No pass sorts nodes to place an ask. The filter is [`fits`](crate::resource::fits) plus the ask's rule. The score
//! puts a node in one of [`BUCKETS`] steps, which the set's index keeps up to date.
//!
//! Ties: a node's score falls in one of the steps, and the lowest place wins within a step. Places follow the order
//! of registration; a new node takes the lowest place that another node left.

use crate::config::NodeOrderKind;
use crate::resource::{Resources, SHARE_ONE, used_share};

/// The number of steps of a score.
pub(crate) const BUCKETS: usize = 128;

/// A node as an order sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScoredNode<'a> {
    /// The node's capacity.
    pub(crate) capacity: &'a Resources,
    /// The resources that are not allocated.
    pub(crate) free: &'a Resources,
    /// The node's position in its set, by registration.
    pub(crate) position: usize,
    /// The number of positions in the set.
    pub(crate) positions: usize,
}

/// The node's step, from 0 (tried first) to [`BUCKETS`]` - 1`. It depends on `node` alone.
pub(crate) fn score(order: NodeOrderKind, node: &ScoredNode<'_>) -> usize {
    score_of_share(order, node.position, node.positions, || used_share(node.free, node.capacity))
}

/// The same, where `share` returns the share of the node's capacity that is in use.
#[inline]
pub(super) fn score_of_share(
    order: NodeOrderKind,
    position: usize,
    positions: usize,
    share: impl FnOnce() -> u64,
) -> usize {
    match order {
        NodeOrderKind::Spread => used_step(share()),
        NodeOrderKind::Pack => BUCKETS - 1 - used_step(share()),
        NodeOrderKind::First => position * BUCKETS / positions.max(1),
    }
}

fn used_step(share: u64) -> usize {
    let share = share.min(SHARE_ONE);
    usize::try_from(share * (BUCKETS as u64 - 1) / SHARE_ONE).unwrap_or(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_and_pack_are_opposites() {
        let capacity = Resources::new(&[100, 100]);
        let view = |free: &Resources, kind: NodeOrderKind| {
            score(kind, &ScoredNode { capacity: &capacity, free, position: 0, positions: 1 })
        };
        let (empty, half, full) = (capacity, Resources::new(&[50, 90]), Resources::new(&[0, 90]));
        assert_eq!([empty, half, full].map(|free| view(&free, NodeOrderKind::Spread)), [0, 63, 127]);
        assert_eq!([empty, half, full].map(|free| view(&free, NodeOrderKind::Pack)), [127, 64, 0]);
    }
}
