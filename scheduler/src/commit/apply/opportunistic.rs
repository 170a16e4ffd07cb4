//! Opportunistic containers: which node they wait at, when they start, and when they end for others.
//!
//! These decisions follow from the facts alone. So they need no record of their own: they are part of the change that
//! made them due, and a replay makes them again. Each change ends with a look at the nodes that it touched
//! ([`Applier::look_at_nodes`]).
//!
//! * **First to go.** Where guaranteed containers and running opportunistic ones together exceed the node,
//!   opportunistic containers end, the latest start first.
//! * **First come, first served.** Then the head of the node's queue starts, if the node has room left for all of it.
//!   No container overtakes the head, as in YARN's node manager, so a large one is not starved by smaller ones.
//! * **The least loaded node.** Each unit of an opportunistic ask goes to a named host, else to a node on a named
//!   rack, else to any node. Among these it goes to the node with the shortest queue, then with the smallest part in
//!   use. A unit that finds only full queues stays pending. It looks again, in the order of submission, when a queue
//!   gets shorter, a node changes, or the application is activated.

use super::Applier;
use super::shapes::shape_for;
use crate::change::AskSpec;
use crate::commit::resizing::may_charge;
use crate::event::EventKind;
use crate::facts::{EndCause, Head, NodeLoad, OpportunisticAsk, Shape};
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId};
use crate::resource::{Need, Resources};
use crate::state::State;

impl Applier<'_> {
    /// Ends, starts and queues the opportunistic containers that the change made due.
    #[cold]
    #[inline(never)]
    pub(super) fn look_at_nodes(&mut self) {
        self.state.facts.node_loads.begin();
        loop {
            while let Some(node) = self.state.facts.node_loads.take_touched() {
                self.look_at_node(node);
            }
            let Some(asks) = self.state.facts.node_loads.take_asks() else { break };
            asks.into_iter().for_each(|ask| self.queue_units(ask));
        }
        self.state.facts.node_loads.end();
    }

    /// Ends and starts opportunistic containers of a node, and lists its load.
    fn look_at_node(&mut self, id: NodeId) {
        while self.state.facts.nodes.get(id).is_some()
            && let Some(container) = self.state.facts.next_to_end(id)
        {
            self.end_container(container, EndCause::OpportunisticPreempted);
        }
        while self.state.facts.nodes.get(id).is_some() {
            match self.state.facts.head_of_queue(id) {
                Head::Waits => break,
                Head::TooLarge(container) => self.end_container(container, EndCause::OpportunisticPreempted),
                Head::Fits(container) if self.may_start(container) => self.start_waiting(container),
                // The maxima can never admit its devices, and it would block the queue for ever.
                Head::Fits(container) if !self.maxima_admit(container) => {
                    self.end_container(container, EndCause::OpportunisticPreempted);
                }
                Head::Fits(_) => {
                    self.state.facts.node_loads.hold_back(id);
                    break;
                }
            }
        }
        self.state.facts.update_load(id);
    }

    /// Whether the limits of queues and users admit the devices of the container.
    fn may_start(&mut self, container: ContainerId) -> bool {
        let devices = self.started_shape(container).need.resources;
        if devices.is_zero() {
            return true;
        }
        // Recomputed from the facts now, so that a replay decides alike.
        self.state.recompute_limits();
        may_charge(&self.state.facts, container, &devices).is_ok()
    }

    /// Whether the limits would admit the devices of the container if nothing else used them. Limits are computed.
    fn maxima_admit(&self, container: ContainerId) -> bool {
        let (application, shape) =
            (self.state.facts.containers.at(container).application, self.started_shape(container));
        self.state.facts.maxima_admit_devices(application, &shape)
    }

    /// The shape with which a waiting container starts: it is charged its devices.
    fn started_shape(&self, container: ContainerId) -> Shape {
        let facts = &self.state.facts;
        let (need, mut devices) = (facts.opportunistic_need(container), Resources::ZERO);
        if let Some(device_type) = facts.config.resources.device_type() {
            devices.set(device_type, need.resources[device_type]);
        }
        let shape = facts.shapes.at(facts.containers.at(container).shape);
        Shape { need: Need { resources: devices, ..need }, ..shape.clone() }
    }

    /// Starts a container that waits in the queue of its node.
    pub(super) fn start_waiting(&mut self, container: ContainerId) {
        let (old, shape) = (self.charged_for(container), self.started_shape(container));
        let shape = self.intern(&shape);
        let charged = self.state.facts.transition_start_waiting(container, shape);
        self.record_recharged(&old, &charged);
        let (ask, node) = (self.state.facts.containers.at(container).ask, charged.node);
        self.tell(charged.application, EventKind::OpportunisticStarted { ask, container, node });
    }

    pub(super) fn submit_opportunistic(
        &mut self,
        id: AskId,
        application: ApplicationId,
        spec: &AskSpec,
        count: u32,
        allocation_request_id: u64,
    ) {
        // Opportunistic containers stay in their partition.
        let shape = shape_for(&self.state.facts, application, spec);
        let shape = shape.staying_in(shape.partition);
        let preference = self.with_racks_of_hosts(&spec.preference);
        let facts = &mut self.state.facts;
        facts.asks_submitted += 1;
        let ask = OpportunisticAsk {
            application,
            number: facts.asks_submitted,
            priority: spec.priority,
            shape,
            preference,
            asked: count,
            allocated: 0,
            cancelled: 0,
            pending_since_ms: facts.now_ms,
            allocation_request_id,
        };
        facts.transition_submit_opportunistic(id, ask);
        self.queue_units(id);
    }

    /// Puts units of a pending ask into the queues of nodes, as long as there is a node for them.
    fn queue_units(&mut self, id: AskId) {
        let Some(ask) = self.state.facts.node_queues.asks.get(&id) else { return };
        if !self.state.facts.applications.at(ask.application).is_active {
            return;
        }
        let (ask, mut last) = (ask.clone(), None);
        if ask.shape.need.devices.is_some() {
            self.state.recompute_limits();
            if !self.state.facts.maxima_admit_devices(ask.application, &ask.shape) {
                return;
            }
        }
        for _ in 0..ask.outstanding() {
            let Some(node) = choose(self.state, &ask, &mut last) else { break };
            self.queue_unit(id, &ask, node);
            self.look_at_node(node);
        }
        self.forget_if_satisfied(id);
    }

    fn queue_unit(&mut self, id: AskId, ask: &OpportunisticAsk, node: NodeId) {
        let shape = self.intern(&ask.waiting_shape());
        let state = &mut *self.state;
        let Some((container, charged)) = state.facts.transition_queue(id, node, shape) else { return };
        state.node_shards.record_change(node, charged.partition);
        state.tags_placed(&charged);
        let locality = ask.preference.locality_of(node, state.facts.nodes.at(node).rack);
        let allocation_request_id = ask.allocation_request_id;
        let kind =
            EventKind::OpportunisticAllocated { ask: id, container, node, locality, allocation_request_id };
        self.tell(ask.application, kind);
    }

    /// Cancels units of an opportunistic ask. Returns false for any other ask.
    #[cold]
    pub(super) fn cancel_opportunistic(&mut self, id: AskId, units: u32) -> bool {
        let Some((application, units)) = self.state.facts.transition_cancel_opportunistic(id, units) else {
            return false;
        };
        self.tell(application, EventKind::AskCancelled { ask: id, units });
        self.forget_if_satisfied(id);
        true
    }

    pub(super) fn cancel_opportunistic_of(&mut self, application: ApplicationId) {
        if !self.state.facts.node_queues.asks.is_empty() {
            for ask in self.state.facts.opportunistic_asks_of(application) {
                self.cancel_opportunistic(ask, u32::MAX);
            }
        }
    }

    fn forget_if_satisfied(&mut self, id: AskId) {
        if self.state.facts.node_queues.asks.get(&id).is_some_and(|ask| ask.outstanding() == 0)
            && let Some(ask) = self.state.facts.transition_forget_opportunistic(id)
        {
            self.state.backlog.notes.record_end(id, ask.cancelled, ask.allocated);
            self.effects.vacated_asks.push(id);
        }
    }

    /// Gives the application's opportunistic asks the blacklist that it has now.
    pub(super) fn shun_for_opportunistic(&mut self, application: ApplicationId) {
        if !self.state.facts.node_queues.asks.is_empty() {
            self.state.facts.transition_shun_for_opportunistic(application);
        }
    }

    /// The container is to be promoted when there is room.
    pub(super) fn request_promotion(&mut self, container: ContainerId) {
        self.state.facts.transition_request_promotion(container);
    }
}

/// The node for the next unit of the ask. `last` is the load of the last node that was chosen regardless of hosts and
/// racks. Nodes before it will not do: a chosen node is more loaded afterwards, and the others were passed over for
/// good.
fn choose(state: &State, ask: &OpportunisticAsk, last: &mut Option<NodeLoad>) -> Option<NodeId> {
    let facts = &state.facts;
    let loads = &facts.node_loads;
    let length = facts.config.opportunistic.as_ref()?.queue_length_max;
    let could_queue = |node: NodeId| facts.nodes.get(node).is_some_and(|node| facts.could_queue(ask, node));
    let least = |nodes: &[NodeId]| {
        let open = nodes.iter().filter(|node| could_queue(**node)).filter_map(|node| loads.of(*node));
        open.filter(|load| load.waiting() < length).min().map(NodeLoad::node)
    };
    let on_racks = || {
        let racks = ask.preference.racks.iter().map(|rack| state.node_shards.nodes_on(*rack));
        racks.filter_map(least).filter_map(|node| loads.of(node)).min().map(NodeLoad::node)
    };
    if !ask.preference.is_empty()
        && let Some(node) = least(&ask.preference.hosts).or_else(on_racks)
    {
        return Some(node);
    }
    let mut nodes = loads.least_loaded(ask.shape.partition, *last, length);
    *last = Some(nodes.find(|load| could_queue(load.node()))?);
    last.map(NodeLoad::node)
}
