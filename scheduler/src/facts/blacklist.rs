//! Blacklists: hosts and racks on which an application gets no containers.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Hosts and racks by name. A name counts whether or not a host or rack of that name is registered, so a host that
/// comes back is still blacklisted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Blacklist {
    /// Host names.
    pub hosts: BTreeSet<String>,
    /// Rack names. Every node on such a rack is blacklisted.
    pub racks: BTreeSet<String>,
}

/// A change of an application's blacklist, see [`Handle::update_blacklist`](crate::Handle::update_blacklist).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlacklistUpdate {
    /// Names to add.
    pub add: Blacklist,
    /// Names to remove; a name in both is removed, as in YARN. Names that are not on the list do no harm.
    pub remove: Blacklist,
}

impl Blacklist {
    /// An empty blacklist.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with these hosts.
    #[must_use]
    pub fn with_hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.hosts.extend(hosts.into_iter().map(Into::into));
        self
    }

    /// The same with these racks.
    #[must_use]
    pub fn with_racks<S: Into<String>>(mut self, racks: impl IntoIterator<Item = S>) -> Self {
        self.racks.extend(racks.into_iter().map(Into::into));
        self
    }

    /// Whether the blacklist has no names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.racks.is_empty()
    }

    /// Whether the blacklist names this host or its rack.
    #[must_use]
    pub fn shuns(&self, host: &str, rack: &str) -> bool {
        self.hosts.contains(host) || self.racks.contains(rack)
    }

    /// The list after a change.
    pub(crate) fn updated(&self, update: &BlacklistUpdate) -> Self {
        let BlacklistUpdate { add, remove } = update;
        let names = |old: &BTreeSet<String>, add: &BTreeSet<String>, remove: &BTreeSet<String>| {
            old.union(add).filter(|name| !remove.contains(*name)).cloned().collect()
        };
        Self {
            hosts: names(&self.hosts, &add.hosts, &remove.hosts),
            racks: names(&self.racks, &add.racks, &remove.racks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_added_and_removed_at_once_is_removed() {
        let list = Blacklist::new().with_hosts(["a", "b"]).with_racks(["r"]);
        let update = BlacklistUpdate {
            add: Blacklist::new().with_hosts(["c", "d"]),
            remove: Blacklist::new().with_hosts(["b", "d", "unknown"]).with_racks(["r"]),
        };
        let after = list.updated(&update);
        assert_eq!(after, Blacklist::new().with_hosts(["a", "c"]));
        assert!(after.shuns("a", "r") && !after.shuns("b", "r") && list.shuns("x", "r"));
    }
}
