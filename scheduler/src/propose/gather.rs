//! Gathering: places for the members of the first waiting gang of a partition, in room that is free and on nodes that
//! will have room.
//!
//! A search that finds no room for a gang plans where its members could be on empty nodes. Nodes that have room now
//! come first. The committer holds what is free there, and completes it as containers end. So each member has a node of
//! its own, and the gang starts once the containers on these nodes have ended. A place stays until then. It goes
//! earlier if another node has the whole room first, the node changes, the turn ends, or the gang may no longer gather.
//!
//! # No deadlock
//!
//! In each partition only one gang holds room (I18). A gang that holds room waits for room that earlier gangs hold,
//! or for the end of a later gang's turn. Then neither that gang nor one for which it waits wants what the first one
//! holds. So no gangs wait for each other in a circle. The one at the end waits only for containers and for
//! reservations on nodes without held room, and these wait only for containers. If these do not end, its turn does,
//! and the next gang is the first ([`Turns`](crate::facts::Turns)).
//!
//! # What is not there
//!
//! * Headroom below a limit of a queue or user is not gathered in parts. A gang that holds nothing does not gather
//!   while a limit below the partition's capacity has no headroom for one of its members.
//! * At the start, devices are chosen again, for large needs first. In rare cases a member then finds too few. The
//!   gang gives its room back, and gathers again once nodes have changed.
//! * A device that others use in part is not held until it has enough free. Containers with small parts of devices may
//!   keep it from a member.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::member_walk::{MemberWalk, Position};
use crate::facts::{Ask, GangTopology, HeldRole, Locality, Node, Shape, TagCounts, WaitingGang};
use crate::ids::{AskId, GangId, NodeId, PartitionId, RackId};
use crate::place::{Restart, ScoredNode, score};
use crate::resource::{Room, fits, missing_share};
use crate::state::State;

/// Places that a gang should get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gathering {
    pub(crate) gang: GangId,
    /// The number of changes that the search saw.
    pub(crate) changes: u64,
    /// The number of submitted asks that it saw.
    pub(crate) asks: u64,
    /// Whether the gang first gives back what it holds.
    pub(crate) begins_anew: bool,
    pub(crate) places: Vec<(AskId, NodeId)>,
}

impl Gathering {
    /// The gang gives back what it holds, because it may not gather now.
    pub(super) fn give_up(state: &State, gang: GangId) -> Self {
        let (changes, asks) = (state.facts.changes, state.facts.asks_submitted);
        Self { gang, changes, asks, begins_anew: true, places: Vec::new() }
    }
}

/// Plans places for a gang that cannot start now, outside of partitions in which earlier gangs gather. `None`: it does
/// not gather. A gang that has places only begins again if `restart` allows it. Limits must be computed.
pub(crate) fn plan_places(
    state: &State,
    gang: GangId,
    taken: &[PartitionId],
    restart: Restart,
) -> Option<Gathering> {
    let facts = &state.facts;
    let waiting = facts.gangs.get(&gang).filter(|waiting| waiting.gathers)?;
    if is_kept_from_gathering(state, gang, waiting) {
        return None;
    }
    let mut wanted = facts.partitions_to_gather(gang, waiting);
    wanted.retain(|partition| !taken.contains(partition));
    if wanted.is_empty() {
        return None;
    }
    let plan = |places: Vec<(AskId, NodeId)>| {
        let is_free = |(_, node): &(AskId, NodeId)| {
            let node = facts.nodes.at(*node);
            node.is_open() && wanted.contains(&node.partition)
        };
        let places = places.into_iter().filter(is_free).collect();
        Gathering { gang, changes: facts.changes, asks: facts.asks_submitted, begins_anew: false, places }
    };
    let kept = facts.places_of(gang).next().map(|(_, node, _)| facts.nodes.at(node).rack);
    if let Some(rack) = kept {
        let is_placed = |role: &HeldRole| facts.place_count(gang, role.ask).all() >= role.minimum;
        if waiting.roles.iter().all(is_placed) {
            return Some(plan(Vec::new()));
        }
        let rack = (waiting.topology == GangTopology::SameRack).then_some(rack);
        let avoided = &waiting.turns.in_vain;
        let search = TargetSearch { gang, waiting, rack, avoided, basis: Basis::Kept };
        if let Some(targets) = search.run(state) {
            return Some(plan(targets.places));
        }
    }
    let targets = targets_anew(state, gang, waiting, &waiting.turns.in_vain, None)?;
    if kept.is_some() && restart == Restart::TooSoon {
        return Some(plan(Vec::new()));
    }
    let gathering = Gathering { begins_anew: kept.is_some(), ..plan(targets.places) };
    // If it has no place and all nodes found are reserved, a later gang may gather meanwhile.
    (kept.is_some() || !gathering.places.is_empty()).then_some(gathering)
}

/// Whether the gang may not gather now, without a look at nodes.
pub(super) fn is_kept_from_gathering(state: &State, gang: GangId, waiting: &WaitingGang) -> bool {
    let facts = &state.facts;
    let holds_nothing = || facts.places_of(gang).all(|(.., place)| place.amount.is_zero());
    let must_cede = || {
        let ceded = facts.partitions_ceded(gang, waiting, None);
        facts.partitions_held_by(gang).iter().any(|partition| ceded.contains(partition))
    };
    !may_gather(state, gang, waiting) || holds_nothing() && facts.is_stopped_by_limit(waiting) || must_cede()
}

pub(super) fn may_gather(state: &State, gang: GangId, waiting: &WaitingGang) -> bool {
    let facts = &state.facts;
    facts.applications.at(waiting.application).is_active
        && facts.maxima_admit(waiting)
        && !state.has_failed_start(gang)
}

/// Places for all members as if the gang had none, and as if nodes had these rooms. For one rack it takes the rack with
/// the fewest members on reserved nodes or on nodes tried without success. Of these it takes the rack with room for
/// most members now.
pub(super) fn targets_anew<'a>(
    state: &'a State,
    gang: GangId,
    waiting: &'a WaitingGang,
    avoided: &'a BTreeSet<NodeId>,
    rooms: Option<&'a NodeRooms>,
) -> Option<Targets<'a>> {
    let find = |rack| TargetSearch { gang, waiting, rack, avoided, basis: Basis::Anew(rooms) }.run(state);
    match waiting.topology {
        GangTopology::Anywhere | GangTopology::NearestRacks => find(None),
        GangTopology::SameRack => {
            let found = state.facts.rack_ids().filter_map(|rack| find(Some(rack)));
            found.max_by_key(|targets| {
                (Reverse(targets.on_last_nodes), targets.have_room, Reverse(targets.search.rack))
            })
        }
    }
}

/// The room of some nodes.
pub(super) type NodeRooms = FxHashMap<NodeId, Room>;

/// The places and rooms with which a search begins.
#[derive(Clone, Copy)]
enum Basis<'a> {
    /// The gang keeps the places that it has.
    Kept,
    /// The gang holds nothing. Some nodes may have other rooms than they have now.
    Anew(Option<&'a NodeRooms>),
}

/// How late a search tries a node for a member; the variants are in that order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NodeRank {
    Usual,
    /// It has no room, and the gang has waited for it without success.
    InVain,
    /// It is reserved for an ask, and the gang may hold nothing there yet.
    Reserved,
}

/// A search for places of a gang's members.
#[derive(Clone, Copy)]
struct TargetSearch<'a> {
    gang: GangId,
    waiting: &'a WaitingGang,
    /// All racks without one.
    rack: Option<RackId>,
    /// Nodes for which the gang has waited without success. They come last unless they have room now.
    avoided: &'a BTreeSet<NodeId>,
    basis: Basis<'a>,
}

/// The rooms of a node, beside the members that a search has placed there.
#[derive(Clone, Copy)]
struct Rooms {
    now: Room,
    if_empty: Room,
}

/// How good a node is for a member; the smallest is best, and the first field that differs decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TargetKey {
    rank: NodeRank,
    locality: Locality,
    lacks_room: bool,
    missing_share: i128,
    score: usize,
    position: usize,
}

/// The places that a search has found.
pub(super) struct Targets<'a> {
    state: &'a State,
    search: TargetSearch<'a>,
    /// The rooms of nodes with members.
    rooms: FxHashMap<NodeId, Rooms>,
    /// The tagged containers of earlier members.
    tags: TagCounts,
    places: Vec<(AskId, NodeId)>,
    /// How many of these have room now.
    have_room: usize,
    /// How many of these are on nodes that come last.
    pub(super) on_last_nodes: usize,
}

impl<'a> TargetSearch<'a> {
    /// Finds a place for each member that has none, for large members first. `None` if the nodes could not hold the
    /// minimum even if they were empty. In the order of the roles, small members could take the nodes of large ones,
    /// depending on the room free at that moment. Then the search would succeed only sometimes.
    fn run(self, state: &'a State) -> Option<Targets<'a>> {
        let mut targets = Targets {
            state,
            search: self,
            rooms: FxHashMap::default(),
            tags: TagCounts::default(),
            places: Vec::new(),
            have_room: 0,
            on_last_nodes: 0,
        };
        let keeps = matches!(self.basis, Basis::Kept);
        if keeps {
            targets.tags = state.facts.tags_of_places(self.gang);
        }
        let mut roles: Vec<&HeldRole> = self.waiting.roles.iter().collect();
        roles.sort_by_key(|role| Reverse(state.facts.part_of_partition(role.ask)));
        let has_all = roles.into_iter().all(|role| {
            let has = if keeps { state.facts.place_count(self.gang, role.ask).all() } else { 0 };
            targets.place(role.ask, role.minimum.saturating_sub(has)) == 0
        });
        has_all.then_some(targets)
    }
}

impl Targets<'_> {
    /// Whether a member has a place in one of the partitions on a node that is not reserved.
    pub(super) fn has_open_node(&self, partitions: &BTreeSet<PartitionId>) -> bool {
        let is_open = |node: &Node| node.is_open() && partitions.contains(&node.partition);
        self.places.iter().any(|(_, node)| is_open(self.state.facts.nodes.at(*node)))
    }

    /// Whether all members could start now.
    pub(super) fn all_have_room(&self) -> bool {
        self.have_room == self.places.len()
    }

    /// The rooms of nodes after all members have started, each of which has room.
    pub(super) fn into_rooms(self) -> NodeRooms {
        debug_assert!(self.all_have_room());
        let mut rooms = match self.search.basis {
            Basis::Anew(Some(rooms)) => rooms.clone(),
            Basis::Anew(None) | Basis::Kept => NodeRooms::default(),
        };
        rooms.extend(self.rooms.into_iter().map(|(node, rooms)| (node, rooms.now)));
        rooms
    }

    fn rooms_of(&self, node: &Node) -> Rooms {
        let facts = &self.state.facts;
        self.rooms.get(&node.id).copied().unwrap_or_else(|| match self.search.basis {
            Basis::Kept => {
                Rooms { now: node.room, if_empty: facts.room_beside_places(self.search.gang, node) }
            }
            Basis::Anew(rooms) => {
                let now = rooms.and_then(|rooms| rooms.get(&node.id)).copied();
                let now = now.unwrap_or_else(|| facts.room_without(self.search.gang, node));
                Rooms { now, if_empty: node.empty_room() }
            }
        })
    }

    fn rank(&self, node: &Node, has_room: bool) -> NodeRank {
        if has_room {
            NodeRank::Usual
        } else if !node.is_open() {
            NodeRank::Reserved
        } else if self.search.avoided.contains(&node.id) {
            NodeRank::InVain
        } else {
            NodeRank::Usual
        }
    }

    fn has_room(&self, shape: &Shape, node: &Node) -> bool {
        node.is_open() && fits(&shape.need, &self.rooms_of(node).now)
    }
}

impl<'a> MemberWalk<'a> for Targets<'a> {
    type Key = TargetKey;

    fn state(&self) -> &'a State {
        self.state
    }

    fn rack(&self) -> Option<RackId> {
        self.search.rack
    }

    /// Whether the node could take a member if it were empty.
    fn can_take(&self, ask: &Ask, shape: &Shape, node: &Node) -> bool {
        node.is_candidate()
            && node.partition == shape.partition
            && ask.preference().will_do(node.id, node.rack)
            && fits(&shape.need, &self.rooms_of(node).if_empty)
            && self.state.facts.breach_with(shape, node, Some(&self.tags)).is_none()
    }

    /// Usual nodes come first, then nodes for which the gang waited without success, then reserved ones. Within a rank,
    /// the nearest to the ask's hosts and racks come first, then those with room, then those that lack least.
    fn key(&self, shape: &Shape, node: &Node, at: Position) -> TargetKey {
        let Position { locality, position, positions } = at;
        let (room, has_room) = (self.rooms_of(node).now, self.has_room(shape, node));
        let missing_share = if has_room { 0 } else { missing_share(&shape.need.resources, &room.free) };
        let scored = ScoredNode { capacity: &node.capacity, free: &room.free, position, positions };
        let score = score(self.state.facts.config.node_order, &scored);
        let (rank, lacks_room) = (self.rank(node, has_room), !has_room);
        TargetKey { rank, locality, lacks_room, missing_share, score, position }
    }

    fn take(&mut self, id: AskId, ask: &Ask, shape: &Shape, node: &Node) {
        let has_room = self.has_room(shape, node);
        self.have_room += usize::from(has_room);
        self.on_last_nodes += usize::from(self.rank(node, has_room) != NodeRank::Usual);
        let mut rooms = self.rooms_of(node);
        rooms.now.take(&shape.need);
        rooms.if_empty.take(&shape.need);
        self.rooms.insert(node.id, rooms);
        self.tags.add(shape.tags(), node, ask.application, 1);
        self.places.push((id, node.id));
    }
}
