//! The backlog: which pending asks are worth a look, and where.
//!
//! It can be rebuilt from the facts at any time ([`Backlog::rebuild`]); losing it costs a second look at everything,
//! never an ask. It changes under the write guard only. Proposers report which lanes, shapes and asks they found
//! blocked ([`Observation`](crate::propose::Observation)), and the committer parks them. An event that could help a
//! parked lane unparks it in the same critical section, so no wake-up is lost (I13).
//!
//! # What happens to an ask that finds no room
//!
//! 1. The ask is listed in its lane. The lane is *runnable*, so its shape is *wanted*: each placement set in which the
//!    shape is *open* is worth a pass.
//! 2. A pass over such a set finds no node that fits, and reports it. The committer *closes* the shape in this set,
//!    unless a node of the set has changed since and fits. The lane stays runnable. Once all sets
//!    are closed for the shape, no pass looks for the ask.
//! 3. Once the ask is pending for `reservations.delay_ms`, it may reserve a node. If all sets are closed then, a timer
//!    reopens the shape in one set at a time. Only a pass over the last open set of a shape reserves, or a pass over one
//!    node in compatible mode. [`propose`](crate::propose) tells how a reservation becomes a container.
//! 4. A node that gains room is compared with the shapes that are closed in its set ([`Backlog::room_gained`]). Those
//!    that fit on it are open again in this set, and passes look at all of their lanes. If the partition is cut into
//!    other sets, every shape is open everywhere.
//!
//! An ask that names hosts or racks waits by itself: it leaves its lane and is registered at them (`locality.rs`).
//!
//! # What happens to an ask at a limit
//!
//! No node matters then. The pass reports the lane and the limit, and the committer *parks* the lane. The lane is not
//! runnable until the use at this limit falls, or the limit changes. `parking.rs` lists the reasons to park with the
//! events that undo each. `waits.rs` has the rule, which goes by stamps. `commit/observe.rs` says why no wake-up is
//! lost.
//!
//! # Invariants
//!
//! * **I10.** An ask leaves the facts in `drop_surplus` only, when none of its units is outstanding and an event said
//!   why. In the backlog an ask is in its lane or among those that wait. Each list of parked things has an event
//!   that empties it.
//! * **I12.** Functions that change facts also change the lists and counts derived from them. Whether a lane is
//!   runnable changes in `update_runnable` only, which keeps every count. The audit rebuilds the backlog and
//!   compares.

mod applications;
mod borrowed;
mod check;
mod demand;
mod headroom;
mod lane;
mod locality;
mod notes;
mod order;
mod parking;
mod pending;
mod starved;
mod waits;

use std::collections::BTreeSet;
use std::ops::Bound;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

pub(crate) use applications::Place;
pub(crate) use demand::Demand;
pub(crate) use lane::{ApplicationLane, Lane};
pub(crate) use locality::LocalityWaits;
pub(crate) use notes::{AskNotes, Ending};
pub(crate) use order::{Given, OrderKey};
pub(crate) use pending::{PendingAsk, PendingAsks};
pub(crate) use starved::Starved;
pub(crate) use waits::WaitKey;

use crate::config::ApplicationOrdering;
use crate::facts::{Application, Ask, Facts, PartitionShare};
use crate::ids::{
    ApplicationId, AskId, LaneId, LeafUserId, PartitionId, QueueId, SETS_MAX, SetId, ShapeId, SlotId,
};
use crate::resource::Resources;
use demand::Count;
use headroom::BlockedHeadroom;
use waits::Waits;

#[derive(Clone, Debug)]
pub(crate) struct Backlog {
    lanes: Vec<Lane>,
    vacant_lanes: Vec<LaneId>,
    lane_of: FxHashMap<(LeafUserId, ShapeId), LaneId>,
    queues: Vec<QueueBacklog>,
    waits: Waits,
    headroom: BlockedHeadroom,
    /// By application slot.
    applications: Vec<ApplicationBacklog>,
    /// By shape.
    demand: Vec<Demand>,
    /// By placement set: the number of open shapes with runnable lanes or reservations, plus the reservations whose
    /// node has room now.
    wanted: Vec<u32>,
    /// By placement set: shapes that fit on none of its nodes, as passes found.
    closed: Vec<Vec<ShapeId>>,
    /// By partition: shapes with reservations that end when any other node has room.
    reserved: Vec<Vec<ShapeId>>,
    /// Shapes that fit nowhere and lately got a runnable lane.
    to_reserve_for: Vec<ShapeId>,
    pub(crate) locality: LocalityWaits,
    pub(crate) starved: Starved,
    pub(crate) notes: AskNotes,
}

#[derive(Clone, Debug, Default)]
struct QueueBacklog {
    parent: Option<QueueId>,
    /// Runnable lanes by share, in the order of their first applications; leaves only.
    runnable: Vec<BTreeSet<(Place, LaneId)>>,
    /// By share: the runnable lanes of a leaf, or the children of a parent with a runnable lane in their subtree.
    runnable_below: Vec<u32>,
    /// By partition: the headroom that lanes in the subtree block, parked at the limit of a queue above this one.
    blocked_headroom: Vec<Resources>,
}

#[derive(Clone, Debug, Default)]
struct ApplicationBacklog {
    lanes: SmallVec<[ApplicationLane; 1]>,
    /// Asks that are in no lane: they wait for hosts or racks, their gang has not started, or the application waits for
    /// activation.
    waiting: BTreeSet<AskId>,
    /// The key under which its lanes list the application.
    key: Option<OrderKey>,
}

impl Backlog {
    pub(crate) fn new(facts: &Facts) -> Self {
        let partitions = facts.partitions.len();
        let mut backlog = Self {
            lanes: Vec::new(),
            vacant_lanes: Vec::new(),
            lane_of: FxHashMap::default(),
            queues: Vec::new(),
            waits: Waits::new(partitions),
            headroom: BlockedHeadroom::default(),
            applications: Vec::new(),
            demand: Vec::new(),
            wanted: vec![0; partitions * SETS_MAX],
            closed: vec![Vec::new(); partitions * SETS_MAX],
            reserved: vec![Vec::new(); partitions],
            to_reserve_for: Vec::new(),
            locality: LocalityWaits::new(partitions),
            starved: Starved::default(),
            notes: AskNotes::default(),
        };
        backlog.add_queues(facts);
        backlog
    }

    /// Makes room for new queues.
    pub(crate) fn add_queues(&mut self, facts: &Facts) {
        let partition_shares = facts.partitions.len() * 2;
        let new = facts.queues[self.queues.len()..].iter().map(|queue| QueueBacklog {
            parent: queue.parent,
            runnable: vec![BTreeSet::new(); partition_shares],
            runnable_below: vec![0; partition_shares],
            blocked_headroom: vec![Resources::ZERO; facts.partitions.len()],
        });
        self.queues.extend(new);
    }

    /// The backlog that `facts` imply, with everything runnable and open.
    pub(crate) fn rebuild(facts: &Facts, sets: impl Fn(PartitionId) -> u32) -> Self {
        let mut backlog = Self::new(facts);
        for (shape, content, _) in facts.shapes.iter() {
            backlog.reset_shape(shape, content.partition, sets(content.partition), 0);
        }
        for (shape, ..) in facts.shapes.iter() {
            facts.shapes.variants_of(shape).iter().for_each(|variant| backlog.link_variant(shape, *variant));
        }
        let mut pending: Vec<_> = facts.asks.iter().filter(|(_, ask)| ask.outstanding() > 0).collect();
        pending.sort_by_key(|(_, ask)| ask.number);
        for (id, ask) in pending {
            backlog.add_ask(facts, id, ask, 0);
        }
        for (id, ask) in facts.reservations_by_age() {
            backlog.add_reservation(facts, id, ask);
        }
        backlog
    }

    pub(crate) fn lane(&self, id: LaneId) -> &Lane {
        &self.lanes[id.index()]
    }

    /// The leaf's runnable lanes on a share, each with its first application, in their order behind `last`.
    pub(crate) fn runnable_after(
        &self,
        leaf: QueueId,
        share: PartitionShare,
        last: Option<(Place, LaneId)>,
    ) -> impl Iterator<Item = (Place, LaneId)> {
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        self.queues[leaf.index()].runnable[share.index()].range((from, Bound::Unbounded)).copied()
    }

    /// Whether any leaf at or below `queue` has a runnable lane on this share.
    pub(crate) fn has_runnable(&self, queue: QueueId, share: PartitionShare) -> bool {
        self.queues[queue.index()].runnable_below[share.index()] > 0
    }

    /// The asks that the application in `slot` has in `lane`.
    pub(crate) fn asks_in(&self, slot: u32, lane: LaneId) -> Option<&ApplicationLane> {
        self.applications.get(slot as usize)?.lanes.iter().find(|entry| entry.lane == lane)
    }

    /// All pending asks of the application, waiting asks last.
    pub(crate) fn asks_of(&self, application: ApplicationId) -> Vec<AskId> {
        let Some(backlog) = self.applications.get(application.index()) else { return Vec::new() };
        // Asks that may borrow nodes are in several lanes.
        let own = backlog.lanes.iter().filter(|entry| !self.lane(entry.lane).share.is_borrowed);
        let in_lanes = own.flat_map(|entry| entry.asks.iter().map(|pending| pending.ask));
        in_lanes.chain(backlog.waiting.iter().copied()).collect()
    }

    /// The same in the order of submission. The order of `asks_of` depends on the reports of passes, and a replay has
    /// no passes.
    pub(crate) fn asks_in_order(&self, facts: &Facts, application: ApplicationId) -> Vec<AskId> {
        let mut asks = self.asks_of(application);
        asks.sort_by_key(|ask| facts.asks.at(*ask).number);
        asks
    }

    /// The number of wanted shapes that may fit in the set, plus the reservations that a pass can fulfil there.
    pub(crate) fn count_wanted(&self, set: SetId) -> u32 {
        self.wanted[set.index()]
    }

    /// Whether a pass over the set could find something.
    pub(crate) fn is_wanted(&self, set: SetId) -> bool {
        self.wanted[set.index()] > 0 && !self.waits.is_paused(set)
    }

    /// Pauses the set after a pass at version `seen` proposed nothing because of units and amounts in flight. A further
    /// pass would only poll. If some of these were decided since, the set is not paused.
    pub(crate) fn pause(&mut self, set: SetId, seen: u64) {
        self.waits.pause(set, seen);
    }

    /// Resumes the paused sets after a decision about units or amounts in flight.
    pub(crate) fn resume(&mut self, version: u64) {
        self.waits.resume(version);
    }

    /// Lists a pending ask in its lane and its borrowed lanes, or holds it back with its application or gang.
    pub(crate) fn add_ask(&mut self, facts: &Facts, id: AskId, ask: &Ask, version: u64) {
        let application = facts.applications.at(ask.application);
        let slot = ask.application.index();
        if self.applications.len() <= slot {
            self.applications.resize_with(slot + 1, ApplicationBacklog::default);
        }
        if !application.is_active || facts.gang_of(id).is_some() {
            self.applications[slot].waiting.insert(id);
            return;
        }
        for shape in std::iter::once(ask.shape).chain(self.variants_of(ask.shape)) {
            self.add_to_lane(facts, application, (id, ask), shape, version);
        }
    }

    fn add_to_lane(
        &mut self,
        facts: &Facts,
        application: &Application,
        (id, ask): (AskId, &Ask),
        shape: ShapeId,
        version: u64,
    ) {
        let slot = ask.application.index();
        let lane_id = self.lane_for(facts, application.leaf, application.user, shape);
        let backlog = &mut self.applications[slot];
        let key = *backlog.key.get_or_insert_with(|| OrderKey::of(facts, application, &Given::default()));
        let pending = PendingAsk::of(id, ask);
        match backlog.lanes.iter_mut().find(|entry| entry.lane == lane_id) {
            Some(entry) => entry.asks.add(pending),
            None => {
                let mut asks = PendingAsks::default();
                asks.add(pending);
                backlog.lanes.push(ApplicationLane { lane: lane_id, shape, asks });
                self.lanes[lane_id.index()].order.insert((key, slot as u32));
                self.update_runnable(lane_id);
            }
        }
        self.units_arrived(lane_id, version);
    }

    /// Lists an ask whose gang waits no longer.
    pub(crate) fn list_freed(&mut self, facts: &Facts, id: AskId, version: u64) {
        let ask = facts.asks.at(id);
        self.remove_ask(id, ask);
        self.add_ask(facts, id, ask, version);
    }

    /// Lists the asks of an application that was held back.
    pub(crate) fn list_held_back(&mut self, facts: &Facts, application: ApplicationId, version: u64) {
        let Some(backlog) = self.applications.get_mut(application.index()) else { return };
        for id in std::mem::take(&mut backlog.waiting) {
            self.add_ask(facts, id, facts.asks.at(id), version);
        }
    }

    /// Removes an ask from its lanes or from the waiting asks.
    pub(crate) fn remove_ask(&mut self, id: AskId, ask: &Ask) {
        let slot = ask.application.index();
        if self.locality.forget(id, ask) {
            self.applications[slot].waiting.remove(&id);
            return;
        }
        let backlog = &mut self.applications[slot];
        if !backlog.waiting.is_empty() && backlog.waiting.remove(&id) {
            // Held back with its application or gang.
            return;
        }
        self.remove_from_lane(id, ask, ask.shape);
        for variant in self.variants_of(ask.shape) {
            self.remove_from_lane(id, ask, variant);
        }
    }

    fn remove_from_lane(&mut self, id: AskId, ask: &Ask, shape: ShapeId) {
        let (slot, pending) = (ask.application.index(), PendingAsk::of(id, ask));
        let backlog = &mut self.applications[slot];
        let place =
            backlog.lanes.iter().position(|entry| entry.shape == shape).expect("a pending ask has a lane");
        let was_listed = backlog.lanes[place].asks.remove(pending);
        debug_assert!(was_listed, "{id} is listed in its lane");
        if !backlog.lanes[place].asks.is_empty() {
            return;
        }
        let lane_id = backlog.lanes.swap_remove(place).lane;
        let key = backlog.key.expect("an application in a lane has a key");
        let lane = &mut self.lanes[lane_id.index()];
        lane.order.remove((key, slot as u32));
        if lane.order.is_empty() {
            self.unpark(lane_id);
        } else {
            self.update_runnable(lane_id);
        }
    }

    /// Lists the leaf's application under its present key after its use has changed. Only the order of fair leaves
    /// depends on use.
    #[inline]
    pub(crate) fn rekey(&mut self, facts: &Facts, leaf: QueueId, application: ApplicationId) {
        if facts.queue(leaf).config.ordering.is_fair() {
            self.list_anew(facts, application);
        }
    }

    /// The same after its demand has changed, which matters where weights are by size.
    #[inline]
    pub(crate) fn rekey_by_size(&mut self, facts: &Facts, leaf: QueueId, application: ApplicationId) {
        if facts.queue(leaf).config.ordering == ApplicationOrdering::FairBySize {
            self.list_anew(facts, application);
        }
    }

    /// Lists every application under its present key after the leaves' orderings have changed.
    pub(crate) fn reorder(&mut self, facts: &Facts) {
        facts.applications.iter().for_each(|(id, _)| self.list_anew(facts, id));
    }

    /// Lists the application under its present key.
    pub(crate) fn list_anew(&mut self, facts: &Facts, application: ApplicationId) {
        let slot = application.index();
        let Some(backlog) = self.applications.get_mut(slot) else { return };
        let application = facts.applications.at(application);
        let new = OrderKey::of(facts, application, &Given::default());
        let Some(old) = backlog.key.replace(new) else { return };
        if old == new {
            return;
        }
        for place in 0..self.applications[slot].lanes.len() {
            let lane_id = self.applications[slot].lanes[place].lane;
            let order = &mut self.lanes[lane_id.index()].order;
            order.remove((old, slot as u32));
            order.insert((new, slot as u32));
            self.update_runnable(lane_id);
        }
    }

    /// Lists the applications of fair leaves under their present keys after the base of shares has changed.
    pub(crate) fn rekey_all(&mut self, facts: &Facts) {
        for (id, application) in facts.applications.iter() {
            self.rekey(facts, application.leaf, id);
        }
    }

    /// The key of the application in `slot`, with `given` on top of its use.
    pub(crate) fn key_with(&self, facts: &Facts, slot: u32, given: &Given) -> OrderKey {
        OrderKey::of(facts, facts.applications.in_slot(slot), given)
    }

    /// Forgets an application without pending asks.
    pub(crate) fn remove_application(&mut self, application: ApplicationId) {
        if let Some(backlog) = self.applications.get_mut(application.index()) {
            debug_assert!(backlog.lanes.is_empty() && backlog.waiting.is_empty());
            *backlog = ApplicationBacklog::default();
        }
    }

    fn lane_for(&mut self, facts: &Facts, leaf: QueueId, user: LeafUserId, shape: ShapeId) -> LaneId {
        if let Some(&lane) = self.lane_of.get(&(user, shape)) {
            return lane;
        }
        let lane = Lane::new(leaf, user, shape, facts.shapes.at(shape).share());
        let id = self.vacant_lanes.pop().unwrap_or(LaneId(self.lanes.len() as u32));
        if id.index() == self.lanes.len() {
            self.lanes.push(lane);
        } else {
            self.lanes[id.index()] = lane;
        }
        self.waits.add_lane(id);
        self.lane_of.insert((user, shape), id);
        self.demand[shape.index()].lanes.push(id);
        id
    }
}
