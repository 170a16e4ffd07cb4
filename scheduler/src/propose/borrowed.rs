//! The second walk of a pass: lanes of the default partition that borrow the nodes of the set.

use super::batch::Proposals;
use super::pass::{PassLimits, serve};
use super::pick::Picker;
use super::queue_walk::QueueWalk;
use super::scratch::Scratch;
use crate::facts::PartitionShare;
use crate::ids::{LaneId, PartitionId, SetId};
use crate::state::State;

/// Proposes containers for borrowing asks on the rest of the set, if its partition lends nodes.
pub(super) fn serve_borrowing(
    picker: &mut Picker<'_>,
    scratch: &mut Scratch,
    visits_max: usize,
    limits: &PassLimits,
    proposals: &mut Proposals,
) {
    let state = picker.state;
    if picker.visits < visits_max && state.facts.lends(picker.set.id().partition()) {
        let walk = QueueWalk::start_borrowing(state, scratch, picker.set.id(), limits);
        serve(walk, picker, visits_max, limits, proposals);
    }
}

impl<'a> QueueWalk<'a> {
    /// Starts a walk over the asks of the default partition that may borrow nodes of the set.
    fn start_borrowing(
        state: &'a State,
        scratch: &'a mut Scratch,
        set: SetId,
        limits: &'a PassLimits,
    ) -> Self {
        let mut walk = Self::start(state, scratch, set, limits);
        walk.share = PartitionShare { partition: set.partition(), is_borrowed: true };
        walk.is_unreserved = state.facts.tree.partitions[PartitionId::DEFAULT.index()].reserved_nodes == 0;
        if limits.is_single_step {
            // The counts of wanted shapes depend on observations of passes, on which single steps do not rely.
            walk.scratch.open_shapes = u32::MAX;
        }
        walk
    }

    /// Whether the walk may serve the lane. A borrowing lane has to wait while its own partition can serve it.
    pub(super) fn is_due(&self, lane: LaneId) -> bool {
        match (self.share.is_borrowed, self.limits.is_single_step) {
            (false, _) => true,
            (true, true) => !self.is_served_in_own_partition(lane),
            (true, false) => self.state.backlog.is_due(lane),
        }
    }

    /// Whether the limits of the own partition admit one of the lane's containers and a node there has room now.
    fn is_served_in_own_partition(&self, lane: LaneId) -> bool {
        let (facts, node_shards) = (&self.state.facts, &self.state.node_shards);
        let lane = self.state.backlog.lane(lane);
        let own = facts.shapes.at(self.state.backlog.own_shape(lane.shape));
        let size = &own.need.resources;
        facts.tree.limits_admit(lane.user, own.share(), size, size)
            && node_shards.nodes_of(own.partition).any(|node| facts.can_take(own, facts.nodes.at(node)))
    }
}
