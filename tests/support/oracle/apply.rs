//! Applying changes: what each of them does, and what applications should be told of it.

use apportion::config::QueueState;
use apportion::{
    ApplicationId, ApplicationSpec, AskId, AskSpec, Change, ContainerId, EndCause, EventKind, NodeId,
    NodeSpec, RackId,
};

use super::amounts::amounts;
use super::{Application, Ask, Effect, Hints, Node, Oracle, Queue};

impl Oracle {
    /// Whether the change, which a caller sent, makes sense now. One that does not is refused.
    #[must_use]
    pub fn makes_sense(&self, change: &Change) -> bool {
        match change {
            Change::NodeUpdated { node, .. }
            | Change::NodeStateSet { node, .. }
            | Change::NodeRemoved { node } => self.nodes.contains_key(node),
            Change::ApplicationSubmitted { leaf, spec, .. } => {
                self.takes_application(self.tree.number(*leaf), &spec.user)
            }
            Change::ApplicationEnded { application, .. } | Change::AskSubmitted { application, .. } => {
                self.applications.contains_key(application)
            }
            Change::AskCancelled { ask, .. } => self.asks.contains_key(ask),
            Change::ContainerEnded { container, .. } => self.container(*container).is_some(),
            Change::QueueUpdated { queue, update } => self.tree.accepts(self.tree.number(*queue), update),
            _ => true,
        }
    }

    /// Applies a change other than a commit; returns what applications should be told.
    ///
    /// # Errors
    /// When a change that the engine made by itself should not have been made.
    pub fn apply(&mut self, change: &Change, hints: &Hints) -> Result<Vec<Effect>, String> {
        let mut effects = Vec::new();
        match change {
            Change::TimeAdvanced { now_ms } if *now_ms > self.now_ms => self.now_ms = *now_ms,
            Change::NodeAdded { node, rack, spec } => self.add_node(*node, *rack, spec),
            Change::NodeUpdated { node, capacity, attributes } => {
                let device_type = self.config.resources.device_type();
                let node = self.nodes.get_mut(node).expect("checked before");
                node.capacity = amounts(capacity);
                node.attributes.clone_from(attributes);
                if let Some(device_type) = device_type {
                    node.capacity[device_type] = i64::from(node.devices) * 1000;
                }
            }
            Change::NodeStateSet { node, state } => {
                self.nodes.get_mut(node).expect("checked before").state = *state;
                self.drop_claim_unless_candidate(*node, &mut effects);
            }
            Change::NodeSilenceSet { node, stale } => {
                self.set_silence(*node, *stale)?;
                self.drop_claim_unless_candidate(*node, &mut effects);
            }
            Change::NodeRemoved { node } => self.remove_node(*node, &mut effects),
            Change::Heartbeats { nodes } => self.hear(nodes),
            Change::ApplicationSubmitted { application, leaf, spec } => {
                let leaf = self.tree.number(*leaf);
                self.submit(*application, leaf, spec);
            }
            Change::ApplicationEnded { application, end } => {
                self.end_application(*application, &mut effects);
                effects.push((*application, EventKind::ApplicationEnded { end: *end }));
            }
            Change::AskSubmitted { ask, application, spec } => self.submit_ask(*ask, *application, spec),
            Change::AskCancelled { ask, units } => self.cancel(*ask, *units, hints, &mut effects)?,
            Change::ContainerEnded { container, cause } => {
                self.end_container(*container, *cause, &mut effects);
            }
            Change::QueueUpdated { queue, update } => self.tree.update(self.tree.number(*queue), update),
            Change::ReservationExpired { .. } => self.expire(hints, &mut effects)?,
            other => return Err(format!("{other:?} is not possible here")),
        }
        Ok(effects)
    }

    fn add_node(&mut self, id: NodeId, rack: RackId, spec: &NodeSpec) {
        let position = self.vacated.pop_first().unwrap_or_else(|| {
            self.positions += 1;
            self.positions - 1
        });
        let node = Node {
            name: spec.name.clone(),
            rack,
            partition: spec.partition,
            capacity: amounts(&spec.capacity),
            devices: spec.devices,
            attributes: spec.attributes.clone(),
            state: apportion::NodeState::Active,
            stale: false,
            heard_ms: self.now_ms,
            position,
        };
        assert!(self.nodes.insert(id, node).is_none(), "{id} is registered twice");
    }

    fn remove_node(&mut self, id: NodeId, effects: &mut Vec<Effect>) {
        let on_node = self.containers.values().filter(|container| container.node == id);
        let lost: Vec<ContainerId> = on_node.filter_map(|container| container.id).collect();
        for container in lost {
            self.end_container(container, EndCause::NodeLost, effects);
        }
        self.drop_claim(id, effects);
        let node = self.nodes.remove(&id).expect("checked before");
        self.vacated.insert(node.position);
    }

    fn takes_application(&self, leaf: usize, user: &str) -> bool {
        let below = |queue: usize| {
            let leaves = self.applications.values().map(|application| application.leaf);
            leaves.filter(|leaf| self.tree.chain(*leaf).contains(&queue)).count() as u32
        };
        let takes_one_more = |queue: &usize| {
            let Queue { state, applications, .. } = &self.tree.queues[*queue];
            *state == QueueState::Running && applications.total.is_none_or(|limit| below(*queue) < limit)
        };
        let of_user = |application: &&Application| application.leaf == leaf && application.spec.user == user;
        let count = self.applications.values().filter(of_user).count() as u32;
        let per_user = self.tree.queues[leaf].applications.per_user;
        self.tree.chain(leaf).iter().all(takes_one_more) && per_user.is_none_or(|limit| count < limit)
    }

    fn submit(&mut self, id: ApplicationId, leaf: usize, spec: &ApplicationSpec) {
        let order = self.next_submission();
        let application = Application { spec: spec.clone(), leaf, since_ms: self.now_ms, order };
        assert!(self.applications.insert(id, application).is_none(), "{id} is submitted twice");
    }

    fn submit_ask(&mut self, id: AskId, application: ApplicationId, spec: &AskSpec) {
        let rack_of = |host: &NodeId| self.nodes.get(host).map(|node| node.rack);
        let racks = match &spec.wishes.racks[..] {
            [] => spec.wishes.hosts.iter().filter_map(rack_of).collect(),
            racks => racks.to_vec(),
        };
        let ask = Ask {
            application,
            spec: spec.clone(),
            racks,
            outstanding: spec.count,
            since_ms: self.now_ms,
            order: self.next_submission(),
        };
        assert!(self.asks.insert(id, ask).is_none(), "{id} is submitted twice");
    }

    fn end_application(&mut self, id: ApplicationId, effects: &mut Vec<Effect>) {
        let own = self.asks.iter().filter(|(_, ask)| ask.application == id);
        let asks: Vec<(AskId, u32)> = own.map(|(ask, own)| (*ask, own.outstanding)).collect();
        for (ask, units) in asks {
            self.drop_claims_of(ask, effects);
            effects.push((id, EventKind::AskCancelled { ask, units }));
            self.asks.remove(&ask);
        }
        let own = self.containers.values().filter(|container| container.application == id);
        let containers: Vec<ContainerId> = own.filter_map(|container| container.id).collect();
        for container in containers {
            self.end_container(container, EndCause::ApplicationEnded, effects);
        }
        self.applications.remove(&id);
    }

    fn cancel(
        &mut self,
        id: AskId,
        units: u32,
        hints: &Hints,
        effects: &mut Vec<Effect>,
    ) -> Result<(), String> {
        let ask = self.asks.get_mut(&id).expect("checked before");
        let units = units.min(ask.outstanding);
        ask.outstanding -= units;
        let (application, outstanding) = (ask.application, ask.outstanding);
        let surplus = self.claimed(id).saturating_sub(outstanding) as usize;
        let dropped = hints.dropped.iter().filter(|(ask, node)| *ask == id && self.claim_is_of(*node, id));
        let dropped: Vec<NodeId> = dropped.map(|(_, node)| *node).collect();
        if dropped.len() != surplus {
            return Err(format!("{id}: {surplus} claims are too many, dropped were {dropped:?}"));
        }
        for node in dropped {
            self.drop_claim(node, effects);
        }
        effects.push((application, EventKind::AskCancelled { ask: id, units }));
        if outstanding == 0 {
            self.asks.remove(&id);
        }
        Ok(())
    }

    fn claim_is_of(&self, node: NodeId, ask: AskId) -> bool {
        self.claims.get(&node).is_some_and(|claim| claim.ask == ask)
    }

    /// Ends a container, with the event for its application.
    pub(super) fn end_container(&mut self, id: ContainerId, cause: EndCause, effects: &mut Vec<Effect>) {
        let found = self.containers.iter().find(|(_, container)| container.id == Some(id));
        let number = *found.expect("checked before").0;
        let container = self.containers.remove(&number).expect("just found");
        effects.push((container.application, EventKind::ContainerEnded { container: id, cause }));
    }
}
