//! The policy for nodes' queues of opportunistic containers.

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// How nodes queue opportunistic containers.
///
/// An [opportunistic ask](crate::AskSpec::opportunistic) counts against no limit of a queue or a user. The engine puts
/// each of its containers into the queue of a node. The container starts when the node has room that neither
/// guaranteed containers nor earlier opportunistic ones use. When guaranteed containers need the room, running
/// opportunistic ones end, the latest start first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpportunisticPolicy {
    /// The most containers that wait in the queue of one node; at least 1.
    pub queue_length_max: u32,
}

/// YARN's longest queue.
impl Default for OpportunisticPolicy {
    fn default() -> Self {
        Self { queue_length_max: 15 }
    }
}

pub(super) fn check(policy: OpportunisticPolicy) -> Result<(), ConfigError> {
    if policy.queue_length_max > 0 {
        return Ok(());
    }
    let problem = "must be at least 1: each opportunistic container goes through a queue".to_owned();
    Err(ConfigError::Value { key: "engine.opportunistic.queue_length_max", problem })
}
