//! Applies changes to the model, and returns the events that applications should get.

use std::collections::BTreeSet;

use apportion::config::{QueueConfig, QueueState, Reconfiguration};
use apportion::event::EventKind;
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskId, AskSpec, BlacklistUpdate, Change, ContainerId,
    EndCause, NodeAttributes, NodeId, NodeSpec, PartitionId, QueueId, RackId, Resources,
};

use super::amounts::amounts;
use super::{Application, Ask, Effect, Hints, Node, Oracle};

impl Oracle {
    /// Whether a change that a caller sent is valid now. The engine refuses an invalid one.
    #[must_use]
    pub fn makes_sense(&self, change: &Change) -> bool {
        match change {
            Change::NodeUpdated { node, .. }
            | Change::NodePartitionSet { node, .. }
            | Change::NodeStateSet { node, .. }
            | Change::NodeRemoved { node } => self.nodes.contains_key(node),
            Change::Heartbeats { nodes } => {
                nodes.is_empty() || nodes.iter().any(|id| self.nodes.contains_key(id))
            }
            Change::ApplicationSubmitted { spec, .. } => {
                self.destination_of(spec).is_some_and(|(_, queue, missing)| {
                    let user = missing.is_empty().then_some(spec.user.as_str());
                    self.tree.may_submit(queue, &spec.user, &spec.groups)
                        && self.takes_application(queue, user, None)
                })
            }
            Change::ApplicationMoved { application, queue } => {
                let leaf = self.tree.number(*queue).filter(|queue| self.tree.is_leaf(*queue));
                leaf.is_some_and(|leaf| self.may_move(*application, leaf))
            }
            Change::ApplicationEnded { application, .. }
            | Change::BlacklistUpdated { application, .. }
            | Change::ApplicationPrioritySet { application, .. } => self.goes_on(*application).is_some(),
            Change::AskSubmitted { application, spec, .. } => {
                self.goes_on(*application).is_some_and(|application| {
                    let partition = self.partition(self.partition_for(application.leaf, spec));
                    let name = self.config.partition_names().nth(partition);
                    self.tree.may_use(application.leaf, name.expect("a configured partition"))
                })
            }
            Change::AskCancelled { ask, .. } => self.asks.contains_key(ask),
            Change::ContainerRecovered { node, container, .. } => self.may_recover(*node, container),
            Change::ContainerResized { container, size } => {
                self.is_unstopped(*container)
                    && self.put_aside(*container).is_none()
                    && self.may_resize(*container, size)
            }
            Change::ExecutionTypeSet { container, execution_type } => {
                self.may_set_execution_type(*container, *execution_type)
            }
            Change::ContainerStopping { container, .. } => self.is_unstopped(*container),
            Change::ContainerEnded { container, .. } => self.container(*container).is_some(),
            Change::QueueUpdated { queue, update } => {
                self.tree.number(*queue).is_some_and(|queue| self.tree.accepts(queue, update))
            }
            Change::Reconfigured { configuration } => {
                self.tree.accepts_tree(&configuration.root, &self.busy())
            }
            _ => true,
        }
    }

    /// Applies a change other than a commit; returns the events that applications should get.
    ///
    /// # Errors
    /// If the engine should not have made this change by itself.
    pub fn apply(&mut self, change: &Change, hints: &Hints) -> Result<Vec<Effect>, String> {
        let mut effects = Vec::new();
        let mut new = None;
        match change {
            Change::TimeAdvanced { now_ms } if *now_ms > self.now_ms => self.now_ms = *now_ms,
            Change::NodeAdded { node, rack, spec } => self.add_node(*node, *rack, spec),
            Change::NodeUpdated { node, capacity, attributes } => {
                self.update_node(*node, capacity, attributes);
                self.drop_reservation_that_cannot_be_served(*node, &mut effects);
            }
            Change::NodePartitionSet { node, partition } => {
                self.set_partition(*node, *partition, &mut effects);
            }
            Change::NodeStateSet { node, state } => {
                self.nodes.get_mut(node).expect("checked before").state = *state;
                self.drop_reservation_unless_candidate(*node, &mut effects);
            }
            Change::NodeSilenceSet { node, stale } => {
                self.set_silence(*node, *stale)?;
                self.drop_reservation_unless_candidate(*node, &mut effects);
            }
            Change::NodeRemoved { node } => self.remove_node(*node, &mut effects),
            Change::Heartbeats { nodes } => self.record_heartbeats(nodes),
            Change::ApplicationSubmitted { application, spec } => {
                let leaf = self.tree.make(&self.destination_of(spec).expect("checked before").0, self.now_ms);
                self.submit(*application, leaf, spec);
                new = Some(*application);
            }
            Change::ApplicationEnded { application, end } => {
                if *end == ApplicationEnd::Expired {
                    self.check_expired(*application)?;
                }
                self.end_application(*application, *end, &mut effects);
            }
            Change::BlacklistUpdated { application, update } => {
                self.update_blacklist(*application, update, &mut effects);
            }
            Change::ApplicationMoved { application, queue } => {
                self.move_application(*application, self.tree.number(*queue).expect("checked before"));
            }
            Change::ApplicationPrioritySet { application, priority } => {
                let priority = self.at_most(*priority);
                self.applications.get_mut(application).expect("checked before").priority = priority;
            }
            Change::AskSubmitted { ask, application, spec } => self.submit_ask(*ask, *application, spec),
            Change::AskCancelled { ask, units } => self.cancel(*ask, *units, hints, &mut effects)?,
            Change::ContainerRecovered { ask, node, container } => {
                effects.push(self.recover(*ask, *node, container, hints)?);
            }
            Change::ContainerResized { container, size } => effects.push(self.resize(*container, size)),
            Change::ExecutionTypeSet { container, execution_type } => {
                effects.push(self.set_execution_type(*container, *execution_type));
            }
            Change::OpportunitiesMissed { ask, count } => self.miss(*ask, *count)?,
            Change::ReservedAgain { ask, node } => self.reserve_again(*ask, *node)?,
            Change::ContainerStopping { container, cause } => effects.push(self.stop(*container, *cause)),
            Change::ContainerEnded { container, cause } => {
                let cause = self.told_cause(*container, *cause)?;
                self.end_container(*container, cause, &mut effects);
            }
            Change::QueueUpdated { queue, update } => {
                self.tree.update(self.tree.number(*queue).expect("checked before"), update);
            }
            Change::Reconfigured { configuration } => self.reconfigure(configuration),
            Change::QueueExpired { queue } => self.expire_queue(*queue)?,
            Change::ReservationExpired { .. } => self.expire(hints, &mut effects)?,
            other => return Err(format!("{other:?} is not possible here")),
        }
        self.activate_all(new, &mut effects);
        Ok(effects)
    }

    fn move_application(&mut self, id: ApplicationId, leaf: usize) {
        let known = self.applications.get_mut(&id).expect("checked before");
        let old = std::mem::replace(&mut known.leaf, leaf);
        let user = known.spec.user.clone();
        if old != leaf {
            let groups = self.groups[&(old, user.clone())].clone();
            self.record_groups(leaf, &user, &groups);
        }
        self.tree.record_idle(old, self.now_ms);
    }

    /// The lowest position in the partition that no node has.
    fn take_position(&mut self, partition: PartitionId) -> u64 {
        let left = self.vacated.iter().find(|(of, _)| *of == partition).copied();
        if let Some(left) = left {
            self.vacated.remove(&left);
            return left.1;
        }
        let positions = self.positions.entry(partition).or_default();
        *positions += 1;
        *positions - 1
    }

    fn add_node(&mut self, id: NodeId, rack: RackId, spec: &NodeSpec) {
        self.name_rack(rack, &spec.rack);
        let node = Node {
            name: spec.name.clone(),
            rack,
            rack_name: spec.rack.clone(),
            partition: spec.partition,
            capacity: amounts(&spec.capacity),
            devices: spec.devices,
            attributes: spec.attributes.clone(),
            state: apportion::NodeState::Active,
            stale: false,
            last_heartbeat_ms: self.now_ms,
            position: self.take_position(spec.partition),
        };
        assert!(self.nodes.insert(id, node).is_none(), "{id} is registered twice");
    }

    fn update_node(&mut self, id: NodeId, capacity: &Resources, attributes: &NodeAttributes) {
        let device_type = self.config.resources.device_type();
        let node = self.nodes.get_mut(&id).expect("checked before");
        node.capacity = amounts(capacity);
        node.attributes.clone_from(attributes);
        if let Some(device_type) = device_type {
            node.capacity[device_type] = i64::from(node.devices) * 1000;
        }
    }

    fn set_partition(&mut self, id: NodeId, partition: PartitionId, effects: &mut Vec<Effect>) {
        let node = &self.nodes[&id];
        if node.partition == partition {
            return;
        }
        self.vacated.insert((node.partition, node.position));
        let position = self.take_position(partition);
        let node = self.nodes.get_mut(&id).expect("checked before");
        (node.partition, node.position) = (partition, position);
        self.drop_reservation(id, effects);
    }

    fn remove_node(&mut self, id: NodeId, effects: &mut Vec<Effect>) {
        let on_node = self.containers.values().filter(|container| container.node == id);
        let lost: Vec<ContainerId> = on_node.filter_map(|container| container.id).collect();
        for container in lost {
            self.end_container(container, EndCause::NodeLost, effects);
        }
        self.drop_reservation(id, effects);
        let node = self.nodes.remove(&id).expect("checked before");
        self.vacated.insert((node.partition, node.position));
    }

    /// The path of an application's leaf, the lowest queue on it that exists, and the names of missing queues.
    fn destination_of(&self, spec: &ApplicationSpec) -> Option<(String, usize, Vec<String>)> {
        let is_mapped = !self.config.queue_mapping.rules.is_empty();
        let path = if is_mapped { self.leaf_for(spec)? } else { spec.queue.clone() };
        let (queue, missing) = self.tree.destination(&path)?;
        let missing = missing.into_iter().map(str::to_owned).collect();
        Some((path, queue, missing))
    }

    /// Whether the leaf takes the application with everything that it uses.
    fn may_move(&self, id: ApplicationId, leaf: usize) -> bool {
        let Some(application) = self.goes_on(id) else { return false };
        if application.leaf == leaf {
            return true;
        }
        let before = self.books();
        let mut moved = self.clone();
        moved.applications.get_mut(&id).expect("it is there").leaf = leaf;
        let after = moved.books();
        let stays_below = |partition: usize, queue: usize| {
            let (before, after) = (&before.queues[partition][queue], &after.queues[partition][queue]);
            (0..after.used.len())
                .all(|i| after.used[i] <= before.used[i] || after.used[i] <= after.limits.maximum[i])
        };
        let queues = self.tree.chain(leaf);
        let may_be_served = |ask: &Ask| {
            let name = self.config.partition_names().nth(self.partition(ask.partition));
            self.tree.may_use(leaf, name.expect("a configured partition"))
        };
        self.asks.values().filter(|ask| ask.application == id).all(may_be_served)
            && self.takes_application(leaf, Some(application.spec.user.as_str()), Some(id))
            && (0..self.partitions.len())
                .all(|partition| queues.iter().all(|queue| stays_below(partition, *queue)))
    }

    /// Whether the leaf and its ancestors take one more application, or `without`, which moves there.
    fn takes_application(&self, leaf: usize, user: Option<&str>, without: Option<ApplicationId>) -> bool {
        let others =
            || self.applications.iter().filter(|(id, _)| Some(**id) != without).map(|(_, other)| other);
        let below = |queue: usize| {
            let leaves = others().map(|application| application.leaf);
            leaves.filter(|leaf| self.tree.chain(*leaf).contains(&queue)).count() as u32
        };
        let takes_one_more = |queue: &usize| {
            let QueueConfig { state, applications, .. } = &self.tree.queues[*queue].config;
            let has_it =
                without.is_some_and(|id| self.tree.chain(self.applications[&id].leaf).contains(queue));
            let has_room = has_it || applications.total.is_none_or(|limit| below(*queue) < limit);
            *state == QueueState::Running && has_room
        };
        let of_user = |application: &&Application| {
            application.leaf == leaf && Some(application.spec.user.as_str()) == user
        };
        let count = others().filter(of_user).count() as u32;
        let per_user = self.tree.queues[leaf].config.applications.per_user;
        self.tree.chain(leaf).iter().all(takes_one_more)
            && (user.is_none() || per_user.is_none_or(|limit| count < limit))
    }

    fn submit(&mut self, id: ApplicationId, leaf: usize, spec: &ApplicationSpec) {
        let order = self.next_submission();
        self.record_groups(leaf, &spec.user, &spec.groups);
        let (spec, since_ms) = (spec.clone(), self.now_ms);
        let default = self.tree.queues[leaf].config.default_application_priority;
        let priority = self.at_most(spec.priority.unwrap_or(default));
        let chain = self.tree.chain(leaf);
        let lifetimes = || chain.iter().map(|queue| self.tree.queues[*queue].config.lifetimes);
        let wanted = spec.lifetime_ms.or_else(|| lifetimes().find_map(|lifetimes| lifetimes.default_ms));
        let most = lifetimes().find_map(|lifetimes| lifetimes.maximum_ms);
        let lifetime_ms = wanted.map_or(most, |wanted| Some(most.map_or(wanted, |most| wanted.min(most))));
        let expires_ms = lifetime_ms.map(|lifetime_ms| since_ms + lifetime_ms);
        let application = Application {
            spec,
            leaf,
            shunned: Default::default(),
            since_ms,
            priority,
            expires_ms,
            order,
            is_active: false,
            ending: None,
        };
        assert!(self.applications.insert(id, application).is_none(), "{id} is submitted twice");
    }

    /// Adds names, then removes names, then drops the application's reservations on blacklisted nodes.
    fn update_blacklist(&mut self, id: ApplicationId, update: &BlacklistUpdate, effects: &mut Vec<Effect>) {
        let [hosts, racks] = &mut self.applications.get_mut(&id).expect("checked before").shunned;
        hosts.extend(update.add.hosts.iter().cloned());
        racks.extend(update.add.racks.iter().cloned());
        hosts.retain(|name| !update.remove.hosts.contains(name));
        racks.retain(|name| !update.remove.racks.contains(name));
        let is_in_vain = |(node, reservation): &(&NodeId, &super::Reservation)| {
            let ask = &self.asks[&reservation.ask];
            ask.application == id && self.shuns(ask, &self.nodes[*node])
        };
        let in_vain: Vec<NodeId> =
            self.reservations.iter().filter(is_in_vain).map(|(node, _)| *node).collect();
        in_vain.into_iter().for_each(|node| self.drop_reservation(node, effects));
    }

    fn check_expired(&self, id: ApplicationId) -> Result<(), String> {
        let application = self.applications.get(&id).ok_or_else(|| format!("{id} is not there"))?;
        let is_due = application.expires_ms.is_some_and(|expires_ms| expires_ms <= self.now_ms);
        if is_due { Ok(()) } else { Err(format!("{id} is ended at {} ms", self.now_ms)) }
    }

    fn at_most(&self, priority: u32) -> u32 {
        self.config.maximum_application_priority.unwrap_or(u32::MAX).min(priority)
    }

    fn submit_ask(&mut self, id: AskId, application: ApplicationId, spec: &AskSpec) {
        let rack_of = |host: &NodeId| self.nodes.get(host).map(|node| node.rack);
        let racks = match &spec.preference.racks[..] {
            [] => spec.preference.hosts.iter().filter_map(rack_of).collect(),
            racks => racks.to_vec(),
        };
        let ask = Ask {
            application,
            partition: self.partition_for(self.applications[&application].leaf, spec),
            spec: spec.clone(),
            racks,
            outstanding: spec.count,
            missed: 0,
            re_reserved: 0,
            since_ms: self.now_ms,
            order: self.next_submission(),
        };
        assert!(self.asks.insert(id, ask).is_none(), "{id} is submitted twice");
    }

    fn end_application(&mut self, id: ApplicationId, end: ApplicationEnd, effects: &mut Vec<Effect>) {
        let own = self.asks.iter().filter(|(_, ask)| ask.application == id);
        let asks: Vec<(AskId, u32)> = own.map(|(ask, own)| (*ask, own.outstanding)).collect();
        for (ask, units) in asks {
            self.drop_reservations_of(ask, effects);
            effects.push((id, EventKind::AskCancelled { ask, units }));
            self.asks.remove(&ask);
        }
        let own = self.containers.values().filter(|container| container.application == id);
        let containers: Vec<ContainerId> = own.filter_map(|container| container.id).collect();
        if self.config.stop_ended_applications && !containers.is_empty() {
            self.applications.get_mut(&id).expect("checked before").ending = Some(end);
            effects.push((id, EventKind::ApplicationEnding { end }));
            for container in containers {
                if self.is_unstopped(container) {
                    effects.push(self.stop(container, EndCause::ApplicationEnded));
                }
            }
            return;
        }
        for container in containers {
            self.end_container(container, EndCause::ApplicationEnded, effects);
        }
        self.forget_application(id, end, effects);
    }

    fn forget_application(&mut self, id: ApplicationId, end: ApplicationEnd, effects: &mut Vec<Effect>) {
        let application = self.applications.remove(&id).expect("checked before");
        self.tree.record_idle(application.leaf, self.now_ms);
        effects.push((id, EventKind::ApplicationEnded { end }));
    }

    /// The leaves with applications.
    #[must_use]
    pub fn busy(&self) -> BTreeSet<usize> {
        self.applications.values().map(|application| application.leaf).collect()
    }

    fn reconfigure(&mut self, configuration: &Reconfiguration) {
        self.config.queue_mapping.clone_from(&configuration.queue_mapping);
        self.tree.replace(&configuration.root);
        self.forget_served();
    }

    fn expire_queue(&mut self, id: QueueId) -> Result<(), String> {
        let queue = self.tree.number(id).ok_or_else(|| format!("{id} is gone already"))?;
        let due_ms = self.tree.expires_ms(queue, &self.busy());
        if due_ms.is_none_or(|due_ms| due_ms > self.now_ms) {
            return Err(format!(
                "{} goes at {due_ms:?}, not at {}",
                self.tree.queues[queue].path, self.now_ms
            ));
        }
        self.tree.remove(queue, self.now_ms);
        self.forget_served();
        Ok(())
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
        let surplus = self.surplus(id) as usize;
        let dropped =
            hints.dropped.iter().filter(|(ask, node)| *ask == id && self.reservation_is_of(*node, id));
        let dropped: Vec<NodeId> = dropped.map(|(_, node)| *node).collect();
        if dropped.len() != surplus {
            return Err(format!("{id}: {surplus} reservations are too many, dropped were {dropped:?}"));
        }
        for node in dropped {
            self.drop_reservation(node, effects);
        }
        effects.push((application, EventKind::AskCancelled { ask: id, units }));
        if outstanding == 0 {
            self.asks.remove(&id);
        }
        Ok(())
    }

    /// Ends a container with its event, and its application if that was ending and this was its last container.
    pub(super) fn end_container(&mut self, id: ContainerId, cause: EndCause, effects: &mut Vec<Effect>) {
        let number = *self.containers.iter().find(|(_, it)| it.id == Some(id)).expect("checked before").0;
        let found = self.containers.remove(&number).expect("just found");
        let (application, allocation_request_id) = (found.application, found.allocation_request_id);
        let kind = EventKind::ContainerEnded { container: id, cause, allocation_request_id };
        effects.push((application, kind));
        let runs = self.containers.values().any(|other| other.application == application);
        if let Some(end) = self.applications[&application].ending.filter(|_| !runs) {
            self.forget_application(application, end, effects);
        }
    }
}
