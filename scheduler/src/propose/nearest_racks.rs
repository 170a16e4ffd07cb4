//! Nodes for a gang on as few racks as a greedy choice finds.
//!
//! The rack that takes most members comes first, then the rack that takes most of the rest. So one rack is enough if
//! some rack has room for all. Of equal racks, the first by number is taken. Few racks are a preference: a gang that
//! fits on all nodes together starts.

use super::gang::Search;
use crate::facts::{TagCounts, WaitingGang};
use crate::ids::RackId;
use crate::request::ResourceAllocationCommitRequest;
use crate::state::State;

/// Finds nodes for the minimum of a gang. Otherwise returns the number of members that found a node.
pub(super) fn find_near(state: &State, gang: &WaitingGang) -> Result<ResourceAllocationCommitRequest, u64> {
    // First, because one look at all nodes tells about a gang that has to wait.
    let mut anywhere = Search::new(state, None);
    anywhere.give_held_room(gang);
    let all = minima(gang);
    anywhere.place_all(&gang.roles, &all);
    let found = anywhere.request.allocate.len() as u64;
    if found < gang.minimum() {
        return Err(found);
    }
    Ok(on_few_racks(state, gang, all).unwrap_or(anywhere.request))
}

/// The members of each role that start together.
fn minima(gang: &WaitingGang) -> Vec<u32> {
    gang.roles.iter().map(|role| role.minimum).collect()
}

fn on_few_racks(
    state: &State,
    gang: &WaitingGang,
    mut left: Vec<u32>,
) -> Option<ResourceAllocationCommitRequest> {
    let (mut request, mut tags) = (ResourceAllocationCommitRequest::default(), None);
    let mut untried: Vec<_> = state.facts.rack_ids().collect();
    while left.iter().any(|members| *members > 0) {
        let (place, best, still_left) = best_of(state, &untried, gang, (&left, tags.as_ref()))?;
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
    gang: &WaitingGang,
    (left, tags): (&[u32], Option<&TagCounts>),
) -> Option<(usize, Search<'a>, Vec<u32>)> {
    let mut best: Option<(usize, Search<'_>, Vec<u32>)> = None;
    for (place, rack) in racks.iter().enumerate() {
        // The members on other racks use no room here, but their tags count.
        let mut search = Search::new(state, Some(*rack));
        search.give_held_room(gang);
        search.tags = tags.cloned().unwrap_or_default();
        let still_left = search.place_all(&gang.roles, left);
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
