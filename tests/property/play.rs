//! Playing a plan on an engine.

use std::collections::BTreeMap;

use apportion::{
    AllocationProposal, ApplicationEnd, ApplicationId, ApplicationSpec, AskId, AskSpec, AttributeRule,
    ContainerId, DeviceNeed, Mode, NodeAttributes, NodeId, NodeSpec, PartitionId, ReservationProposal,
    ResourceAllocationCommitRequest, SubmitError,
};
use apportion_tests::support::check::Certainty;
use apportion_tests::support::cluster::Cluster;

use crate::plan::{AskPlan, ClusterPlan, NodePlan, Operation, Pick, Plan};

const ATTRIBUTES: [&str; 3] = ["architecture", "disk", "zone"];
const VALUES: [&str; 3] = ["a", "b", "c"];

/// An engine that a plan is played on, with everything that picks can name. Some of it is gone meanwhile: the
/// engine has to cope.
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
}

/// Plays a whole plan; the engine is checked at each `Run` and at the end.
pub(crate) fn play(plan: &Plan, mode: Mode) -> Cluster {
    let mut player = Player::new(&plan.cluster, mode);
    plan.nodes.iter().for_each(|node| player.add_node(node));
    for operation in &plan.operations {
        player.perform(operation);
        // Also of an engine that is busy with it, or has not begun.
        let report = player.cluster.engine.audit();
        assert!(report.is_clean(), "after {operation:?}: {report}");
    }
    player.run();
    player.cluster
}

fn pick<T: Copy>(from: &[T], pick: Pick) -> Option<T> {
    (!from.is_empty()).then(|| from[usize::from(pick) % from.len()])
}

impl Player {
    pub(crate) fn new(plan: &ClusterPlan, mode: Mode) -> Self {
        let cluster = Cluster::start(plan.config(), mode);
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
        }
    }

    pub(crate) fn run(&mut self) {
        self.cluster.run();
        let running = self.cluster.checker.oracle.containers.values().filter_map(|container| container.id);
        // A few that have ended stay known, so that they are named again.
        let gone = self.containers.len().saturating_sub(2);
        self.containers.drain(..gone);
        self.containers.extend(running);
    }

    pub(crate) fn perform(&mut self, operation: &Operation) {
        match operation {
            Operation::Run => self.run(),
            Operation::Advance(milliseconds) => self.cluster.advance(*milliseconds),
            Operation::AddNode(_)
            | Operation::UpdateNode { .. }
            | Operation::Drain(_)
            | Operation::Activate(_)
            | Operation::RemoveNode(_)
            | Operation::Heartbeat(_) => self.perform_on_nodes(operation),
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
            Operation::Commit { allocate, reserve, release } => self.commit(allocate, reserve, release),
            operation => self.perform_on_applications(operation),
        }
    }

    fn perform_on_nodes(&mut self, operation: &Operation) {
        let node = |number: &Pick| pick(&self.nodes, *number);
        match operation {
            Operation::AddNode(plan) => self.add_node(plan),
            Operation::UpdateNode { node: number, capacity, attributes: pairs } => {
                let Some(node) = node(number) else { return };
                let mut capacity = *self.plan.amounts(capacity).amounts();
                if let Some(device_type) = self.plan.device_type() {
                    capacity[device_type] = i64::from(self.devices[&node]) * 1000;
                }
                self.cluster.update_node(node, &capacity, attributes(pairs));
            }
            Operation::Drain(number) => node(number).into_iter().for_each(|node| self.cluster.drain(node)),
            Operation::Activate(number) => {
                node(number).into_iter().for_each(|node| self.cluster.activate(node));
            }
            Operation::RemoveNode(number) => {
                node(number).into_iter().for_each(|node| self.cluster.remove_node(node));
            }
            Operation::Heartbeat(numbers) => {
                let nodes: Vec<NodeId> = numbers.iter().filter_map(node).collect();
                self.cluster.heartbeat(&nodes);
            }
            _ => unreachable!("not about nodes"),
        }
    }

    fn perform_on_applications(&mut self, operation: &Operation) {
        match operation {
            Operation::Submit { leaf, user, priority } => {
                let leaf = &self.leaves[usize::from(*leaf) % self.leaves.len()];
                let spec = ApplicationSpec::new("application", leaf, format!("user{user}"));
                self.applications.push(self.cluster.submit(spec.with_priority(*priority)));
            }
            Operation::End { application, is_killed } => {
                let end = if *is_killed { ApplicationEnd::Killed } else { ApplicationEnd::Finished };
                let application = pick(&self.applications, *application);
                application.into_iter().for_each(|application| self.cluster.end(application, end));
            }
            Operation::Ask { application, plan } => {
                if self.applications.is_empty() {
                    self.applications.push(self.cluster.application(&self.leaves[0], "user0"));
                }
                let application = pick(&self.applications, *application).unwrap();
                let spec = self.ask_spec(plan);
                self.asks.push(self.cluster.submit_ask(application, spec));
            }
            Operation::Cancel { ask, units } => {
                pick(&self.asks, *ask).into_iter().for_each(|ask| self.cluster.cancel(ask, *units));
            }
            Operation::EndContainer { container, is_released } => match pick(&self.containers, *container) {
                Some(container) if *is_released => self.cluster.release(container),
                Some(container) => self.cluster.complete(container),
                None => {}
            },
            _ => unreachable!("not about applications"),
        }
    }

    pub(crate) fn add_node(&mut self, plan: &NodePlan) {
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
        match self.cluster.add_node(spec) {
            Ok(node) => {
                self.nodes.push(node);
                self.devices.insert(node, devices);
            }
            Err(error) => assert!(matches!(error, SubmitError::DuplicateNode { .. }), "{error}"),
        }
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
            .in_partition(pick(&self.partitions, plan.partition).unwrap())
            .on_hosts(hosts)
            .on_racks(racks);
        spec.devices = devices;
        spec.rule = plan.rule.as_ref().map(|(name, values)| {
            Box::new(AttributeRule {
                attribute: ATTRIBUTES[usize::from(*name)].to_owned(),
                one_of: values.iter().map(|value| VALUES[usize::from(*value)].to_owned()).collect(),
            })
        });
        let names_something = !spec.wishes.hosts.is_empty() || !spec.wishes.racks.is_empty();
        if plan.is_strict && names_something { spec.strictly_local() } else { spec }
    }

    fn commit(&mut self, allocate: &[(Pick, Pick)], reserve: &[(Pick, Pick)], release: &[Pick]) {
        let pair = |(ask, node): &(Pick, Pick)| Some((pick(&self.asks, *ask)?, pick(&self.nodes, *node)?));
        let allocation = |(ask, node)| AllocationProposal { ask, node, from_reservation: None };
        let claim = |(ask, node)| ReservationProposal { ask, node };
        let request = ResourceAllocationCommitRequest {
            allocate: allocate.iter().filter_map(pair).map(allocation).collect(),
            reserve: reserve.iter().filter_map(pair).map(claim).collect(),
            release: release.iter().filter_map(|number| pick(&self.containers, *number)).collect(),
            unreserve: Default::default(),
        };
        if !request.reserve.is_empty() {
            self.cluster.checker.certainty = self.cluster.checker.certainty.min(Certainty::Serial);
        }
        self.cluster.commit(request);
    }
}

fn attributes(pairs: &[(Pick, Pick)]) -> NodeAttributes {
    let named = |(name, value): &(Pick, Pick)| {
        (ATTRIBUTES[usize::from(*name)].to_owned(), VALUES[usize::from(*value)].to_owned())
    };
    pairs.iter().map(named).collect()
}
