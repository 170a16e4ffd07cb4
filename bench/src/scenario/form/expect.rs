//! Expectations as they are written. Omitted ones are not checked.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Amounts;

/// What is expected of everything at one moment.
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
    /// By name, or by a range of names of nodes that are all like that.
    #[serde(default)]
    pub(in crate::scenario) nodes: BTreeMap<String, NodeWanted>,
    /// All there are, in any order.
    pub(in crate::scenario) reservations: Option<Vec<ReservationWanted>>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct QueueWanted {
    #[serde(default)]
    pub(in crate::scenario) partition: String,
    /// Whether there is such a queue.
    pub(in crate::scenario) exists: Option<bool>,
    pub(in crate::scenario) used: Option<Amounts>,
    pub(in crate::scenario) reserved: Option<Amounts>,
    pub(in crate::scenario) pending: Option<Amounts>,
    /// Of this what user limits let users have, and of that what no node is reserved for.
    pub(in crate::scenario) pending_within_limits: Option<Amounts>,
    pub(in crate::scenario) unreserved_within_limits: Option<Amounts>,
    pub(in crate::scenario) guaranteed: Option<Amounts>,
    pub(in crate::scenario) maximum: Option<Amounts>,
    pub(in crate::scenario) user_limit: Option<Amounts>,
    pub(in crate::scenario) containers: Option<u64>,
    /// Applications in it and below.
    pub(in crate::scenario) applications: Option<u32>,
    /// Of these, those that wait to be activated.
    pub(in crate::scenario) inactive_applications: Option<u32>,
    /// How urgent what is pending in it and below makes it.
    pub(in crate::scenario) priority: Option<i32>,
    /// Users that want something.
    pub(in crate::scenario) active_users: Option<u32>,
    /// Users with applications, none of which is active.
    pub(in crate::scenario) held_back_users: Option<u32>,
    /// What the masters of active applications need.
    pub(in crate::scenario) masters: Option<Amounts>,
    pub(in crate::scenario) status: Option<QueueStatusWord>,
}

impl QueueWanted {
    /// Whether there is to be no such queue, and yet something of it is expected.
    pub(in crate::scenario) fn contradicts_itself(&self) -> bool {
        let is_gone = Self { exists: Some(false), ..Self::default() };
        self.exists == Some(false) && *self != is_gone
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::scenario) enum QueueStatusWord {
    Running,
    /// It takes no applications and waits for those it has.
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
    /// The path of the leaf it is in.
    pub(in crate::scenario) queue: Option<String>,
    /// Running ones.
    pub(in crate::scenario) containers: Option<usize>,
    /// With what is reserved.
    pub(in crate::scenario) used: Option<Amounts>,
    pub(in crate::scenario) reserved: Option<Amounts>,
    pub(in crate::scenario) pending: Option<Amounts>,
    /// What more it may have in the default partition.
    pub(in crate::scenario) headroom: Option<Amounts>,
    pub(in crate::scenario) ended: Option<bool>,
    /// Its asks may be served.
    pub(in crate::scenario) active: Option<bool>,
    pub(in crate::scenario) priority: Option<u32>,
    /// Everything it was told since the last time somebody looked, in order.
    pub(in crate::scenario) events: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct AskWanted {
    pub(in crate::scenario) running: Option<usize>,
    pub(in crate::scenario) pending: Option<u32>,
    pub(in crate::scenario) reserved: Option<u32>,
    /// Containers that run, by node.
    #[serde(default)]
    pub(in crate::scenario) on: BTreeMap<String, usize>,
    /// Nodes offered in vain, in the mode in which they count.
    pub(in crate::scenario) missed_opportunities: Option<u32>,
    pub(in crate::scenario) re_reservations: Option<u32>,
    /// Why it is pending.
    pub(in crate::scenario) why: Option<apportion::explain::PendingReason>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct NodeWanted {
    pub(in crate::scenario) used: Option<Amounts>,
    pub(in crate::scenario) free: Option<Amounts>,
    /// What opportunistic containers have there.
    pub(in crate::scenario) opportunistic: Option<Amounts>,
    pub(in crate::scenario) containers: Option<usize>,
    /// The ask for which it is reserved, or `nobody`.
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
    /// Not registered any more.
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct ReservationWanted {
    pub(in crate::scenario) ask: String,
    pub(in crate::scenario) node: String,
}
