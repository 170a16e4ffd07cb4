//! Queues ordered by what is pending in them: what a pass gives away is pending no more.

use super::queue_walk::QueueWalk;
use crate::ids::QueueId;

impl QueueWalk<'_> {
    /// How urgent the queue is, without what this pass gave.
    pub(super) fn demand_priority(&self, id: QueueId) -> i32 {
        let known = || self.state.facts.queue(id).demand_priority;
        self.scratch.priorities.get(&id).copied().unwrap_or_else(known)
    }

    /// Notes that the application in this slot gets a container for one of its units. With the last one it makes its leaf
    /// urgent no more, nor the queues above; that comes before they are put in order again.
    pub(super) fn take_from_demand(&mut self, slot: u32) {
        let facts = &self.state.facts;
        if !facts.looks_at_demand {
            return;
        }
        let application = facts.applications.in_slot(slot);
        let given = self.scratch.given_units.entry(slot).or_default();
        *given += 1;
        if *given < application.outstanding {
            return;
        }
        let leaf = application.leaf;
        let demand = self.scratch.demands.entry(leaf).or_insert_with(|| facts.queue(leaf).demand.clone());
        if demand.count(application.priority, -1) {
            let priority = facts.priority_with(leaf, demand);
            self.set_priority(leaf, priority);
        }
    }

    fn set_priority(&mut self, leaf: QueueId, mut priority: i32) {
        let mut level = leaf;
        loop {
            self.scratch.priorities.insert(level, priority);
            let facts = &self.state.facts;
            let Some(parent) = facts.queue(level).parent else { return };
            let below = facts.queue(parent).children.iter().map(|child| self.demand_priority(*child));
            priority = facts.with_offset(parent, below.max().unwrap_or(priority));
            if priority == self.demand_priority(parent) {
                return;
            }
            level = parent;
        }
    }
}
