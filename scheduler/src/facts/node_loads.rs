//! The nodes by their load of opportunistic containers, and the nodes whose queues are to be looked at.
//!
//! All of it follows from the other facts. It is kept only in an engine that queues opportunistic containers. The
//! least loaded node has the shortest queue, then the smallest part of its capacity in use, then the lowest
//! identifier. So a choice costs a search in a tree, and no look at all nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use rustc_hash::FxHashMap;

use super::Facts;
use super::node::Node;
use super::node_queues::Head;
use crate::ids::{AskId, NodeId, PartitionId};
use crate::resource::used_share;

/// The load of a node. A smaller one is less loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeLoad {
    /// The length of its queue.
    waiting: u32,
    /// The dominant share in use by guaranteed and running opportunistic containers.
    used: u64,
    node: NodeId,
}

/// The nodes in the order of their loads, and the work that a change leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeLoads {
    is_on: bool,
    /// Whether the nodes' queues are to be looked at after this change.
    is_due: bool,
    /// By partition.
    order: Vec<BTreeSet<NodeLoad>>,
    known: FxHashMap<NodeId, (PartitionId, NodeLoad)>,
    /// Nodes whose room or queue changed.
    touched: BTreeSet<NodeId>,
    /// Nodes whose head has room, and which a limit on its devices holds back.
    held_back: BTreeSet<NodeId>,
    /// Whether some pending ask may find a node again.
    looks_for_nodes: bool,
    /// The pending opportunistic asks by the order of submission.
    asks: BTreeMap<u64, AskId>,
}

impl NodeLoads {
    pub(super) fn new(is_on: bool, partitions: usize) -> Self {
        Self { is_on, order: vec![BTreeSet::new(); if is_on { partitions } else { 0 }], ..Self::default() }
    }

    /// Whether the engine queues opportunistic containers.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whether the nodes' queues are to be looked at.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Records that a node's room or queue changed.
    #[inline]
    pub(crate) fn touch(&mut self, node: NodeId) {
        if self.is_on {
            self.record_touched(node);
        }
    }

    #[cold]
    fn record_touched(&mut self, node: NodeId) {
        self.touched.insert(node);
        self.is_due = true;
    }

    /// Records that a pending ask may find a node that it did not find before.
    pub(crate) fn look_for_nodes(&mut self) {
        if !self.asks.is_empty() {
            (self.looks_for_nodes, self.is_due) = (true, true);
        }
    }

    pub(crate) fn hold_back(&mut self, node: NodeId) {
        self.held_back.insert(node);
    }

    /// Begins a look at all nodes that were touched, and at those that limits held back.
    pub(crate) fn begin(&mut self) {
        self.touched.append(&mut self.held_back);
    }

    pub(crate) fn take_touched(&mut self) -> Option<NodeId> {
        self.touched.pop_first()
    }

    /// The pending asks to be tried, in the order of submission, if any may find a node.
    pub(crate) fn take_asks(&mut self) -> Option<Vec<AskId>> {
        std::mem::take(&mut self.looks_for_nodes).then(|| self.asks.values().copied().collect())
    }

    /// Ends the look. The next change looks again at nodes that a limit holds back.
    pub(crate) fn end(&mut self) {
        self.looks_for_nodes = false;
        self.is_due = !self.held_back.is_empty();
    }

    pub(crate) fn list_ask(&mut self, number: u64, ask: AskId) {
        self.asks.insert(number, ask);
    }

    pub(crate) fn unlist_ask(&mut self, number: u64) {
        self.asks.remove(&number);
    }

    /// The load of a node.
    pub(crate) fn of(&self, node: NodeId) -> Option<NodeLoad> {
        self.known.get(&node).map(|(_, load)| *load)
    }

    /// The partition's nodes behind `last` whose queues are shorter than `length`, the least loaded first.
    pub(crate) fn least_loaded(
        &self,
        partition: PartitionId,
        last: Option<NodeLoad>,
        length: u32,
    ) -> impl Iterator<Item = NodeLoad> {
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        let nodes = self.order.get(partition.index()).map(|order| order.range((from, Bound::Unbounded)));
        nodes.into_iter().flatten().copied().take_while(move |load| load.waiting < length)
    }

    fn set(&mut self, node: NodeId, load: Option<(PartitionId, NodeLoad)>) {
        let old = match load {
            Some(load) => self.known.insert(node, load),
            None => self.known.remove(&node),
        };
        if let Some((partition, old)) = old {
            self.order[partition.index()].remove(&old);
        }
        if let Some((partition, load)) = load {
            self.order[partition.index()].insert(load);
        }
    }
}

impl NodeLoad {
    pub(crate) fn node(self) -> NodeId {
        self.node
    }

    /// The length of the node's queue.
    pub(crate) fn waiting(self) -> u32 {
        self.waiting
    }
}

impl Facts {
    /// Lists the node with its present load; a node that is gone is no longer listed.
    pub(crate) fn update_load(&mut self, id: NodeId) {
        let load = self.nodes.get(id).map(|node| self.load_of(node));
        self.node_loads.set(id, load);
    }

    fn load_of(&self, node: &Node) -> (PartitionId, NodeLoad) {
        let waiting = self.queue_at(node.id).map_or(0, |queue| queue.waiting.len()) as u32;
        let used = used_share(&self.leftover(node).free, &node.capacity);
        (node.partition, NodeLoad { waiting, used, node: node.id })
    }

    /// The loads that follow from the other facts, after a change has been carried out.
    pub(crate) fn rebuilt_loads(&self) -> NodeLoads {
        let mut loads = NodeLoads::new(self.config.opportunistic.is_some(), self.tree.partitions.len());
        if !loads.is_on {
            return loads;
        }
        for (id, node) in self.nodes.iter() {
            loads.set(id, Some(self.load_of(node)));
            if matches!(self.head_of_queue(id), Head::Fits(_)) {
                loads.hold_back(id);
            }
        }
        self.node_queues.asks.iter().for_each(|(id, ask)| loads.list_ask(ask.number, *id));
        loads.end();
        loads
    }
}
