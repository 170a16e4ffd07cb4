//! Promotions that applications requested, and that wait for room.

use super::group::GroupCommitter;
use crate::change::Change;
use crate::facts::ExecutionType;
use crate::ids::{ContainerId, PartitionId, SetId};
use crate::state::State;

impl GroupCommitter {
    /// Promotes the containers that can be promoted, in the order of the requests. Ordinary asks come first: passes
    /// over the container's partition must have nothing to do, and the node's room must not be in flight.
    pub(super) fn promote_requested(&mut self, state: &mut State) {
        if state.facts.node_queues.promotions.is_empty() {
            return;
        }
        state.recompute_limits();
        // An ask that waited for headroom or may reserve a node now is work for a pass.
        state.wake_without_headroom();
        state.seek_reservations();
        for container in state.facts.node_queues.promotions.clone() {
            if !is_left_over(state, container) {
                continue;
            }
            let change = Change::ExecutionTypeSet { container, execution_type: ExecutionType::Guaranteed };
            let mut committer = self.committer(state);
            if committer.admit(&change).is_ok() {
                committer.apply(change);
            }
        }
    }
}

/// Whether no ordinary ask could use the room of the container's node.
fn is_left_over(state: &State, container: ContainerId) -> bool {
    let Some(container) = state.facts.containers.get(container) else { return false };
    let node = state.facts.nodes.at(container.node);
    !may_pass_place(state, node.partition) && state.nodes().room_left(container.node, node) == node.room
}

/// Whether a pass over some set of the partition may place or reserve something, also if the set is paused.
fn may_pass_place(state: &State, partition: PartitionId) -> bool {
    let sets = state.node_shards.sets(partition);
    (0..sets).any(|number| state.backlog.count_wanted(SetId::new(partition, number)) > 0)
}
