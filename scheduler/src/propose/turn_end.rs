//! The end of a gang's turn: a search says which gangs should have the room that the gang gives back.
//!
//! When the time of a turn is up, the committer adds the gang to `GangWaits::overdue_turns`. The next search decides
//! whether the end would help. The committer ends the turn and lets the successors gather in one group, so no pass sees
//! the room meanwhile.

use std::collections::BTreeSet;

use super::gather::{NodeRooms, may_gather, targets_anew};
use crate::facts::{Facts, WaitingGang};
use crate::ids::{GangId, PartitionId};
use crate::state::State;

/// The proposal to end a gang's turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnEnd {
    pub(crate) gang: GangId,
    /// Gangs that could gather in its place. Empty if only the gang itself gains, on other nodes.
    pub(crate) successors: Vec<GangId>,
}

impl TurnEnd {
    /// The end of the gang's turn, if its time is still up and the end helps some gang.
    pub(super) fn find(state: &State, gang: GangId) -> Option<Self> {
        if !state.facts.turn_has_expired(gang) {
            return None;
        }
        let successors = rivals_that_could_gather(state, gang);
        (!successors.is_empty() || could_move(state, gang)).then_some(Self { gang, successors })
    }
}

/// Whether all members could be placed without the nodes on which the gang holds only a part of their room, and
/// without reserved nodes. They would have to wait for those, too.
fn could_move(state: &State, gang: GangId) -> bool {
    let facts = &state.facts;
    let parts = facts.nodes_of_parts(gang);
    let moves = |waiting| {
        targets_anew(state, gang, waiting, &parts, None).is_some_and(|targets| targets.on_last_nodes == 0)
    };
    !parts.is_empty() && facts.gangs.get(&gang).is_some_and(moves)
}

/// The first gangs that could gather where the gang holds room, up to one that would then wait for more. A gang that
/// a limit stops now is one of them, because the room of the ended turn may be what exhausts the limit. So is a gang
/// whose nodes are reserved. But then further gangs may get their turn, too.
fn rivals_that_could_gather(state: &State, gang: GangId) -> Vec<GangId> {
    let facts = &state.facts;
    let mut rooms = rooms_given_back(facts, gang);
    let mut rivals: Vec<(GangId, &WaitingGang)> = facts.rivals(gang).collect();
    rivals.sort_unstable_by_key(|(_, rival)| facts.gang_key(rival));
    let mut open: BTreeSet<PartitionId> = facts.partitions_held_by(gang).into_iter().collect();
    let mut found = Vec::new();
    for (id, rival) in rivals {
        if open.is_empty() {
            break;
        }
        let ceded = facts.partitions_ceded(id, rival, Some(gang));
        let mut wanted: BTreeSet<_> = facts.partitions_wanted(rival).into_iter().collect();
        wanted.retain(|partition| open.contains(partition) && !ceded.contains(partition));
        if wanted.is_empty() || !may_gather(state, id, rival) {
            continue;
        }
        let Some(targets) = targets_anew(state, id, rival, &rival.turns.in_vain, Some(&rooms)) else {
            continue;
        };
        found.push(id);
        if facts.is_stopped_by_limit(rival) || !targets.has_open_node(&wanted) {
            continue;
        }
        if targets.all_have_room() {
            rooms = targets.into_rooms();
        } else {
            open.retain(|partition| !wanted.contains(partition));
        }
    }
    found
}

/// The room of the gang's nodes once it holds nothing.
fn rooms_given_back(facts: &Facts, gang: GangId) -> NodeRooms {
    let nodes = facts.places_of(gang).map(|(_, node, _)| facts.nodes.at(node));
    nodes.map(|node| (node.id, facts.room_without(gang, node))).collect()
}
