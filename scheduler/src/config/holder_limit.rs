//! Limits of users and groups in a queue, in amounts.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::QueueConfig;
use crate::resource::{RESOURCE_TYPES_MAX, ResourceTypes, Resources, UNLIMITED};

/// The name in a limit that stands for every user or group not named.
pub(crate) const EVERYBODY_ELSE: &str = "*";

/// The limit of each of these users and groups in a queue and below. It holds in each partition separately.
///
/// A user has the limit that names it, else the limit of `*`. An application counts for one group. The engine looks
/// from the leaf up and takes the first group of the user that a limit names, in the order of the limits. If none
/// is named, it takes `*` if any queue on the way up has a limit for it. All applications that count for a group
/// share its limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderLimit {
    /// Names of users; `*`: every user not named.
    pub users: Vec<String>,
    /// Names of groups; `*`: users who are in no named group.
    pub groups: Vec<String>,
    /// The limit for containers plus reservations; `None`: the type has no limit.
    pub maximum: [Option<i64>; RESOURCE_TYPES_MAX],
    /// The most active applications at a time; `None`: no limit. An application above the limit waits.
    pub parallel: Option<u32>,
}

impl HolderLimit {
    /// The amounts; `UNLIMITED` for types without a limit.
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

    /// The first of `groups` that a limit names, in the order of the limits.
    pub(crate) fn first_limited_group(&self, groups: &[String]) -> Option<&str> {
        let mut named = self.limits.iter().flat_map(|limit| &limit.groups).map(String::as_str);
        named.find(|name| *name != EVERYBODY_ELSE && groups.iter().any(|group| group == name))
    }
}

/// Checks that each limit has a holder and an amount, and that no holder has two limits.
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
                return Err(format!("a limit names a {kind} with an empty name"));
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
