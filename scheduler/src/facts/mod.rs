//! The facts: everything the log can rebuild, and nothing else.
//!
//! The digest and the log cover the facts only. A replay needs no clock: when time makes something due (a silent node,
//! an old reservation), the committer logs a change of its own. The engine remembers users for its whole life.

mod application;
mod ask;
mod attribute_rule;
mod blacklist;
mod borrowed;
mod charged;
mod container_list;
mod digest;
mod disruption;
mod gang;
mod held_room;
mod image;
mod later;
mod ledger;
mod node;
mod node_loads;
mod node_queues;
mod opportunity;
mod placeholders;
mod preemption;
mod queue_tree;
mod reservations;
mod rule;
mod shape;
mod table;
mod tags;
mod turn;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use application::{Application, LeafUser};
pub use application::{ApplicationEnd, Master};
pub(crate) use ask::{Ask, Container, Reservation};
pub use ask::{ContainerOnNode, EndCause, ExecutionType, Locality, LocalityPreference, Stopping};
pub use attribute_rule::{AttributeCondition, AttributeRule, AttributeTest};
pub use blacklist::{Blacklist, BlacklistUpdate};
pub(crate) use borrowed::PartitionShare;
pub(crate) use charged::{Charged, Load};
pub(crate) use container_list::ContainerList;
pub use digest::StateDigest;
pub(crate) use disruption::{Disruption, DisruptionGroup, StartedGang};
pub use disruption::{DisruptionBudget, DisruptionLimit, InvalidBudget, PreemptionCost};
pub use gang::{GangEnd, GangStyle, GangTopology};
pub(crate) use gang::{HeldAsks, HeldRole, RoleKind, WaitingGang, WaitingGangs};
pub(crate) use held_room::{HeldPlace, HeldRoom, HeldRooms, RoomGain};
pub(crate) use image::{FactsImage, FactsImageOf};
pub(crate) use later::LaterFacts;
pub(crate) use node::Node;
pub use node::{NodeAttributes, NodeState};
pub(crate) use node_loads::{NodeLoad, NodeLoads};
pub(crate) use node_queues::{Head, NodeQueues, OpportunisticAsk};
pub(crate) use opportunity::Opportunities;
pub use placeholders::Placeholder;
pub(crate) use placeholders::{PlaceholderGang, Placeholders, TaskGroup};
pub use preemption::{PreemptionNotice, PreemptionRule};
pub use queue_tree::Quota;
pub(crate) use queue_tree::{
    Destination, HeldBack, Holder, LeafUse, NoDestination, PartitionTotals, PendingPriorities, Queue,
    QueueKey, QueueRole, QueueTree,
};
pub(crate) use rule::{Breach, Rule};
pub(crate) use shape::{Shape, Shapes};
pub(crate) use table::{IdPool, Table};
pub use tags::{AskTags, TagLimit, TagNamespace, TagScope};
pub(crate) use tags::{TagCap, TagCounts};
pub(crate) use turn::Turns;

use crate::config::{EngineConfig, QueueMapping};
use crate::ids::{
    ApplicationId, AskId, ContainerId, LeafUserId, NodeId, PartitionId, QueueId, RackId, ReservationId,
};
use crate::resource::Resources;

/// The tables of asks and containers have room for so many before they have to move.
const FIRST_BURST_SLOTS: usize = 1 << 16;

/// The engine's authoritative state. Only the [ledger] moves quantities in it.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) config: Arc<EngineConfig>,
    /// The present mapping; a reconfiguration replaces it.
    pub(crate) queue_mapping: QueueMapping,
    pub(crate) now_ms: u64,
    /// The number of applied changes, which is the position in the log.
    pub(crate) changes: u64,
    /// Queues, their users and their limits.
    pub(crate) tree: QueueTree,
    /// Partitions that lend nodes to asks for the default partition.
    pub(crate) lending: Vec<PartitionId>,
    /// Names by rack number.
    pub(crate) racks: Vec<String>,
    pub(crate) nodes: Table<NodeId, Node>,
    pub(crate) applications: Table<ApplicationId, Application>,
    pub(crate) applications_submitted: u64,
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
        facts.tree.lay_out_queues(&config.root, facts.now_ms);
        facts
    }

    /// All racks, by number.
    pub(crate) fn rack_ids(&self) -> impl Iterator<Item = RackId> + use<> {
        (0..self.racks.len() as u32).map(RackId)
    }

    /// The facts without any queue.
    fn empty(config: &Arc<EngineConfig>) -> Self {
        let tree = QueueTree::empty(config);
        Self {
            lending: lending(config),
            now_ms: 0,
            changes: 0,
            racks: Vec::new(),
            nodes: Table::new(),
            applications: Table::new(),
            applications_submitted: 0,
            asks: Table::with_capacity(FIRST_BURST_SLOTS),
            asks_submitted: 0,
            served: 0,
            containers: Table::with_capacity(FIRST_BURST_SLOTS),
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
            node_loads: NodeLoads::new(config.opportunistic.is_some(), tree.partitions.len()),
            held_rooms: HeldRooms::new(),
            shapes: Shapes::default(),
            tags: TagCounts::default(),
            held_asks: HeldAsks::default(),
            tree,
            queue_mapping: config.queue_mapping.clone(),
            config: Arc::clone(config),
        }
    }

    /// The queue. Most readers of the tree need no more, so it is here too, as is the user.
    pub(crate) fn queue(&self, id: QueueId) -> &Queue {
        self.tree.queue(id)
    }

    pub(crate) fn user(&self, id: LeafUserId) -> &LeafUser {
        self.tree.user(id)
    }

    /// Whether any gang waits or has running members, or any ask is for placeholders. Such gangs have to be told of
    /// each placement. No request of a pass changes the answer.
    pub(crate) fn knows_gangs(&self) -> bool {
        !self.gangs.is_empty()
            || !self.held_asks.is_empty()
            || !self.disruption.started.is_empty()
            || self.placeholders.are_asked_for()
    }

    /// Whether a container on the node is being stopped.
    pub(crate) fn stops_on(&self, node: &Node) -> bool {
        !self.stopping.is_empty() && node.containers.iter().any(|id| self.stopping.contains_key(id))
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
