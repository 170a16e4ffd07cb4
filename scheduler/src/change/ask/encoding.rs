//! The encoding of asks.
//!
//! A log that an older program began goes on in the present format. So in binary formats an ask has the same bytes as
//! before. The execution type is a bit of the byte that marks asks for masters.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::AskSpec;
use crate::facts::{AskTags, AttributeRule, ExecutionType, LocalityPreference};
use crate::ids::PartitionId;
use crate::resource::{DeviceNeed, Resources};

const MASTER: u8 = 1;
const OPPORTUNISTIC: u8 = 2;

/// An ask as it is written.
#[derive(Serialize)]
struct Written<'a> {
    size: &'a Resources,
    devices: &'a Option<DeviceNeed>,
    count: u32,
    priority: u32,
    partition: Option<PartitionId>,
    preference: &'a LocalityPreference,
    rule: &'a Option<Box<AttributeRule>>,
    tags: &'a Option<Box<AskTags>>,
    flags: u8,
    allocation_request_id: u64,
}

/// An ask as it is read.
#[derive(Deserialize)]
struct Read {
    size: Resources,
    devices: Option<DeviceNeed>,
    count: u32,
    priority: u32,
    partition: Option<PartitionId>,
    preference: LocalityPreference,
    rule: Option<Box<AttributeRule>>,
    tags: Option<Box<AskTags>>,
    flags: u8,
    allocation_request_id: u64,
}

impl AskSpec {
    /// The byte for these two fields.
    #[inline]
    pub(crate) fn flags(is_master: bool, execution_type: ExecutionType) -> u8 {
        (u8::from(is_master) * MASTER) | (execution_type as u8 * OPPORTUNISTIC)
    }
}

impl Serialize for AskSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return Self::serialize(self, serializer);
        }
        let written = Written {
            size: &self.size,
            devices: &self.devices,
            count: self.count,
            priority: self.priority,
            partition: self.partition,
            preference: &self.preference,
            rule: &self.rule,
            tags: &self.tags,
            flags: Self::flags(self.is_master, self.execution_type),
            allocation_request_id: self.allocation_request_id,
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AskSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return Self::deserialize(deserializer);
        }
        let read = Read::deserialize(deserializer)?;
        let execution_type = match read.flags & !MASTER {
            0 => ExecutionType::Guaranteed,
            OPPORTUNISTIC => ExecutionType::Opportunistic,
            _ => return Err(D::Error::custom("an ask has unknown flags")),
        };
        Ok(Self {
            size: read.size,
            devices: read.devices,
            count: read.count,
            priority: read.priority,
            partition: read.partition,
            preference: read.preference,
            rule: read.rule,
            tags: read.tags,
            is_master: read.flags & MASTER != 0,
            allocation_request_id: read.allocation_request_id,
            execution_type,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{NodeId, SlotId};

    #[test]
    fn an_ask_is_read_as_it_was_written() {
        let plain = AskSpec::new(Resources::new(&[5, 0, 7]), 3).with_priority(9);
        let rich = plain.clone().on_hosts([NodeId::new(3, 1)]).with_tag("web");
        let opportunistic = rich.clone().opportunistic();
        let master = opportunistic.clone().as_master();
        for spec in [plain.clone(), plain.clone().as_master(), rich, opportunistic, master] {
            let bytes = postcard::to_allocvec(&spec).unwrap();
            assert_eq!(postcard::from_bytes::<AskSpec>(&bytes), Ok(spec));
        }
        let mut bytes = postcard::to_allocvec(&plain).unwrap();
        let flags = bytes.len() - 2;
        assert_eq!(bytes[flags..], [0, 0], "as older programs wrote it");
        bytes[flags] = 4;
        assert!(postcard::from_bytes::<AskSpec>(&bytes).is_err());
    }
}
