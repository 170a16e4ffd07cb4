//! Changes of the state, as values.
//!
//! Callers send changes, the committer applies them one after another, and the log holds them. A replay applies the
//! same changes to the same effect.

mod ask;
mod ask_kind;
mod label;
mod running;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use ask::AskSpec;
pub use ask_kind::AskOfKind;
pub(crate) use ask_kind::SubmittedAsk;
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
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// The engine starts with this configuration. Always the first change, and never a later one.
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
        /// The description of the node.
        spec: Box<NodeSpec>,
    },
    /// A node reported another capacity or other attributes.
    NodeUpdated {
        /// The node.
        node: NodeId,
        /// Its new capacity. Its devices and the amount of the device type stay.
        capacity: Resources,
        /// Its new attributes.
        attributes: NodeAttributes,
    },
    /// A node moved to another partition, with its containers.
    NodePartitionSet {
        /// The node.
        node: NodeId,
        /// Its new partition.
        partition: PartitionId,
    },
    /// A node was set active or draining.
    NodeStateSet {
        /// The node.
        node: NodeId,
        /// Its new state.
        state: NodeState,
    },
    /// A node has been silent for too long, or sent a heartbeat again.
    NodeSilenceSet {
        /// The node.
        node: NodeId,
        /// Whether it is silent.
        stale: bool,
    },
    /// A node was removed, and its containers ended.
    NodeRemoved {
        /// The node.
        node: NodeId,
    },
    /// Nodes reported that they are alive.
    Heartbeats {
        /// The nodes.
        nodes: Vec<NodeId>,
    },
    /// An application was submitted.
    ApplicationSubmitted {
        /// Its identifier.
        application: ApplicationId,
        /// The description of the application.
        spec: Box<ApplicationSpec>,
    },
    /// An application ended: its asks are cancelled and its containers end.
    ApplicationEnded {
        /// The application.
        application: ApplicationId,
        /// How it ended.
        end: ApplicationEnd,
    },
    /// An application's blacklist changed.
    BlacklistUpdated {
        /// The application.
        application: ApplicationId,
        /// The update.
        update: Box<BlacklistUpdate>,
    },
    /// An application moved to another leaf, with its asks, reservations and containers.
    ApplicationMoved {
        /// The application.
        application: ApplicationId,
        /// The new leaf.
        queue: QueueId,
    },
    /// An application got another priority.
    ApplicationPrioritySet {
        /// The application.
        application: ApplicationId,
        /// Its new priority; the configuration's maximum applies.
        priority: u32,
    },
    /// An application submitted an ask for containers.
    AskSubmitted {
        /// The ask's identifier.
        ask: AskId,
        /// The application that asks.
        application: ApplicationId,
        /// The description of the ask.
        spec: AskSpec,
    },
    /// An application cancelled units of an ask.
    AskCancelled {
        /// The ask.
        ask: AskId,
        /// The number of cancelled units; a number above the outstanding units means all.
        units: u32,
    },
    /// A node reported a running container, as it registered or to be reconciled.
    ContainerRecovered {
        /// The ask under which the container is listed. It was made for the container, and has ended.
        ask: AskId,
        /// The node on which it runs.
        node: NodeId,
        /// The running container.
        container: Box<RunningContainer>,
    },
    /// A container changed its size.
    ContainerResized {
        /// The container.
        container: ContainerId,
        /// Its new size. The amount of the device type stays.
        size: Resources,
    },
    /// A container was demoted to opportunistic, or promoted to guaranteed.
    ExecutionTypeSet {
        /// The container.
        container: ContainerId,
        /// Its new execution type.
        execution_type: ExecutionType,
    },
    /// An ask that waits for other nodes missed opportunities. Only where opportunities count.
    OpportunitiesMissed {
        /// The ask.
        ask: AskId,
        /// The number of additional offered nodes.
        count: u32,
    },
    /// A pass over a node that an ask has reserved found it still too full. Only where re-reservations count.
    ReservedAgain {
        /// The ask.
        ask: AskId,
        /// The node.
        node: NodeId,
    },
    /// A container is being stopped: it stays on its node and charged until its end is confirmed or the
    /// [timeout](EngineConfig::stop_timeout_ms) passes.
    ContainerStopping {
        /// The container.
        container: ContainerId,
        /// The cause of its later end.
        cause: EndCause,
    },
    /// A container ended.
    ContainerEnded {
        /// The container.
        container: ContainerId,
        /// The cause.
        cause: EndCause,
    },
    /// A queue got other limits.
    QueueUpdated {
        /// The queue.
        queue: QueueId,
        /// The update.
        update: Box<QueueUpdate>,
    },
    /// The queue tree or the queues' configuration changed.
    Reconfigured {
        /// The new configuration.
        configuration: Box<Reconfiguration>,
    },
    /// An auto-created queue was removed some time after its last use.
    QueueExpired {
        /// The queue.
        queue: QueueId,
    },
    /// A reservation on a node was dropped because it was too old.
    ReservationExpired {
        /// The reservation.
        reservation: ReservationId,
    },
    /// A commit request was accepted.
    Committed {
        /// The applied request.
        request: ResourceAllocationCommitRequest,
    },
    /// A caller named a rack that no node is on yet.
    RackNamed {
        /// The number of the rack.
        rack: RackId,
        /// Its name.
        name: Box<str>,
    },
}

/// The description of a node that registers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSpec {
    /// Host name; unique among registered nodes.
    pub name: String,
    /// Name of its rack.
    pub rack: String,
    /// Its partition.
    pub partition: PartitionId,
    /// Its capacity. The device type is set from `devices` and can be omitted.
    pub capacity: Resources,
    /// The number of its devices (GPUs).
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

    /// All of its devices, in thousandths of a device.
    pub(crate) fn devices_milli(&self) -> i64 {
        i64::from(self.devices) * i64::from(DEVICE_MILLI)
    }

    /// The same node with one more attribute.
    #[must_use]
    pub fn with_attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.insert(name.into(), value.into());
        self
    }
}

/// The description of an application that is submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationSpec {
    /// A name for people; need not be unique.
    pub name: String,
    /// The requested queue: the full path of a leaf. With placement rules, they interpret it, and it may be empty.
    pub queue: String,
    /// The user to whom it is charged.
    pub user: String,
    /// The groups of the user, the primary one first, for access lists, group limits and placement rules.
    pub groups: Vec<String>,
    /// The properties that placement rules may test, by name.
    pub tags: BTreeMap<String, String>,
    /// The highest is served first within the leaf. `None`: the leaf's default.
    pub priority: Option<u32>,
    /// The container that runs it. `None`: it needs nothing from the leaf's share for masters.
    pub master: Option<Master>,
    /// How long it may live. `None`: the queue's default.
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

    /// The same application, for a user in these groups, the primary one first.
    #[must_use]
    pub fn in_groups(mut self, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.groups.extend(groups.into_iter().map(Into::into));
        self
    }

    /// The same application with one more tag.
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

    /// The same application, which the engine ends this long after its submission if it still exists.
    #[must_use]
    pub fn with_lifetime_ms(mut self, lifetime_ms: u64) -> Self {
        self.lifetime_ms = Some(lifetime_ms);
        self
    }

    /// The same application, run by a container of this size in this partition. If the leaf has a
    /// [`master_share`](crate::config::QueueConfig::master_share), the application waits until the share has room for
    /// it. The application asks for the container itself as for any other.
    #[must_use]
    pub fn with_master(mut self, size: Resources, partition: PartitionId) -> Self {
        self.master = Some(Master { size, partition });
        self
    }
}
