//! Devices (GPUs) that containers take whole or in parts; each has its own free thousandths.
//!
//! A single sum cannot tell whether 500 free thousandths are half of one device or a quarter of each of two. A
//! container that needs half a device fits only on the first.

use serde::{Deserialize, Serialize};

use crate::bits::ones;

/// The most devices of one node.
pub const DEVICES_MAX: usize = 16;
/// Thousandths of one whole device.
pub const DEVICE_MILLI: u16 = 1000;

/// The devices that a container needs: `count` of them, `milli` thousandths of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeviceNeed {
    /// The number of devices, at least 1.
    pub count: u8,
    /// Thousandths of each, from 1 to 1000.
    pub milli: u16,
}

impl DeviceNeed {
    /// Whether a node could ever meet this need.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        (1..=DEVICES_MAX as u8).contains(&self.count) && (1..=DEVICE_MILLI).contains(&self.milli)
    }

    /// The sum in thousandths of a device.
    #[must_use]
    pub fn total_milli(&self) -> i64 {
        i64::from(self.count) * i64::from(self.milli)
    }
}

/// The devices of a node that a container holds, as a bit set by device number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct DeviceMask(u16);

impl DeviceMask {
    /// The device numbers, ascending.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        ones(u64::from(self.0)).map(|device| device as usize)
    }

    /// The number of devices.
    pub(crate) fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The devices of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Devices {
    count: u8,
    free_milli: [u16; DEVICES_MAX],
}

impl Devices {
    /// No devices.
    pub const NONE: Self = Self { count: 0, free_milli: [0; DEVICES_MAX] };

    /// `count` whole free devices, capped at [`DEVICES_MAX`].
    #[must_use]
    pub fn new(count: u8) -> Self {
        let count = count.min(DEVICES_MAX as u8);
        let mut free_milli = [0; DEVICES_MAX];
        free_milli[..usize::from(count)].fill(DEVICE_MILLI);
        Self { count, free_milli }
    }

    /// The number of devices.
    #[must_use]
    pub fn count(&self) -> u8 {
        self.count
    }

    /// Free thousandths by device number.
    #[must_use]
    pub fn free_milli(&self) -> &[u16] {
        &self.free_milli[..usize::from(self.count)]
    }

    /// Whether enough devices have enough free.
    #[must_use]
    pub fn can_hold(&self, need: DeviceNeed) -> bool {
        self.free_milli().iter().filter(|free| **free >= need.milli).count() >= usize::from(need.count)
    }

    /// The devices for a container with `need`: the fullest ones that still have enough, the lowest number first
    /// among equals. This keeps whole devices whole.
    #[must_use]
    pub(crate) fn choose(&self, need: DeviceNeed) -> Option<DeviceMask> {
        let some = self.choose_some(need);
        (some.count() == u32::from(need.count)).then_some(some)
    }

    /// The same, but fewer devices if too few have enough free.
    #[must_use]
    pub(crate) fn choose_some(&self, need: DeviceNeed) -> DeviceMask {
        let mut mask = 0u16;
        for _ in 0..need.count {
            let devices = self.free_milli().iter().enumerate();
            let open = devices.filter(|(device, free)| **free >= need.milli && mask & (1 << device) == 0);
            let Some((device, _)) = open.min_by_key(|(device, free)| (**free, *device)) else { break };
            mask |= 1 << device;
        }
        DeviceMask(mask)
    }

    pub(crate) fn take(&mut self, mask: DeviceMask, milli: u16) {
        for device in mask.iter() {
            debug_assert!(self.free_milli[device] >= milli, "device {device} has too little free");
            self.free_milli[device] -= milli;
        }
    }

    pub(crate) fn give(&mut self, mask: DeviceMask, milli: u16) {
        for device in mask.iter() {
            self.free_milli[device] += milli;
            debug_assert!(self.free_milli[device] <= DEVICE_MILLI, "device {device} has more than a whole");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_quarters_are_not_a_half() {
        let mut devices = Devices::new(2);
        let most = DeviceNeed { count: 2, milli: 750 };
        devices.take(devices.choose(most).unwrap(), most.milli);
        assert_eq!(devices.free_milli(), [250, 250]);
        assert!(!devices.can_hold(DeviceNeed { count: 1, milli: 500 }));
        assert!(devices.can_hold(DeviceNeed { count: 2, milli: 250 }));
    }

    #[test]
    fn shares_go_to_the_fullest_device() {
        let mut devices = Devices::new(3);
        devices.take(DeviceMask(0b010), 400);
        assert_eq!(devices.choose(DeviceNeed { count: 1, milli: 600 }), Some(DeviceMask(0b010)));
        assert_eq!(devices.choose(DeviceNeed { count: 1, milli: 601 }), Some(DeviceMask(0b001)));
        assert_eq!(devices.choose(DeviceNeed { count: 3, milli: 601 }), None);
    }
}
