//! Cutting a partition anew when its size has changed a lot.

use super::shared::Shared;
use crate::state::State;

/// Cuts partitions anew whose size has changed a lot. That needs all of their leases at home, so
/// proposers are told that nothing is wanted there until it is done.
pub(super) fn reshard(shared: &Shared) {
    let limits = &shared.config.limits;
    let is_stale = |state: &State| {
        state.partitions().any(|p| state.roster.sets_wanted(p, limits) != state.roster.sets(p))
    };
    if !is_stale(&shared.state.read()) {
        return;
    }
    let mut state = shared.state.write();
    for partition in state.partitions() {
        let sets = state.roster.sets_wanted(partition, limits);
        if sets != state.roster.sets(partition) {
            if shared.leases.all_home_of(partition) {
                state.reshard(partition, sets);
            } else {
                shared.leases.publish_wanted(partition, 0);
                return;
            }
        }
    }
    shared.publish_wanted(&state);
}
