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
//! 3. Once the ask has been pending for `reservations.delay_ms`, it may reserve a node. If all sets are closed then,
//!    a timer reopens the shape in one set. After each pass that reserves nothing, the committer reopens the next. The
//!    submission sets the timer if all sets are closed already. Otherwise the pass that finds the last set without
//!    room does (`Observation::ReserveLater`). Only a pass over the last open set of a shape reserves, or a pass over
//!    one node in compatible mode. [`propose`](crate::propose) tells how a reservation becomes a container.
//! 4. A node that gains room is compared with the shapes that are closed in its set ([`Backlog::room_gained`]). Those
//!    that fit on it are open again in this set, and passes look at all of their lanes. If the partition is cut into
//!    other sets, every shape is open everywhere.
//!
//! An ask that names hosts or racks waits by itself: it leaves its lane and is registered at them (`locality.rs`).
//!
//! # What happens to an ask at a limit
//!
//! No node matters then. The pass reports the lane and the limit, and the committer *parks* the lane. The lane is not
//! runnable until the use or the amounts in flight at this limit fall, or the limit changes. `parking.rs` lists the
//! reasons to park with the events that undo each. `waits.rs` has the rule, which goes by stamps. `commit/observe.rs`
//! says why no wake-up is lost.
//!
//! # Invariants
//!
//! * **I10.** An ask leaves the facts in `drop_surplus` and `place_plain` only, when none of its units is outstanding
//!   and an event said why. In the backlog an ask is in its lane or among those that wait. Each list of parked things
//!   has an event that empties it.
//! * **I12.** Functions that change facts also change the lists and counts derived from them. Whether a lane is
//!   runnable changes in `update_runnable` only, which keeps every count. The audit rebuilds the backlog and
//!   compares.

mod applications;
mod borrowed;
mod check;
mod demand;
mod headroom;
mod held_back;
mod lane;
mod lane_heap;
mod locality;
mod notes;
mod order;
mod parking;
mod pending;
mod rebuild;
mod reorder;
mod runnable;
mod starved;
mod waits;

use std::collections::BTreeSet;

use smallvec::SmallVec;

pub(crate) use demand::Demand;
pub(crate) use lane::{ApplicationLane, Lane};
pub(crate) use lane_heap::{LaneHeap, LaneWalk};
pub(crate) use locality::LocalityWaits;
pub(crate) use notes::{AskNotes, Ending};
pub(crate) use order::{Given, OrderKey};
pub(crate) use pending::{PendingAsk, PendingAsks};
pub(crate) use starved::Starved;
pub(crate) use waits::WaitKey;

use crate::facts::{Ask, Facts, PartitionShare};
use crate::ids::{ApplicationId, AskId, LaneId, LeafUserId, QueueId, ShapeId, SlotId};
use demand::Count;
use headroom::BlockedHeadroom;
use lane::Lanes;
use runnable::RunnableLanes;
use waits::Waits;

#[derive(Clone, Debug)]
pub(crate) struct Backlog {
    lanes: Lanes,
    /// By queue.
    parents: Vec<Option<QueueId>>,
    runnable: RunnableLanes,
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
struct ApplicationBacklog {
    lanes: SmallVec<[ApplicationLane; 1]>,
    /// Asks that are in no lane: they wait for hosts or racks, their gang has not started, or the application waits for
    /// activation.
    waiting: BTreeSet<AskId>,
    /// The key under which its lanes list the application.
    key: Option<OrderKey>,
}

impl Backlog {
    pub(crate) fn lane(&self, id: LaneId) -> &Lane {
        &self.lanes[id]
    }

    /// The leaf's runnable lanes on a share.
    pub(crate) fn runnable_lanes(&self, leaf: QueueId, share: PartitionShare) -> &LaneHeap {
        self.runnable.of(leaf, share)
    }

    /// Whether any leaf at or below `queue` has a runnable lane on this share.
    pub(crate) fn has_runnable(&self, queue: QueueId, share: PartitionShare) -> bool {
        self.runnable.is_any_below(queue, share)
    }

    /// The asks that the application in `slot` has in `lane`.
    pub(crate) fn asks_in(&self, slot: u32, lane: LaneId) -> Option<&ApplicationLane> {
        self.applications.get(slot as usize)?.lanes.iter().find(|entry| entry.lane == lane)
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
        let pending = PendingAsk::of(id, ask);
        self.add_to_lane(facts, ask.application, pending, ask.shape, version);
        self.for_each_variant(ask.shape, |backlog, variant| {
            backlog.add_to_lane(facts, ask.application, pending, variant, version);
        });
    }

    fn add_to_lane(
        &mut self,
        facts: &Facts,
        id: ApplicationId,
        pending: PendingAsk,
        shape: ShapeId,
        version: u64,
    ) {
        // Most often the application is in the lane already. Its own list then saves a search by user and shape.
        let listed = self.applications[id.index()].lanes.iter_mut().find(|entry| entry.shape == shape);
        let lane_id = match listed {
            Some(entry) => {
                entry.asks.add(pending);
                entry.lane
            }
            None => self.list_in_lane(facts, id, pending, shape),
        };
        self.units_arrived(lane_id, version);
    }

    /// Lists an application with its first ask in a lane.
    fn list_in_lane(
        &mut self,
        facts: &Facts,
        id: ApplicationId,
        pending: PendingAsk,
        shape: ShapeId,
    ) -> LaneId {
        let (application, slot) = (facts.applications.at(id), id.index());
        let lane_id = self.lane_for(facts, application.leaf, application.user, shape);
        let backlog = &mut self.applications[slot];
        let key = *backlog.key.get_or_insert_with(|| OrderKey::of(facts, application, &Given::default()));
        // Unlike `push`, `extend` builds the entry in its slot (see `facts/table.rs`).
        let entry = || ApplicationLane { lane: lane_id, shape, asks: PendingAsks::of(pending) };
        backlog.lanes.extend(std::iter::once_with(entry));
        if self.lanes[lane_id].order.insert((key, slot as u32)) {
            self.update_runnable(lane_id);
        }
        lane_id
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
        self.for_each_variant(ask.shape, |backlog, variant| backlog.remove_from_lane(id, ask, variant));
    }

    fn remove_from_lane(&mut self, id: AskId, ask: &Ask, shape: ShapeId) {
        let (slot, pending) = (ask.application.index(), PendingAsk::of(id, ask));
        let backlog = &mut self.applications[slot];
        let place =
            backlog.lanes.iter().position(|entry| entry.shape == shape).expect("a pending ask has a lane");
        let asks = &mut backlog.lanes[place].asks;
        if asks.has_several() {
            let was_listed = asks.remove(pending);
            debug_assert!(was_listed, "{id} is listed in its lane");
            return;
        }
        // The only ask leaves with its entry.
        debug_assert!(asks.contains(pending), "{id} is listed in its lane");
        let lane_id = backlog.lanes.swap_remove(place).lane;
        let key = backlog.key.expect("an application in a lane has a key");
        let lane = &mut self.lanes[lane_id];
        let was_first = lane.order.remove((key, slot as u32));
        if lane.order.is_empty() {
            self.unpark(lane_id);
        } else if was_first {
            self.update_runnable(lane_id);
        }
    }

    fn lane_for(&mut self, facts: &Facts, leaf: QueueId, user: LeafUserId, shape: ShapeId) -> LaneId {
        if let Some(lane) = self.lanes.of(user, shape) {
            return lane;
        }
        let lane = self.lanes.add(Lane::new(leaf, user, shape, facts.shapes.at(shape).share()));
        self.waits.add_lane(lane);
        self.runnable.add_lane(lane);
        self.demand[shape.index()].lanes.push(lane);
        lane
    }

    /// Lists a lane under its first application while it is runnable: it has asks and is not parked. Only this function
    /// changes whether a lane is runnable, and with it every count of runnable lanes.
    fn update_runnable(&mut self, id: LaneId) {
        let is_parked = self.waits.key_of(id).is_some();
        let lane = &self.lanes[id];
        let key = lane.order.first_key().filter(|_| !is_parked);
        let Some(count) = self.runnable.list(id, lane, key) else { return };
        let Lane { leaf, share, shape, .. } = *lane;
        self.runnable.count(&self.parents, leaf, share, count);
        self.count_runnable(shape, count);
        self.count_if_ahead(id, count);
    }
}
