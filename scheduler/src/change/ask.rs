//! Asks, as applications submit them.

use serde::{Deserialize, Serialize};

use crate::facts::{AskTags, AttributeRule, LocalityPreference, TagLimit};
use crate::ids::{NodeId, PartitionId, RackId};
use crate::resource::{DeviceNeed, Resources};

/// A request for containers of one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskSpec {
    /// The size of one container. The type that counts devices is set from `devices` and can be left out.
    pub size: Resources,
    /// Devices of one container.
    pub devices: Option<DeviceNeed>,
    /// How many containers, at least 1.
    pub count: u32,
    /// Lower is served first within the application, as in YARN.
    pub priority: u32,
    /// The partition whose nodes will do; `None`: the default partition of the application's leaf.
    pub partition: Option<PartitionId>,
    /// Hosts and racks it would like.
    pub preference: LocalityPreference,
    /// A hard condition on the node's attributes.
    pub rule: Option<Box<AttributeRule>>,
    /// What its containers are called, and how many of what name may be where they are.
    pub tags: Option<Box<AskTags>>,
    /// Its containers run their application: they are on nodes of their own partition only, whoever lends others.
    pub is_master: bool,
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
        }
    }

    /// The same ask with devices for each container.
    #[must_use]
    pub fn with_devices(mut self, devices: DeviceNeed) -> Self {
        self.devices = Some(devices);
        self
    }

    /// The devices of one container in thousandths of one.
    pub(crate) fn devices_milli(&self) -> i64 {
        self.devices.map_or(0, |need| need.total_milli())
    }

    /// The same ask with this priority.
    #[must_use]
    pub fn with_priority(mut self, priority: u32) -> Self {
        self.priority = priority;
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

    /// The same ask, which takes nothing but the hosts and racks it names.
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

    /// The same ask for what runs its application, which borrows no nodes
    /// (`capacity-scheduler.md` 1.3, "AM label").
    #[must_use]
    pub fn as_master(mut self) -> Self {
        self.is_master = true;
        self
    }

    /// The same ask with a hard limit on containers with a tag; all limits hold.
    #[must_use]
    pub fn with_tag_limit(mut self, limit: TagLimit) -> Self {
        self.tags.get_or_insert_default().limits.push(limit);
        self
    }
}
