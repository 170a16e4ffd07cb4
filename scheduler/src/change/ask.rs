//! Descriptions of asks that applications submit.

mod encoding;

use serde::{Deserialize, Serialize};

use crate::facts::{AskTags, AttributeRule, ExecutionType, LocalityPreference, TagLimit};
use crate::ids::{NodeId, PartitionId, RackId};
use crate::resource::{DeviceNeed, Resources};

/// A request for containers of one size.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct AskSpec {
    /// The size of one container. The device type is set from `devices` and can be omitted.
    pub size: Resources,
    /// Devices of one container.
    pub devices: Option<DeviceNeed>,
    /// The number of containers, at least 1.
    pub count: u32,
    /// The lowest number is served first within the application, as in YARN.
    pub priority: u32,
    /// The partition of its containers. `None`: the default partition of the application's leaf.
    pub partition: Option<PartitionId>,
    /// Hosts and racks that it prefers.
    pub preference: LocalityPreference,
    /// A hard condition on the node's attributes.
    pub rule: Option<Box<AttributeRule>>,
    /// The tags of its containers, and its limits on tagged containers in the same place.
    pub tags: Option<Box<AskTags>>,
    /// Whether its containers run their application. Such containers use only nodes of their own partition, not
    /// borrowed ones.
    pub is_master: bool,
    /// The caller's own number for the ask, such as the index of its task. The engine only passes it on: to events,
    /// views and the log, with the ask's containers, too. As YARN's `allocationRequestId`.
    pub allocation_request_id: u64,
    /// Whether its containers are guaranteed their size, or [opportunistic](Self::opportunistic).
    #[serde(default)]
    pub execution_type: ExecutionType,
}

impl AskSpec {
    /// An ask for `count` containers of this size on any node of the leaf's default partition, priority 0.
    #[must_use]
    pub fn new(size: Resources, count: u32) -> Self {
        Self {
            size,
            devices: None,
            count,
            priority: 0,
            partition: None,
            preference: LocalityPreference { relax_locality: true, ..LocalityPreference::default() },
            rule: None,
            tags: None,
            is_master: false,
            allocation_request_id: 0,
            execution_type: ExecutionType::Guaranteed,
        }
    }

    /// The same ask with devices for each container.
    #[must_use]
    pub fn with_devices(mut self, devices: DeviceNeed) -> Self {
        self.devices = Some(devices);
        self
    }

    /// The devices of one container, in thousandths of a device.
    pub(crate) fn devices_milli(&self) -> i64 {
        self.devices.map_or(0, |need| need.total_milli())
    }

    /// The same ask with this priority.
    #[must_use]
    pub fn with_priority(mut self, priority: u32) -> Self {
        self.priority = priority;
        self
    }

    /// The same ask under this number of the caller.
    #[must_use]
    pub fn with_allocation_request(mut self, id: u64) -> Self {
        self.allocation_request_id = id;
        self
    }

    /// The same ask for nodes of this partition.
    #[must_use]
    pub fn in_partition(mut self, partition: PartitionId) -> Self {
        self.partition = Some(partition);
        self
    }

    /// The same ask, preferring these hosts. Their racks come next unless other racks are named.
    #[must_use]
    pub fn on_hosts(mut self, hosts: impl IntoIterator<Item = NodeId>) -> Self {
        self.preference.hosts.extend(hosts);
        self
    }

    /// The same ask, preferring these racks.
    #[must_use]
    pub fn on_racks(mut self, racks: impl IntoIterator<Item = RackId>) -> Self {
        self.preference.racks.extend(racks);
        self
    }

    /// The same ask, which accepts only the hosts and racks that it names.
    #[must_use]
    pub fn strictly_local(mut self) -> Self {
        self.preference.relax_locality = false;
        self
    }

    /// The same ask with a hard condition on the node's attributes.
    #[must_use]
    pub fn with_rule(mut self, rule: AttributeRule) -> Self {
        self.rule = Some(Box::new(rule));
        self
    }

    /// The same ask, for containers with this tag.
    #[must_use]
    pub fn with_tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.get_or_insert_default().names.push(tag.into());
        self
    }

    /// The same ask, for the container that runs its application, which borrows no nodes.
    #[must_use]
    pub fn as_master(mut self) -> Self {
        self.is_master = true;
        self
    }

    /// The same ask, for opportunistic containers. They wait in the queues of nodes, run on room that guaranteed
    /// containers leave, and end when these need it. Their sizes count against no limit of a queue or a user; only
    /// devices do, from the start of a container on. The engine must have a
    /// [policy](crate::config::EngineConfig::opportunistic) for them.
    #[must_use]
    pub fn opportunistic(mut self) -> Self {
        self.execution_type = ExecutionType::Opportunistic;
        self
    }

    /// The same ask with one more hard limit on tagged containers; all limits must hold.
    #[must_use]
    pub fn with_tag_limit(mut self, limit: TagLimit) -> Self {
        self.tags.get_or_insert_default().limits.push(limit);
        self
    }
}
