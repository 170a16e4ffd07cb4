//! Hosts that the service avoids: the manager's blacklist.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Operation;
use crate::history::RoleHistory;

/// The hosts that were excluded, and the blacklist that follows from these and from unreliable hosts.
#[derive(Clone, Debug, Default)]
pub(super) struct Blacklist {
    /// Hosts that an operator or a client excluded.
    excluded: BTreeSet<Arc<str>>,
    /// Hosts on the blacklist that the manager has.
    listed: BTreeSet<Arc<str>>,
}

impl Blacklist {
    pub(super) fn is_excluded(&self, host: &Arc<str>) -> bool {
        self.excluded.contains(host)
    }

    /// Excludes these hosts, and only these.
    pub(super) fn exclude(&mut self, hosts: BTreeSet<Arc<str>>, history: &mut RoleHistory) {
        for host in self.excluded.symmetric_difference(&hosts) {
            history.transition_excluded(host, hosts.contains(host));
        }
        self.excluded = hosts;
    }

    /// Updates the manager's blacklist if the unreliable or excluded hosts changed.
    pub(super) fn review(&mut self, history: &RoleHistory, operations: &mut Vec<Operation>) {
        let shunned = || history.unreliable().union(&self.excluded);
        if shunned().eq(&self.listed) {
            return;
        }
        let shunned: BTreeSet<Arc<str>> = shunned().cloned().collect();
        let add: Vec<Arc<str>> = shunned.difference(&self.listed).cloned().collect();
        let remove: Vec<Arc<str>> = self.listed.difference(&shunned).cloned().collect();
        self.listed = shunned;
        operations.push(Operation::UpdateBlacklist { add, remove });
    }
}
