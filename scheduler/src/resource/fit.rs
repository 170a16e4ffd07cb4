//! The only test whether a container fits on a node. Proposers and the committer both call it. `fits_common` gives its
//! answer for a room that is stored in short form.

use serde::{Deserialize, Serialize};

use super::vector::CommonAmounts;
use super::{DeviceMask, DeviceNeed, Devices, Resources};

/// The resources and devices that one container needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Need {
    /// The amounts charged to node, queue and user. Its device type equals `devices` summed.
    pub resources: Resources,
    /// The devices, if any.
    pub devices: Option<DeviceNeed>,
}

/// The resources and devices left on a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// Capacity minus allocated; negative if the node shrank below its use.
    pub free: Resources,
    /// Free thousandths device by device.
    pub devices: Devices,
}

impl Room {
    /// The room of an empty node.
    #[must_use]
    pub fn empty_node(capacity: Resources, devices: u8) -> Self {
        Self { free: capacity, devices: Devices::new(devices) }
    }

    /// Takes what a container needs from a planned room. If its devices do not fit, no devices are left.
    pub(crate) fn take(&mut self, need: &Need) {
        self.free -= need.resources;
        let Some(need) = need.devices else { return };
        match self.devices.choose(need) {
            Some(mask) => self.devices.take(mask, need.milli),
            None => self.devices = Devices::NONE,
        }
    }

    /// Adds to a planned room what a container that holds these devices gives back.
    pub(crate) fn give(&mut self, need: &Need, devices: DeviceMask) {
        self.free += need.resources;
        if let Some(need) = need.devices {
            self.devices.give(devices, need.milli);
        }
    }
}

/// Whether `need` fits into `room`.
///
/// Types that the container does not need are ignored. So a node that shrank below its use can still take
/// containers of other types.
#[inline]
#[must_use]
pub fn fits(need: &Need, room: &Room) -> bool {
    Resources::ZERO.can_grow(&need.resources, &room.free)
        && need.devices.is_none_or(|devices| room.devices.can_hold(devices))
}

/// Whether `need` fits into a room without devices, where only common types have free amounts.
#[inline]
pub(crate) fn fits_common(need: &Need, free: CommonAmounts) -> bool {
    match (need.devices, need.resources.to_common()) {
        (None, Some(need)) => (0..free.len()).all(|i| need[i] <= 0 || need[i] <= free[i]),
        _ => fits_common_slowly(need, free),
    }
}

// Not inlined, so that no `Room` is made for most needs.
#[inline(never)]
fn fits_common_slowly(need: &Need, free: CommonAmounts) -> bool {
    fits(need, &Room { free: Resources::from_common(free), devices: Devices::NONE })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_room_of_common_types_fits_as_any_room(
            size in proptest::collection::vec(-1..3i64, 0..4),
            free in proptest::array::uniform2(-1..3i64),
            has_devices: bool,
        ) {
            let devices = has_devices.then_some(DeviceNeed { count: 1, milli: 1 });
            let need = Need { resources: Resources::new(&size), devices };
            let room = Room { free: Resources::new(&free), devices: Devices::NONE };
            prop_assert_eq!(fits_common(&need, free), fits(&need, &room));
        }
    }

    #[test]
    fn every_type_must_fit_and_devices_one_by_one() {
        let mut room = Room::empty_node(Resources::new(&[100, 8, 2000]), 2);
        room.devices.take(room.devices.choose(DeviceNeed { count: 2, milli: 600 }).unwrap(), 600);
        room.free -= Resources::new(&[0, 0, 1200]);
        let need = |memory, gpu: Option<DeviceNeed>| Need {
            resources: Resources::new(&[memory, 1, gpu.map_or(0, |g| g.total_milli())]),
            devices: gpu,
        };
        assert!(fits(&need(100, None), &room));
        assert!(!fits(&need(101, None), &room));
        assert!(fits(&need(1, Some(DeviceNeed { count: 1, milli: 400 })), &room));
        let half = DeviceNeed { count: 1, milli: 500 };
        assert!(!fits(&need(1, Some(half)), &room), "800 milli are free, but not 500 on one device");
    }
}
