//! Applies changes of queues.

use std::sync::Arc;

use super::{Applier, NamedQueue};
use crate::change::ApplicationSpec;
use crate::commit::destination::destination;
use crate::config::{QueueUpdate, Reconfiguration};
use crate::facts::{Destination, Queue};
use crate::ids::QueueId;
use crate::timers::Timer;

impl Applier<'_> {
    pub(super) fn update_queue(&mut self, id: QueueId, update: &QueueUpdate) {
        let facts = &mut self.state.facts;
        facts.tree.update_queue(id, update);
        facts.node_loads.look_for_nodes();
        self.state.mark_limits_stale();
    }

    pub(super) fn reconfigure(&mut self, configuration: &Reconfiguration) {
        let facts = &mut self.state.facts;
        facts.queue_mapping.clone_from(&configuration.queue_mapping);
        facts.tree.lay_out_queues(&configuration.root, facts.now_ms);
        facts.node_loads.look_for_nodes();
        self.add_queues();
        // Amounts in flight may count for other limit usages than their containers will be charged to.
        self.state.record_move();
        let state = &mut *self.state;
        state.backlog.reorder(&state.facts);
        for id in (0..state.facts.tree.queues.len() as u32).map(QueueId) {
            // The reconfiguration may have changed how long idle queues stay.
            if let Some(at_ms) = state.facts.tree.expires_ms(id) {
                state.timers.add(at_ms, Timer::QueueIdle(id));
            }
        }
        let all = state.facts.tree.queues.iter().enumerate();
        self.effects.queues.extend(all.map(|(index, queue)| named(QueueId(index as u32), queue)));
    }

    /// Returns the leaf for an application, and creates it if needed.
    pub(super) fn leaf_for(&mut self, spec: &ApplicationSpec) -> QueueId {
        let (below, names) = match destination(&self.state.facts, spec) {
            Ok(Destination::Leaf(leaf)) => return leaf,
            Ok(Destination::New { below, names }) => (below, names),
            Err(refusal) => unreachable!("it was admitted, not {refusal}"),
        };
        let facts = &mut self.state.facts;
        let made = facts.tree.create_queues(below, &names, facts.now_ms);
        self.add_queues();
        let facts = &self.state.facts;
        self.effects.queues.extend(made.iter().map(|id| named(*id, facts.queue(*id))));
        made.last().copied().unwrap_or(below)
    }

    /// Makes room for new queues in the derived state, and marks the limits stale.
    fn add_queues(&mut self) {
        let state = &mut *self.state;
        state.backlog.add_queues(&state.facts);
        state.in_flight.queues.add_items(state.facts.tree.queues.len());
        state.in_flight.add_users(state.facts.tree.users.len(), state.facts.tree.limit_usages().len());
        state.mark_limits_stale();
    }

    /// Sets the time at which an idle auto-created queue expires.
    pub(super) fn record_idle(&mut self, id: QueueId) {
        let facts = &mut self.state.facts;
        if let Some(at_ms) = facts.tree.record_idle(id, facts.now_ms) {
            self.state.timers.add(at_ms, Timer::QueueIdle(id));
        }
    }

    pub(super) fn expire_queue(&mut self, id: QueueId) {
        let parent = self.state.facts.tree.remove_queue(id);
        self.effects.queues.push(named(id, self.state.facts.queue(id)));
        self.state.mark_limits_stale();
        parent.into_iter().for_each(|parent| self.record_idle(parent));
    }
}

fn named(id: QueueId, queue: &Queue) -> NamedQueue {
    NamedQueue { path: Arc::clone(&queue.path), queue: queue.is_present.then(|| (id, queue.role())) }
}
