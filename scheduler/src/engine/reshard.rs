//! Cutting a partition anew when its size has changed a lot.
//!
//! By default a partition is cut from 1,000 nodes on (`EngineLimits::single_set_nodes`), and joined again below
//! about half of what its number of sets calls for. In serial mode it is always one set, which gets the exact
//! policy.

use super::shared::Shared;
use crate::state::State;

/// Cuts those partitions anew for which it is time and whose leases are all in the pool. While it is time none of
/// their sets is published as wanted, so the leases do come back, and each one that does calls for another look.
pub(super) fn reshard(shared: &Shared) {
    let is_due = |state: &State| state.partitions().any(|partition| !shared.is_cut_right(state, partition));
    if !is_due(&shared.state.read()) {
        return;
    }
    let mut state = shared.state.write();
    for partition in state.partitions() {
        if !shared.is_cut_right(&state, partition) && shared.leases.all_in_pool_of(partition) {
            let sets = state.node_shards.sets_wanted(partition, &shared.config.limits);
            state.reshard(partition, sets);
        }
    }
    shared.publish_wanted(&state);
}
