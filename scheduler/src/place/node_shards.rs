//! The nodes of each partition, how they are cut into placement sets, and which of them changed lately.

mod image;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rustc_hash::FxHashMap;

use super::ring::{ChangeRing, NodeChange};
use crate::config::EngineLimits;
use crate::facts::{Facts, Locality, LocalityPreference, Node};
use crate::ids::{NodeId, PartitionId, RackId, ReservationId, SETS_MAX, SetId, SlotId};
use crate::resource::Resources;
pub(crate) use image::NodeShardsImage;

/// The nodes in the order in which sets list them. Changed by the committer only, read by proposers.
#[derive(Clone, Debug)]
pub(crate) struct NodeShards {
    partitions: Vec<Members>,
    /// By node slot: the node's place in its partition.
    places: Vec<u32>,
    racks: FxHashMap<RackId, Vec<NodeId>>,
    /// By set: the latest changes of its nodes.
    changes: Vec<ChangeRing>,
    /// By partition: nodes that lately gained room.
    gains: Vec<Gains>,
    /// By set: reservations whose node now has room for them.
    ready_reservations: Vec<Vec<ReservationId>>,
}

#[derive(Clone, Debug, Default)]
struct Members {
    nodes: Vec<Option<NodeId>>,
    vacant: BinaryHeap<Reverse<u32>>,
    sets: u32,
}

/// The most changes of a set that the committer looks at for one shape.
const CHANGES_MAX: usize = 1 << 10;

/// The most nodes with gained room that a partition remembers.
const GAINS_MAX: usize = 1 << 10;

/// The last nodes that gained room, with the state version in which they did.
#[derive(Clone, Debug, Default)]
struct Gains {
    latest: VecDeque<(u64, NodeId)>,
    /// The version of the newest forgotten gain.
    forgotten: u64,
}

impl NodeShards {
    /// Shards without nodes. Nodes will have amounts of `types` resource types.
    pub(crate) fn new(partitions: usize, types: usize) -> Self {
        let sets = partitions * SETS_MAX;
        Self {
            partitions: vec![Members { sets: 1, ..Members::default() }; partitions],
            places: Vec::new(),
            racks: FxHashMap::default(),
            changes: vec![ChangeRing::new(types); sets],
            gains: vec![Gains::default(); partitions],
            ready_reservations: vec![Vec::new(); sets],
        }
    }

    /// The number of sets that the partition is cut into.
    pub(crate) fn sets(&self, partition: PartitionId) -> u32 {
        self.partitions[partition.index()].sets
    }

    /// The set a node belongs to and its position there.
    pub(crate) fn place_of(&self, node: NodeId, partition: PartitionId) -> (SetId, usize) {
        let (place, sets) = (self.places[node.index()], self.sets(partition));
        (SetId::new(partition, place % sets), (place / sets) as usize)
    }

    /// The number of positions in a set, including vacant ones.
    pub(crate) fn positions(&self, set: SetId) -> usize {
        let members = &self.partitions[set.partition().index()];
        members.nodes.len().saturating_sub(set.number() as usize).div_ceil(members.sets as usize)
    }

    /// The node at a position of a set.
    pub(crate) fn node_at(&self, set: SetId, position: usize) -> Option<NodeId> {
        let members = &self.partitions[set.partition().index()];
        *members.nodes.get(position * members.sets as usize + set.number() as usize)?
    }

    /// All nodes of a partition, in the order of registration.
    pub(crate) fn nodes_of(&self, partition: PartitionId) -> impl Iterator<Item = NodeId> {
        self.partitions[partition.index()].nodes.iter().flatten().copied()
    }

    pub(crate) fn nodes_on(&self, rack: RackId) -> &[NodeId] {
        self.racks.get(&rack).map_or(&[], Vec::as_slice)
    }

    /// The hosts that an ask names, then the nodes on its racks if it may go that far.
    pub(crate) fn preferred_nodes<'a>(
        &'a self,
        preference: &'a LocalityPreference,
        allowed: Locality,
    ) -> impl Iterator<Item = NodeId> + 'a {
        let racks: &[RackId] = if allowed >= Locality::RackLocal { &preference.racks } else { &[] };
        preference.hosts.iter().chain(racks.iter().flat_map(|rack| self.nodes_on(*rack))).copied()
    }

    pub(crate) fn add(&mut self, id: NodeId, node: &Node) {
        let members = &mut self.partitions[node.partition.index()];
        let place = members.vacant.pop().map_or(members.nodes.len() as u32, |Reverse(place)| place);
        if place as usize == members.nodes.len() {
            members.nodes.push(None);
        }
        members.nodes[place as usize] = Some(id);
        self.set_place(id, place);
        self.racks.entry(node.rack).or_default().push(id);
        self.record_change(id, node.partition);
    }

    fn set_place(&mut self, id: NodeId, place: u32) {
        if self.places.len() <= id.index() {
            self.places.resize(id.index() + 1, u32::MAX);
        }
        self.places[id.index()] = place;
    }

    pub(crate) fn remove(&mut self, id: NodeId, node: &Node) {
        self.record_change(id, node.partition);
        let place = self.places[id.index()];
        let members = &mut self.partitions[node.partition.index()];
        members.nodes[place as usize] = None;
        members.vacant.push(Reverse(place));
        if let Some(nodes) = self.racks.get_mut(&node.rack) {
            nodes.retain(|other| *other != id);
        }
    }

    /// Tells the node's set to look at the node again.
    pub(crate) fn record_change(&mut self, node: NodeId, partition: PartitionId) -> SetId {
        let (set, position) = self.place_of(node, partition);
        self.changes[set.index()].push(position as u32, None);
        set
    }

    /// Tells the node's set that the node has these more resources free and is otherwise unchanged.
    pub(crate) fn record_freed(&mut self, node: NodeId, partition: PartitionId, freed: &Resources) -> SetId {
        let (set, position) = self.place_of(node, partition);
        self.changes[set.index()].push(position as u32, Some(freed));
        set
    }

    /// The number of changes in a set so far.
    pub(crate) fn change_count(&self, set: SetId) -> u64 {
        self.changes[set.index()].count()
    }

    /// The changes since `seen`, some nodes repeatedly; `None` if the ring no longer holds all of them.
    pub(crate) fn changes_since(&self, set: SetId, seen: u64) -> Option<impl Iterator<Item = NodeChange>> {
        self.changes[set.index()].since(seen)
    }

    /// The nodes at the positions of a set that changed since `seen`; `None` if these are too many for a look under the
    /// write guard.
    pub(crate) fn changed_nodes(&self, set: SetId, seen: u64) -> Option<impl Iterator<Item = NodeId>> {
        let changes = self.changes_since(set, seen)?;
        let is_short = changes.size_hint().0 <= CHANGES_MAX;
        is_short.then(|| changes.filter_map(move |change| self.node_at(set, change.position as usize)))
    }

    /// Records that a node gained room.
    pub(crate) fn record_gain(&mut self, node: NodeId, partition: PartitionId, version: u64) {
        let gains = &mut self.gains[partition.index()];
        gains.latest.push_back((version, node));
        if gains.latest.len() > GAINS_MAX {
            gains.forgotten = gains.latest.pop_front().map_or(gains.forgotten, |(version, _)| version);
        }
    }

    /// The nodes of a partition that gained room after version `seen`, some of them repeatedly; `None` if some of these
    /// gains are forgotten.
    pub(crate) fn gained_since(
        &self,
        partition: PartitionId,
        seen: u64,
    ) -> Option<impl Iterator<Item = NodeId>> {
        let gains = &self.gains[partition.index()];
        let newer = gains.latest.iter().rev().take_while(move |(version, _)| *version > seen);
        (gains.forgotten <= seen).then(|| newer.map(|(_, node)| *node))
    }

    /// Reservations in the set whose nodes now have room for them.
    pub(crate) fn ready_reservations(&self, set: SetId) -> &[ReservationId] {
        &self.ready_reservations[set.index()]
    }

    /// Records that a reservation's node has room for it. Returns false if that was known.
    pub(crate) fn add_ready_reservation(&mut self, set: SetId, reservation: ReservationId) -> bool {
        let reservations = &mut self.ready_reservations[set.index()];
        let is_new = !reservations.contains(&reservation);
        if is_new {
            reservations.push(reservation);
        }
        is_new
    }

    /// Forgets a ready reservation that ended or no longer fits. Returns false if it was not recorded.
    pub(crate) fn remove_ready_reservation(&mut self, set: SetId, reservation: ReservationId) -> bool {
        let reservations = &mut self.ready_reservations[set.index()];
        let before = reservations.len();
        reservations.retain(|other| *other != reservation);
        reservations.len() < before
    }

    /// The number of sets to cut the partition into: powers of two, with a gap between growing and
    /// shrinking so that the number changes rarely.
    pub(crate) fn sets_wanted(&self, partition: PartitionId, limits: &EngineLimits) -> u32 {
        let members = &self.partitions[partition.index()];
        let nodes = members.nodes.len() - members.vacant.len();
        let wanted = |nodes: usize| {
            if nodes < limits.single_set_nodes {
                1
            } else {
                nodes.div_ceil(limits.set_nodes).next_power_of_two().clamp(2, SETS_MAX) as u32
            }
        };
        let (now, if_twice) = (wanted(nodes), wanted(nodes * 2));
        if now < members.sets && members.sets <= if_twice { members.sets } else { now }
    }

    /// Cuts the partition into `sets` sets. The caller holds all of the partition's leases.
    pub(crate) fn reshard(&mut self, facts: &Facts, partition: PartitionId, sets: u32) {
        let members = &mut self.partitions[partition.index()];
        members.sets = sets;
        for number in 0..SETS_MAX as u32 {
            let set = SetId::new(partition, number);
            self.changes[set.index()].skip();
        }
        let first = SetId::new(partition, 0).index();
        let reservations: Vec<_> =
            self.ready_reservations[first..first + SETS_MAX].iter_mut().flat_map(std::mem::take).collect();
        for reservation in reservations {
            let (set, _) = self.place_of(facts.reservations.at(reservation).node, partition);
            self.add_ready_reservation(set, reservation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_gains_are_remembered_and_the_others_are_known_to_be_forgotten() {
        let mut shards = NodeShards::new(1, 1);
        let mut gain = |version: u64| {
            shards.record_gain(NodeId::new(version as u32, 0), PartitionId::DEFAULT, version);
            let counted = |seen| shards.gained_since(PartitionId::DEFAULT, seen).map(Iterator::count);
            [0, 1].map(counted)
        };
        assert_eq!((1..=1_024).map(&mut gain).last(), Some([Some(1_024), Some(1_023)]));
        assert_eq!(gain(1_025), [None, Some(1_024)], "the first one is forgotten");
    }
}
