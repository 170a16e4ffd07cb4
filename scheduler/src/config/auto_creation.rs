//! Queues made on demand: created when an application names them, removed when they have been empty for some time.

use serde::{Deserialize, Serialize};

use super::{Capacity, Factor, QueueConfig};

/// Settings of a queue below which applications may name queues that do not exist yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AutoCreation {
    /// The most levels of created queues.
    pub depth_max: u32,
    /// The most created queues at a time, on all levels together.
    pub queues_max: u32,
    /// How long a created queue stays without applications and without queues below it; `None`: for ever.
    pub expiry_ms: Option<u64>,
    /// Settings of created leaves; the application gives their name.
    pub leaf: QueueConfig,
    /// Settings of created parents, the queues above the leaf.
    pub parent: QueueConfig,
}

impl Default for AutoCreation {
    /// YARN's defaults: two levels, 1,000 queues that stay for five minutes, equal weights, and no user limit below
    /// the queue's maximum.
    fn default() -> Self {
        let equal = QueueConfig::leaf("", Capacity::Weight(Factor::ONE)).with_user_limit_factor(None);
        Self { depth_max: 2, queues_max: 1_000, expiry_ms: Some(300_000), leaf: equal.clone(), parent: equal }
    }
}
