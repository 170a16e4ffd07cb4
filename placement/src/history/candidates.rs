//! Hosts that a component would return to, most recently used first (the seed's "available nodes").

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Candidate hosts in order of preference. The list follows from the node map. Hosts are never popped, so
/// none is missing or listed twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidates {
    order: BTreeSet<(Reverse<u64>, Arc<str>)>,
    listed: BTreeMap<Arc<str>, u64>,
    /// Increases with every host that becomes a candidate.
    gained: u64,
}

impl Candidates {
    /// Makes a host a candidate with this last use, or removes it (`None`).
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

    /// Returns the most recently used host; among equals the first by name.
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
