//! Hosts that a component would be asked back to, most recently used first (the seed's "available nodes").

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Hosts in the order in which they are asked. Follows from the node map; nothing is popped off it, so nothing is ever
/// missing from it or in it twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidates {
    order: BTreeSet<(Reverse<u64>, Arc<str>)>,
    listed: BTreeMap<Arc<str>, u64>,
    /// Moves with every host that comes onto the list.
    gained: u64,
}

impl Candidates {
    /// The host was last used then and may be asked, or may not.
    pub(crate) fn set(&mut self, host: &Arc<str>, last_used_ms: Option<u64>) {
        let before = match last_used_ms {
            Some(last_used_ms) => self.listed.insert(host.clone(), last_used_ms),
            None => self.listed.remove(host),
        };
        if before == last_used_ms {
            return;
        }
        if let Some(before) = before {
            self.order.remove(&(Reverse(before), host.clone()));
        }
        if let Some(last_used_ms) = last_used_ms {
            self.order.insert((Reverse(last_used_ms), host.clone()));
            self.gained += u64::from(before.is_none());
        }
    }

    /// The host used last; among equals the first by name.
    pub(crate) fn first(&self) -> Option<&Arc<str>> {
        self.order.first().map(|(_, host)| host)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        self.order.iter().map(|(_, host)| host)
    }

    pub(crate) fn gained(&self) -> u64 {
        self.gained
    }
}
