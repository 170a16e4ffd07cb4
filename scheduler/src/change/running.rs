//! Containers that a node reports because they ran before the engine did.

use serde::{Deserialize, Serialize};

use crate::ids::ApplicationId;
use crate::resource::{DeviceNeed, Resources};

/// A container that runs on a node and that the engine does not know yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningContainer {
    /// The application that owns it.
    pub application: ApplicationId,
    /// Its size. The device type is set from `devices` and can be omitted.
    pub size: Resources,
    /// Its devices.
    pub devices: Option<DeviceNeed>,
    /// Its tags, for limits on tagged containers.
    pub tags: Vec<String>,
    /// The priority of the ask for which it was placed.
    pub priority: u32,
    /// The [number](super::AskSpec::allocation_request_id) that the caller gave that ask.
    pub allocation_request_id: u64,
}

impl RunningContainer {
    /// A container without devices or tags.
    #[must_use]
    pub fn new(application: ApplicationId, size: Resources) -> Self {
        Self { application, size, devices: None, tags: Vec::new(), priority: 0, allocation_request_id: 0 }
    }

    /// The same container with devices.
    #[must_use]
    pub fn with_devices(mut self, devices: DeviceNeed) -> Self {
        self.devices = Some(devices);
        self
    }

    /// The same container with one more tag.
    #[must_use]
    pub fn with_tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// The same container, for an ask of this priority.
    #[must_use]
    pub fn with_priority(mut self, priority: u32) -> Self {
        self.priority = priority;
        self
    }

    /// The same container, for an ask with this number of the caller.
    #[must_use]
    pub fn with_allocation_request(mut self, id: u64) -> Self {
        self.allocation_request_id = id;
        self
    }

    /// Its devices, in thousandths of a device.
    pub(crate) fn devices_milli(&self) -> i64 {
        self.devices.map_or(0, |need| need.total_milli())
    }
}
