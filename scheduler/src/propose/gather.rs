//! Gathering: places for the members of the first waiting gang of a partition, in room that is free and on nodes that
//! will have room.
//!
//! A look that finds no room for a gang plans where its members could be on empty nodes. Nodes that have room now come
//! first. The committer holds what is free there, and completes it as containers end. So each member has a node of its
//! own, and the gang starts once the containers on these nodes have ended.
//!
//! # No deadlock
//!
//! In each partition only the first gang in order that could gather holds room (I18); later gangs give theirs back. So
//! a gang waits for room that earlier gangs hold, never for room of a later gang. The first gang waits only for
//! containers and for reservations on nodes without held room, and these wait only for containers.
//!
//! # What is not there
//!
//! * Headroom below a limit of a queue or user is not gathered in parts. A gang that holds nothing, and for a member of
//!   which some limit below the capacity of the partition has no headroom, does not gather.
//! * A place stays until its gang starts, another node has the whole room first, or the node changes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::facts::{Ask, GangTopology, HeldRole, Locality, Node, Shape, TagCounts, WaitingGang};
use crate::ids::{AskId, GangId, NodeId, PartitionId, RackId};
use crate::place::{ScoredNode, score};
use crate::resource::{Room, fits, missing_share};
use crate::state::State;

/// Places that a gang should get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gathering {
    pub(crate) gang: GangId,
    /// The number of changes that the look saw.
    pub(crate) changes: u64,
    /// Whether the gang first gives back what it holds.
    pub(crate) begins_anew: bool,
    pub(crate) places: Vec<(AskId, NodeId)>,
}

impl Gathering {
    /// The gang gives back what it holds, because its minimum is not possible any more.
    pub(super) fn give_up(state: &State, gang: GangId) -> Self {
        Self { gang, changes: state.facts.changes, begins_anew: true, places: Vec::new() }
    }
}

/// Plans places for a gang that cannot start now, outside of partitions in which earlier gangs gather. `None`: it does
/// not gather. A gang that has places only begins anew if it may. Limits must be computed.
pub(crate) fn plan_places(
    state: &State,
    gang: GangId,
    taken: &[PartitionId],
    may_begin_anew: bool,
) -> Option<Gathering> {
    let facts = &state.facts;
    let waiting = facts.gangs.get(&gang).filter(|waiting| waiting.gathers)?;
    if !facts.applications.at(waiting.application).is_active
        || !facts.maxima_admit(waiting)
        || facts.places_of(gang).all(|(.., place)| place.amount.is_zero())
            && facts.is_stopped_by_limit(waiting)
        || state.has_failed_start(gang)
    {
        return None;
    }
    let wanted = facts.partitions_wanted(waiting);
    if wanted.iter().all(|partition| taken.contains(partition)) {
        return None;
    }
    let plan = |begins_anew: bool, places: Vec<(AskId, NodeId)>| {
        let is_free = |(_, node): &(AskId, NodeId)| {
            let node = facts.nodes.at(*node);
            node.is_open() && !taken.contains(&node.partition)
        };
        let places = places.into_iter().filter(is_free).collect();
        Gathering { gang, changes: facts.changes, begins_anew, places }
    };
    let kept = facts.places_of(gang).next().map(|(_, node, _)| facts.nodes.at(node).rack);
    if let Some(rack) = kept {
        let is_placed = |role: &HeldRole| facts.place_count(gang, role.ask).all() >= role.minimum;
        if waiting.roles.iter().all(is_placed) {
            return Some(plan(false, Vec::new()));
        }
        let rack = (waiting.topology == GangTopology::SameRack).then_some(rack);
        if let Some(targets) = Targets::find(state, gang, waiting, rack, true) {
            return Some(plan(false, targets.places));
        }
    }
    let targets = targets_anew(state, gang, waiting)?;
    if kept.is_some() && !may_begin_anew {
        return Some(plan(false, Vec::new()));
    }
    let gathering = plan(kept.is_some(), targets.places);
    // All of its nodes are reserved: a later gang may gather meanwhile.
    (kept.is_some() || !gathering.places.is_empty()).then_some(gathering)
}

/// Places for all members as if the gang had none. On one rack, the rack with room for most members now.
fn targets_anew<'a>(state: &'a State, gang: GangId, waiting: &WaitingGang) -> Option<Targets<'a>> {
    match waiting.topology {
        GangTopology::Anywhere | GangTopology::NearestRacks => {
            Targets::find(state, gang, waiting, None, false)
        }
        GangTopology::SameRack => {
            let racks = state.facts.rack_ids();
            let found = racks.filter_map(|rack| Targets::find(state, gang, waiting, Some(rack), false));
            found.max_by_key(|targets| (targets.have_room, Reverse(targets.rack)))
        }
    }
}

/// A node by its place in the order: nearest to the ask's hosts and racks, then with room now, then with most of it.
type Candidate = Reverse<((Locality, bool, i128, usize, usize), NodeId)>;

/// A search for places on one rack, or on all.
struct Targets<'a> {
    state: &'a State,
    gang: GangId,
    rack: Option<RackId>,
    /// Whether the gang keeps the places that it has.
    keeps: bool,
    /// The present room of nodes, and the room that they would have if they were empty, beside earlier members.
    rooms: FxHashMap<NodeId, (Room, Room)>,
    /// The tagged containers of earlier members.
    tags: TagCounts,
    places: Vec<(AskId, NodeId)>,
    /// How many of these have room now.
    have_room: usize,
}

impl<'a> Targets<'a> {
    /// Finds a place for each member that has none, for large members first. `None` if the nodes could not hold the minimum
    /// even if they were empty. In the order of the roles, small members would take the place of large ones, or not, as
    /// the room of the moment goes: then the gang would gather at some times only.
    fn find(
        state: &'a State,
        gang: GangId,
        waiting: &WaitingGang,
        rack: Option<RackId>,
        keeps: bool,
    ) -> Option<Self> {
        let mut targets = Self {
            state,
            gang,
            rack,
            keeps,
            rooms: FxHashMap::default(),
            tags: TagCounts::default(),
            places: Vec::new(),
            have_room: 0,
        };
        if keeps {
            targets.tags = state.facts.tags_of_places(gang);
        }
        let mut roles: Vec<&HeldRole> = waiting.roles.iter().collect();
        roles.sort_by_key(|role| Reverse(state.facts.part_of_partition(role.ask)));
        roles.into_iter().all(|role| targets.place(role)).then_some(targets)
    }

    /// Finds places for the members of a role. Returns whether there are enough.
    fn place(&mut self, role: &HeldRole) -> bool {
        let facts = &self.state.facts;
        let has = if self.keeps { facts.place_count(self.gang, role.ask).all() } else { 0 };
        let mut left = role.minimum.saturating_sub(has);
        if left == 0 {
            return true;
        }
        let ask = facts.asks.at(role.ask);
        let shape = facts.shapes.at(ask.shape);
        let mut candidates = self.candidates(ask, shape);
        while left > 0
            && let Some(Reverse(((locality, .., position), id))) = candidates.pop()
        {
            let node = facts.nodes.at(id);
            if !self.can_hold(ask, shape, node) {
                continue;
            }
            self.take(role.ask, ask, shape, node);
            left -= 1;
            if left > 0 && self.can_hold(ask, shape, node) {
                candidates.push(self.candidate(shape, node, locality, position));
            }
        }
        left == 0
    }

    fn candidates(&self, ask: &Ask, shape: &Shape) -> BinaryHeap<Candidate> {
        let State { facts, node_shards, .. } = self.state;
        let nodes: &mut dyn Iterator<Item = NodeId> = match self.rack {
            Some(rack) => &mut node_shards.nodes_on(rack).iter().copied(),
            None => &mut node_shards.nodes_of(shape.partition),
        };
        let nodes = nodes.map(|id| facts.nodes.at(id)).enumerate();
        let fitting = nodes.filter(|(_, node)| self.can_hold(ask, shape, node));
        let candidates: Vec<_> = fitting
            .map(|(position, node)| {
                self.candidate(shape, node, ask.preference.locality_of(node.id, node.rack), position)
            })
            .collect();
        candidates.into()
    }

    fn candidate(&self, shape: &Shape, node: &Node, locality: Locality, position: usize) -> Candidate {
        let (room, _) = self.room(node);
        let has_room = node.is_open() && fits(&shape.need, &room);
        let lacks = if has_room { 0 } else { missing_share(&shape.need.resources, &room.free) };
        let scored =
            ScoredNode { capacity: &node.capacity, free: &room.free, position, positions: usize::MAX };
        let score = score(self.state.facts.config.node_order, &scored);
        Reverse(((locality, !has_room, lacks, score, position), node.id))
    }

    /// Whether the node, if it were empty, could hold a member beside the earlier ones.
    fn can_hold(&self, ask: &Ask, shape: &Shape, node: &Node) -> bool {
        node.is_candidate()
            && node.partition == shape.partition
            && ask.preference.will_do(node.id, node.rack)
            && fits(&shape.need, &self.room(node).1)
            && self.state.facts.breach_with(shape, node, Some(&self.tags)).is_none()
    }

    fn room(&self, node: &Node) -> (Room, Room) {
        let facts = &self.state.facts;
        self.rooms.get(&node.id).copied().unwrap_or_else(|| {
            if self.keeps {
                (node.room, facts.room_beside_places(self.gang, node))
            } else {
                (facts.room_without(self.gang, node), node.empty_room())
            }
        })
    }

    fn take(&mut self, id: AskId, ask: &Ask, shape: &Shape, node: &Node) {
        let (mut room, mut beside) = self.room(node);
        self.have_room += usize::from(node.is_open() && fits(&shape.need, &room));
        room.take(&shape.need);
        beside.take(&shape.need);
        self.rooms.insert(node.id, (room, beside));
        self.tags.add(shape.tags(), node, ask.application, 1);
        self.places.push((id, node.id));
    }
}
