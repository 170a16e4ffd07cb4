//! Units and amounts that are proposed and not yet decided.
//!
//! Proposers add under the read guard, so that others see the amounts that they are about to use. The committer takes
//! them back, accepted or rejected. The counters of a vacated slot are reset.
//!
//! Counted in flight are:
//!
//! * units of an ask, at most the outstanding units;
//! * resources of every queue on the path, of the user and of its limit usages, summed once per batch. Where queues are
//!   ordered by more than use, queue resources pick by pick;
//! * each unit that gets a container, where queues are ordered by demand;
//! * resources of a node, for picks of hosts that asks name, in any set.
//!
//! A pass computes order and limits from use, amounts in flight and the amounts that it gave.
//!
//! Giving back needs no atomic read-modify-write: under the write guard no other thread changes the counters.
//!
//! * **I4.** The bound on units in flight is checked and counted in one step. Outstanding units fall only under the
//!   write guard, where `drop_surplus` drops surplus reservations (`Facts::surplus_reservations`) in the same change.
//!   `place_plain` takes only asks without reservations.
//! * **I9.** A proposer writes each amount that it puts in flight into its batch right after. If the batch is decided,
//!   `commit_batch` takes all of it back, regardless of the verdicts. If it is dropped, `undo` does. Generations
//!   protect the counters of a slot's successor.

use std::marker::PhantomData;

use crate::ids::{AskId, DenseId, LeafUserId, LimitUsageId, NodeId, PartitionId, QueueId, SlotId};
use crate::resource::Resources;
use crate::sync::{InFlightList, InFlightResources, InFlightUnits};

/// Amounts by item and partition.
#[derive(Clone, Debug)]
pub(crate) struct Counters<I> {
    partitions: usize,
    counters: Vec<InFlightResources>,
    /// The number of amounts that batches have listed. While it is 0, every counter is 0, and `load` reads none.
    listed: InFlightUnits,
    items: PhantomData<I>,
}

impl<I: DenseId> Counters<I> {
    fn new(partitions: usize) -> Self {
        Self { partitions, counters: Vec::new(), listed: InFlightUnits::default(), items: PhantomData }
    }

    /// Makes room for new items, up to this number.
    pub(crate) fn add_items(&mut self, items: usize) {
        let needed = self.counters.len().max(items * self.partitions);
        self.counters.resize_with(needed, InFlightResources::default);
    }

    /// The amounts of all batches.
    #[inline]
    pub(crate) fn load(&self, item: I, partition: PartitionId) -> Resources {
        if self.listed.load() == 0 { Resources::ZERO } else { self.of(item, partition).load() }
    }

    /// Adds an amount that a batch lists now.
    pub(crate) fn add(&self, item: I, partition: PartitionId, resources: &Resources) {
        self.listed.add();
        self.of(item, partition).add(resources);
    }

    /// Raises an amount that a batch has listed before.
    pub(crate) fn raise(&self, item: I, partition: PartitionId, more: &Resources) {
        self.of(item, partition).add(more);
    }

    #[inline]
    fn of(&self, item: I, partition: PartitionId) -> &InFlightResources {
        &self.counters[self.index_of(item, partition)]
    }

    #[inline]
    fn index_of(&self, item: I, partition: PartitionId) -> usize {
        item.index() * self.partitions + partition.index()
    }

    /// Takes back an amount that a batch has listed.
    #[inline]
    pub(crate) fn give_back(&mut self, item: I, partition: PartitionId, resources: &Resources) {
        self.listed.give_back();
        let index = self.index_of(item, partition);
        self.counters[index].give_back(resources);
    }
}

#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    /// By ask slot.
    asks: Vec<InFlightUnits>,
    pub(crate) queues: Counters<QueueId>,
    pub(crate) users: Counters<LeafUserId>,
    pub(crate) limit_usages: Counters<LimitUsageId>,
    /// By node slot; only picks of hosts or racks that asks name.
    nodes: Vec<InFlightResources>,
    /// The number of such picks. Without picks, no node counter is read.
    picks: InFlightUnits,
    /// The ask of each unit that gets a container, even if the ask is gone; only where queues are ordered by demand.
    pub(crate) given: InFlightList<AskId>,
}

impl InFlight {
    pub(crate) fn new(queues: usize, partitions: usize) -> Self {
        let mut in_flight = Self {
            asks: Vec::new(),
            queues: Counters::new(partitions),
            users: Counters::new(partitions),
            limit_usages: Counters::new(partitions),
            nodes: Vec::new(),
            picks: InFlightUnits::default(),
            given: InFlightList::default(),
        };
        in_flight.queues.add_items(queues);
        in_flight
    }

    /// Makes room for new users and limit usages.
    pub(crate) fn add_users(&mut self, users: usize, limit_usages: usize) {
        self.users.add_items(users);
        self.limit_usages.add_items(limit_usages);
    }

    /// Resets the counter of the ask's slot, which has a new occupant or none.
    pub(crate) fn reset_ask(&mut self, ask: AskId) {
        reset(&mut self.asks, ask.index());
    }

    /// Resets the counter of the node's slot, which has a new occupant or none.
    pub(crate) fn reset_node(&mut self, node: NodeId) {
        reset(&mut self.nodes, node.index());
    }

    pub(crate) fn of_ask(&self, ask: AskId) -> &InFlightUnits {
        &self.asks[ask.index()]
    }

    /// Takes back a unit of the ask that was decided or dropped.
    pub(crate) fn give_back_unit(&mut self, ask: AskId) {
        self.asks[ask.index()].give_back();
    }

    /// The amount that picks of this node have in flight.
    pub(crate) fn on_node(&self, node: NodeId) -> Resources {
        if self.picks.load() == 0 { Resources::ZERO } else { self.nodes[node.index()].load() }
    }

    /// Adds a pick of a node that an ask preferred.
    pub(crate) fn add_pick(&self, node: NodeId, resources: &Resources) {
        self.picks.add();
        self.nodes[node.index()].add(resources);
    }

    /// Takes back a pick.
    pub(crate) fn give_back_pick(&mut self, node: NodeId, resources: &Resources) {
        self.picks.give_back();
        self.nodes[node.index()].give_back(resources);
    }

    /// Takes back a pick of a node that is gone. The node's counter was reset already.
    pub(crate) fn give_back_pick_of_gone_node(&mut self) {
        self.picks.give_back();
    }

    /// Takes back listed units that were decided or dropped.
    pub(crate) fn give_back_given(&mut self, units: &[AskId]) {
        self.given.give_back(units);
    }

    /// Whether every counter is zero and no unit is listed (I9).
    pub(crate) fn is_zero(&self) -> bool {
        let counts = [&self.picks, &self.queues.listed, &self.users.listed, &self.limit_usages.listed];
        self.given.is_empty()
            && self.asks.iter().chain(counts).all(|units| units.load() == 0)
            && [&self.queues.counters, &self.users.counters, &self.limit_usages.counters, &self.nodes]
                .into_iter()
                .flatten()
                .all(|counter| counter.load() == Resources::ZERO)
    }
}

fn reset<T: Default>(counters: &mut Vec<T>, index: usize) {
    if counters.len() <= index {
        counters.resize_with(index + 1, T::default);
    }
    counters[index] = T::default();
}
