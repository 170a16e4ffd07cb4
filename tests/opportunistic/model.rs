//! A small model of nodes and their queues. It follows a log change by change and says what each event should have
//! been. All amounts are equal numbers of both resource types.

use std::collections::{BTreeMap, VecDeque};

use apportion::event::EventKind;
use apportion::log::LogReader;
use apportion::replay::Replay;
use apportion::{AskId, Change, ContainerId, EndCause, ExecutionType, NodeId, NodeState};

#[derive(Clone, Debug, Default)]
struct ModelNode {
    capacity: i64,
    is_draining: bool,
    guaranteed: Vec<ContainerId>,
    running: Vec<ContainerId>,
    waiting: VecDeque<ContainerId>,
}

#[derive(Debug)]
pub(crate) struct Model {
    queue_length_max: usize,
    nodes: BTreeMap<NodeId, ModelNode>,
    sizes: BTreeMap<ContainerId, i64>,
    asked: BTreeMap<AskId, i64>,
    /// Guaranteed placements in their order, by the caller's number of the ask.
    pub(crate) placed: Vec<(u64, NodeId)>,
}

/// Follows a whole log. The state equals the model's after each change.
pub(crate) fn follow(log: &[u8], queue_length_max: usize) -> (Replay, Model) {
    let mut reader = LogReader::new(log).unwrap();
    let mut replay = Replay::begin(&mut reader).unwrap();
    let mut model = Model {
        queue_length_max,
        nodes: BTreeMap::new(),
        sizes: BTreeMap::new(),
        asked: BTreeMap::new(),
        placed: Vec::new(),
    };
    let mut events = Vec::new();
    while let Some(change) = reader.next_change().unwrap() {
        replay.step_with_events(change.clone(), &mut events).unwrap();
        model.change(&change);
        events.iter().for_each(|event| model.event(&change, &event.kind));
        if let Change::NodeRemoved { node } = change {
            model.nodes.remove(&node);
        }
        model.check(&mut replay, &change);
        let report = replay.audit();
        assert!(report.is_clean(), "after {change:?}: {report}");
    }
    (replay, model)
}

impl Model {
    fn change(&mut self, change: &Change) {
        match change {
            Change::NodeAdded { node, spec, .. } => {
                let added = ModelNode { capacity: spec.capacity[0], ..ModelNode::default() };
                self.nodes.insert(*node, added);
            }
            Change::NodeUpdated { node, capacity, .. } => self.node(*node).capacity = capacity[0],
            Change::NodeStateSet { node, state } => {
                self.node(*node).is_draining = *state == NodeState::Draining;
            }
            Change::AskSubmitted { ask, spec, .. } => drop(self.asked.insert(*ask, spec.size[0])),
            _ => {}
        }
    }

    fn node(&mut self, id: NodeId) -> &mut ModelNode {
        self.nodes.get_mut(&id).unwrap()
    }

    fn sum(&self, containers: &[ContainerId]) -> i64 {
        containers.iter().map(|id| self.sizes[id]).sum()
    }

    fn left(&self, node: &ModelNode) -> i64 {
        node.capacity - self.sum(&node.guaranteed) - self.sum(&node.running)
    }

    fn event(&mut self, change: &Change, event: &EventKind) {
        match *event {
            EventKind::Allocated { ask, container, node, allocation_request_id, .. } => {
                self.sizes.insert(container, self.asked[&ask]);
                let free = self.nodes[&node].capacity - self.sum(&self.nodes[&node].guaranteed);
                assert!(self.asked[&ask] <= free, "guaranteed containers have room beside each other");
                self.node(node).guaranteed.push(container);
                self.placed.push((allocation_request_id, node));
            }
            EventKind::OpportunisticAllocated { ask, container, node, .. } => {
                assert_eq!(Some(node), self.least_loaded(self.asked[&ask]), "after {change:?}");
                self.sizes.insert(container, self.asked[&ask]);
                self.node(node).waiting.push_back(container);
            }
            EventKind::OpportunisticStarted { container, node, .. } => self.start(change, container, node),
            EventKind::ExecutionTypeChanged { container, execution_type } => {
                let (_, node) = self.nodes.iter_mut().find(|(_, node)| node.has(container)).unwrap();
                node.remove(container);
                match execution_type {
                    ExecutionType::Guaranteed => node.guaranteed.push(container),
                    ExecutionType::Opportunistic => node.running.push(container),
                }
            }
            EventKind::ContainerEnded { container, cause, .. } => self.end(container, cause),
            _ => {}
        }
    }

    fn start(&mut self, change: &Change, container: ContainerId, id: NodeId) {
        let node = &self.nodes[&id];
        let is_promoted = matches!(change, Change::ExecutionTypeSet { .. });
        if !is_promoted {
            assert_eq!(node.waiting.front(), Some(&container), "first come, first served");
            assert!(self.sizes[&container] <= self.left(node), "{container} starts without room");
        }
        let node = self.node(id);
        node.remove(container);
        node.running.push(container);
    }

    fn end(&mut self, container: ContainerId, cause: EndCause) {
        let (id, node) = self.nodes.iter().find(|(_, node)| node.has(container)).unwrap();
        if cause == EndCause::OpportunisticPreempted {
            if node.waiting.front() == Some(&container) {
                assert!(self.sizes[&container] > node.capacity, "{container} could wait on");
            } else {
                assert_eq!(node.running.last(), Some(&container), "the latest start ends first");
                assert!(self.left(node) < 0, "{container} ends, and there is room");
            }
        }
        let id = *id;
        self.node(id).remove(container);
        self.sizes.remove(&container);
    }

    /// The node with the shortest queue, then the smallest part in use, then the lowest identifier.
    fn least_loaded(&self, size: i64) -> Option<NodeId> {
        let open = self.nodes.iter().filter(|(_, node)| {
            !node.is_draining && node.waiting.len() < self.queue_length_max && size <= node.capacity
        });
        let key = |(id, node): (&NodeId, &ModelNode)| {
            let used = ((node.capacity - self.left(node)) << 20) / node.capacity;
            (node.waiting.len(), used, *id)
        };
        open.map(key).min().map(|(_, _, id)| id)
    }

    /// Compares the model with the state.
    fn check(&self, replay: &mut Replay, change: &Change) {
        for (id, node) in &self.nodes {
            assert!(node.waiting.len() <= self.queue_length_max, "after {change:?}");
            assert!(node.running.is_empty() || self.left(node) >= 0, "{id} after {change:?}");
            let head = node.waiting.front().map(|head| self.sizes[head]);
            assert!(head.is_none_or(|size| size > self.left(node)), "{id} after {change:?}");
            let view = replay.view();
            let view = view.node(*id).unwrap();
            assert_eq!(view.queue().collect::<VecDeque<_>>(), node.waiting, "{id} after {change:?}");
            assert_eq!(view.running_opportunistic().collect::<Vec<_>>(), node.running, "{id}");
            assert_eq!(view.leftover()[0], self.left(node), "{id} after {change:?}");
        }
        let view = replay.view();
        for ask in view.asks().filter(|ask| ask.execution_type() == ExecutionType::Opportunistic) {
            assert_eq!(self.least_loaded(ask.size()[0]), None, "{} after {change:?}", ask.id());
        }
    }
}

impl ModelNode {
    fn has(&self, id: ContainerId) -> bool {
        self.guaranteed.contains(&id) || self.running.contains(&id) || self.waiting.contains(&id)
    }

    fn remove(&mut self, id: ContainerId) {
        self.guaranteed.retain(|other| *other != id);
        self.running.retain(|other| *other != id);
        self.waiting.retain(|other| *other != id);
    }
}
