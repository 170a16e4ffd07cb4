//! Quantities: vectors, the names of their types, devices, the fit test and shares.

mod amounts;
mod device;
mod fit;
mod share;
mod types;
mod vector;

pub use amounts::Amounts;
pub(crate) use amounts::WithUnit;
pub(crate) use device::DeviceMask;
pub use device::{DEVICE_MILLI, DEVICES_MAX, DeviceNeed, Devices};
pub(crate) use fit::fits_common;
pub use fit::{Need, Room, fits};
pub use share::{SHARE_ONE, dominant_share};
pub(crate) use share::{common_used_share, missing, missing_share, used_share};
pub use types::{ResourceError, ResourceTypes};
pub use vector::{AMOUNT_MAX, RESOURCE_TYPES_MAX, Resources};
pub(crate) use vector::{CommonAmounts, UNLIMITED};
