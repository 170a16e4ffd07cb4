//! The sequential model: a scheduler too simple to be wrong in interesting ways.
//!
//! It holds what exists (nodes, applications, asks, containers, reservations) and no sum of anything. Every decision
//! adds up the [`books`](Books) anew, so there is nothing that could be kept wrongly. It was written from the
//! described semantics and the engine's public types, without looking at how the engine does it.

mod activation;
mod amounts;
mod apply;
mod books;
mod borrowed;
mod kept;
mod limit_holders;
mod limits;
mod node;
mod opportunity;
mod order;
mod progress;
mod queue_mapping;
mod recover;
mod reservations;
mod resize;
mod stop;
mod tree;
mod users;
mod validate;

use std::collections::{BTreeMap, BTreeSet};

use apportion::config::EngineConfig;
use apportion::event::EventKind;
use apportion::resource::DeviceNeed;
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskId, AskSpec, ContainerId, EndCause, NodeId,
    PartitionId, QueueId, RackId, ReservationId,
};

pub use amounts::{Amounts, NOTHING, amounts, plus, times};
pub use books::{Books, NodeBook, QueueBook};
pub use node::Node;
pub use tree::{Queue, Tree};

/// What an application should be told.
pub type Effect = (ApplicationId, EventKind);

/// An application that has not ended.
#[derive(Clone, Debug)]
pub struct Application {
    /// As it was submitted.
    pub spec: ApplicationSpec,
    /// The number of its leaf.
    pub leaf: usize,
    /// Hosts it shuns, then racks, by name.
    pub shunned: [BTreeSet<String>; 2],
    /// When it was submitted.
    pub since_ms: u64,
    /// Higher is served first.
    pub priority: u32,
    /// When it is ended.
    pub expires_ms: Option<u64>,
    /// How many submissions came before it.
    pub order: u64,
    /// Its asks may be served.
    pub is_active: bool,
    /// How it was ended, while its last containers are being stopped.
    pub ending: Option<ApplicationEnd>,
}

/// An ask with something outstanding.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Who asks.
    pub application: ApplicationId,
    /// As it was submitted.
    pub spec: AskSpec,
    /// The partition that it is for.
    pub partition: PartitionId,
    /// The racks that are rack-local to it.
    pub racks: Vec<RackId>,
    /// Units neither placed nor cancelled.
    pub outstanding: u32,
    /// Opportunities it had since it last got what it named.
    pub missed: u32,
    /// Passes over its reserved nodes in vain since it reserved the last one.
    pub re_reserved: u32,
    /// When it was submitted.
    pub since_ms: u64,
    /// How many submissions came before it.
    pub order: u64,
}

/// A running container.
#[derive(Clone, Debug)]
pub struct Container {
    /// Under which identifier the engine knows it; none while a request is only thought through.
    pub id: Option<ContainerId>,
    /// Whose it is.
    pub application: ApplicationId,
    /// Where it runs.
    pub node: NodeId,
    /// What it holds.
    pub size: Amounts,
    /// While it is being stopped: why, and until when its end has to be confirmed.
    pub stopping: Option<(EndCause, u64)>,
    /// What it would hold if it were not opportunistic.
    pub put_aside: Option<Amounts>,
    /// What it holds of each of its devices.
    pub need: Option<DeviceNeed>,
    /// The numbers of its devices.
    pub devices: Vec<usize>,
    /// What it is called.
    pub tags: Vec<String>,
}

/// A node reserved for one unit of an ask.
#[derive(Clone, Debug)]
pub struct Reservation {
    /// Whose it is.
    pub ask: AskId,
    /// When it was made.
    pub since_ms: u64,
    /// Under which identifier the engine knows it, once the log has said so.
    pub id: Option<ReservationId>,
}

/// Identifiers that the engine chose for a change, and its choice of reservations to drop. The model takes them as
/// they are, and insists that they are as many as they must be.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// Containers that were started, in order.
    pub containers: Vec<ContainerId>,
    /// Reservations that were dropped, in order.
    pub dropped: Vec<(AskId, NodeId)>,
}

/// The model.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// What the engine was started with.
    pub config: EngineConfig,
    /// Identifiers of the partitions, the default one first.
    pub partitions: Vec<PartitionId>,
    /// The queues.
    pub tree: Tree,
    /// Registered nodes.
    pub nodes: BTreeMap<NodeId, Node>,
    /// Applications that have not ended.
    pub applications: BTreeMap<ApplicationId, Application>,
    /// Asks with something outstanding.
    pub asks: BTreeMap<AskId, Ask>,
    /// Running containers, by the order in which they were started.
    pub containers: BTreeMap<u64, Container>,
    /// Reservations by node.
    pub reservations: BTreeMap<NodeId, Reservation>,
    /// In which groups a user is, by leaf: those of the last application that came there.
    pub groups: BTreeMap<(usize, String), Vec<String>>,
    /// The time.
    pub now_ms: u64,
    submissions: u64,
    started: u64,
    /// How many places each partition has, and those that nodes have left.
    positions: BTreeMap<PartitionId, u64>,
    vacated: BTreeSet<(PartitionId, u64)>,
    retired: BTreeSet<ReservationId>,
    /// How many containers and reservations were given, and which of them were the last of queues, by partition, and of
    /// applications.
    served: u64,
    queues_served: BTreeMap<(usize, usize), u64>,
    applications_served: BTreeMap<ApplicationId, u64>,
}

impl Oracle {
    /// A model of an engine with this configuration; the rest says how the engine names what is configured.
    pub fn new(
        config: EngineConfig,
        partitions: Vec<PartitionId>,
        queue_id: impl Fn(&str) -> QueueId,
    ) -> Self {
        let tree = Tree::new(&config.root, queue_id);
        Self {
            config,
            partitions,
            tree,
            nodes: BTreeMap::new(),
            applications: BTreeMap::new(),
            asks: BTreeMap::new(),
            containers: BTreeMap::new(),
            reservations: BTreeMap::new(),
            groups: BTreeMap::new(),
            now_ms: 0,
            submissions: 0,
            started: 0,
            positions: BTreeMap::new(),
            vacated: BTreeSet::new(),
            retired: BTreeSet::new(),
            served: 0,
            queues_served: BTreeMap::new(),
            applications_served: BTreeMap::new(),
        }
    }

    /// The position of a partition among all.
    #[must_use]
    pub fn partition(&self, id: PartitionId) -> usize {
        self.partitions.iter().position(|known| *known == id).expect("a configured partition")
    }

    /// The partition that an ask in the leaf is for.
    #[must_use]
    pub fn partition_for(&self, leaf: usize, spec: &AskSpec) -> PartitionId {
        let name_of = |id: PartitionId| self.config.partition_names().nth(self.partition(id));
        let name = spec.partition.and_then(name_of).unwrap_or_else(|| self.tree.default_partition(leaf));
        let place = self.config.partition_names().position(|known| known == name);
        self.partitions[place.expect("a configured partition")]
    }

    /// How many units of the ask have a node reserved.
    #[must_use]
    pub fn reserved(&self, ask: AskId) -> u32 {
        let count = self.reservations.values().filter(|reservation| reservation.ask == ask).count();
        u32::try_from(count).expect("a node has one reservation at most")
    }

    /// The container that the engine knows under this identifier.
    #[must_use]
    pub fn container(&self, id: ContainerId) -> Option<&Container> {
        self.containers.values().find(|container| container.id == Some(id))
    }

    fn next_submission(&mut self) -> u64 {
        self.submissions += 1;
        self.submissions
    }
}
