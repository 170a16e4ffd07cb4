//! The description of a node.

use serde::{Deserialize, Serialize};

use crate::facts::NodeAttributes;
use crate::ids::PartitionId;
use crate::resource::{DEVICE_MILLI, Resources};

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
