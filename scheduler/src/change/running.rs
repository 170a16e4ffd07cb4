//! Containers that a node reports because they ran before the engine did.

use serde::{Deserialize, Serialize};

use crate::ids::ApplicationId;
use crate::resource::{DeviceNeed, Resources};

/// A container that runs on a node while the engine does not know of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningContainer {
    /// Whose it is.
    pub application: ApplicationId,
    /// Its size. The type that counts devices is set from `devices` and can be left out.
    pub size: Resources,
    /// Its devices.
    pub devices: Option<DeviceNeed>,
    /// What it is called, for limits on tags.
    pub tags: Vec<String>,
    /// The priority of the request that it answered.
    pub priority: u32,
}

impl RunningContainer {
    /// A container without devices or tags.
    #[must_use]
    pub fn new(application: ApplicationId, size: Resources) -> Self {
        Self { application, size, devices: None, tags: Vec::new(), priority: 0 }
    }

    /// The same container with devices.
    #[must_use]
    pub fn with_devices(mut self, devices: DeviceNeed) -> Self {
        self.devices = Some(devices);
        self
    }

    /// The same container with one tag more.
    #[must_use]
    pub fn with_tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// The same container, which answered a request of this priority.
    #[must_use]
    pub fn with_priority(mut self, priority: u32) -> Self {
        self.priority = priority;
        self
    }

    /// Its devices in thousandths of one.
    pub(crate) fn devices_milli(&self) -> i64 {
        self.devices.map_or(0, |need| need.total_milli())
    }
}
