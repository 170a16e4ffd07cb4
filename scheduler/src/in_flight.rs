//! What is proposed and not yet decided.
//!
//! Proposers add under the read guard, so that others see what they are about to use; the committer takes
//! back whatever the verdict. Counters of a vacated slot vanish with it.

use crate::ids::{AskId, LeafUserId, NodeId, PartitionId, QueueId, SlotId};
use crate::resource::Resources;
use crate::sync::{InFlightResources, InFlightUnits};

#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    partitions: usize,
    /// By ask slot.
    asks: Vec<InFlightUnits>,
    /// By queue and partition.
    queues: Vec<InFlightResources>,
    /// By leaf user and partition.
    users: Vec<InFlightResources>,
    /// By node slot; only picks of hosts or racks that asks name.
    nodes: Vec<InFlightResources>,
}

impl InFlight {
    pub(crate) fn new(queues: usize, partitions: usize) -> Self {
        let mut in_flight =
            Self { partitions, asks: Vec::new(), queues: Vec::new(), users: Vec::new(), nodes: Vec::new() };
        in_flight.queues.resize_with(queues * partitions, InFlightResources::default);
        in_flight
    }

    /// The ask's slot has a new tenant, or none.
    pub(crate) fn reset_ask(&mut self, ask: AskId) {
        reset(&mut self.asks, ask.index());
    }

    /// The node's slot has a new tenant, or none.
    pub(crate) fn reset_node(&mut self, node: NodeId) {
        reset(&mut self.nodes, node.index());
    }

    /// Makes room for users that are new.
    pub(crate) fn add_users(&mut self, users: usize) {
        if self.users.len() < users * self.partitions {
            self.users.resize_with(users * self.partitions, InFlightResources::default);
        }
    }

    pub(crate) fn of_ask(&self, ask: AskId) -> &InFlightUnits {
        &self.asks[ask.index()]
    }

    pub(crate) fn of_queue(&self, queue: QueueId, partition: PartitionId) -> &InFlightResources {
        &self.queues[queue.index() * self.partitions + partition.index()]
    }

    pub(crate) fn of_user(&self, user: LeafUserId, partition: PartitionId) -> &InFlightResources {
        &self.users[user.index() * self.partitions + partition.index()]
    }

    pub(crate) fn of_node(&self, node: NodeId) -> &InFlightResources {
        &self.nodes[node.index()]
    }

    /// Whether every counter of a queue, user or node is zero, and every ask's as well (I9).
    pub(crate) fn is_zero(&self) -> bool {
        self.asks.iter().all(|units| units.load() == 0)
            && [&self.queues, &self.users, &self.nodes]
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
