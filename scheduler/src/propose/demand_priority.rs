//! Queues ordered by the priority of their pending asks: units that this pass or another pass has given no longer
//! count.

use rustc_hash::FxHashMap;

use super::queue_walk::QueueWalk;
use crate::facts::PendingPriorities;
use crate::ids::{AskId, QueueId, SlotId};

/// The demand of queues without the given units that this pass has counted. Read only where it orders queues.
#[derive(Debug, Default)]
pub(super) struct RemainingDemand {
    /// How many of the units listed as given this pass has counted.
    units_seen: usize,
    /// Counted units by ask.
    given_of_asks: FxHashMap<AskId, u32>,
    /// Counted units by application slot.
    given_of_applications: FxHashMap<u32, u64>,
    /// Pending priorities of leaves, without applications whose units are all given.
    pending_of_leaves: FxHashMap<QueueId, PendingPriorities>,
    /// Demand priorities of queues that the given units change.
    priorities: FxHashMap<QueueId, i32>,
}

impl RemainingDemand {
    /// Begins a pass.
    pub(super) fn clear(&mut self) {
        self.units_seen = 0;
        self.given_of_asks.clear();
        self.given_of_applications.clear();
        self.pending_of_leaves.clear();
        self.priorities.clear();
    }
}

impl QueueWalk<'_> {
    /// The queue's demand priority without the given units.
    pub(super) fn demand_priority(&self, id: QueueId) -> i32 {
        let known = || self.state.facts.queue(id).demand_priority;
        self.scratch.demand.priorities.get(&id).copied().unwrap_or_else(known)
    }

    /// Subtracts the units that this pass and others have given since the last call from the pending units.
    pub(super) fn catch_up_with_demand(&mut self) {
        if !self.state.facts.tree.looks_at_demand {
            return;
        }
        for ask in self.state.in_flight.given.behind(self.scratch.demand.units_seen) {
            self.scratch.demand.units_seen += 1;
            self.take_from_demand(ask);
        }
    }

    /// Subtracts one given unit of the ask. After the application's last unit, its priority no longer counts in its
    /// leaf and the queues above. A unit that was cancelled meanwhile is not pending anyway.
    fn take_from_demand(&mut self, id: AskId) {
        let facts = &self.state.facts;
        let Some(ask) = facts.asks.get(id) else { return };
        let of_ask = self.scratch.demand.given_of_asks.entry(id).or_default();
        *of_ask += 1;
        if *of_ask > ask.outstanding() {
            return;
        }
        let application = facts.applications.at(ask.application);
        let given =
            self.scratch.demand.given_of_applications.entry(ask.application.index() as u32).or_default();
        *given += 1;
        if *given < application.outstanding {
            return;
        }
        let leaf = application.leaf;
        let demand = self
            .scratch
            .demand
            .pending_of_leaves
            .entry(leaf)
            .or_insert_with(|| facts.queue(leaf).demand.clone());
        if demand.remove(application.priority) {
            let priority = facts.tree.priority_with(leaf, demand);
            self.set_priority(leaf, priority);
        }
    }

    fn set_priority(&mut self, leaf: QueueId, mut priority: i32) {
        let mut level = leaf;
        loop {
            self.scratch.demand.priorities.insert(level, priority);
            let facts = &self.state.facts;
            let Some(parent) = facts.queue(level).parent else { return };
            let below = facts.queue(parent).children.iter().map(|child| self.demand_priority(*child));
            priority = facts.tree.with_offset(parent, below.max().unwrap_or(priority));
            if priority == self.demand_priority(parent) {
                return;
            }
            level = parent;
        }
    }
}
