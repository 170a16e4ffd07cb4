//! Proposing the start of a gang: nodes for the minimum of each role, in one request.
//!
//! A search for gangs needs no lease. It reads the nodes of the facts, and ignores amounts in flight: if other requests
//! come first, the committer looks again under its own guard. Roles are placed in their order. Each member goes to the
//! first node in the configured order, as a pass would choose it. But an ask's hosts and racks come first,
//! without a delay. On one rack, the first rack by number that holds the minimum is taken. `nearest_racks.rs` looks
//! for few racks. Room that the gang holds is free to it. For a gang that finds too little room, `gather.rs` plans
//! where to hold some.
//!
//! # What is not there
//!
//! * A gang whose roles could be packed only in another order is not found.
//! * Members that start together borrow no nodes of other partitions.

use rustc_hash::FxHashMap;

use super::gather::{Gathering, is_kept_from_gathering, plan_places};
use super::member_walk::{MemberWalk, Position};
use super::nearest_racks::find_near;
use super::turn_end::TurnEnd;
use crate::facts::{
    Application, Ask, Facts, GangTopology, HeldRole, Locality, Node, PartitionShare, Shape, TagCounts,
    WaitingGang,
};
use crate::ids::{AskId, GangId, NodeId, RackId};
use crate::place::{GangMemory, ScoredNode, score};
use crate::request::{AllocationProposal, ResourceAllocationCommitRequest};
use crate::resource::{Room, fits};
use crate::state::State;

/// Why a gang cannot start now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotNow {
    /// It does not wait any more.
    Gone,
    /// Its application waits for activation.
    Inactive,
    /// A limit of a queue or of the user does not admit its minimum.
    Limit,
    /// Too few of its members found a node.
    NoRoom,
}

/// The findings of a search for gangs.
#[derive(Debug, Default)]
pub(crate) struct GangFindings {
    /// The start of a gang.
    pub(crate) start: Option<ResourceAllocationCommitRequest>,
    /// Places for gangs that cannot start: of each partition, for the first in order.
    pub(crate) gatherings: Vec<Gathering>,
    /// A turn that should end. Then the search found nothing else.
    pub(crate) turn_end: Option<TurnEnd>,
    /// The gangs with overdue turns that the search has decided on.
    pub(crate) reviewed: Vec<GangId>,
    /// The number of submitted asks that the search saw.
    pub(crate) asks: u64,
}

/// Looks first whether one of these overdue `turns` should end. Otherwise proposes the first waiting gang, in their
/// order, that `would_accept` admits. If none can start, plans places for those that gather. `memory` has the gangs
/// that found no room: they are left out until some node gains room.
pub(crate) fn search_for_gangs(
    state: &State,
    turns: impl Iterator<Item = GangId>,
    memory: &mut GangMemory,
    would_accept: impl Fn(&ResourceAllocationCommitRequest) -> bool,
) -> GangFindings {
    let facts = &state.facts;
    let mut found = review_turns(state, turns);
    if found.turn_end.is_some() {
        return found;
    }
    memory.forget_others(|gang| facts.gangs.contains_key(&gang));
    let mut without_room: Vec<&WaitingGang> = Vec::new();
    let mut taken = Vec::new();
    for id in facts.gangs_in_order() {
        let held = facts.partitions_held_by(id);
        let found_none = memory.found_no_room_since(id, state.room_gained_at());
        let gang = &facts.gangs[&id];
        if found_none && !held.is_empty() && !is_kept_from_gathering(state, id, gang) {
            taken.extend(held);
            continue;
        }
        let needs_more = |other: &&WaitingGang| needs_at_least(facts, gang, other);
        if found_none {
            // It may gather now although no node gained room: a limit may have stopped it.
        } else if held.is_empty() && without_room.iter().any(needs_more) {
            memory.record_no_room(id, state.version);
        } else {
            match propose_gang(state, id) {
                Ok(request) if would_accept(&request) => {
                    found.start = Some(request);
                    return found;
                }
                Err(NotNow::NoRoom) => {
                    memory.record_no_room(id, state.version);
                    without_room.push(gang);
                }
                _ => {}
            }
        }
        let restart = memory.restart(id, state.nodes_version);
        if let Some(gathering) = plan_places(state, id, &taken, restart) {
            if gathering.begins_anew {
                memory.record_begun_anew(id, state.nodes_version);
            }
            taken.extend(facts.partitions_to_gather(id, gang));
            found.gatherings.push(gathering);
        } else if !held.is_empty() {
            found.gatherings.push(Gathering::give_up(state, id));
        }
    }
    found
}

/// Decides on overdue turns, up to the first that should end.
fn review_turns(state: &State, turns: impl Iterator<Item = GangId>) -> GangFindings {
    let mut found = GangFindings { asks: state.facts.asks_submitted, ..GangFindings::default() };
    for gang in turns {
        found.reviewed.push(gang);
        found.turn_end = TurnEnd::find(state, gang);
        if found.turn_end.is_some() {
            break;
        }
    }
    found
}

/// Whether the gang fits nowhere if the other one fits nowhere: it has the same roles, with at least as many members.
fn needs_at_least(facts: &Facts, gang: &WaitingGang, other: &WaitingGang) -> bool {
    let needs = |(role, other): (&HeldRole, &HeldRole)| {
        let (shape, of_other) = (facts.asks.at(role.ask).shape, facts.asks.at(other.ask).shape);
        shape == of_other && !facts.shapes.at(shape).has_locality && role.minimum >= other.minimum
    };
    gang.topology == other.topology
        && gang.roles.len() == other.roles.len()
        && gang.roles.iter().zip(&other.roles).all(needs)
}

/// Proposes nodes for the minimum of a waiting gang. Limits must be computed.
pub(crate) fn propose_gang(state: &State, id: GangId) -> Result<ResourceAllocationCommitRequest, NotNow> {
    let facts = &state.facts;
    let gang = facts.gangs.get(&id).ok_or(NotNow::Gone)?;
    let application = facts.applications.at(gang.application);
    if !application.is_active {
        return Err(NotNow::Inactive);
    }
    if !is_within_limits(facts, application, id, gang) {
        return Err(NotNow::Limit);
    }
    find_nodes(state, gang).map_err(|_| NotNow::NoRoom)
}

/// Finds nodes for the minimum of a gang, ignoring limits. Otherwise returns the number of members that found a
/// node: on the best rack, if the gang has to be on one.
pub(crate) fn find_nodes(state: &State, gang: &WaitingGang) -> Result<ResourceAllocationCommitRequest, u64> {
    let (facts, mut found) = (&state.facts, 0);
    let places: &mut dyn Iterator<Item = Option<RackId>> = match gang.topology {
        GangTopology::Anywhere => &mut std::iter::once(None),
        GangTopology::SameRack => &mut facts.rack_ids().map(Some),
        GangTopology::NearestRacks => return find_near(state, gang),
    };
    for rack in places {
        let mut search = Search::new(state, rack);
        search.give_held_room(gang);
        for role in &gang.roles {
            search.place(role.ask, role.minimum);
        }
        let placed = search.request.allocate.len() as u64;
        if placed == gang.minimum() {
            return Ok(search.request);
        }
        found = found.max(placed);
    }
    Err(found)
}

/// Whether the limits of queues and user admit the minimum.
fn is_within_limits(facts: &Facts, application: &Application, id: GangId, gang: &WaitingGang) -> bool {
    facts.partitions_wanted(gang).into_iter().all(|partition| {
        // What it holds is charged already.
        let more = facts.minimum_of(gang, partition) - facts.held_by(id, partition);
        let share = PartitionShare::own(partition);
        facts.tree.limits_admit(application.user, share, &more, &facts.largest_of(gang, partition))
    })
}

/// A search for nodes on one rack, or on all.
pub(super) struct Search<'a> {
    state: &'a State,
    rack: Option<RackId>,
    /// The room that earlier members leave on their nodes.
    rooms: FxHashMap<NodeId, Room>,
    /// The tagged containers of earlier members.
    pub(super) tags: TagCounts,
    pub(super) request: ResourceAllocationCommitRequest,
}

impl<'a> Search<'a> {
    pub(super) fn new(state: &'a State, rack: Option<RackId>) -> Self {
        let request = ResourceAllocationCommitRequest::default();
        Self { state, rack, rooms: FxHashMap::default(), tags: TagCounts::default(), request }
    }

    /// The room that the gang holds is free to it.
    pub(super) fn give_held_room(&mut self, gang: &WaitingGang) {
        let facts = &self.state.facts;
        if let Some(id) = gang.roles.first().and_then(|role| facts.gang_of(role.ask)) {
            for (_, node, _) in facts.places_of(id) {
                self.rooms.insert(node, facts.room_without(id, facts.nodes.at(node)));
            }
        }
    }

    /// Places as many members of each role as fit, up to these numbers. Returns the numbers that are left.
    pub(super) fn place_all(&mut self, roles: &[HeldRole], members: &[u32]) -> Vec<u32> {
        roles.iter().zip(members).map(|(role, members)| self.place(role.ask, *members)).collect()
    }

    fn room<'b>(&'b self, node: &'b Node) -> &'b Room {
        if self.rooms.is_empty() { &node.room } else { self.rooms.get(&node.id).unwrap_or(&node.room) }
    }
}

impl<'a> MemberWalk<'a> for Search<'a> {
    type Key = (Locality, usize, usize);

    fn state(&self) -> &'a State {
        self.state
    }

    fn rack(&self) -> Option<RackId> {
        self.rack
    }

    fn can_take(&self, ask: &Ask, shape: &Shape, node: &Node) -> bool {
        node.is_open()
            && node.partition == shape.partition
            && fits(&shape.need, self.room(node))
            && ask.preference().will_do(node.id, node.rack)
            && self.state.facts.breach_with(shape, node, Some(&self.tags)).is_none()
    }

    /// Nearest to the ask's hosts and racks, then by score and position.
    fn key(&self, _: &Shape, node: &Node, at: Position) -> Self::Key {
        let Position { locality, position, positions } = at;
        let scored =
            ScoredNode { capacity: &node.capacity, free: &self.room(node).free, position, positions };
        (locality, score(self.state.facts.config.node_order, &scored), position)
    }

    fn take(&mut self, id: AskId, ask: &Ask, shape: &Shape, node: &Node) {
        self.rooms.entry(node.id).or_insert(node.room).take(&shape.need);
        self.tags.add(shape.tags(), node, ask.application, 1);
        self.request.allocate.push(AllocationProposal { ask: id, node: node.id, from_reservation: None });
    }
}
