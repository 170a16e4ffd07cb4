//! The facts: everything the log can rebuild, and nothing else.
//!
//! The digest and the log cover the facts only. A replay needs no clock: when time makes something due (a silent node,
//! an old reservation), the committer logs a change of its own. The engine remembers users for its whole life.

mod access;
mod activation;
mod application;
mod ask;
mod attribute_rule;
mod auto_creation;
mod blacklist;
mod borrowed;
mod charged;
mod container_list;
mod demand_priority;
mod digest;
mod disruption;
mod gang;
mod headroom;
mod held_room;
mod image;
mod later;
mod ledger;
mod limit_usage;
mod limits;
mod node;
mod node_loads;
mod node_queues;
mod opportunity;
mod placeholders;
mod preemption;
mod queue;
mod queue_order;
mod reservations;
mod rule;
mod shape;
mod table;
mod tags;
mod tree;
mod turn;
mod user_limit;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

pub(crate) use activation::{HeldBack, Inactive};
pub(crate) use application::{Application, LeafUser};
pub use application::{ApplicationEnd, Master};
pub(crate) use ask::{Ask, Container, Reservation};
pub use ask::{ContainerOnNode, EndCause, ExecutionType, Locality, LocalityPreference, Stopping};
pub use attribute_rule::{AttributeCondition, AttributeRule, AttributeTest};
pub(crate) use auto_creation::{Destination, NoDestination};
pub use blacklist::{Blacklist, BlacklistUpdate};
pub(crate) use borrowed::PartitionShare;
pub(crate) use charged::{Charged, Load};
pub(crate) use container_list::ContainerList;
pub(crate) use demand_priority::PendingPriorities;
pub use digest::StateDigest;
pub(crate) use disruption::{Disruption, DisruptionGroup, StartedGang};
pub use disruption::{DisruptionBudget, DisruptionLimit, InvalidBudget, PreemptionCost};
pub use gang::{GangEnd, GangStyle, GangTopology};
pub(crate) use gang::{HeldAsks, HeldRole, RoleKind, WaitingGang, WaitingGangs};
pub(crate) use held_room::{HeldPlace, HeldRoom, HeldRooms, RoomGain};
pub(crate) use image::{FactsImage, FactsImageOf};
pub(crate) use later::LaterFacts;
pub(crate) use limit_usage::{Holder, LimitUsages};
pub(crate) use node::Node;
pub use node::{NodeAttributes, NodeState};
pub(crate) use node_loads::{NodeLoad, NodeLoads};
pub(crate) use node_queues::{Head, NodeQueues, OpportunisticAsk};
pub(crate) use opportunity::Opportunities;
pub use placeholders::Placeholder;
pub(crate) use placeholders::{PlaceholderGang, Placeholders, TaskGroup};
pub use preemption::{PreemptionNotice, PreemptionRule};
pub use queue::Quota;
pub(crate) use queue::{ActiveUsers, Queue, QueueRole};
pub(crate) use queue_order::QueueKey;
pub(crate) use rule::{Breach, Rule};
pub(crate) use shape::{Shape, Shapes};
pub(crate) use table::{IdPool, Table};
pub use tags::{AskTags, TagLimit, TagNamespace, TagScope};
pub(crate) use tags::{TagCap, TagCounts};
pub(crate) use turn::Turns;
pub(crate) use user_limit::LeafUse;

use crate::config::{EngineConfig, Factor, Lifetimes, QueueMapping};
use crate::ids::{
    ApplicationId, AskId, ContainerId, LeafUserId, NodeId, PartitionId, QueueId, RackId, ReservationId,
};
use crate::resource::Resources;

/// The nodes of one partition, summed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PartitionTotals {
    pub(crate) capacity: Resources,
    pub(crate) nodes: usize,
    pub(crate) reserved_nodes: usize,
}

/// The engine's authoritative state. Only the [ledger] moves quantities in it.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) config: Arc<EngineConfig>,
    /// The present mapping; a reconfiguration replaces it.
    pub(crate) queue_mapping: QueueMapping,
    pub(crate) now_ms: u64,
    /// The number of applied changes, which is the position in the log.
    pub(crate) changes: u64,
    pub(crate) partitions: Vec<PartitionTotals>,
    /// Partitions that lend nodes to asks for the default partition.
    pub(crate) lending: Vec<PartitionId>,
    /// Names by rack number.
    pub(crate) racks: Vec<String>,
    pub(crate) nodes: Table<NodeId, Node>,
    /// All queues, including removed ones.
    pub(crate) queues: Vec<Queue>,
    /// By path.
    queue_ids: FxHashMap<Arc<str>, QueueId>,
    /// Whether some parent orders its children by their pending demand.
    pub(crate) looks_at_demand: bool,
    /// Whether some parent orders its children by more than their use.
    pub(crate) orders_by_priority: bool,
    pub(crate) users: Vec<LeafUser>,
    /// Limit usages of users and groups with limits. They follow from the other facts.
    pub(crate) limit_usages: LimitUsages,
    pub(crate) applications: Table<ApplicationId, Application>,
    pub(crate) applications_submitted: u64,
    /// Applications that wait for activation. They follow from the other facts.
    pub(crate) inactive: Inactive,
    pub(crate) asks: Table<AskId, Ask>,
    pub(crate) asks_submitted: u64,
    /// The number of containers and reservations given so far, which also numbers them: the smallest number has waited
    /// longest.
    pub(crate) served: u64,
    pub(crate) containers: Table<ContainerId, Container>,
    /// The size of each opportunistic container, charged only if the container becomes guaranteed.
    pub(crate) opportunistic: BTreeMap<ContainerId, Resources>,
    /// Containers whose end has to be confirmed.
    pub(crate) stopping: BTreeMap<ContainerId, Stopping>,
    pub(crate) container_ids: IdPool<ContainerId>,
    pub(crate) reservations: Table<ReservationId, Reservation>,
    pub(crate) reservation_ids: IdPool<ReservationId>,
    /// Containers that were announced as victims of preemption.
    pub(crate) notices: BTreeMap<ContainerId, PreemptionNotice>,
    /// Gangs that have not started.
    pub(crate) gangs: WaitingGangs,
    /// What holds preemption back.
    pub(crate) disruption: Disruption,
    /// Task groups, and the containers that keep their room.
    pub(crate) placeholders: Placeholders,
    /// Opportunistic asks, and the opportunistic containers at nodes.
    pub(crate) node_queues: NodeQueues,
    /// The nodes by their load. It follows from the other facts.
    pub(crate) node_loads: NodeLoads,
    /// The room that waiting gangs hold.
    pub(crate) held_rooms: HeldRooms,
    pub(crate) shapes: Shapes,
    /// Containers by tag and place.
    pub(crate) tags: TagCounts,
    /// The asks of waiting gangs. They follow from the gangs.
    pub(crate) held_asks: HeldAsks,
}

impl Facts {
    pub(crate) fn new(config: &Arc<EngineConfig>) -> Self {
        let mut facts = Self::empty(config);
        facts.lay_out_queues(&config.root);
        facts
    }

    /// All racks, by number.
    pub(crate) fn rack_ids(&self) -> impl Iterator<Item = RackId> + use<> {
        (0..self.racks.len() as u32).map(RackId)
    }

    /// The facts without any queue.
    fn empty(config: &Arc<EngineConfig>) -> Self {
        let partitions = config.partitions.len() + 1;
        Self {
            queues: Vec::new(),
            queue_ids: FxHashMap::default(),
            looks_at_demand: false,
            orders_by_priority: false,
            partitions: vec![PartitionTotals::default(); partitions],
            lending: lending(config),
            now_ms: 0,
            changes: 0,
            racks: Vec::new(),
            nodes: Table::new(),
            users: Vec::new(),
            limit_usages: LimitUsages::default(),
            applications: Table::new(),
            applications_submitted: 0,
            inactive: Inactive::default(),
            asks: Table::new(),
            asks_submitted: 0,
            served: 0,
            containers: Table::new(),
            opportunistic: BTreeMap::new(),
            stopping: BTreeMap::new(),
            container_ids: IdPool::new(),
            reservations: Table::new(),
            reservation_ids: IdPool::new(),
            notices: BTreeMap::new(),
            gangs: WaitingGangs::new(),
            disruption: Disruption::default(),
            placeholders: Placeholders::default(),
            node_queues: NodeQueues::default(),
            node_loads: NodeLoads::new(config.opportunistic.is_some(), partitions),
            held_rooms: HeldRooms::new(),
            shapes: Shapes::default(),
            tags: TagCounts::default(),
            held_asks: HeldAsks::default(),
            queue_mapping: config.queue_mapping.clone(),
            config: Arc::clone(config),
        }
    }

    pub(crate) fn has_mapping_rules(&self) -> bool {
        !self.queue_mapping.rules.is_empty()
    }

    pub(crate) fn queue(&self, id: QueueId) -> &Queue {
        &self.queues[id.index()]
    }

    pub(crate) fn user(&self, id: LeafUserId) -> &LeafUser {
        &self.users[id.index()]
    }

    /// The most nodes of the partition that may be reserved at a time.
    pub(crate) fn reserved_nodes_max(&self, partition: PartitionId) -> usize {
        let nodes = self.partitions[partition.index()].nodes as u64;
        let part = u64::from(self.config.reservations.nodes.millionths());
        usize::try_from(nodes * part / 1_000_000).unwrap_or(usize::MAX).max(1)
    }

    /// Returns the leaf user with this name; creates it in these groups if it is new.
    pub(crate) fn intern_user(&mut self, leaf: QueueId, name: &str, groups: &[String]) -> LeafUserId {
        if let Some(&user) = self.queue(leaf).users.get(name) {
            return user;
        }
        let user = LeafUserId(self.users.len() as u32);
        let name: Arc<str> = name.into();
        let used = vec![Resources::ZERO; self.partitions.len()];
        let weight = self.user_weight(leaf, &name);
        let limit_usages = self.limit_usages_for(leaf, &name, groups);
        self.users.push(LeafUser {
            name: Arc::clone(&name),
            leaf,
            masters: used.clone(),
            used,
            applications: 0,
            inactive: 0,
            outstanding: 0,
            weight,
            groups: groups.to_vec(),
            limit_usages,
        });
        self.queues[leaf.index()].users.insert(name, user);
        user
    }

    /// The use and demand of the application with these asks, by partition.
    pub(crate) fn loads_of(&self, id: ApplicationId, asks: &[AskId]) -> Vec<Load> {
        let mut loads = vec![Load::default(); self.partitions.len()];
        for container in self.applications.at(id).containers.iter(&self.containers) {
            let shape = self.shapes.at(self.containers.at(container).shape);
            let load = &mut loads[shape.partition.index()];
            load.used += shape.need.resources;
            load.containers += 1;
        }
        for ask in asks.iter().map(|ask| self.asks.at(*ask)) {
            let shape = self.shapes.at(ask.shape);
            let load = &mut loads[shape.partition.index()];
            let reserved = shape.need.resources.times(ask.reservations.len() as i64);
            load.used += reserved;
            load.reserved += reserved;
            load.pending += shape.need.resources.times(i64::from(ask.outstanding()));
        }
        loads
    }

    /// Whether a container on the node is being stopped.
    pub(crate) fn stops_on(&self, node: &Node) -> bool {
        !self.stopping.is_empty() && node.containers.iter().any(|id| self.stopping.contains_key(id))
    }

    /// The priority of an application in the leaf: the wanted one or the leaf's default, at most the maximum.
    pub(crate) fn priority_of(&self, wanted: Option<u32>, leaf: QueueId) -> u32 {
        let priority = wanted.unwrap_or(self.queue(leaf).config.default_application_priority);
        self.config.maximum_application_priority.map_or(priority, |maximum| priority.min(maximum))
    }

    /// When an application submitted to the leaf now expires: after its own lifetime or else the default, at most the
    /// maximum. Default and maximum are those of the nearest queue, from the leaf up, that sets them.
    pub(crate) fn application_expires_ms(&self, wanted_ms: Option<u64>, leaf: QueueId) -> Option<u64> {
        let said = |what: fn(&Lifetimes) -> Option<u64>| {
            self.queue(leaf).chain.iter().rev().find_map(|id| what(&self.queue(*id).config.lifetimes))
        };
        let wanted_ms = wanted_ms.or_else(|| said(|lifetimes| lifetimes.default_ms));
        let lifetime_ms = [wanted_ms, said(|lifetimes| lifetimes.maximum_ms)].into_iter().flatten().min();
        lifetime_ms.map(|lifetime_ms| self.now_ms.saturating_add(lifetime_ms))
    }

    /// The user's weight in the nearest queue at or above the leaf that names the user.
    fn user_weight(&self, leaf: QueueId, name: &str) -> Factor {
        let chain = self.queue(leaf).chain.iter().rev();
        chain
            .map(|id| self.queue(*id))
            .find_map(|queue| queue.config.user_weights.get(name).copied())
            .unwrap_or(Factor::ONE)
    }

    /// Computes guarantees, maxima and user limits of all queues from the partitions' totals.
    pub(crate) fn resolve_limits(&mut self) {
        let config = Arc::clone(&self.config);
        let names = config.partition_names();
        for ((partition, totals), name) in self.partitions.iter().enumerate().zip(names) {
            limits::resolve(&mut self.queues, PartitionId(partition as u32), name, totals.capacity);
        }
    }

    /// Records the name of a rack number.
    pub(crate) fn name_rack(&mut self, rack: RackId, name: &str) {
        if self.racks.len() <= rack.index() {
            self.racks.resize(rack.index() + 1, String::new());
        }
        name.clone_into(&mut self.racks[rack.index()]);
    }
}

fn lending(config: &EngineConfig) -> Vec<PartitionId> {
    let names = (0..).map(PartitionId).zip(config.partition_names());
    let is_lending = |name: &str| config.non_exclusive_partitions.iter().any(|lending| lending == name);
    names.filter(|(_, name)| is_lending(name)).map(|(id, _)| id).collect()
}
