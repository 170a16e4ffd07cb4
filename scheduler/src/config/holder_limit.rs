//! Limits of users and groups in a queue, in amounts.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::QueueConfig;
use crate::resource::{RESOURCE_TYPES_MAX, ResourceTypes, Resources, UNLIMITED};

/// The name that stands for all who are not named.
pub(crate) const EVERYBODY_ELSE: &str = "*";

/// The limit of each of these users and groups in a queue and all below it (`peers.md` 1.1,
/// user/group limits). It holds in each partition by itself.
///
/// A user has the limit that names it, or else that of `*`, by itself. An application counts for one group: looking
/// from the leaf up, the first that any limit of the queue names, in their order, of those that its user is in; or else
/// `*` if any queue on the way up has a limit for it. All who count for a group share what it may have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderLimit {
    /// Names of users; `*`: any other.
    pub users: Vec<String>,
    /// Names of groups; `*`: all who are in no group that a limit names.
    pub groups: Vec<String>,
    /// The limit for containers and reservations together; `None` stands for a type without a limit.
    pub maximum: [Option<i64>; RESOURCE_TYPES_MAX],
    /// How many applications may be active at a time; `None`: any number. One more waits.
    pub parallel: Option<u32>,
}

impl HolderLimit {
    /// The amounts, without any bound where there is no limit.
    pub(crate) fn amounts(&self) -> Resources {
        Resources::new(&self.maximum.map(|most| most.unwrap_or(UNLIMITED)))
    }

    fn names_user(&self, user: &str) -> bool {
        self.users.iter().any(|name| name == user)
    }

    fn names_group(&self, group: &str) -> bool {
        self.groups.iter().any(|name| name == group)
    }
}

impl QueueConfig {
    /// The limit of the user.
    pub(crate) fn limit_of_user(&self, user: &str) -> Option<&HolderLimit> {
        let naming = |name: &str| self.limits.iter().find(|limit| limit.names_user(name));
        naming(user).or_else(|| naming(EVERYBODY_ELSE))
    }

    /// The limit that names the group.
    pub(crate) fn limit_of_group(&self, group: &str) -> Option<&HolderLimit> {
        self.limits.iter().find(|limit| limit.names_group(group))
    }

    /// The first of the groups that a limit names.
    pub(crate) fn first_limited_group(&self, groups: &[String]) -> Option<&str> {
        let mut named = self.limits.iter().flat_map(|limit| &limit.groups).map(String::as_str);
        named.find(|name| *name != EVERYBODY_ELSE && groups.iter().any(|group| group == name))
    }
}

/// Checks that each limit has an amount and a holder, and that no holder has two.
pub(super) fn check_limits(types: &ResourceTypes, limits: &[HolderLimit]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for limit in limits {
        let HolderLimit { users, groups, maximum, parallel } = limit;
        if users.is_empty() && groups.is_empty() {
            return Err("a limit names neither users nor groups".to_owned());
        }
        for (kind, name) in
            users.iter().map(|name| ("user", name)).chain(groups.iter().map(|name| ("group", name)))
        {
            if name.is_empty() {
                return Err(format!("a limit is for a {kind} without a name"));
            }
            if !seen.insert((kind, name)) {
                return Err(format!("{kind} `{name}` has two limits"));
            }
        }
        if parallel.is_none() && maximum.iter().all(Option::is_none) {
            return Err("a limit limits neither amounts nor applications".to_owned());
        }
        let amounts = Resources::new(&maximum.map(|most| most.unwrap_or(0)));
        types.check(&amounts).map_err(|error| format!("a limit of users or groups: {error}"))?;
    }
    Ok(())
}
