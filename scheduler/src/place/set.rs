//! Placement sets: the candidate nodes that one proposer may use.

use std::hint::black_box;

use rustc_hash::FxHashMap;

use super::index::BucketIndex;
use super::node_shards::NodeShards;
use super::order::{ScoredNode, score};
use super::ring::NodeChange;
use crate::config::NodeOrderKind;
use crate::facts::{Facts, Node, Shape, TagCounts};
use crate::ids::{ApplicationId, NodeId, SetId};
use crate::in_flight::InFlight;
use crate::resource::{Devices, Need, Resources, Room, fits};

/// The candidate nodes of one shard of a partition, with an index over their free resources.
///
/// The holder of the value has the set's lease: it is taken from the [pool](super::Leases) for a pass, travels with the
/// batch, and goes back when the batch is decided or dropped. The set is a view: the committer decides by the nodes
/// themselves.
#[derive(Debug)]
pub struct PlacementSet {
    id: SetId,
    order: NodeOrderKind,
    nodes: Vec<Candidate>,
    index: BucketIndex,
    /// The set's [change count](NodeShards::change_count) up to which this view has followed.
    seen: u64,
    /// Tagged containers that the current pass proposed, in any set.
    given: TagCounts,
    /// By position: off-switch containers that the current pass proposed. Counted only if the configuration limits
    /// them.
    given_off_switch: FxHashMap<usize, u32>,
    /// Positions that this view debited. The next pass looks them up again unless the whole batch was accepted.
    debited: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    node: Option<NodeId>,
    capacity: Resources,
    room: Room,
}

impl Candidate {
    const ABSENT: Self = Self {
        node: None,
        capacity: Resources::ZERO,
        room: Room { free: Resources::ZERO, devices: Devices::NONE },
    };
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A node, at this position.
    At(usize),
    /// Only nodes that reached their maximum of off-switch containers in this pass.
    NextPass,
    /// No node that fits.
    Nothing,
}

/// The state that a placement set is a view of.
#[derive(Clone, Copy)]
pub(crate) struct Nodes<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) in_flight: &'a InFlight,
    pub(crate) node_shards: &'a NodeShards,
}

impl Nodes<'_> {
    /// The resources left on the node after picks in flight.
    pub(crate) fn room_left(&self, id: NodeId, node: &Node) -> Room {
        Room { free: node.room.free - self.in_flight.on_node(id), devices: node.room.devices }
    }
}

impl PlacementSet {
    pub(crate) fn new(id: SetId, order: NodeOrderKind) -> Self {
        let index = BucketIndex::new(0);
        Self {
            id,
            order,
            nodes: Vec::new(),
            index,
            seen: 0,
            given: TagCounts::default(),
            given_off_switch: FxHashMap::default(),
            debited: Vec::new(),
        }
    }

    /// A separate view of the set for one pass, limited to `node` if there is one.
    pub(crate) fn confined(id: SetId, order: NodeOrderKind, nodes: Nodes<'_>, node: Option<NodeId>) -> Self {
        let mut set = Self::new(id, order);
        match node {
            None => set.sync(nodes),
            Some(node) => {
                let positions = nodes.node_shards.positions(id);
                set.index = BucketIndex::new(positions);
                set.nodes.resize(positions, Candidate::ABSENT);
                let (_, position) = nodes.node_shards.place_of(node, id.partition());
                set.refresh(nodes, position);
                set.seen = nodes.node_shards.change_count(id);
            }
        }
        set
    }

    /// The id of the set.
    #[must_use]
    pub fn id(&self) -> SetId {
        self.id
    }

    /// The change count up to which this view has followed.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Brings the view up to date: nodes that changed since the last pass, and the debited nodes unless the whole batch
    /// was accepted.
    pub(crate) fn sync(&mut self, nodes: Nodes<'_>) {
        let positions = nodes.node_shards.positions(self.id);
        self.given.clear();
        self.given_off_switch.clear();
        let mut changed = std::mem::take(&mut self.debited);
        match nodes.node_shards.changes_since(self.id, self.seen) {
            Some(changes) if self.index.positions() == positions => {
                self.fetch(nodes.node_shards.changes_since(self.id, self.seen));
                for NodeChange { position, freed } in changes {
                    match freed {
                        Some(freed) if self.nodes[position as usize].node.is_some() => {
                            self.add_freed(position as usize, &freed);
                        }
                        _ => changed.push(position),
                    }
                }
                // Last: the node's present room includes all freed amounts.
                for &position in &changed {
                    self.refresh(nodes, position as usize);
                }
            }
            _ => self.rebuild(nodes, positions),
        }
        self.seen = nodes.node_shards.change_count(self.id);
        changed.clear();
        self.debited = changed;
    }

    /// Prefetches the changed nodes, independently of each other. In a large set hardly any of them is in a cache, and
    /// this way the processor loads many at a time.
    fn fetch(&self, changes: Option<impl Iterator<Item = NodeChange>>) {
        let candidates = changes.into_iter().flatten().map(|change| &self.nodes[change.position as usize]);
        black_box(candidates.fold(0, |sum, candidate| {
            sum ^ candidate.capacity[0] ^ candidate.room.free[0] ^ i64::from(candidate.node.is_some())
        }));
    }

    fn rebuild(&mut self, nodes: Nodes<'_>, positions: usize) {
        self.index = BucketIndex::new(positions);
        self.nodes.clear();
        self.nodes.resize(positions, Candidate::ABSENT);
        for position in 0..positions {
            self.refresh(nodes, position);
        }
    }

    /// Looks one position up. A node that is reserved or takes no containers is not a candidate.
    fn refresh(&mut self, nodes: Nodes<'_>, position: usize) {
        let candidate = nodes.node_shards.node_at(self.id, position).and_then(|id| {
            let node = nodes.facts.nodes.get(id)?;
            node.is_open().then(|| Candidate {
                node: Some(id),
                capacity: node.capacity,
                room: nodes.room_left(id, node),
            })
        });
        let candidate = candidate.unwrap_or(Candidate::ABSENT);
        // A node that changed several times equals its candidate after the first look.
        if self.nodes[position] != candidate {
            self.nodes[position] = candidate;
            self.list(position);
        }
    }

    fn add_freed(&mut self, position: usize, freed: &Resources) {
        self.nodes[position].room.free += *freed;
        self.list(position);
    }

    fn list(&mut self, position: usize) {
        let candidate = &self.nodes[position];
        if candidate.node.is_none() {
            self.index.remove(position);
            return;
        }
        self.index.put(position, self.step(position), &candidate.room.free);
    }

    /// The step of a candidate in the order of nodes.
    #[inline]
    fn step(&self, position: usize) -> usize {
        let Candidate { capacity, room, .. } = &self.nodes[position];
        score(self.order, &ScoredNode { capacity, free: &room.free, position, positions: self.nodes.len() })
    }

    /// The first node in order on which a container of this shape fits. `visits` counts the nodes looked at.
    pub(crate) fn search(&mut self, nodes: Nodes<'_>, shape: &Shape, visits: &mut usize) -> Found {
        if shape.rule.is_some() || nodes.facts.config.limits.off_switch_per_pass.is_some() {
            return self.search_ruled(nodes, shape, visits);
        }
        let Self { nodes: candidates, index, .. } = self;
        let suits = |position: usize| {
            let candidate = &candidates[position];
            candidate.node.is_some() && fits(&shape.need, &candidate.room)
        };
        let found =
            index.search(&shape.need.resources, suits, |position| candidates[position].room.free, visits);
        found.map_or(Found::Nothing, Found::At)
    }

    /// The same for shapes with a rule, or if off-switch containers are limited.
    fn search_ruled(&mut self, nodes: Nodes<'_>, shape: &Shape, visits: &mut usize) -> Found {
        let Self { nodes: candidates, index, given, given_off_switch, .. } = self;
        let off_switch_max = nodes.facts.config.limits.off_switch_per_pass;
        let mut is_held_back = false;
        let suits = |position: usize| {
            let candidate = &candidates[position];
            let Some(id) = candidate.node else { return false };
            let suits = fits(&shape.need, &candidate.room)
                && (shape.rule.is_none()
                    || nodes.facts.breach_with(shape, nodes.facts.nodes.at(id), Some(given)).is_none());
            let Some(most) = off_switch_max.filter(|_| suits) else { return suits };
            let has_enough = given_off_switch.get(&position).is_some_and(|given| *given >= most);
            is_held_back |= has_enough;
            !has_enough
        };
        match index.search(&shape.need.resources, suits, |position| candidates[position].room.free, visits) {
            Some(position) => Found::At(position),
            None if is_held_back => Found::NextPass,
            None => Found::Nothing,
        }
    }

    /// Counts an off-switch container that the current pass proposes at a position. Called only if these are limited.
    pub(crate) fn give_off_switch(&mut self, position: usize) {
        *self.given_off_switch.entry(position).or_default() += 1;
    }

    /// The node at a position that a search returned.
    pub(crate) fn node(&self, position: usize) -> NodeId {
        self.nodes[position].node.expect("a search returns candidates")
    }

    /// The number of positions in the set, including vacant ones.
    pub(crate) fn positions(&self) -> usize {
        self.nodes.len()
    }

    /// The node at a position if it is a candidate.
    pub(crate) fn node_if_candidate(&self, position: usize) -> Option<NodeId> {
        self.nodes[position].node
    }

    /// The step of the candidate at a position in the node order.
    pub(crate) fn step_of(&self, position: usize) -> Option<usize> {
        self.index.step_of(position)
    }

    /// The free resources of the node at a position, by this view.
    pub(crate) fn free_at(&self, position: usize) -> Resources {
        self.nodes[position].room.free
    }

    /// Whether the node at this position is a candidate on which `shape` fits, by this view.
    pub(crate) fn fits_at(&self, nodes: Nodes<'_>, position: usize, shape: &Shape) -> bool {
        let Some(candidate) = self.nodes.get(position) else { return false };
        let node = candidate.node.and_then(|id| nodes.facts.nodes.get(id));
        node.is_some_and(|node| {
            fits(&shape.need, &candidate.room)
                && nodes.facts.breach_with(shape, node, Some(&self.given)).is_none()
        })
    }

    /// Containers with tags that the present pass proposed.
    pub(crate) fn given_tags(&self) -> &TagCounts {
        &self.given
    }

    /// Counts the tags of a container that the current pass proposes on the node.
    pub(crate) fn give_tags(&mut self, shape: &Shape, node: &Node, application: ApplicationId) {
        self.given.add(shape.tags(), node, application, 1);
    }

    /// Subtracts a proposed container's resources from the view.
    pub(crate) fn debit(&mut self, position: usize, need: &Need) {
        let room = &mut self.nodes[position].room;
        room.free -= need.resources;
        if let Some(devices) = need.devices
            && let Some(mask) = room.devices.choose(devices)
        {
            room.devices.take(mask, devices.milli);
        }
        self.debited.push(position as u32);
        let step = self.step(position);
        self.index.lower(position, step, &self.nodes[position].room.free);
    }

    /// Keeps the debits of this view as final. Called when all of its containers were accepted; the ring then need not
    /// report them.
    pub(crate) fn trust_debits(&mut self) {
        self.debited.clear();
    }

    /// Removes a node from the view because this pass reserves it.
    pub(crate) fn withdraw(&mut self, position: usize) {
        self.nodes[position].node = None;
        self.debited.push(position as u32);
        self.list(position);
    }

    /// Whether this view equals a rebuilt one (I12). The caller has synchronised it.
    pub(crate) fn equals_rebuilt(&self, nodes: Nodes<'_>) -> bool {
        let mut fresh = Self::new(self.id, self.order);
        fresh.sync(nodes);
        fresh.nodes.len() == self.nodes.len()
            && (0..fresh.nodes.len()).all(|position| {
                let (a, b) = (&self.nodes[position], &fresh.nodes[position]);
                a.node == b.node
                    && a.room == b.room
                    && self.index.step_of(position) == fresh.index.step_of(position)
            })
    }
}
