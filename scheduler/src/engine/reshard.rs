//! Resharding: cuts a partition into a new number of sets when its size has changed a lot.
//!
//! By default a partition is split from 1,000 nodes on (`EngineLimits::single_set_nodes`), and sets are merged when
//! it has shrunk to about half of that. In serial and background mode a partition is always one set, which gets the
//! exact policy.

use super::shared::Shared;
use super::trace;
use crate::state::State;

/// Reshards the partitions that are due and whose leases are all in the pool. A partition that is due publishes no
/// wanted set, so its leases come back. Each lease that comes back triggers another look.
pub(super) fn reshard(shared: &Shared) {
    let is_due = |state: &State| state.partitions().any(|partition| !shared.is_cut_right(state, partition));
    if !is_due(&shared.state.read()) {
        return;
    }
    let mut state = shared.state.write();
    let may_be_cut = |state: &State, id| !shared.is_cut_right(state, id) && shared.leases.all_in_pool_of(id);
    let due: Vec<_> = state.partitions().filter(|id| may_be_cut(&state, *id)).collect();
    for partition in &due {
        let sets = state.node_shards.sets_wanted(*partition, &shared.config.limits);
        state.reshard(*partition, sets);
    }
    shared.publish_wanted(&state);
    drop(state);
    due.into_iter().for_each(trace::sets_resharded);
}
