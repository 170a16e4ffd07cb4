//! Expectations in a scenario file. Omitted ones are not checked.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Amounts, GangWanted};

/// All expectations at one moment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct ExpectForm {
    #[serde(default)]
    pub(in crate::scenario) queues: BTreeMap<String, QueueWanted>,
    /// By leaf queue, then by user.
    #[serde(default)]
    pub(in crate::scenario) users: BTreeMap<String, BTreeMap<String, UserWanted>>,
    #[serde(default)]
    pub(in crate::scenario) applications: BTreeMap<String, ApplicationWanted>,
    #[serde(default)]
    pub(in crate::scenario) asks: BTreeMap<String, AskWanted>,
    #[serde(default)]
    pub(in crate::scenario) gangs: BTreeMap<String, GangWanted>,
    /// By name, or by a range of names of nodes with the same expectations.
    #[serde(default)]
    pub(in crate::scenario) nodes: BTreeMap<String, NodeWanted>,
    /// All reservations, in any order.
    pub(in crate::scenario) reservations: Option<Vec<ReservationWanted>>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct QueueWanted {
    #[serde(default)]
    pub(in crate::scenario) partition: String,
    /// Whether the queue exists.
    pub(in crate::scenario) exists: Option<bool>,
    pub(in crate::scenario) used: Option<Amounts>,
    pub(in crate::scenario) reserved: Option<Amounts>,
    pub(in crate::scenario) pending: Option<Amounts>,
    /// The part of `pending` within user limits, and the part of that for which no node is reserved.
    pub(in crate::scenario) pending_within_limits: Option<Amounts>,
    pub(in crate::scenario) unreserved_within_limits: Option<Amounts>,
    pub(in crate::scenario) guaranteed: Option<Amounts>,
    pub(in crate::scenario) maximum: Option<Amounts>,
    pub(in crate::scenario) user_limit: Option<Amounts>,
    pub(in crate::scenario) containers: Option<u64>,
    /// Applications in the queue and below.
    pub(in crate::scenario) applications: Option<u32>,
    /// Those of them that wait for activation.
    pub(in crate::scenario) inactive_applications: Option<u32>,
    /// The queue's priority from the asks pending in it and below.
    pub(in crate::scenario) priority: Option<i32>,
    /// Users with pending asks.
    pub(in crate::scenario) active_users: Option<u32>,
    /// Users with applications, none of which is active.
    pub(in crate::scenario) held_back_users: Option<u32>,
    /// The resources of active applications' masters.
    pub(in crate::scenario) masters: Option<Amounts>,
    pub(in crate::scenario) status: Option<QueueStatusWord>,
}

impl QueueWanted {
    /// Whether a queue that must not exist has further expectations.
    pub(in crate::scenario) fn contradicts_itself(&self) -> bool {
        let is_gone = Self { exists: Some(false), ..Self::default() };
        self.exists == Some(false) && *self != is_gone
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::scenario) enum QueueStatusWord {
    Running,
    /// The queue takes no applications and waits for its present ones.
    Draining,
    Stopped,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct UserWanted {
    #[serde(default)]
    pub(in crate::scenario) partition: String,
    pub(in crate::scenario) used: Option<Amounts>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct ApplicationWanted {
    /// The path of its leaf.
    pub(in crate::scenario) queue: Option<String>,
    /// Running containers.
    pub(in crate::scenario) containers: Option<usize>,
    /// Including reservations.
    pub(in crate::scenario) used: Option<Amounts>,
    pub(in crate::scenario) reserved: Option<Amounts>,
    pub(in crate::scenario) pending: Option<Amounts>,
    /// The amount that it may still get in the default partition.
    pub(in crate::scenario) headroom: Option<Amounts>,
    pub(in crate::scenario) ended: Option<bool>,
    /// Whether its asks may be served.
    pub(in crate::scenario) active: Option<bool>,
    pub(in crate::scenario) priority: Option<u32>,
    /// All events since the last check, in order.
    pub(in crate::scenario) events: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct AskWanted {
    pub(in crate::scenario) running: Option<usize>,
    pub(in crate::scenario) pending: Option<u32>,
    pub(in crate::scenario) reserved: Option<u32>,
    /// Running containers, by node.
    #[serde(default)]
    pub(in crate::scenario) on: BTreeMap<String, usize>,
    /// Nodes offered without success, in the mode that counts them.
    pub(in crate::scenario) missed_opportunities: Option<u32>,
    pub(in crate::scenario) re_reservations: Option<u32>,
    /// Its pending reason.
    pub(in crate::scenario) why: Option<apportion::explain::PendingReason>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct NodeWanted {
    pub(in crate::scenario) used: Option<Amounts>,
    pub(in crate::scenario) free: Option<Amounts>,
    /// The amounts of opportunistic containers on it.
    pub(in crate::scenario) opportunistic: Option<Amounts>,
    /// The number of opportunistic containers in its queue.
    pub(in crate::scenario) queue: Option<usize>,
    pub(in crate::scenario) containers: Option<usize>,
    /// The ask that holds its reservation, or `nobody`.
    pub(in crate::scenario) reserved_by: Option<String>,
    pub(in crate::scenario) state: Option<NodeStateWord>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::scenario) enum NodeStateWord {
    Active,
    Draining,
    /// Silent for too long.
    Stale,
    /// No longer registered.
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct ReservationWanted {
    pub(in crate::scenario) ask: String,
    pub(in crate::scenario) node: String,
}
