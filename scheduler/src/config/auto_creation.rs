//! Queues made on demand: created when an application names them, removed when they have been empty for a while.

use serde::{Deserialize, Serialize};

use super::{Capacity, Factor, QueueConfig};

/// Below a queue that has this, applications may name queues that are not there (`capacity-scheduler.md` 1.6,
/// auto-creation v2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AutoCreation {
    /// How many levels of queues may be made below.
    pub depth_max: u32,
    /// How many there may be at a time, on all levels together.
    pub queues_max: u32,
    /// For how long one stays that has no application and no queue below it; `None`: for ever.
    pub expiry_ms: Option<u64>,
    /// Settings of created leaves; the application gives their name.
    pub leaf: QueueConfig,
    /// Settings of the queues created above them.
    pub parent: QueueConfig,
}

impl Default for AutoCreation {
    /// As YARN: two levels, 1,000 queues that stay for five minutes, equal weights, and no limit of users below the
    /// queue's maximum.
    fn default() -> Self {
        let equal = QueueConfig::leaf("", Capacity::Weight(Factor::ONE)).with_user_limit_factor(None);
        Self { depth_max: 2, queues_max: 1_000, expiry_ms: Some(300_000), leaf: equal.clone(), parent: equal }
    }
}
