//! The facts: everything the log can rebuild, and nothing else.

mod application;
mod ask;
mod container_list;
mod digest;
mod ledger;
mod limits;
mod node;
mod queue;
mod shape;
mod table;
mod user_limit;

use std::sync::Arc;

use serde::Serialize;

pub use application::ApplicationEnd;
pub(crate) use application::{Application, LeafUser};
pub(crate) use ask::{Ask, Container, Reservation};
pub use ask::{ContainerOnNode, EndCause, Locality, Wishes};
pub(crate) use container_list::ContainerList;
pub use digest::StateDigest;
pub(crate) use ledger::Charged;
pub(crate) use node::Node;
pub use node::{NodeAttributes, NodeState};
pub use queue::Quota;
pub(crate) use queue::{ActiveUsers, Queue, build_queues};
pub use shape::AttributeRule;
pub(crate) use shape::{Shape, Shapes};
pub(crate) use table::{IdPool, Table};
pub(crate) use user_limit::LeafUse;

use crate::config::{EngineConfig, Factor};
use crate::ids::{
    ApplicationId, AskId, ContainerId, LeafUserId, NodeId, PartitionId, QueueId, RackId, ReservationId,
};
use crate::resource::Resources;

/// The nodes of one partition, summed.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct PartitionTotals {
    pub(crate) capacity: Resources,
    pub(crate) nodes: usize,
    pub(crate) reserved_nodes: usize,
}

/// The engine's authoritative state. Only the [ledger] moves quantities in it.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) config: Arc<EngineConfig>,
    pub(crate) now_ms: u64,
    /// How many changes have been applied; the position in the log.
    pub(crate) changes: u64,
    pub(crate) partitions: Vec<PartitionTotals>,
    /// Names by rack number; empty for a rack that was only ever asked for.
    pub(crate) racks: Vec<String>,
    pub(crate) nodes: Table<NodeId, Node>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) users: Vec<LeafUser>,
    pub(crate) applications: Table<ApplicationId, Application>,
    pub(crate) applications_submitted: u64,
    pub(crate) asks: Table<AskId, Ask>,
    pub(crate) asks_submitted: u64,
    pub(crate) containers: Table<ContainerId, Container>,
    pub(crate) container_ids: IdPool<ContainerId>,
    pub(crate) reservations: Table<ReservationId, Reservation>,
    pub(crate) reservation_ids: IdPool<ReservationId>,
    pub(crate) shapes: Shapes,
}

impl Facts {
    pub(crate) fn new(config: Arc<EngineConfig>) -> Self {
        let partitions = config.partitions.len() + 1;
        let mut queues = build_queues(&config.root, partitions);
        queues.iter_mut().for_each(|queue| queue.semantics = config.semantics);
        Self {
            queues,
            partitions: vec![PartitionTotals::default(); partitions],
            now_ms: 0,
            changes: 0,
            racks: Vec::new(),
            nodes: Table::new(),
            users: Vec::new(),
            applications: Table::new(),
            applications_submitted: 0,
            asks: Table::new(),
            asks_submitted: 0,
            containers: Table::new(),
            container_ids: IdPool::new(),
            reservations: Table::new(),
            reservation_ids: IdPool::new(),
            shapes: Shapes::default(),
            config,
        }
    }

    pub(crate) fn queue(&self, id: QueueId) -> &Queue {
        &self.queues[id.index()]
    }

    pub(crate) fn user(&self, id: LeafUserId) -> &LeafUser {
        &self.users[id.index()]
    }

    /// The partition's number of nodes that may be reserved at a time.
    pub(crate) fn reserved_nodes_max(&self, partition: PartitionId) -> usize {
        let nodes = self.partitions[partition.index()].nodes as u64;
        let part = u64::from(self.config.reservations.nodes.millionths());
        usize::try_from(nodes * part / 1_000_000).unwrap_or(usize::MAX).max(1)
    }

    /// The leaf user with this name, made if it is new.
    pub(crate) fn intern_user(&mut self, leaf: QueueId, name: &str) -> LeafUserId {
        if let Some(&user) = self.queue(leaf).users.get(name) {
            return user;
        }
        let user = LeafUserId(self.users.len() as u32);
        let name: Arc<str> = name.into();
        let used = vec![Resources::ZERO; self.partitions.len()];
        let weight = self.user_weight(leaf, &name);
        self.users.push(LeafUser {
            name: Arc::clone(&name),
            leaf,
            used,
            applications: 0,
            outstanding: 0,
            weight,
        });
        self.queues[leaf.index()].users.insert(name, user);
        user
    }

    /// What the nearest queue above that names the user says.
    fn user_weight(&self, leaf: QueueId, name: &str) -> Factor {
        let chain = self.queue(leaf).chain.iter().rev();
        chain
            .map(|id| self.queue(*id))
            .find_map(|queue| queue.user_weights.get(name).copied())
            .unwrap_or(Factor::ONE)
    }

    /// Computes guarantees, maxima and user limits of all queues from the partitions' totals.
    pub(crate) fn resolve_limits(&mut self) {
        for (partition, totals) in self.partitions.iter().enumerate() {
            limits::resolve(&mut self.queues, PartitionId(partition as u32), totals.capacity);
        }
    }

    /// Remembers the name of a rack number.
    pub(crate) fn name_rack(&mut self, rack: RackId, name: &str) {
        if self.racks.len() <= rack.index() {
            self.racks.resize(rack.index() + 1, String::new());
        }
        name.clone_into(&mut self.racks[rack.index()]);
    }
}
