//! Cutting a partition anew when its size has changed a lot.

use super::shared::Shared;
use crate::state::State;

/// Cuts those partitions anew for which it is time and whose leases are all at home. While it is time none of
/// their sets is published as wanted, so the leases do come home, and each one that does calls for another look.
pub(super) fn reshard(shared: &Shared) {
    let is_due = |state: &State| state.partitions().any(|partition| !shared.is_cut_right(state, partition));
    if !is_due(&shared.state.read()) {
        return;
    }
    let mut state = shared.state.write();
    for partition in state.partitions() {
        if !shared.is_cut_right(&state, partition) && shared.leases.all_home_of(partition) {
            let sets = state.roster.sets_wanted(partition, &shared.config.limits);
            state.reshard(partition, sets);
        }
    }
    shared.publish_wanted(&state);
}
