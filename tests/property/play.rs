//! Plays a plan on an engine.

use std::collections::BTreeMap;

use apportion::config::{QueueMapping, Reconfiguration};
use apportion::engine::SubmitError;
use apportion::request::{AllocationProposal, ReservationProposal};
use apportion::resource::DeviceNeed;
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskId, AskSpec, AttributeRule, AttributeTest, Blacklist,
    ContainerId, ExecutionType, Mode, NodeAttributes, NodeId, NodeSpec, PartitionId,
    ResourceAllocationCommitRequest, RunningContainer, TagLimit,
};
use apportion_tests::support::check::Certainty;
use apportion_tests::support::cluster::{Cluster, Source};

use crate::plan::{AskPlan, ClusterPlan, ConditionPlan, NodePlan, Operation, Pick, Plan, RunningPlan};

const ATTRIBUTES: [&str; 3] = ["architecture", "disk", "zone"];
const VALUES: [&str; 3] = ["a", "b", "c"];

/// An engine that plays a plan, with all objects that picks can name. Some of them no longer exist, and the engine
/// must reject them.
pub(crate) struct Player {
    pub(crate) cluster: Cluster,
    plan: ClusterPlan,
    partitions: Vec<PartitionId>,
    leaves: Vec<String>,
    queues: Vec<String>,
    nodes: Vec<NodeId>,
    devices: BTreeMap<NodeId, u8>,
    applications: Vec<ApplicationId>,
    asks: Vec<AskId>,
    containers: Vec<ContainerId>,
    /// For each of the next runs, the last one first: whether the engine crashes afterwards, and how the next one
    /// goes on.
    crashes: Vec<Option<(Source, Mode)>>,
}

/// Plays a whole plan; checks the engine at each `Run` and at the end.
pub(crate) fn play(plan: &Plan, mode: Mode) -> Cluster {
    play_with_crashes(plan, mode, &[])
}

/// The same with an engine that crashes after some of the first runs, and goes on with its log.
pub(crate) fn play_with_crashes(plan: &Plan, mode: Mode, crashes: &[Option<(Source, Mode)>]) -> Cluster {
    let mut player = Player::new(&plan.cluster, mode);
    player.crashes = crashes.iter().rev().copied().collect();
    player.play(plan);
    player.cluster
}

fn pick<T: Copy>(from: &[T], pick: Pick) -> Option<T> {
    (!from.is_empty()).then(|| from[usize::from(pick) % from.len()])
}

impl Player {
    pub(crate) fn play(&mut self, plan: &Plan) {
        plan.nodes.iter().for_each(|node| self.add_node(node));
        for operation in &plan.operations {
            self.perform(operation);
            // The audit must also be clean while the engine works on the operation, or has not begun it.
            let report = self.cluster.engine.audit();
            assert!(report.is_clean(), "after {operation:?}: {report}");
        }
        self.run();
    }

    pub(crate) fn new(plan: &ClusterPlan, mode: Mode) -> Self {
        Self::on(Cluster::start(plan.config(), mode), plan)
    }

    pub(crate) fn on(cluster: Cluster, plan: &ClusterPlan) -> Self {
        let oracle = &cluster.checker.oracle;
        let queues: Vec<String> = oracle.tree.queues.iter().map(|queue| queue.path.clone()).collect();
        let is_leaf = |(number, path): (usize, &String)| oracle.tree.is_leaf(number).then(|| path.clone());
        Self {
            partitions: oracle.partitions.clone(),
            leaves: queues.iter().enumerate().filter_map(is_leaf).collect(),
            queues,
            cluster,
            plan: plan.clone(),
            nodes: Vec::new(),
            devices: BTreeMap::new(),
            applications: Vec::new(),
            asks: Vec::new(),
            containers: Vec::new(),
            crashes: Vec::new(),
        }
    }

    pub(crate) fn run(&mut self) {
        self.cluster.run();
        if let Some((source, mode)) = self.crashes.pop().flatten() {
            self.cluster.crash(source, mode);
        }
        let running = self.cluster.checker.oracle.containers.values().filter_map(|container| container.id);
        // A few ended containers stay in the list, so that operations name them again.
        let gone = self.containers.len().saturating_sub(2);
        self.containers.drain(..gone);
        self.containers.extend(running);
        let tree = &self.cluster.checker.oracle.tree;
        let leaves = (0..tree.queues.len()).filter(|queue| tree.is_leaf(*queue));
        self.leaves = leaves.map(|leaf| tree.queues[leaf].path.clone()).collect();
        // Paths that create queues on demand, or are too deep to do so.
        let makers = tree.queues.iter().filter(|queue| queue.config.auto_creation.is_some());
        let made = makers
            .flat_map(|maker| ["x", "y", "z.x", "z.y", "z.y.x"].map(|name| format!("{}.{name}", maker.path)));
        self.leaves.extend(made);
    }

    pub(crate) fn perform(&mut self, operation: &Operation) {
        match operation {
            Operation::Run => self.run(),
            Operation::Advance(milliseconds) => self.cluster.advance(*milliseconds),
            Operation::AddNode(_)
            | Operation::RecoverNode(..)
            | Operation::UpdateNode { .. }
            | Operation::SetPartition { .. }
            | Operation::Drain(_)
            | Operation::Activate(_)
            | Operation::RemoveNode(_)
            | Operation::Heartbeat(_)
            | Operation::Pass { .. } => self.perform_on_nodes(operation),
            Operation::UpdateQueue {
                queue,
                capacity,
                maximum,
                factor,
                user_minimum,
                priority,
                admission,
            } => {
                let update = self.plan.update(
                    capacity.as_ref(),
                    maximum.as_ref(),
                    *factor,
                    *user_minimum,
                    *priority,
                    *admission,
                );
                let path = &self.queues[usize::from(*queue) % self.queues.len()];
                self.cluster.update_queue(path, &update);
            }
            Operation::Reconfigure(edits) => {
                let tree = self.cluster.handle.read(|view| view.queue_tree());
                let root = self.plan.edited(&tree, edits);
                self.cluster.reconfigure(Reconfiguration { root, queue_mapping: QueueMapping::default() });
            }
            Operation::Commit { allocate, reserve, release } => self.commit(allocate, reserve, release),
            operation => self.perform_on_applications(operation),
        }
    }

    fn perform_on_nodes(&mut self, operation: &Operation) {
        let node = |number: &Pick| pick(&self.nodes, *number);
        match operation {
            Operation::AddNode(plan) => self.add_node(plan),
            Operation::RecoverNode(plan, running) => self.recover_node(plan, running),
            Operation::UpdateNode { node: number, capacity, attributes: pairs } => {
                let Some(node) = node(number) else { return };
                let mut capacity = *self.plan.amounts(capacity).amounts();
                if let Some(device_type) = self.plan.device_type() {
                    capacity[device_type] = i64::from(self.devices[&node]) * 1000;
                }
                self.cluster.update_node(node, &capacity, attributes(pairs));
            }
            Operation::SetPartition { node: number, partition } => {
                let partition = pick(&self.partitions, *partition).unwrap();
                node(number).into_iter().for_each(|node| self.cluster.set_partition(node, partition));
            }
            Operation::Drain(number) => node(number).into_iter().for_each(|node| self.cluster.drain(node)),
            Operation::Activate(number) => {
                node(number).into_iter().for_each(|node| self.cluster.activate(node));
            }
            Operation::RemoveNode(number) => {
                node(number).into_iter().for_each(|node| self.cluster.remove_node(node));
            }
            Operation::Pass { node: number, times } => {
                let node = node(number);
                node.into_iter().for_each(|node| (0..*times).for_each(|_| self.cluster.pass(node)));
            }
            Operation::Heartbeat(numbers) => {
                let nodes: Vec<NodeId> = numbers.iter().filter_map(node).collect();
                self.cluster.heartbeat(&nodes);
            }
            _ => unreachable!("not an operation on nodes"),
        }
    }

    fn perform_on_applications(&mut self, operation: &Operation) {
        match operation {
            Operation::Submit { leaf, user, groups, priority, lifetime_ms, master } => {
                let leaf = &self.leaves[usize::from(*leaf) % self.leaves.len()];
                let mut spec = ApplicationSpec::new("application", leaf, format!("user{user}")).in_groups(
                    (0..2).filter(|bit| groups & (1 << bit) != 0).map(|bit| format!("group{bit}")),
                );
                if let Some((size, partition)) = master {
                    let partition = pick(&self.partitions, *partition).unwrap();
                    spec = spec.with_master(self.plan.amounts(size), partition);
                }
                spec.priority = *priority;
                spec.lifetime_ms = *lifetime_ms;
                self.applications.extend(self.cluster.try_submit(spec));
            }
            Operation::Move { application, leaf } => {
                let leaf = &self.leaves[usize::from(*leaf) % self.leaves.len()];
                let application = pick(&self.applications, *application);
                application.into_iter().for_each(|id| self.cluster.move_application(id, leaf));
            }
            Operation::SetPriority { application, priority } => {
                let application = pick(&self.applications, *application);
                application.into_iter().for_each(|id| self.cluster.set_priority(id, *priority));
            }
            Operation::End { application, is_killed } => {
                let end = if *is_killed { ApplicationEnd::Killed } else { ApplicationEnd::Finished };
                let application = pick(&self.applications, *application);
                application.into_iter().for_each(|application| self.cluster.end(application, end));
            }
            Operation::Ask { application, plan } => {
                if self.applications.is_empty() {
                    let spec = ApplicationSpec::new("application", &self.leaves[0], "user0");
                    self.applications.extend(self.cluster.try_submit(spec));
                }
                let Some(application) = pick(&self.applications, *application) else { return };
                let spec = self.ask_spec(plan);
                self.asks.push(self.cluster.submit_ask(application, spec));
            }
            Operation::Blacklist { application, hosts, racks } => {
                let Some(application) = pick(&self.applications, *application) else { return };
                let names = |prefix: &str, names: &[(Pick, bool)], wanted: bool| {
                    let picked = names.iter().filter(|(_, is_added)| *is_added == wanted);
                    picked.map(|(number, _)| format!("{prefix}{number}")).collect::<Vec<_>>()
                };
                let list = |is_added: bool| {
                    let hosts = names("node", hosts, is_added);
                    Blacklist::new().with_hosts(hosts).with_racks(names("rack", racks, is_added))
                };
                self.cluster.update_blacklist(application, list(true), list(false));
            }
            Operation::Cancel { ask, units } => {
                pick(&self.asks, *ask).into_iter().for_each(|ask| self.cluster.cancel(ask, *units));
            }
            operation => self.perform_on_containers(operation),
        }
    }

    fn perform_on_containers(&mut self, operation: &Operation) {
        match operation {
            Operation::ResizeContainer { container, size } => {
                let size = self.plan.amounts(size);
                let container = pick(&self.containers, *container);
                container.into_iter().for_each(|container| self.cluster.resize(container, size.amounts()));
            }
            Operation::SetExecutionType { container, is_promoted } => {
                let kind =
                    if *is_promoted { ExecutionType::Guaranteed } else { ExecutionType::Opportunistic };
                let container = pick(&self.containers, *container);
                container.into_iter().for_each(|container| self.cluster.set_execution_type(container, kind));
            }
            Operation::StopContainer { container, is_preempted } => {
                match pick(&self.containers, *container) {
                    Some(container) if *is_preempted => self.cluster.preempt(container),
                    Some(container) => self.cluster.stop(container),
                    None => {}
                }
            }
            Operation::EndContainer { container, is_released } => match pick(&self.containers, *container) {
                Some(container) if *is_released => self.cluster.release(container),
                Some(container) => self.cluster.complete(container),
                None => {}
            },
            _ => unreachable!("not an operation on containers"),
        }
    }

    pub(crate) fn add_node(&mut self, plan: &NodePlan) {
        let spec = self.node_spec(plan);
        let devices = spec.devices;
        let added = self.cluster.add_node(spec);
        self.record_node(added, devices);
    }

    fn recover_node(&mut self, plan: &NodePlan, running: &[RunningPlan]) {
        let spec = self.node_spec(plan);
        let running = running.iter().filter_map(|plan| {
            let mut size = *self.plan.amounts(&plan.size).amounts();
            let device_type = self.plan.device_type();
            device_type.into_iter().for_each(|device_type| size[device_type] = 0);
            Some(RunningContainer {
                allocation_request_id: 17,
                application: pick(&self.applications, plan.application)?,
                size: apportion::Resources::new(&size),
                devices: plan
                    .devices
                    .filter(|_| device_type.is_some())
                    .map(|(count, milli)| DeviceNeed { count, milli }),
                tags: plan.tags.iter().map(|tag| format!("tag{tag}")).collect(),
                priority: u32::from(plan.application),
            })
        });
        let (running, devices) = (running.collect(), spec.devices);
        let recovered = self.cluster.recover_node(spec, running);
        self.record_node(recovered.map(|recovery| recovery.node), devices);
    }

    fn record_node(&mut self, added: Result<NodeId, SubmitError>, devices: u8) {
        match added {
            Ok(node) => {
                self.nodes.push(node);
                self.devices.insert(node, devices);
            }
            Err(error) => assert!(matches!(error, SubmitError::DuplicateNode { .. }), "{error}"),
        }
    }

    fn node_spec(&self, plan: &NodePlan) -> NodeSpec {
        let mut capacity = *self.plan.amounts(&plan.capacity).amounts();
        let mut devices = 0;
        if let Some(device_type) = self.plan.device_type() {
            (capacity[device_type], devices) = (0, plan.devices);
        }
        let partition = pick(&self.partitions, plan.partition).unwrap();
        let mut spec = NodeSpec::new(format!("node{}", plan.name), apportion::Resources::new(&capacity))
            .on_rack(format!("rack{}", plan.rack))
            .in_partition(partition)
            .with_devices(devices);
        spec.attributes = attributes(&plan.attributes);
        spec
    }

    fn ask_spec(&self, plan: &AskPlan) -> AskSpec {
        let mut size = *self.plan.amounts(&plan.size).amounts();
        let mut devices = None;
        if let Some(device_type) = self.plan.device_type() {
            size[device_type] = 0;
            devices = plan.devices.map(|(count, milli)| DeviceNeed { count, milli });
        }
        let hosts = plan.hosts.iter().filter_map(|host| pick(&self.nodes, *host));
        let racks = plan.racks.iter().map(|rack| self.cluster.handle.rack(&format!("rack{rack}")));
        let mut spec = AskSpec::new(apportion::Resources::new(&size), plan.count)
            .with_priority(plan.priority)
            .on_hosts(hosts)
            .on_racks(racks);
        spec.partition = plan.partition.and_then(|partition| pick(&self.partitions, partition));
        spec.devices = devices;
        spec.is_master = plan.is_master;
        spec.rule = (!plan.rule.is_empty()).then(|| {
            Box::new(plan.rule.iter().fold(AttributeRule::new(), |rule, condition| {
                rule.with(ATTRIBUTES[usize::from(condition.attribute)], test_of(condition))
            }))
        });
        spec = plan.tags.iter().fold(spec, |spec, tag| spec.with_tag(format!("tag{tag}")));
        for limit in &plan.tag_limits {
            let tag = format!("tag{}", limit.tag);
            // The engine refuses a limit of 0 on the ask's own tag.
            let most = limit.most.max(u32::from(plan.tags.contains(&limit.tag)));
            let new = if limit.is_on_rack { TagLimit::per_rack } else { TagLimit::per_node };
            let new = new(tag, most);
            spec = spec.with_tag_limit(if limit.is_own { new.within_application() } else { new });
        }
        let names_something = !spec.preference.hosts.is_empty() || !spec.preference.racks.is_empty();
        if plan.is_strict && names_something { spec.strictly_local() } else { spec }
    }

    fn commit(&mut self, allocate: &[(Pick, Pick)], reserve: &[(Pick, Pick)], release: &[Pick]) {
        let pair = |(ask, node): &(Pick, Pick)| Some((pick(&self.asks, *ask)?, pick(&self.nodes, *node)?));
        let allocation = |(ask, node)| AllocationProposal { ask, node, from_reservation: None };
        let reservation = |(ask, node)| ReservationProposal { ask, node };
        let request = ResourceAllocationCommitRequest {
            allocate: allocate.iter().filter_map(pair).map(allocation).collect(),
            reserve: reserve.iter().filter_map(pair).map(reservation).collect(),
            release: release.iter().filter_map(|number| pick(&self.containers, *number)).collect(),
            unreserve: Default::default(),
        };
        if !request.reserve.is_empty() {
            self.cluster.checker.certainty = self.cluster.checker.certainty.min(Certainty::Serial);
        }
        self.cluster.commit(request);
    }
}

fn test_of(plan: &ConditionPlan) -> AttributeTest {
    let values = plan.values.as_ref().map(|values| {
        values.iter().map(|value| VALUES[usize::from(*value)].to_owned()).collect::<Vec<String>>()
    });
    match (values, plan.is_negated) {
        (Some(values), false) => AttributeTest::In(values),
        (Some(values), true) => AttributeTest::NotIn(values),
        (None, false) => AttributeTest::Exists,
        (None, true) => AttributeTest::Absent,
    }
}

fn attributes(pairs: &[(Pick, Pick)]) -> NodeAttributes {
    let named = |(name, value): &(Pick, Pick)| {
        (ATTRIBUTES[usize::from(*name)].to_owned(), VALUES[usize::from(*value)].to_owned())
    };
    pairs.iter().map(named).collect()
}
