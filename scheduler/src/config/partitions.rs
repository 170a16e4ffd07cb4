//! Access of queues to partitions, and their capacity in each.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Capacity, Maximum, QueueConfig};

/// The guarantee and the maximum of a queue in one partition, if they differ from the queue's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionCapacity {
    /// Guaranteed capacity there; `None`: the queue's own.
    pub capacity: Option<Capacity>,
    /// Maximum capacity there; `None`: the queue's own.
    pub maximum: Option<Maximum>,
}

/// The partitions that a queue may use in addition to the default one, which every queue may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartitionAccess {
    /// All of them.
    All,
    /// The partitions with these names.
    Only(BTreeSet<String>),
}

impl PartitionAccess {
    /// Whether the queue may use the partition with this name; the default partition has the empty name.
    #[must_use]
    pub fn includes(&self, partition: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => partition.is_empty() || names.contains(partition),
        }
    }
}

impl QueueConfig {
    /// The configured guarantee in a partition, if the queue may use it.
    #[must_use]
    pub fn capacity_in(&self, partition: &str) -> Capacity {
        self.partitions.get(partition).and_then(|own| own.capacity).unwrap_or(self.capacity)
    }

    /// The configured maximum in a partition, if the queue may use it.
    #[must_use]
    pub fn maximum_in(&self, partition: &str) -> Maximum {
        self.partitions.get(partition).and_then(|own| own.maximum).unwrap_or(self.maximum)
    }

    /// Whether the queue's own list excludes a partition. Without a list, the queues above decide.
    #[must_use]
    pub fn is_kept_from(&self, partition: &str) -> bool {
        self.accessible_partitions.as_ref().is_some_and(|access| !access.includes(partition))
    }
}
