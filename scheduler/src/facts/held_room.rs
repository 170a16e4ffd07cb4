//! Held room: room on nodes that is kept for members of a gang that has not started.
//!
//! Held room is neither a container nor a reservation. It is taken from its node's room and charged to queue and user,
//! as a reservation is charged to them. The rest of the node stays open to every ask. A member has a *place*: a node
//! with all of its room, or with the part that was free. The place of a part stays, so that the node's next room
//! completes it.
//!
//! In each partition at most one gang has places (I18).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Facts, GangTopology, LeafUse, Node, PartitionShare, Shape, TagCounts, WaitingGang};
use crate::ids::{AskId, GangId, NodeId, PartitionId};
use crate::resource::{DeviceMask, Need, Resources, Room, dominant_share, fits};

/// The room that gangs hold, by partition.
pub(crate) type HeldRooms = BTreeMap<PartitionId, HeldRoom>;

/// The room that one gang holds in one partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldRoom {
    pub(crate) gang: GangId,
    /// The places, by node. No list is empty.
    pub(crate) nodes: BTreeMap<NodeId, Vec<HeldPlace>>,
    /// How many places each ask has.
    pub(crate) counts: BTreeMap<AskId, PlaceCount>,
    /// The amount of all places.
    pub(crate) amount: Resources,
}

/// The place of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldPlace {
    pub(crate) ask: AskId,
    /// The amount held, which may be zero in a part.
    pub(crate) amount: Resources,
    /// The devices held. A part may have fewer than the member needs.
    pub(crate) devices: DeviceMask,
    /// Whether this is all that the member needs.
    pub(crate) is_whole: bool,
}

/// The places of an ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlaceCount {
    pub(crate) whole: u32,
    pub(crate) parts: u32,
}

impl PlaceCount {
    pub(crate) fn all(self) -> u32 {
        self.whole + self.parts
    }
}

impl HeldRoom {
    pub(crate) fn new(gang: GangId) -> Self {
        Self { gang, nodes: BTreeMap::new(), counts: BTreeMap::new(), amount: Resources::ZERO }
    }

    pub(crate) fn count(&self, ask: AskId) -> PlaceCount {
        self.counts.get(&ask).copied().unwrap_or_default()
    }

    /// The node of the ask's first part.
    pub(crate) fn first_part(&self, ask: AskId) -> Option<NodeId> {
        let is_part = |place: &HeldPlace| place.ask == ask && !place.is_whole;
        self.nodes.iter().find(|(_, places)| places.iter().any(is_part)).map(|(node, _)| *node)
    }

    /// Counts a place more, or with `sign` -1 one less.
    pub(super) fn count_place(&mut self, place: &HeldPlace, sign: i32) {
        let count = self.counts.entry(place.ask).or_default();
        let number = if place.is_whole { &mut count.whole } else { &mut count.parts };
        *number = number.wrapping_add_signed(sign);
        if count.all() == 0 {
            self.counts.remove(&place.ask);
        }
        self.amount += place.amount.times(sign.into());
    }
}

impl HeldPlace {
    /// The place that a member of the ask takes in the room: its whole need, or the part that is free. A part takes
    /// each device that has enough free, up to the number needed.
    pub(super) fn in_room(ask: AskId, need: &Need, room: &Room, device_type: Option<usize>) -> Self {
        if fits(need, room) {
            let devices = need.devices.and_then(|devices| room.devices.choose(devices)).unwrap_or_default();
            return Self { ask, amount: need.resources, devices, is_whole: true };
        }
        let mut amount = need.resources.combine(&room.free, |need, free| need.min(free.max(0)));
        let devices = need.devices.map(|devices| room.devices.choose_some(devices)).unwrap_or_default();
        if let Some(device_type) = device_type {
            let milli = need.devices.map_or(0, |devices| devices.milli);
            amount.set(device_type, i64::from(devices.count()) * i64::from(milli));
        }
        Self { ask, amount, devices, is_whole: false }
    }
}

impl Facts {
    /// The places on the node.
    pub(crate) fn places_on(&self, node: NodeId, partition: PartitionId) -> &[HeldPlace] {
        let held = self.held_rooms.get(&partition).and_then(|held| held.nodes.get(&node));
        held.map_or(&[], Vec::as_slice)
    }

    /// Whether a gang has a place on the node.
    #[inline]
    pub(crate) fn holds_room_on(&self, node: &Node) -> bool {
        !self.held_rooms.is_empty() && !self.places_on(node.id, node.partition).is_empty()
    }

    /// The amount held on the node.
    pub(crate) fn held_on(&self, node: &Node) -> Resources {
        self.places_on(node.id, node.partition).iter().map(|place| place.amount).sum()
    }

    /// The node's room if the gang gave back what it holds there.
    pub(crate) fn room_without(&self, gang: GangId, node: &Node) -> Room {
        let mut room = node.room;
        if self.held_rooms.get(&node.partition).is_some_and(|held| held.gang == gang) {
            self.places_on(node.id, node.partition).iter().for_each(|place| self.give(&mut room, place));
        }
        room
    }

    /// The place that the member with this part could have on the node now.
    pub(crate) fn place_with_more_room(&self, part: &HeldPlace, node: &Node) -> HeldPlace {
        let mut room = node.room;
        self.give(&mut room, part);
        self.place_in(part.ask, &room)
    }

    /// The place that a member of the ask takes in the room.
    fn place_in(&self, ask: AskId, room: &Room) -> HeldPlace {
        HeldPlace::in_room(ask, &self.shape_of(ask).need, room, self.config.resources.device_type())
    }

    /// Gives the room of a place back to `room`, a copy of the room of its node.
    pub(crate) fn give(&self, room: &mut Room, place: &HeldPlace) {
        room.free += place.amount;
        if let Some(need) = self.shape_of(place.ask).need.devices {
            room.devices.give(place.devices, need.milli);
        }
    }

    /// The partitions in which the gang has places.
    pub(crate) fn partitions_held_by(&self, gang: GangId) -> Vec<PartitionId> {
        let its = self.held_rooms.iter().filter(|(_, held)| held.gang == gang);
        its.map(|(partition, _)| *partition).collect()
    }

    /// The places of the gang, by partition and node.
    pub(crate) fn places_of(&self, gang: GangId) -> impl Iterator<Item = (PartitionId, NodeId, &HeldPlace)> {
        let its = self.held_rooms.iter().filter(move |(_, held)| held.gang == gang);
        its.flat_map(|(partition, held)| {
            let places =
                held.nodes.iter().flat_map(|(node, places)| places.iter().map(move |one| (*node, one)));
            places.map(|(node, place)| (*partition, node, place))
        })
    }

    /// The number of places of a held ask.
    pub(crate) fn place_count(&self, gang: GangId, ask: AskId) -> PlaceCount {
        let held = self.held_rooms.get(&self.shape_of(ask).partition);
        held.filter(|held| held.gang == gang).map_or_else(PlaceCount::default, |held| held.count(ask))
    }

    /// The amount that the gang holds in the partition.
    pub(crate) fn held_by(&self, gang: GangId, partition: PartitionId) -> Resources {
        let held = self.held_rooms.get(&partition).filter(|held| held.gang == gang);
        held.map_or(Resources::ZERO, |held| held.amount)
    }

    /// Whether the gang has places in some partition.
    pub(crate) fn holds_room(&self, gang: GangId) -> bool {
        self.held_rooms.values().any(|held| held.gang == gang)
    }

    /// The partitions that the gang's minimum needs.
    pub(crate) fn partitions_wanted(&self, gang: &WaitingGang) -> Vec<PartitionId> {
        let wanted = gang.roles.iter().filter(|role| role.minimum > 0);
        let mut partitions: Vec<_> = wanted.map(|role| self.shape_of(role.ask).partition).collect();
        partitions.sort_unstable();
        partitions.dedup();
        partitions
    }

    /// Whether the maxima of the queues and the limits of its user admit the gang's minimum beside the master of its
    /// application. Otherwise the gang would hold room that it can never complete. Other present use does not count:
    /// with it the answer would change, and let later gangs hold the room first.
    pub(crate) fn maxima_admit(&self, gang: &WaitingGang) -> bool {
        let application = self.applications.at(gang.application);
        let master =
            self.master_container(application).map(|id| self.shapes.at(self.containers.at(id).shape));
        self.partitions_wanted(gang).into_iter().all(|partition| {
            let of_master = master.filter(|shape| shape.partition == partition);
            let minimum = self.minimum_of(gang, partition)
                + of_master.map_or(Resources::ZERO, |shape| shape.need.resources);
            let largest = self.largest_of(gang, partition);
            let mut chain = self.queue(application.leaf).chain.iter();
            let share = PartitionShare::own(partition);
            let active_weight_milli = self.user(application.user).weight.milli();
            // Limits that move with use are computed as for the start of the last member.
            let others = minimum - largest;
            let leaf_use = || LeafUse { all: others, active: others, active_weight_milli };
            let of_user = self.tree.user_limit(application.user, share, &largest, leaf_use);
            chain.all(|queue| self.queue(*queue).quota(partition).admits(&Resources::ZERO, &minimum))
                && minimum.within(&of_user)
                && self.tree.exhausted_limit_usage(application.user, &minimum, |_| Resources::ZERO).is_none()
        })
    }

    /// Whether a limit has no headroom for a member of the gang. Limits that admit the whole partition do not count:
    /// the room of the nodes decides there.
    pub(crate) fn is_stopped_by_limit(&self, gang: &WaitingGang) -> bool {
        let application = self.applications.at(gang.application);
        gang.roles.iter().filter(|role| role.minimum > 0).any(|role| {
            let shape = self.shape_of(role.ask);
            let (partition, size) = (shape.partition, &shape.need.resources);
            let share = PartitionShare::own(partition);
            let capacity = &self.tree.partitions[partition.index()].capacity;
            let admits = |queue: &_| {
                let quota = self.queue(*queue).quota(partition);
                capacity.within(&quota.maximum) || quota.admits(&quota.used, size)
            };
            let leaf_use = || self.tree.leaf_use(application.leaf, partition, Resources::ZERO);
            let of_user = self.tree.user_limit(application.user, share, size, leaf_use);
            !(self.queue(application.leaf).chain.iter().all(admits)
                && self.tree.limit_usages_admit(application.user, partition, size)
                && (capacity.within(&of_user) || self.tree.user_may_use(application.user, share, size, size)))
        })
    }

    /// The most of each type that one member of the gang's minimum needs in the partition.
    pub(crate) fn largest_of(&self, gang: &WaitingGang, partition: PartitionId) -> Resources {
        let roles = gang.roles.iter().filter(|role| role.minimum > 0).map(|role| self.shape_of(role.ask));
        let here = roles.filter(|shape| shape.partition == partition);
        here.fold(Resources::ZERO, |largest, shape| largest.max(&shape.need.resources))
    }

    /// What the gang's minimum needs in the partition.
    pub(crate) fn minimum_of(&self, gang: &WaitingGang, partition: PartitionId) -> Resources {
        let here = gang.roles.iter().filter(|role| self.shape_of(role.ask).partition == partition);
        here.map(|role| self.shape_of(role.ask).need.resources.times(i64::from(role.minimum))).sum()
    }

    /// The room that the empty node would have beside the gang's members that have a place there.
    pub(crate) fn room_beside_places(&self, gang: GangId, node: &Node) -> Room {
        let mut room = node.empty_room();
        if self.held_rooms.get(&node.partition).is_some_and(|held| held.gang == gang) {
            for place in self.places_on(node.id, node.partition) {
                room.take(&self.shape_of(place.ask).need);
            }
        }
        room
    }

    /// The tags of the gang's members that have a place.
    pub(crate) fn tags_of_places(&self, gang: GangId) -> TagCounts {
        let mut tags = TagCounts::default();
        for (_, node, place) in self.places_of(gang) {
            let application = self.asks.at(place.ask).application;
            tags.add(self.shape_of(place.ask).tags(), self.nodes.at(node), application, 1);
        }
        tags
    }

    /// Whether the shape's rule admits one more member of the gang on the node, beside those that have a place.
    fn rule_admits(&self, gang: GangId, shape: &Shape, node: &Node) -> bool {
        let tags = if shape.caps().is_empty() { TagCounts::default() } else { self.tags_of_places(gang) };
        self.breach_with(shape, node, Some(&tags)).is_none()
    }

    /// The part of its partition that one member of the ask needs.
    pub(crate) fn part_of_partition(&self, ask: AskId) -> u64 {
        let shape = self.shape_of(ask);
        dominant_share(&shape.need.resources, &self.tree.partitions[shape.partition.index()].capacity)
    }

    /// Whether each member of the gang that has to start has a place.
    fn has_all_places(&self, id: GangId, gang: &WaitingGang) -> bool {
        gang.roles.iter().all(|role| self.place_count(id, role.ask).all() >= role.minimum)
    }

    fn shape_of(&self, ask: AskId) -> &Shape {
        self.shapes.at(self.asks.at(ask).shape)
    }

    /// Whether the member may get a place, or more room at its place, on the node. Once each member of the gang has a
    /// place, a whole place may also end a part. Sooner, it could take the only place for a member without one. Limits
    /// must be computed.
    pub(crate) fn room_gain(&self, gang: GangId, ask: AskId, node: NodeId) -> Option<RoomGain> {
        let waiting = self.gangs.get(&gang).filter(|waiting| waiting.gathers)?;
        let role = waiting.roles.iter().find(|role| role.ask == ask)?;
        let (known, node) = (self.asks.at(ask), self.nodes.get(node)?);
        let shape = self.shapes.at(known.shape);
        let held = self.held_rooms.get(&shape.partition);
        if held.is_some_and(|held| held.gang != gang)
            || !node.is_open()
            || node.partition != shape.partition
            || !known.preference().will_do(node.id, node.rack)
            || !self.could_hold(shape, node)
        {
            return None;
        }
        let application = self.applications.at(waiting.application);
        let count = held.map_or_else(PlaceCount::default, |held| held.count(ask));
        let places = self.places_on(node.id, node.partition);
        let part = places.iter().find(|place| place.ask == ask && !place.is_whole);
        let before = part.map_or(Resources::ZERO, |part| part.amount);
        let HeldPlace { amount, is_whole, .. } = match part {
            Some(part) => self.place_with_more_room(part, node),
            None => self.place_in(ask, &node.room),
        };
        let more = amount - before;
        let is_in_place_of_part = part.is_none() && count.all() >= role.minimum;
        let helps = match part {
            Some(_) => is_whole || !more.is_zero(),
            None if count.all() < role.minimum => true,
            None => is_whole && count.parts > 0 && self.has_all_places(gang, waiting),
        };
        let is_on_its_rack = waiting.topology != GangTopology::SameRack
            || self.places_of(gang).next().is_none_or(|(_, other, _)| self.nodes.at(other).rack == node.rack);
        let is_admitted = application.is_active
            && helps
            && is_on_its_rack
            && (part.is_some() || fits(&shape.need, &self.room_beside_places(gang, node)))
            && (part.is_some() || self.rule_admits(gang, shape, node))
            && self.tree.limits_admit(application.user, shape.share(), &more, &more);
        is_admitted.then_some(RoomGain { is_in_place_of_part })
    }
}

/// A place, or more room at a place, that a member may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoomGain {
    /// Another part of the ask ends for it.
    pub(crate) is_in_place_of_part: bool,
}
