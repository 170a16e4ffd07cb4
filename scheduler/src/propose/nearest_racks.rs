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
    let (mut request, mut tags) = (ResourceAllocationCommitRequest::default(), TagCounts::default());
    let mut untried: Vec<_> = state.facts.rack_ids().collect();
    while left.iter().any(|members| *members > 0) {
        let best = best_of(state, &untried, gang, &left, &tags)?;
        untried.remove(best.place);
        request.allocate.extend(best.search.request.allocate);
        (left, tags) = (best.still_left, best.search.tags);
    }
    Some(request)
}

/// The rack that takes most members.
struct BestRack<'a> {
    /// Its index among the racks that have no members yet.
    place: usize,
    search: Search<'a>,
    /// The members of each role that it leaves for other racks.
    still_left: Vec<u32>,
}

/// The rack that takes most of the members that are `left`; `None` if no rack takes any.
fn best_of<'a>(
    state: &'a State,
    racks: &[RackId],
    gang: &WaitingGang,
    left: &[u32],
    tags: &TagCounts,
) -> Option<BestRack<'a>> {
    let mut best: Option<BestRack<'_>> = None;
    for (place, rack) in racks.iter().enumerate() {
        // The members on other racks use no room here, but their tags count.
        let mut search = Search::new(state, Some(*rack));
        search.give_held_room(gang);
        search.tags.clone_from(tags);
        let still_left = search.place_all(&gang.roles, left);
        let takes_all = still_left.iter().all(|members| *members == 0);
        let taken = search.request.allocate.len();
        if best.as_ref().map_or(0, |best| best.search.request.allocate.len()) < taken {
            best = Some(BestRack { place, search, still_left });
        }
        if takes_all {
            break;
        }
    }
    best
}
