//! Transitions of opportunistic asks and containers.

use super::{Charged, Use};
use crate::facts::{Container, Facts, OpportunisticAsk, Rule};
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId, ShapeId};
use crate::resource::DeviceMask;

impl Facts {
    /// An opportunistic ask enters, and nothing is counted for it.
    pub(crate) fn transition_submit_opportunistic(&mut self, id: AskId, ask: OpportunisticAsk) {
        self.node_loads.list_ask(ask.number, id);
        self.node_queues.asks.insert(id, ask);
    }

    /// Cancels units of an opportunistic ask, at most those that are outstanding. Returns its application and their
    /// number; `None` for any other ask.
    pub(crate) fn transition_cancel_opportunistic(
        &mut self,
        id: AskId,
        units: u32,
    ) -> Option<(ApplicationId, u32)> {
        let ask = self.node_queues.asks.get_mut(&id)?;
        let units = units.min(ask.outstanding());
        ask.cancelled += units;
        Some((ask.application, units))
    }

    /// Gives the application's opportunistic asks the blacklist that it has now.
    pub(crate) fn transition_shun_for_opportunistic(&mut self, application: ApplicationId) {
        let shunned = self.applications.at(application).blacklist.clone();
        for ask in self.node_queues.asks.values_mut().filter(|ask| ask.application == application) {
            let rule = ask.shape.rule.take().map_or_else(Rule::default, |rule| *rule);
            ask.shape.rule = Rule { shunned: shunned.clone(), ..rule }.boxed();
        }
        self.node_loads.look_for_nodes();
    }

    /// The container is to be promoted when there is room.
    pub(crate) fn transition_request_promotion(&mut self, container: ContainerId) {
        let promotions = &mut self.node_queues.promotions;
        if !promotions.contains(&container) {
            promotions.push(container);
        }
    }

    /// Removes an opportunistic ask that has nothing outstanding.
    pub(crate) fn transition_forget_opportunistic(&mut self, id: AskId) -> Option<OpportunisticAsk> {
        let ask = self.node_queues.asks.remove(&id)?;
        debug_assert!(ask.outstanding() == 0, "{id} is still wanted");
        self.node_loads.unlist_ask(ask.number);
        self.asks.leave_trace(id);
        Some(ask)
    }

    /// One unit of an opportunistic ask becomes a container that waits at its node, charged nothing. Its `shape` is
    /// already counted as used.
    pub(crate) fn transition_queue(
        &mut self,
        ask_id: AskId,
        node: NodeId,
        shape: ShapeId,
    ) -> Option<(ContainerId, Charged)> {
        let ask = self.node_queues.asks.get_mut(&ask_id)?;
        debug_assert!(ask.outstanding() > 0, "{ask_id} has nothing outstanding");
        ask.allocated += 1;
        let container = Container {
            application: ask.application,
            ask: ask_id,
            node,
            shape,
            devices: DeviceMask::default(),
            priority: ask.priority,
            allocation_request_id: ask.allocation_request_id,
            is_recovered: false,
        };
        let size = ask.shape.need.resources;
        let charged = self.charge(container.application, shape, node, Use::Running, 1);
        debug_assert!(charged.resources.is_zero(), "a waiting container is charged nothing");
        self.count_tags(&charged, 1);
        let id = self.container_ids.take();
        self.nodes.at_mut(node).containers.push(id);
        self.applications.at_mut(container.application).containers.add(id);
        self.containers.insert(id, container);
        self.opportunistic.insert(id, size);
        self.node_queues.nodes.entry(node).or_default().waiting.push_back(id);
        self.node_loads.touch(node);
        Some((id, charged))
    }

    /// A waiting container starts, charged with this shape: its devices. The caller checked that the node has them.
    pub(crate) fn transition_start_waiting(&mut self, id: ContainerId, shape: ShapeId) -> Charged {
        let charged = self.transition_reshape_container(id, shape);
        if let Some(need) = self.shapes.at(shape).need.devices {
            let devices = &mut self.nodes.at_mut(charged.node).room.devices;
            let mask = devices.choose(need).expect("the caller checked that the devices fit");
            devices.take(mask, need.milli);
            self.containers.at_mut(id).devices = mask;
        }
        self.unlist_opportunistic(id, charged.node);
        self.list_running(id);
        charged
    }

    /// Lists a container behind those that run on its node, if the engine queues opportunistic containers.
    pub(super) fn list_running(&mut self, id: ContainerId) {
        if self.node_loads.is_on() {
            let node = self.containers.at(id).node;
            self.node_queues.nodes.entry(node).or_default().running.push(id);
            self.node_loads.touch(node);
        }
    }

    /// A container is opportunistic no longer. A container that never was is left alone.
    #[cold]
    pub(super) fn end_opportunistic(&mut self, id: ContainerId, node: NodeId) {
        if self.opportunistic.remove(&id).is_some() {
            self.unlist_opportunistic(id, node);
            self.node_queues.promotions.retain(|other| *other != id);
        }
    }

    fn unlist_opportunistic(&mut self, id: ContainerId, node: NodeId) {
        let Some(queue) = self.node_queues.nodes.get_mut(&node) else { return };
        let waiting = queue.waiting.len();
        queue.running.retain(|other| *other != id);
        queue.waiting.retain(|other| *other != id);
        let is_shorter = queue.waiting.len() < waiting;
        if queue.is_empty() {
            self.node_queues.nodes.remove(&node);
        }
        if is_shorter {
            self.node_loads.look_for_nodes();
        }
        self.node_loads.touch(node);
    }
}
