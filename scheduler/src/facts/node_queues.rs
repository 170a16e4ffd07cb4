//! Opportunistic asks, and the queues of opportunistic containers at nodes.
//!
//! An opportunistic ask is not among the ordinary asks: it has no lane, no demand and no pending amount. Passes,
//! limits and preemption do not see it. Each of its containers first *waits* in the queue of a node, charged nothing.
//! It *runs* once the node has room left for it, charged its devices only.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::node::Node;
use super::shape::Shape;
use super::{Facts, LocalityPreference};
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId, SlotId};
use crate::resource::{Need, Resources, Room, fits};

/// An opportunistic ask with outstanding units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpportunisticAsk {
    pub(crate) application: ApplicationId,
    /// Order of submission over the engine's life.
    pub(crate) number: u64,
    pub(crate) priority: u32,
    /// The shape that its containers would have if they were guaranteed.
    pub(crate) shape: Shape,
    pub(crate) preference: LocalityPreference,
    pub(crate) asked: u32,
    pub(crate) allocated: u32,
    pub(crate) cancelled: u32,
    pub(crate) pending_since_ms: u64,
    /// The caller's own number.
    pub(crate) allocation_request_id: u64,
}

impl OpportunisticAsk {
    /// Units not yet placed or cancelled.
    pub(crate) fn outstanding(&self) -> u32 {
        self.asked - self.allocated - self.cancelled
    }

    /// The shape of its containers while they wait: charged nothing.
    pub(crate) fn waiting_shape(&self) -> Shape {
        Shape { need: Need { resources: Resources::ZERO, ..self.shape.need }, ..self.shape.clone() }
    }
}

/// The opportunistic containers of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodeQueue {
    /// Those that run, in the order in which they started or were demoted.
    pub(crate) running: Vec<ContainerId>,
    /// Those that wait, in the order in which they start.
    pub(crate) waiting: VecDeque<ContainerId>,
}

impl NodeQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }
}

/// The opportunistic asks and containers of an engine that queues opportunistic containers, and requested promotions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NodeQueues {
    pub(crate) asks: BTreeMap<AskId, OpportunisticAsk>,
    /// By node; a node without opportunistic containers has no entry.
    pub(crate) nodes: BTreeMap<NodeId, NodeQueue>,
    /// Opportunistic containers that are to be promoted when there is room, in the order of the requests.
    pub(crate) promotions: Vec<ContainerId>,
}

/// The head of a node's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// The queue is empty, or its head waits for room.
    Waits,
    /// It has room now.
    Fits(ContainerId),
    /// The node could not hold it if it were empty.
    TooLarge(ContainerId),
}

impl Facts {
    /// Whether no ask has the slot of `id`, ordinary or opportunistic.
    #[inline]
    pub(crate) fn is_ask_vacant(&self, id: AskId) -> bool {
        self.asks.is_vacant(id) && (self.node_queues.asks.is_empty() || !self.has_opportunistic_in_slot(id))
    }

    #[cold]
    fn has_opportunistic_in_slot(&self, id: AskId) -> bool {
        let slot = AskId::new(id.index() as u32, 0)..=AskId::new(id.index() as u32, u32::MAX);
        self.node_queues.asks.range(slot).next().is_some()
    }

    /// The opportunistic containers of the node, if it has any and the engine queues them.
    pub(crate) fn queue_at(&self, node: NodeId) -> Option<&NodeQueue> {
        self.node_queues.nodes.get(&node)
    }

    /// Whether the opportunistic container waits in the queue of its node.
    pub(crate) fn is_waiting(&self, id: ContainerId) -> bool {
        let is_listed = |queue: &NodeQueue| queue.waiting.contains(&id);
        self.opportunistic.contains_key(&id)
            && self
                .containers
                .get(id)
                .and_then(|container| self.queue_at(container.node))
                .is_some_and(is_listed)
    }

    /// The size that the opportunistic container had if it were guaranteed, with its devices.
    pub(crate) fn opportunistic_need(&self, id: ContainerId) -> Need {
        let charged = self.shapes.at(self.containers.at(id).shape).need;
        Need { resources: self.opportunistic.get(&id).copied().unwrap_or(charged.resources), ..charged }
    }

    /// The room that neither guaranteed containers nor running opportunistic ones use; negative where these exceed it.
    pub(crate) fn leftover(&self, node: &Node) -> Room {
        let mut left = node.room;
        for id in self.queue_at(node.id).iter().flat_map(|queue| &queue.running) {
            let charged = self.shapes.at(self.containers.at(*id).shape).need.resources;
            left.free -= self.opportunistic_need(*id).resources - charged;
        }
        left
    }

    /// The running opportunistic container that ends because the node has too little room: the latest start that uses
    /// any of the types that are short.
    pub(crate) fn next_to_end(&self, id: NodeId) -> Option<ContainerId> {
        let queue = self.queue_at(id)?;
        let short = self.leftover(self.nodes.at(id)).free;
        if Resources::ZERO.within(&short) {
            return None;
        }
        let helps = |id: &ContainerId| {
            let size = self.opportunistic_need(*id).resources;
            size.types().any(|i| size[i] > 0 && short[i] < 0)
        };
        queue.running.iter().rev().copied().find(helps)
    }

    /// The head of the node's queue. No container overtakes it.
    pub(crate) fn head_of_queue(&self, id: NodeId) -> Head {
        let Some(head) = self.queue_at(id).and_then(|queue| queue.waiting.front()) else {
            return Head::Waits;
        };
        let (need, node) = (self.opportunistic_need(*head), self.nodes.at(id));
        if !fits(&need, &node.empty_room()) {
            Head::TooLarge(*head)
        } else if fits(&need, &self.leftover(node)) {
            Head::Fits(*head)
        } else {
            Head::Waits
        }
    }

    /// Whether the maxima of queues and of limits for the user admit the devices of one container if nothing else uses
    /// them. Nothing else of an opportunistic container is charged. Limits must be computed.
    pub(crate) fn maxima_admit_devices(&self, application: ApplicationId, shape: &Shape) -> bool {
        let (application, mut devices) = (self.applications.at(application), Resources::ZERO);
        if let Some(device_type) = self.config.resources.device_type() {
            devices.set(device_type, shape.need.resources[device_type]);
        }
        let mut chain = self.queue(application.leaf).chain.iter();
        chain.all(|queue| self.queue(*queue).quota(shape.partition).admits(&Resources::ZERO, &devices))
            && self.tree.exhausted_limit_usage(application.user, &devices, |_| Resources::ZERO).is_none()
    }

    /// Whether a container of the ask may wait at the node, apart from the length of its queue.
    pub(crate) fn could_queue(&self, ask: &OpportunisticAsk, node: &Node) -> bool {
        node.is_candidate()
            && node.partition == ask.shape.partition
            && ask.preference.will_do(node.id, node.rack)
            && fits(&ask.shape.need, &node.empty_room())
            && self.meets_rule(&ask.shape, node)
    }

    /// The application's opportunistic asks, in the order of submission.
    pub(crate) fn opportunistic_asks_of(&self, application: ApplicationId) -> Vec<AskId> {
        let its = self.node_queues.asks.iter().filter(|(_, ask)| ask.application == application);
        let mut its: Vec<_> = its.map(|(id, ask)| (ask.number, *id)).collect();
        its.sort_unstable();
        its.into_iter().map(|(_, id)| id).collect()
    }
}
