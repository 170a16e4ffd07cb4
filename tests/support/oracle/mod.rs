//! The sequential model: a scheduler too simple to have interesting defects.
//!
//! It holds only objects (nodes, applications, asks, containers, reservations) and no sums. Every decision adds up
//! the [`books`](Books) again, so no stored sum can be wrong. It was written from the described semantics and the
//! engine's public types, without a look at the engine's code.

mod activation;
mod amounts;
mod apply;
mod blocked_headroom;
mod books;
mod borrowed;
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

/// An event that an application should get.
pub type Effect = (ApplicationId, EventKind);

/// An application that has not ended.
#[derive(Clone, Debug)]
pub struct Application {
    /// The specification as submitted.
    pub spec: ApplicationSpec,
    /// The number of its leaf.
    pub leaf: usize,
    /// The names on its blacklist: hosts, then racks.
    pub shunned: [BTreeSet<String>; 2],
    /// The time of submission.
    pub since_ms: u64,
    /// Its priority; higher is served first.
    pub priority: u32,
    /// The time at which its lifetime ends.
    pub expires_ms: Option<u64>,
    /// Its number among all submissions.
    pub order: u64,
    /// Whether its asks may be served.
    pub is_active: bool,
    /// How it was ended, while its last containers are being stopped.
    pub ending: Option<ApplicationEnd>,
}

/// An ask with outstanding units.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The application that asks.
    pub application: ApplicationId,
    /// The specification as submitted.
    pub spec: AskSpec,
    /// The partition in which it is placed.
    pub partition: PartitionId,
    /// The racks that are rack-local to it.
    pub racks: Vec<RackId>,
    /// Units neither placed nor cancelled.
    pub outstanding: u32,
    /// Opportunities missed since it last got a host or rack that it names.
    pub missed: u32,
    /// Failed passes over its reserved nodes since it made or lost a reservation.
    pub re_reserved: u32,
    /// The time of submission.
    pub since_ms: u64,
    /// Its number among all submissions.
    pub order: u64,
}

/// A running container.
#[derive(Clone, Debug)]
pub struct Container {
    /// The engine's identifier; `None` while the model tries out a request.
    pub id: Option<ContainerId>,
    /// Its application.
    pub application: ApplicationId,
    /// Its node.
    pub node: NodeId,
    /// The amounts it is charged.
    pub size: Amounts,
    /// While it is being stopped: the cause, and the time by which its end has to be confirmed.
    pub stopping: Option<(EndCause, u64)>,
    /// For an opportunistic container, the amounts that it had when guaranteed.
    pub put_aside: Option<Amounts>,
    /// Its need of devices.
    pub need: Option<DeviceNeed>,
    /// The numbers of its devices.
    pub devices: Vec<usize>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The caller's number of its ask.
    pub allocation_request_id: u64,
}

/// A node reserved for one unit of an ask.
#[derive(Clone, Debug)]
pub struct Reservation {
    /// The ask that holds it.
    pub ask: AskId,
    /// The time at which it was made.
    pub since_ms: u64,
    /// The engine's identifier, once the log has shown it.
    pub id: Option<ReservationId>,
}

/// Identifiers that the engine chose for a change, and its choice of reservations to drop. The model accepts the
/// choice and checks the number.
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
    /// The engine's configuration.
    pub config: EngineConfig,
    /// Identifiers of the partitions, the default one first.
    pub partitions: Vec<PartitionId>,
    /// The queues.
    pub tree: Tree,
    /// Names of racks.
    pub racks: BTreeMap<RackId, String>,
    /// Registered nodes.
    pub nodes: BTreeMap<NodeId, Node>,
    /// Applications that have not ended.
    pub applications: BTreeMap<ApplicationId, Application>,
    /// Asks with outstanding units.
    pub asks: BTreeMap<AskId, Ask>,
    /// Running containers, by the order in which they were started.
    pub containers: BTreeMap<u64, Container>,
    /// Reservations by node.
    pub reservations: BTreeMap<NodeId, Reservation>,
    /// The groups of users, by leaf, as of the user's last application there.
    pub groups: BTreeMap<(usize, String), Vec<String>>,
    /// The time.
    pub now_ms: u64,
    submissions: u64,
    started: u64,
    /// The number of positions in each partition, and the positions that nodes have left.
    positions: BTreeMap<PartitionId, u64>,
    vacated: BTreeSet<(PartitionId, u64)>,
    retired: BTreeSet<ReservationId>,
    /// The number of containers and reservations given so far, and the last of them for each queue, by partition, and
    /// for each application.
    served: u64,
    queues_served: BTreeMap<(usize, usize), u64>,
    applications_served: BTreeMap<ApplicationId, u64>,
}

impl Oracle {
    /// Creates a model of an engine with this configuration and these identifiers of partitions and queues.
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
            racks: BTreeMap::new(),
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

    /// The index of a partition.
    #[must_use]
    pub fn partition(&self, id: PartitionId) -> usize {
        self.partitions.iter().position(|known| *known == id).expect("a configured partition")
    }

    /// The partition of an ask in the leaf.
    #[must_use]
    pub fn partition_for(&self, leaf: usize, spec: &AskSpec) -> PartitionId {
        let name_of = |id: PartitionId| self.config.partition_names().nth(self.partition(id));
        let name = spec.partition.and_then(name_of).unwrap_or_else(|| self.tree.default_partition(leaf));
        let place = self.config.partition_names().position(|known| known == name);
        self.partitions[place.expect("a configured partition")]
    }

    /// The number of nodes reserved for the ask.
    #[must_use]
    pub fn reserved(&self, ask: AskId) -> u32 {
        let count = self.reservations.values().filter(|reservation| reservation.ask == ask).count();
        u32::try_from(count).expect("a node has one reservation at most")
    }

    /// The container with this identifier.
    #[must_use]
    pub fn container(&self, id: ContainerId) -> Option<&Container> {
        self.containers.values().find(|container| container.id == Some(id))
    }

    fn next_submission(&mut self) -> u64 {
        self.submissions += 1;
        self.submissions
    }
}
