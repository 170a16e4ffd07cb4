//! Changes: everything that can happen to the state, as values.
//!
//! Callers send them, the committer applies them one after another, the log holds them, and a replay applies
//! the same ones to the same effect.

mod ask;
mod label;
mod running;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use ask::AskSpec;
pub use running::RunningContainer;

use crate::config::{EngineConfig, QueueUpdate, Reconfiguration};
use crate::facts::{
    ApplicationEnd, BlacklistUpdate, EndCause, ExecutionType, Master, NodeAttributes, NodeState,
};
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId, PartitionId, QueueId, RackId, ReservationId};
use crate::request::ResourceAllocationCommitRequest;
use crate::resource::{DEVICE_MILLI, Resources};

/// One change of the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Change {
    /// The engine starts with this configuration; always the first change, and never again.
    Configured {
        /// The whole configuration.
        config: Arc<EngineConfig>,
    },
    /// The clock moved forward.
    TimeAdvanced {
        /// The new time.
        now_ms: u64,
    },
    /// A node registered.
    NodeAdded {
        /// Its identifier.
        node: NodeId,
        /// The number of the rack that `spec` names.
        rack: RackId,
        /// What it is.
        spec: Box<NodeSpec>,
    },
    /// A node reported another capacity or other attributes.
    NodeUpdated {
        /// Which.
        node: NodeId,
        /// Its capacity from now on; its devices and the amount of the type that counts them stay.
        capacity: Resources,
        /// Its attributes from now on.
        attributes: NodeAttributes,
    },
    /// A node went to another partition, with its containers.
    NodePartitionSet {
        /// Which.
        node: NodeId,
        /// Its partition from now on.
        partition: PartitionId,
    },
    /// A node was set active or draining.
    NodeStateSet {
        /// Which.
        node: NodeId,
        /// Its state from now on.
        state: NodeState,
    },
    /// A node has been silent for too long, or is heard again.
    NodeSilenceSet {
        /// Which.
        node: NodeId,
        /// Whether it is silent.
        stale: bool,
    },
    /// A node is gone, and its containers with it.
    NodeRemoved {
        /// Which.
        node: NodeId,
    },
    /// Nodes reported that they are alive.
    Heartbeats {
        /// Which.
        nodes: Vec<NodeId>,
    },
    /// An application was submitted.
    ApplicationSubmitted {
        /// Its identifier.
        application: ApplicationId,
        /// What it is.
        spec: Box<ApplicationSpec>,
    },
    /// An application ended: its asks are cancelled and its containers end.
    ApplicationEnded {
        /// Which.
        application: ApplicationId,
        /// How.
        end: ApplicationEnd,
    },
    /// An application shuns other hosts or racks than before.
    BlacklistUpdated {
        /// Which.
        application: ApplicationId,
        /// What changes.
        update: Box<BlacklistUpdate>,
    },
    /// An application goes on in another leaf, with all it has.
    ApplicationMoved {
        /// Which.
        application: ApplicationId,
        /// The leaf.
        queue: QueueId,
    },
    /// An application has another priority.
    ApplicationPrioritySet {
        /// Which.
        application: ApplicationId,
        /// Its priority from now on, as far as the configuration allows it.
        priority: u32,
    },
    /// An application asks for containers.
    AskSubmitted {
        /// The ask's identifier.
        ask: AskId,
        /// Who asks.
        application: ApplicationId,
        /// For what.
        spec: AskSpec,
    },
    /// An application wants fewer containers.
    AskCancelled {
        /// Of which ask.
        ask: AskId,
        /// How many fewer; more than are outstanding means all.
        units: u32,
    },
    /// A node that has just registered reported a container which runs on it.
    ContainerRecovered {
        /// The ask that the container is listed under. It was made for the container, and is over.
        ask: AskId,
        /// Where it runs.
        node: NodeId,
        /// The running container.
        container: Box<RunningContainer>,
    },
    /// A container has another size.
    ContainerResized {
        /// Which.
        container: ContainerId,
        /// Its size from now on; the amount of the type that counts devices stays.
        size: Resources,
    },
    /// A container is demoted (opportunistic from now on), or promoted (guaranteed its size again).
    ExecutionTypeSet {
        /// Which.
        container: ContainerId,
        /// Its execution type from now on.
        execution_type: ExecutionType,
    },
    /// Nodes were offered to an ask that waits for others; where opportunities count.
    OpportunitiesMissed {
        /// Which ask.
        ask: AskId,
        /// How many nodes more.
        count: u32,
    },
    /// A pass over a node that an ask has reserved found it still too full; where re-reservations count.
    ReservedAgain {
        /// Which ask.
        ask: AskId,
        /// Which node.
        node: NodeId,
    },
    /// A container is being stopped: it stays on its node and charged until its end is confirmed or the
    /// [timeout](EngineConfig::stop_timeout_ms) passes.
    ContainerStopping {
        /// Which.
        container: ContainerId,
        /// The cause that its end will have.
        cause: EndCause,
    },
    /// A container ended.
    ContainerEnded {
        /// Which.
        container: ContainerId,
        /// Why.
        cause: EndCause,
    },
    /// A queue has other limits.
    QueueUpdated {
        /// Which.
        queue: QueueId,
        /// What changes.
        update: Box<QueueUpdate>,
    },
    /// The queues are others, or say other things about themselves.
    Reconfigured {
        /// The new configuration.
        configuration: Box<Reconfiguration>,
    },
    /// A queue made on demand was removed some time after its last use.
    QueueExpired {
        /// Which.
        queue: QueueId,
    },
    /// A reservation on a node was dropped because it was too old.
    ReservationExpired {
        /// Which.
        reservation: ReservationId,
    },
    /// A proposal was accepted.
    Committed {
        /// The applied request.
        request: ResourceAllocationCommitRequest,
    },
}

/// A node as it registers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSpec {
    /// Host name; unique among registered nodes.
    pub name: String,
    /// Name of its rack.
    pub rack: String,
    /// Its partition.
    pub partition: PartitionId,
    /// Its capacity. The type that counts devices is set from `devices` and can be omitted.
    pub capacity: Resources,
    /// How many devices (GPUs) it has.
    pub devices: u8,
    /// Attributes that asks may require.
    pub attributes: NodeAttributes,
}

impl NodeSpec {
    /// A node of the default partition on the rack `default-rack`, without devices or attributes.
    #[must_use]
    pub fn new(name: impl Into<String>, capacity: Resources) -> Self {
        Self {
            name: name.into(),
            rack: "default-rack".into(),
            partition: PartitionId::DEFAULT,
            capacity,
            devices: 0,
            attributes: NodeAttributes::new(),
        }
    }

    /// The same node on this rack.
    #[must_use]
    pub fn on_rack(mut self, rack: impl Into<String>) -> Self {
        self.rack = rack.into();
        self
    }

    /// The same node in this partition.
    #[must_use]
    pub fn in_partition(mut self, partition: PartitionId) -> Self {
        self.partition = partition;
        self
    }

    /// The same node with this many devices.
    #[must_use]
    pub fn with_devices(mut self, devices: u8) -> Self {
        self.devices = devices;
        self
    }

    /// All of its devices in thousandths of one.
    pub(crate) fn devices_milli(&self) -> i64 {
        i64::from(self.devices) * i64::from(DEVICE_MILLI)
    }

    /// The same node with one attribute more.
    #[must_use]
    pub fn with_attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.insert(name.into(), value.into());
        self
    }
}

/// An application as it is submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationSpec {
    /// A name for people; need not be unique.
    pub name: String,
    /// The queue it requests: the full path of a leaf. Where there are placement rules, they may read it otherwise, and
    /// it may be empty.
    pub queue: String,
    /// The user it is charged to.
    pub user: String,
    /// The groups the user is in, the primary one first, for access lists and placement rules.
    pub groups: Vec<String>,
    /// The properties that placement rules may test, by name.
    pub tags: BTreeMap<String, String>,
    /// Higher is served first within the leaf; `None`: as the leaf says.
    pub priority: Option<u32>,
    /// The container that runs it; `None`: it needs no part of what is kept for masters.
    pub master: Option<Master>,
    /// How long it may be there; `None`: as the queue says.
    pub lifetime_ms: Option<u64>,
}

impl ApplicationSpec {
    /// An application of the leaf's default priority.
    #[must_use]
    pub fn new(name: impl Into<String>, queue: impl Into<String>, user: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            queue: queue.into(),
            user: user.into(),
            groups: Vec::new(),
            tags: BTreeMap::new(),
            priority: None,
            master: None,
            lifetime_ms: None,
        }
    }

    /// The same application of a user in these groups, the primary one first.
    #[must_use]
    pub fn in_groups(mut self, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.groups.extend(groups.into_iter().map(Into::into));
        self
    }

    /// The same application with one tag more.
    #[must_use]
    pub fn with_tag(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.insert(name.into(), value.into());
        self
    }

    /// The same application with this priority.
    #[must_use]
    pub fn with_priority(mut self, priority: u32) -> Self {
        self.priority = Some(priority);
        self
    }

    /// The same application, which is ended if it is still there so long after its submission.
    #[must_use]
    pub fn with_lifetime_ms(mut self, lifetime_ms: u64) -> Self {
        self.lifetime_ms = Some(lifetime_ms);
        self
    }

    /// The same application, which is run by a container of this size in this partition. Where the leaf has a
    /// [`master_share`](crate::config::QueueConfig::master_share), the application waits until that has room for it.
    /// The container itself is asked for like any other.
    #[must_use]
    pub fn with_master(mut self, size: Resources, partition: PartitionId) -> Self {
        self.master = Some(Master { size, partition });
        self
    }
}
