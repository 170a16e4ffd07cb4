//! The state under the engine's one lock: the facts, and all data derived from them.
//!
//! # Waits and their causes
//!
//! The first two are the ways to wait for what passes report. The last column says why the others are kept apart.
//!
//! | waiting | for | kept in | apart because |
//! |---|---|---|---|
//! | lanes at a limit; sets with everything in flight | an amount to fall | `backlog/waits.rs` | |
//! | shapes and asks that find no room | room on a node | `backlog/demand.rs`, `backlog/locality.rs` | |
//! | inactive applications | active ones to end | `facts/queue_tree/activation.rs` | a fact: a replay decides alike |
//! | lanes of borrowed shapes | their own lanes to be stuck | `backlog/borrowed.rs` | counted, not reported |
//! | starved asks | the next group | `backlog/starved.rs` | the committer serves them, not a pass |
//! | delays, expiries and turns | the clock | [`Timers`] | no change of the state ends them |
//! | gangs | room for all members | `state/gang_waits.rs`, `place/gang_search.rs` | a search looks at all nodes |
//! | queued opportunistic containers | their turn at a node | `facts/node_queues.rs` | placed already |
//! | requested promotions | passes to have nothing to do | `engine/opportunistic.rs` | they come after all asks |
//! | rounds of preemption | an interval, and a change | `engine/rounds.rs` | nothing in the backlog waits for them |

mod gang_waits;
mod image;
mod timers;

use std::sync::Arc;

use crate::backlog::Backlog;
use crate::config::EngineConfig;
use crate::facts::{Charged, Facts, Shape, StateDigest, TagCap, TagScope};
use crate::ids::{AskId, NodeId, PartitionId, ReservationId, SetId, ShapeId};
use crate::in_flight::InFlight;
use crate::place::{NodeShards, Nodes};
use crate::resource::{DeviceMask, Resources, fits};
use crate::timers::{Timer, Timers};
use gang_waits::GangWaits;
pub(crate) use image::{StateImage, StateImageOf};

/// The engine's state. Proposers read it under the read guard and change only [`InFlight`]. The committer changes the
/// rest under the write guard. A thread that drops a batch also takes the write guard, but changes no facts.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) facts: Facts,
    pub(crate) in_flight: InFlight,
    pub(crate) node_shards: NodeShards,
    pub(crate) backlog: Backlog,
    pub(crate) timers: Timers,
    /// Moves with every group commit, and when an undecided batch is taken back. An observation of a pass counts only
    /// if no change since could help.
    pub(crate) version: u64,
    /// Moves whenever a node is added, removed or changed; not with its containers.
    pub(crate) nodes_version: u64,
    /// The version in which use last moved to another queue or group: an application moved, or a user changed its
    /// groups.
    moved_at: u64,
    /// The version in which a container with tags last ended.
    tags_ended_at: u64,
    /// The version in which [`reconsider_reservations`](Self::reconsider_reservations) last ran, by partition.
    reconsidered_at: Vec<u64>,
    pub(crate) gang_waits: GangWaits,
    /// Whether guarantees and maxima have to be recomputed before their next use.
    limits_stale: bool,
}

impl State {
    pub(crate) fn new(config: &Arc<EngineConfig>) -> Self {
        let facts = Facts::new(config);
        let node_shards = NodeShards::new(facts.tree.partitions.len(), facts.config.resources.len());
        Self::of_facts(facts, node_shards)
    }

    /// The state with these facts, with nothing in flight, everything to be looked at, and no timers.
    fn of_facts(facts: Facts, node_shards: NodeShards) -> Self {
        let partitions = facts.tree.partitions.len();
        let mut in_flight = InFlight::new(facts.tree.queues.len(), partitions);
        in_flight.add_users(facts.tree.users.len(), facts.tree.limit_usages().len());
        facts.nodes.iter().for_each(|(id, _)| in_flight.reset_node(id));
        facts.asks.iter().for_each(|(id, _)| in_flight.reset_ask(id));
        Self {
            in_flight,
            node_shards,
            backlog: Backlog::rebuild(&facts, |_| 1),
            timers: Timers::default(),
            facts,
            version: 0,
            nodes_version: 0,
            moved_at: 0,
            tags_ended_at: 0,
            gang_waits: GangWaits::default(),
            reconsidered_at: vec![0; partitions],
            limits_stale: true,
        }
    }

    /// The partition's name; empty for the default one.
    pub(crate) fn partition_name(&self, partition: PartitionId) -> &str {
        partition.index().checked_sub(1).map_or("", |place| &self.facts.config.partitions[place])
    }

    pub(crate) fn partitions(&self) -> impl Iterator<Item = PartitionId> + use<> {
        (0..self.facts.tree.partitions.len() as u32).map(PartitionId)
    }

    /// The nodes that placement sets are views of.
    pub(crate) fn nodes(&self) -> Nodes<'_> {
        Nodes { facts: &self.facts, in_flight: &self.in_flight, node_shards: &self.node_shards }
    }

    /// The sets of a partition over which a pass could find something, one bit each.
    pub(crate) fn wanted_sets(&self, partition: PartitionId) -> u64 {
        (0..self.node_shards.sets(partition))
            .map(|number| SetId::new(partition, number))
            .filter(|set| self.backlog.is_wanted(*set))
            .fold(0, |bits, set| bits | set.bit())
    }

    pub(crate) fn mark_limits_stale(&mut self) {
        self.limits_stale = true;
        self.facts.tree.inactive.record_change();
    }

    /// Whether any node of the shape's partition [could hold](Facts::could_hold) a container of it.
    pub(crate) fn some_node_could_hold(&self, shape: &Shape) -> bool {
        let mut nodes = self.node_shards.nodes_of(shape.partition);
        nodes.any(|node| self.facts.could_hold(shape, self.facts.nodes.at(node)))
    }

    pub(crate) fn limits_are_stale(&self) -> bool {
        self.limits_stale
    }

    /// Recomputes guarantees and maxima if their inputs have changed.
    pub(crate) fn recompute_limits(&mut self) {
        if !std::mem::take(&mut self.limits_stale) {
            return;
        }
        self.facts.tree.resolve_limits();
        self.backlog.wake_all(self.version);
        self.backlog.rekey_all(&self.facts);
    }

    /// Records that charges moved to other queues, users or limit usages.
    pub(crate) fn record_move(&mut self) {
        self.moved_at = self.version;
    }

    /// Whether charges moved since the version that a pass saw. Then the pass's amounts in flight may be in other
    /// queues and limit usages than its containers will be charged to.
    pub(crate) fn have_charges_moved_since(&self, seen: u64) -> bool {
        self.moved_at > seen
    }

    /// Whether a cap of the shape on racks may have fewer containers than a pass at version `seen` counted. The pass
    /// counts its own, so a cap that it found reached need not have been reached in the facts, and no node was told.
    pub(crate) fn may_be_under_rack_caps_since(&self, shape: &Shape, seen: u64) -> bool {
        self.tags_ended_at > seen && shape.caps().iter().any(|cap| cap.scope == TagScope::Rack)
    }

    /// The digest of the facts. Limits must be computed.
    pub(crate) fn digest(&self) -> StateDigest {
        debug_assert!(!self.limits_stale, "the digest covers the limits");
        self.facts.digest()
    }

    /// The bytes from which the digest is computed.
    pub(crate) fn canonical_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.facts.write_canonical(&mut bytes).expect("memory does not fail to be written");
        bytes
    }

    /// Updates derived state after a container on the node ended and freed these resources and devices.
    pub(crate) fn node_freed(&mut self, id: NodeId, freed: &Resources, devices: DeviceMask) {
        if !devices.is_empty() {
            // The record of changes holds no devices, so the set looks at the node again.
            return self.node_gained(id);
        }
        let set = self.node_shards.record_freed(id, self.facts.nodes.at(id).partition, freed);
        self.tell_of_gain(id, set);
    }

    /// Updates derived state after a node may take containers that it could not take before, and wakes the waits that
    /// this may end.
    pub(crate) fn node_gained(&mut self, id: NodeId) {
        let set = self.node_shards.record_change(id, self.facts.nodes.at(id).partition);
        self.tell_of_gain(id, set);
    }

    fn tell_of_gain(&mut self, id: NodeId, set: SetId) {
        if !self.facts.gangs.is_empty() {
            self.record_gain_for_gangs(id);
        }
        self.review_reservation(id);
        let Self { facts, node_shards, backlog, .. } = self;
        if !facts.nodes.at(id).is_open() {
            return;
        }
        if facts.config.locality_delay.counts_nodes() {
            node_shards.record_gain(id, set.partition(), self.version);
        }
        backlog.room_gained(facts, set, id, self.version);
    }

    /// Updates derived state after a container was placed. That matters only if its tags now reach a cap. The caller
    /// handles the container's own node.
    pub(crate) fn tags_placed(&mut self, charged: &Charged) {
        if charged.is_tagged {
            self.review_reached_caps(charged);
        }
    }

    /// The same after a container ended. That matters only if a cap is no longer reached, and to passes under way.
    pub(crate) fn tags_ended(&mut self, charged: &Charged) {
        if charged.is_tagged {
            self.facts.node_loads.look_for_nodes();
            self.tags_ended_at = self.version;
            self.wake_under_caps(charged);
        }
    }

    #[cold]
    fn review_reached_caps(&mut self, charged: &Charged) {
        let reached = self.moved_caps(charged, 1);
        for node in self.nodes_of_rack_caps(&reached, charged.node) {
            self.review_reservation(node);
        }
    }

    #[cold]
    fn wake_under_caps(&mut self, charged: &Charged) {
        let left = self.moved_caps(charged, 0);
        for node in self.nodes_of_rack_caps(&left, charged.node) {
            self.node_gained(node);
        }
        for (shape, _) in left {
            self.backlog.demand_mut(shape).reserve_tried = 0;
            self.seek_reservation(shape);
        }
    }

    /// The nodes on the rack of `node` if one of the caps is for racks.
    fn nodes_of_rack_caps(&self, caps: &[(ShapeId, TagScope)], node: NodeId) -> Vec<NodeId> {
        if caps.iter().all(|(_, scope)| *scope != TagScope::Rack) {
            return Vec::new();
        }
        self.node_shards.nodes_on(self.facts.nodes.at(node).rack).to_vec()
    }

    /// Caps whose count is `beyond` above the most at which one more container may be placed.
    fn moved_caps(&self, charged: &Charged, beyond: i64) -> Vec<(ShapeId, TagScope)> {
        let Facts { shapes, tags, nodes, .. } = &self.facts;
        let node = nodes.at(charged.node);
        let mut moved = Vec::new();
        for tag in shapes.at(charged.shape).tags() {
            for &shape in shapes.capped_by(tag) {
                let caps = shapes.at(shape).caps().iter();
                let is_moved = |cap: &&TagCap| {
                    cap.tag == *tag
                        && cap.counts(charged.application)
                        && tags.count(cap, node) == cap.before_max + beyond
                };
                moved.extend(caps.filter(is_moved).map(|cap| (shape, cap.scope)));
            }
        }
        moved
    }

    /// Whether a pass could fulfil the reservation now.
    pub(crate) fn is_ready(&self, reservation: ReservationId) -> bool {
        let reservation = self.facts.reservations.at(reservation);
        let shape = self.facts.shapes.at(self.facts.asks.at(reservation.ask).shape);
        let node = self.facts.nodes.at(reservation.node);
        node.is_candidate() && fits(&shape.need, &node.room) && self.facts.meets_rule(shape, node)
    }

    /// Whether the ask has reserved the node, the node could hold it but is still too full, and re-reservations count.
    pub(crate) fn is_reserved_in_vain(&self, ask: AskId, node: NodeId) -> bool {
        let Some(reservation) = self.facts.reservation_of(ask, node) else { return false };
        let need = &self.facts.shapes.at(self.facts.asks.at(ask).shape).need;
        let could_hold = fits(need, &self.facts.nodes.at(node).empty_room());
        self.facts.counts_re_reservations() && could_hold && !self.is_ready(reservation)
    }

    /// Updates whether the reservation on this node, if any, is ready.
    pub(crate) fn review_reservation(&mut self, id: NodeId) {
        let node = self.facts.nodes.at(id);
        let Some(reservation) = node.reservation else { return };
        let (set, _) = self.node_shards.place_of(id, node.partition);
        if self.is_ready(reservation) {
            if self.node_shards.add_ready_reservation(set, reservation) {
                self.backlog.add_ready_reservation(set);
            }
        } else if self.node_shards.remove_ready_reservation(set, reservation) {
            self.backlog.remove_ready_reservation(set);
        }
    }

    /// Opens a shape that fits nowhere in one more set, so that a pass can reserve a node there. While all of its lanes
    /// are parked, that can wait for [`seek_reservations`](Self::seek_reservations).
    pub(crate) fn seek_reservation(&mut self, shape: ShapeId) {
        let backlog = &mut self.backlog;
        if self.facts.config.reservations.delay_ms.is_none()
            || !self.facts.shapes.at(shape).may_reserve()
            || !backlog.is_closed_everywhere(shape)
            || !backlog.has_runnable_lane(shape)
        {
            return;
        }
        let partition = self.facts.shapes.at(shape).partition;
        if self.facts.tree.partitions[partition.index()].reserved_nodes
            >= self.facts.reserved_nodes_max(partition)
        {
            return;
        }
        let untried = (0..self.node_shards.sets(partition))
            .map(|number| SetId::new(partition, number))
            .find(|set| backlog.demand(shape).reserve_tried & set.bit() == 0);
        if let Some(set) = untried {
            backlog.open(shape, set);
        }
    }

    /// Wakes the lanes without headroom, if the headroom may have changed.
    pub(crate) fn wake_without_headroom(&mut self) {
        self.backlog.wake_without_headroom(self.version);
    }

    /// Lets lanes that became runnable, and whose shapes fit nowhere, reserve nodes.
    pub(crate) fn seek_reservations(&mut self) {
        for shape in self.backlog.take_shapes_to_reserve_for() {
            self.seek_reservation(shape);
        }
    }

    /// Lets shapes that fit nowhere reserve a node again, after a reservation ended or a node that may be reserved
    /// came.
    pub(crate) fn reconsider_reservations(&mut self, partition: PartitionId) {
        self.reconsidered_at[partition.index()] = self.version;
        let closed: Vec<ShapeId> = self
            .facts
            .shapes
            .iter()
            .filter(|(id, shape, _)| shape.partition == partition && self.backlog.is_closed_everywhere(*id))
            .map(|(id, ..)| id)
            .collect();
        for shape in closed {
            self.backlog.demand_mut(shape).reserve_tried = 0;
            self.seek_reservation(shape);
        }
    }

    /// Whether shapes of the partition were to reserve nodes again since the version that a pass saw.
    pub(crate) fn has_reconsidered_since(&self, partition: PartitionId, seen: u64) -> bool {
        self.reconsidered_at[partition.index()] > seen
    }

    /// Acts on a timer that concerns only derived state. The committer turns other timers into changes.
    pub(crate) fn ring(&mut self, timer: &Timer) {
        match *timer {
            Timer::Reserve(shape) => {
                if shape.index() < self.facts.shapes.slots() {
                    self.backlog.demand_mut(shape).reserve_tried = 0;
                    self.seek_reservation(shape);
                }
            }
            Timer::Locality(ask) => self.backlog.wake_ask(&self.facts, ask, self.version),
            Timer::Silence(_)
            | Timer::QueueIdle(_)
            | Timer::ReservationAge(_)
            | Timer::Lifetime(_)
            | Timer::Stop(_)
            | Timer::Gang(_)
            | Timer::Placeholders(_)
            | Timer::Turn(_) => {}
        }
    }

    /// Cuts a partition into `sets` sets. The caller holds all of its leases.
    pub(crate) fn reshard(&mut self, partition: PartitionId, sets: u32) {
        self.node_shards.reshard(&self.facts, partition, sets);
        let shapes: Vec<ShapeId> = self
            .facts
            .shapes
            .iter()
            .filter(|(_, shape, _)| shape.partition == partition)
            .map(|(id, ..)| id)
            .collect();
        self.backlog.resharded(partition, sets, &shapes);
        for number in 0..sets {
            let set = SetId::new(partition, number);
            for _ in self.node_shards.ready_reservations(set) {
                self.backlog.add_ready_reservation(set);
            }
        }
    }
}
