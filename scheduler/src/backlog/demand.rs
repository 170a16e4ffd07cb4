//! Which shapes are wanted, and in which placement sets they may fit.

use smallvec::SmallVec;

use super::Backlog;
use super::borrowed::BorrowedDemand;
use crate::facts::{Ask, Facts, Locality};
use crate::ids::{LaneId, NodeId, PartitionId, ReservationId, SETS_MAX, SetId, ShapeId};

/// The demand for one shape, and where a node may have room for it.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    /// The partition's sets in which a node may have room, one bit each. A set is open until a pass finds no room
    /// there. It opens again when a node on which the shape fits gains room.
    pub(super) open: u64,
    /// Sets whose list of closed shapes names this one, one bit each.
    listed: u64,
    /// The shape's partition, whose sets the bits stand for.
    partition: PartitionId,
    /// Sets in which a reservation was tried since the shape last fitted anywhere.
    pub(crate) reserve_tried: u64,
    /// The state version in which the slot got its present shape. A pass that saw an older version
    /// reports on another shape.
    pub(crate) since: u64,
    /// How many runnable lanes have this shape.
    runnable: u32,
    /// Reservations for this shape that end when any other node has room, in the order in which they were added.
    reservations: Vec<ReservationId>,
    /// All lanes with this shape.
    pub(super) lanes: Vec<LaneId>,
    /// The borrowed variants: the shapes that its asks have on borrowed nodes. Each has this shape as its own shape.
    pub(super) variants: SmallVec<[ShapeId; 1]>,
    /// Set if the shape is a borrowed variant.
    pub(super) borrowed: Option<BorrowedDemand>,
}

impl Default for Demand {
    fn default() -> Self {
        Self {
            open: 0,
            listed: 0,
            partition: PartitionId::DEFAULT,
            reserve_tried: 0,
            since: 0,
            runnable: 0,
            reservations: Vec::new(),
            lanes: Vec::new(),
            variants: SmallVec::new(),
            borrowed: None,
        }
    }
}

impl Demand {
    /// Whether a pass could propose for the shape in a set in which it is open.
    fn is_wanting(&self) -> bool {
        // A borrowed variant has no reservations.
        self.runnable > 0 && self.borrowed.is_none_or(BorrowedDemand::is_due) || !self.reservations.is_empty()
    }
}

/// The change of a counter when one counted thing comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    OneMore,
    OneLess,
}

impl Count {
    pub(super) fn add_to(self, counter: &mut u32) {
        match self {
            Self::OneMore => *counter += 1,
            Self::OneLess => *counter -= 1,
        }
    }
}

impl Backlog {
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
    pub(crate) fn resume_sets(&mut self, version: u64) {
        self.waits.resume_sets(version);
    }

    /// Whether passes over the set look for the shape: some node there may have room for it, or may be reserved for it.
    pub(crate) fn is_open(&self, shape: ShapeId, set: SetId) -> bool {
        self.demand[shape.index()].open & set.bit() != 0
    }

    /// Whether the set is the only one left in which the shape may fit.
    pub(crate) fn is_last_open(&self, shape: ShapeId, set: SetId) -> bool {
        self.demand[shape.index()].open & !set.bit() == 0
    }

    /// Whether the shape fits nowhere in its partition.
    pub(crate) fn is_closed_everywhere(&self, shape: ShapeId) -> bool {
        self.demand[shape.index()].open == 0
    }

    /// Whether any runnable lane has the shape.
    pub(crate) fn has_runnable_lane(&self, shape: ShapeId) -> bool {
        self.demand[shape.index()].runnable > 0
    }

    /// Takes the shapes that fit nowhere and got a runnable lane since the last call.
    pub(crate) fn take_shapes_to_reserve_for(&mut self) -> Vec<ShapeId> {
        std::mem::take(&mut self.to_reserve_for)
    }

    /// Resets a shape's record, because its slot may have been another shape's.
    pub(crate) fn reset_shape(&mut self, shape: ShapeId, partition: PartitionId, sets: u32, version: u64) {
        if self.demand.len() <= shape.index() {
            self.demand.resize_with(shape.index() + 1, Demand::default);
        }
        self.unlink_variant(shape);
        let new = Demand { open: all_sets(sets), partition, since: version, ..Demand::default() };
        let old = std::mem::replace(&mut self.demand[shape.index()], new);
        debug_assert!(!old.is_wanting(), "a vacated shape has no asks");
        for set in SetId::from_bits(old.partition, old.listed) {
            self.closed[set.index()].retain(|listed| *listed != shape);
        }
        old.lanes.into_iter().for_each(|lane| self.lanes.remove(lane));
    }

    /// Closes the shape in the set, after a pass found no node there that fits.
    pub(crate) fn close(&mut self, shape: ShapeId, set: SetId) {
        let demand = &mut self.demand[shape.index()];
        if demand.open & set.bit() == 0 {
            return;
        }
        demand.open &= !set.bit();
        if demand.is_wanting() {
            self.wanted[set.index()] -= 1;
        }
        if demand.listed & set.bit() == 0 {
            demand.listed |= set.bit();
            self.closed[set.index()].push(shape);
        }
        self.tell_borrowed(shape);
    }

    /// Opens the shape in the set: a node may fit, or a pass should try a reservation there.
    pub(crate) fn open(&mut self, shape: ShapeId, set: SetId) {
        let demand = &mut self.demand[shape.index()];
        if demand.open & set.bit() == 0 {
            demand.open |= set.bit();
            if demand.is_wanting() {
                self.wanted[set.index()] += 1;
            }
            self.tell_borrowed(shape);
        }
    }

    /// Ends the waits that a node's gained room can help: of shapes closed in the set, and of asks for this host or
    /// its rack. Stamps would not work here: under churn nearly every group stamps every set, and no
    /// shape would stay closed.
    pub(crate) fn room_gained(&mut self, facts: &Facts, set: SetId, id: NodeId, version: u64) {
        if !self.closed[set.index()].is_empty() {
            let node = facts.nodes.at(id);
            self.reopen(set, |shape| facts.can_take(facts.shapes.at(shape), node));
        }
        if !self.locality.is_empty() {
            self.wake_helped_by(facts, id, version);
        }
    }

    /// Opens the closed shapes of the set that now fit on the node that gained room.
    fn reopen(&mut self, set: SetId, mut fits: impl FnMut(ShapeId) -> bool) {
        let mut closed = std::mem::take(&mut self.closed[set.index()]);
        closed.retain(|&shape| {
            let demand = &mut self.demand[shape.index()];
            let still_closed = demand.open & set.bit() == 0 && !fits(shape);
            if !still_closed {
                demand.listed &= !set.bit();
                demand.reserve_tried = 0;
                self.open(shape, set);
            }
            still_closed
        });
        self.closed[set.index()] = closed;
    }

    /// Counts a reservation whose node now has room for it.
    pub(crate) fn add_ready_reservation(&mut self, set: SetId) {
        self.wanted[set.index()] += 1;
    }

    /// Counts off a reservation that is no longer ready.
    pub(crate) fn remove_ready_reservation(&mut self, set: SetId) {
        self.wanted[set.index()] -= 1;
    }

    /// Opens every shape in every set, after the partition was cut into `sets` sets.
    pub(crate) fn resharded(&mut self, partition: PartitionId, sets: u32, shapes: &[ShapeId]) {
        let range = SetId::new(partition, 0).index()..SetId::new(partition, 0).index() + SETS_MAX;
        for set in range.clone() {
            for shape in std::mem::take(&mut self.closed[set]) {
                self.demand[shape.index()].listed = 0;
            }
            self.wanted[set] = 0;
        }
        for &shape in shapes {
            let demand = &mut self.demand[shape.index()];
            demand.open = all_sets(sets);
            demand.reserve_tried = 0;
            if demand.is_wanting() {
                self.wanted[range.start..range.start + sets as usize]
                    .iter_mut()
                    .for_each(|count| *count += 1);
            }
        }
        shapes.iter().for_each(|shape| self.tell_borrowed(*shape));
    }

    /// Counts one more, or one less, runnable lane with the shape.
    pub(super) fn count_runnable(&mut self, shape: ShapeId, count: Count) {
        self.change_demand(shape, |demand| count.add_to(&mut demand.runnable));
        if count == Count::OneMore && self.is_closed_everywhere(shape) {
            self.to_reserve_for.push(shape);
        }
    }

    /// Changes a shape's demand, and with it the counts of the sets in which it is open.
    pub(super) fn change_demand(&mut self, shape: ShapeId, change: impl FnOnce(&mut Demand)) {
        let demand = &mut self.demand[shape.index()];
        let was = demand.is_wanting();
        change(demand);
        let count = match (was, demand.is_wanting()) {
            (false, true) => Count::OneMore,
            (true, false) => Count::OneLess,
            _ => return,
        };
        for set in SetId::from_bits(demand.partition, demand.open) {
            count.add_to(&mut self.wanted[set.index()]);
        }
    }

    /// Lists a reservation that ends once any other node has room. Reservations of strictly local asks end only by room
    /// on their own node or by age, so they are not listed. The same holds for all if passes do not continue looking.
    pub(crate) fn add_reservation(&mut self, facts: &Facts, reservation: ReservationId, ask: &Ask) {
        if ask.preference().loosest() < Locality::OffSwitch || !facts.config.reservations.continue_looking {
            return;
        }
        let demand = &self.demand[ask.shape.index()];
        if demand.reservations.is_empty() {
            self.reserved[demand.partition.index()].push(ask.shape);
        }
        self.change_demand(ask.shape, |demand| demand.reservations.push(reservation));
    }

    /// Forgets a reservation that ended.
    pub(crate) fn remove_reservation(&mut self, reservation: ReservationId, shape: ShapeId) {
        let partition = self.demand[shape.index()].partition;
        self.change_demand(shape, |demand| demand.reservations.retain(|other| *other != reservation));
        if self.demand[shape.index()].reservations.is_empty() {
            self.reserved[partition.index()].retain(|other| *other != shape);
        }
    }

    /// Shapes of a partition that have listed reservations.
    pub(crate) fn reserved_shapes(&self, partition: PartitionId) -> &[ShapeId] {
        &self.reserved[partition.index()]
    }

    /// Reservations for a shape that end when any other node has room, in the order in which they were added.
    pub(crate) fn reservations_for(&self, shape: ShapeId) -> &[ReservationId] {
        &self.demand[shape.index()].reservations
    }

    pub(crate) fn demand_mut(&mut self, shape: ShapeId) -> &mut Demand {
        &mut self.demand[shape.index()]
    }

    pub(crate) fn demand(&self, shape: ShapeId) -> &Demand {
        &self.demand[shape.index()]
    }
}

fn all_sets(sets: u32) -> u64 {
    if sets as usize >= SETS_MAX { u64::MAX } else { (1 << sets) - 1 }
}
