//! Demand priorities of queues: the priorities of applications with outstanding units, with offsets on the way up.
//!
//! They follow from applications and configuration, and are stored beside them. A queue's priority changes only when
//! the most urgent application below gets its first outstanding unit or loses its last.
//!
//! Where a parent orders by demand, a pass subtracts the units that it gives from it (`propose/demand_priority.rs`).

use super::QueueTree;
use crate::ids::QueueId;

/// The priority of a queue without pending units: less urgent than all others.
pub(crate) const NOTHING_PENDING: i32 = i32::MIN;

/// The number of applications with outstanding units in a leaf, by priority, the lowest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PendingPriorities(Vec<(u32, u32)>);

impl PendingPriorities {
    /// Counts one application more of this priority. Returns whether the greatest priority changed.
    pub(crate) fn add(&mut self, priority: u32) -> bool {
        let before = self.greatest();
        match self.place_of(priority) {
            Ok(place) => self.0[place].1 += 1,
            Err(place) => self.0.insert(place, (priority, 1)),
        }
        before != self.greatest()
    }

    /// Counts one application less of a counted priority. Returns whether the greatest priority changed.
    pub(crate) fn remove(&mut self, priority: u32) -> bool {
        let before = self.greatest();
        let place = self.place_of(priority).expect("the priority is counted");
        self.0[place].1 -= 1;
        if self.0[place].1 == 0 {
            self.0.remove(place);
        }
        before != self.greatest()
    }

    fn place_of(&self, priority: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&priority, |(known, _)| *known)
    }

    /// The greatest priority.
    pub(crate) fn greatest(&self) -> Option<u32> {
        self.0.last().map(|(priority, _)| *priority)
    }
}

impl QueueTree {
    /// The queue's priority if `greatest` is the greatest priority in it or of its children.
    pub(crate) fn with_offset(&self, id: QueueId, greatest: i32) -> i32 {
        let config = &self.queue(id).config;
        match (greatest, config.priority_fence) {
            (NOTHING_PENDING, _) => NOTHING_PENDING,
            // A queue with pending units is always more urgent than a queue without.
            (_, true) => config.priority_offset.max(NOTHING_PENDING + 1),
            (_, false) => greatest.saturating_add(config.priority_offset).max(NOTHING_PENDING + 1),
        }
    }

    /// The leaf's priority with this demand.
    pub(crate) fn priority_with(&self, leaf: QueueId, demand: &PendingPriorities) -> i32 {
        let most = |priority: u32| i32::try_from(priority).unwrap_or(i32::MAX);
        self.with_offset(leaf, demand.greatest().map_or(NOTHING_PENDING, most))
    }

    /// Counts an application of the leaf that begins to want units.
    pub(in crate::facts) fn begin_demand(&mut self, leaf: QueueId, priority: u32) {
        if self.queues[leaf.index()].demand.add(priority) {
            self.update_priorities_above(leaf);
        }
    }

    /// No longer counts an application of the leaf, which ceases to want units.
    pub(in crate::facts) fn end_demand(&mut self, leaf: QueueId, priority: u32) {
        if self.queues[leaf.index()].demand.remove(priority) {
            self.update_priorities_above(leaf);
        }
    }

    /// Updates the priorities from the leaf up. If no queue orders by demand, priorities are computed on request
    /// instead.
    fn update_priorities_above(&mut self, leaf: QueueId) {
        let mut level = Some(leaf).filter(|_| self.looks_at_demand);
        while let Some(id) = level {
            let priority = self.computed_demand_priority(id);
            let queue = &mut self.queues[id.index()];
            if std::mem::replace(&mut queue.demand_priority, priority) == priority {
                return;
            }
            level = queue.parent;
        }
    }

    /// The queue's priority.
    pub(crate) fn demand_priority(&self, id: QueueId) -> i32 {
        if self.looks_at_demand { self.queue(id).demand_priority } else { self.computed_demand_priority(id) }
    }

    /// The same, computed from the children.
    pub(crate) fn computed_demand_priority(&self, id: QueueId) -> i32 {
        let queue = self.queue(id);
        if queue.children.is_empty() {
            return self.priority_with(id, &queue.demand);
        }
        let below = queue.children.iter().map(|child| self.demand_priority(*child));
        self.with_offset(id, below.max().unwrap_or(NOTHING_PENDING))
    }

    /// Recomputes all priorities, after the configuration of queues has changed.
    pub(super) fn update_priorities(&mut self) {
        self.looks_at_demand = self.queues.iter().any(|queue| queue.is_present && queue.orders_by_demand());
        let looked_at = if self.looks_at_demand { self.queues.len() } else { 0 };
        for index in (0..looked_at).rev() {
            self.queues[index].demand_priority = self.computed_demand_priority(QueueId(index as u32));
        }
        self.orders_by_priority =
            self.queues.iter().any(|queue| queue.is_present && queue.orders_by_priority());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_changes_only_with_the_most_urgent() {
        let mut demand = PendingPriorities::default();
        assert!(demand.add(3));
        assert!(!demand.add(1) && !demand.add(3) && !demand.remove(3));
        assert!(demand.remove(3));
        assert_eq!(demand.greatest(), Some(1));
        assert!(demand.remove(1));
        assert_eq!((demand.greatest(), demand), (None, PendingPriorities::default()));
    }

    /// It used to be counted once more.
    #[test]
    #[should_panic(expected = "the priority is counted")]
    fn a_priority_that_is_not_counted_is_not_removed() {
        PendingPriorities::default().remove(3);
    }
}
