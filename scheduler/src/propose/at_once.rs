//! Trees that order queues by priority: passes see each other's picks at once.
//!
//! Two concurrent passes may give one queue too much. If use alone orders the queues, the next pass corrects that. A
//! priority would let the queue keep the excess.

use super::amounts::{Amount, Amounts};
use super::pick::Pick;
use super::queue_walk::{NextAsk, QueueWalk};
use crate::ids::{AskId, QueueId};
use crate::state::State;

impl QueueWalk<'_> {
    /// The first child under the current amounts in flight. Picks of other passes only move a queue back, so the heap's
    /// top is the first of all once its key is up to date.
    ///
    /// Out of line, so that trees that order by use alone do not pay for it.
    #[cold]
    pub(super) fn newest_top(&mut self, parent: QueueId) -> Option<QueueId> {
        self.catch_up_with_demand();
        loop {
            let old = *self.scratch.queues[parent.index()].children.top()?;
            let key = self.key(old.queue, &self.level_of(old.queue), old.last_served);
            self.scratch.queues[parent.index()].children.change_top(|top| *top = key);
            if key == old {
                return Some(old.queue);
            }
        }
    }

    /// Adds a pick to the in-flight amounts of the queues above, which other passes read, and to the batch, which gives
    /// them back. Must be called before the pick is charged.
    #[cold]
    pub(super) fn put_pick_in_flight(&mut self, next: &NextAsk, pick: Pick, amounts: &mut Amounts) {
        if !matches!(pick, Pick::Proposed | Pick::Reserved) {
            return;
        }
        let size = self.size_of(next.shape);
        for &queue in &self.state.facts.queue(next.leaf).chain {
            let scratch = &mut self.scratch.queues[queue.index()];
            let (in_flight, partition) = (&self.state.in_flight.queues, self.share.partition);
            // An earlier pick of this pass has listed the queue.
            if scratch.level.is_charged() {
                in_flight.raise(queue, partition, size);
                amounts.queues[scratch.place].resources += *size;
            } else {
                in_flight.add(queue, partition, size);
                scratch.place = amounts.queues.len();
                amounts.queues.push(Amount { of: queue, share: self.share, resources: *size });
            }
        }
        if pick == Pick::Proposed {
            list_unit(self.state, next.pending.ask, amounts);
        }
    }
}

/// Lists a unit that gets a container, both in the state, which all passes read, and in the batch, which gives it back.
pub(super) fn list_unit(state: &State, ask: AskId, amounts: &mut Amounts) {
    if state.facts.tree.looks_at_demand {
        state.in_flight.given.add(ask);
        amounts.units.push(ask);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::batch::Proposals;
    use super::*;
    use crate::config::{Capacity, EngineConfig, Percent, QueueConfig, QueueOrdering};
    use crate::ids::{PartitionId, SetId};
    use crate::propose::{PassLimits, PassScope, Scratch};
    use crate::resource::Resources;
    use crate::{ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes};

    fn amount(memory: i64) -> Resources {
        Resources::new(&[memory])
    }

    /// A state with two leaves, each of which asks for the whole cluster.
    fn state() -> State {
        let half = |name: &str| QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50)));
        let root =
            QueueConfig::root(["a", "b"].map(half)).with_child_ordering(QueueOrdering::PriorityUtilization);
        let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
        let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
        let handle = engine.handle();
        let events = handle.event_stream(16);
        handle.add_node(NodeSpec::new("n", amount(8))).unwrap();
        for queue in ["root.a", "root.b"] {
            let application = ApplicationSpec::new("application", queue, "user");
            let application = handle.submit_application(application, &events).unwrap();
            handle.submit_ask(application, AskSpec::new(amount(1), 8)).unwrap();
        }
        engine.commit_waiting().unwrap();
        engine.shared_state()
    }

    /// Another pass gives the first leaf its guarantee between two steps of this pass.
    #[test]
    fn a_walk_goes_by_what_another_pass_gives_meanwhile() {
        let (state, mut scratch, mut proposals) = (state(), Scratch::default(), Proposals::default());
        let scope = PassScope::default();
        let limits = PassLimits { requests: 8, visits: 8, scope, is_single_step: false };
        let set = SetId::new(PartitionId::DEFAULT, 0);
        let mut walk = QueueWalk::start(&state, &mut scratch, set, &limits);
        let first = walk.next(&mut proposals).unwrap().leaf;
        assert_eq!(walk.next(&mut proposals).unwrap().leaf, first);
        state.in_flight.queues.add(first, PartitionId::DEFAULT, &amount(4));
        assert_ne!(walk.next(&mut proposals).unwrap().leaf, first);
    }
}
