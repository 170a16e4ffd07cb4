//! The second walk of a pass: lanes that borrow nodes.

use super::queue_walk::QueueWalk;
use crate::ids::LaneId;

impl QueueWalk<'_> {
    /// Whether the walk may serve the lane. A borrowing lane has to wait while its own partition can serve it.
    pub(super) fn is_due(&self, lane: LaneId) -> bool {
        if !self.share.is_borrowed {
            return true;
        }
        if self.is_single_step {
            !self.is_served_in_own_partition(lane)
        } else {
            self.state.backlog.is_due(lane)
        }
    }

    /// Whether the limits of the own partition admit one of the lane's containers and a node there has room now.
    fn is_served_in_own_partition(&self, lane: LaneId) -> bool {
        let (facts, node_shards) = (&self.state.facts, &self.state.node_shards);
        let lane = self.state.backlog.lane(lane);
        let own = facts.shapes.at(self.state.backlog.own_shape(lane.shape));
        let size = &own.need.resources;
        facts.limits_admit(lane.user, own.share(), size, size)
            && node_shards.nodes_of(own.partition).any(|node| facts.can_take(own, facts.nodes.at(node)))
    }
}
