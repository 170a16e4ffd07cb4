//! Nodes for a gang on as few racks as a greedy choice finds.
//!
//! The rack that takes most members comes first, then the rack that takes most of the rest. So one rack is enough if
//! some rack has room for all. Of equal racks, the first by number is taken. Few racks are a preference: a gang that
//! fits on all nodes together starts.

use super::gang::{Search, racks};
use crate::facts::{HeldRole, TagCounts, WaitingGang};
use crate::ids::RackId;
use crate::request::ResourceAllocationCommitRequest;
use crate::state::State;

/// Finds nodes for the minimum of a gang. Otherwise returns the number of members that found a node.
pub(super) fn find_near(state: &State, gang: &WaitingGang) -> Result<ResourceAllocationCommitRequest, u64> {
    // First, because one look at all nodes tells about a gang that has to wait.
    let mut anywhere = Search::new(state, None);
    let all = minima(gang);
    anywhere.place_all(&gang.roles, &all);
    let found = anywhere.request.allocate.len() as u64;
    if found < gang.minimum() {
        return Err(found);
    }
    Ok(on_few_racks(state, &gang.roles, all).unwrap_or(anywhere.request))
}

/// The members of each role that start together.
fn minima(gang: &WaitingGang) -> Vec<u32> {
    gang.roles.iter().map(|role| role.minimum).collect()
}

fn on_few_racks(
    state: &State,
    roles: &[HeldRole],
    mut left: Vec<u32>,
) -> Option<ResourceAllocationCommitRequest> {
    let (mut request, mut tags) = (ResourceAllocationCommitRequest::default(), None);
    let mut untried: Vec<_> = racks(&state.facts).collect();
    while left.iter().any(|members| *members > 0) {
        let (place, best, still_left) = best_of(state, &untried, roles, &left, tags.as_ref())?;
        untried.remove(place);
        request.allocate.extend(best.request.allocate);
        (left, tags) = (still_left, Some(best.tags));
    }
    Some(request)
}

/// The rack that takes most members, its place among the racks, and what is left for others. `None` if no rack takes
/// any.
fn best_of<'a>(
    state: &'a State,
    racks: &[RackId],
    roles: &[HeldRole],
    left: &[u32],
    tags: Option<&TagCounts>,
) -> Option<(usize, Search<'a>, Vec<u32>)> {
    let mut best: Option<(usize, Search<'_>, Vec<u32>)> = None;
    for (place, rack) in racks.iter().enumerate() {
        // The members on other racks use no room here, but their tags count.
        let mut search = Search::new(state, Some(*rack));
        search.tags = tags.cloned().unwrap_or_default();
        let still_left = search.place_all(roles, left);
        let takes_all = still_left.iter().all(|members| *members == 0);
        let taken = search.request.allocate.len();
        if best.as_ref().map_or(0, |(_, best, _)| best.request.allocate.len()) < taken {
            best = Some((place, search, still_left));
        }
        if takes_all {
            break;
        }
    }
    best
}
