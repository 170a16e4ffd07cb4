//! The table of queues made on demand, and its templates.

use apportion::ResourceTypes;
use apportion::config::{AutoCreation, QueueConfig};

use super::queues::{KEYS, read_own};
use super::table::Entry;
use crate::ConfigFileError;

/// Keys of configured queues that templates do not have.
const OF_CONFIGURED: [&str; 4] =
    ["auto_creation", "partitions", "accessible_partitions", "default_partition"];

pub(super) fn read(entry: &Entry<'_>, types: &ResourceTypes) -> Result<AutoCreation, ConfigFileError> {
    let section = entry.section()?;
    section.only(&["depth_max", "queues_max", "expiry_ms", "leaf", "parent"])?;
    let AutoCreation { depth_max, queues_max, expiry_ms, leaf, parent } = AutoCreation::default();
    Ok(AutoCreation {
        depth_max: section.read("depth_max", Entry::whole)?.unwrap_or(depth_max),
        queues_max: section.read("queues_max", Entry::whole)?.unwrap_or(queues_max),
        expiry_ms: section.read("expiry_ms", expiry)?.unwrap_or(expiry_ms),
        leaf: section.read("leaf", |entry| template(entry, types, &leaf))?.unwrap_or(leaf),
        parent: section.read("parent", |entry| template(entry, types, &parent))?.unwrap_or(parent),
    })
}

/// Reads milliseconds, or `"never"` as `None`.
fn expiry(entry: &Entry<'_>) -> Result<Option<u64>, ConfigFileError> {
    if entry.value.get_ref().as_str() == Some("never") { Ok(None) } else { entry.whole().map(Some) }
}

fn template(
    entry: &Entry<'_>,
    types: &ResourceTypes,
    default: &QueueConfig,
) -> Result<QueueConfig, ConfigFileError> {
    let section = entry.section()?;
    let keys: Vec<&str> = KEYS.iter().copied().filter(|key| !OF_CONFIGURED.contains(key)).collect();
    section.only(&keys)?;
    let mut queue = default.clone();
    read_own(&section, types, &mut queue)?;
    Ok(queue)
}
