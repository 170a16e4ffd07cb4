//! Queues and partitions: the partitions that a queue may use, and its capacity in each.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Capacity, Maximum, QueueConfig};

/// The guarantee and the maximum of a queue in one partition, where they differ from those for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionCapacity {
    /// Guaranteed capacity there; `None`: the queue's own.
    pub capacity: Option<Capacity>,
    /// Maximum capacity there; `None`: the queue's own.
    pub maximum: Option<Maximum>,
}

/// Which partitions a queue may use beside the default one, which everybody may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartitionAccess {
    /// All of them.
    All,
    /// Those with these names.
    Only(BTreeSet<String>),
}

impl PartitionAccess {
    /// Whether the partition with this name is among them; the default one's is empty.
    #[must_use]
    pub fn includes(&self, partition: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => partition.is_empty() || names.contains(partition),
        }
    }
}

impl QueueConfig {
    /// Its configured guarantee in a partition, if it may use that.
    #[must_use]
    pub fn capacity_in(&self, partition: &str) -> Capacity {
        self.partitions.get(partition).and_then(|own| own.capacity).unwrap_or(self.capacity)
    }

    /// Its configured maximum in a partition, if it may use that.
    #[must_use]
    pub fn maximum_in(&self, partition: &str) -> Maximum {
        self.partitions.get(partition).and_then(|own| own.maximum).unwrap_or(self.maximum)
    }

    /// Whether it says that it may not use a partition. If it does not, the queues above may.
    #[must_use]
    pub fn is_kept_from(&self, partition: &str) -> bool {
        self.accessible_partitions.as_ref().is_some_and(|access| !access.includes(partition))
    }
}
