//! What an application in a leaf gets if it wants nothing else, and at most.

use super::QueueTree;
use crate::config::Lifetimes;
use crate::ids::QueueId;

impl QueueTree {
    /// The priority of an application in the leaf: the wanted one or the leaf's default, at most the maximum.
    pub(crate) fn application_priority(&self, wanted: Option<u32>, leaf: QueueId) -> u32 {
        let priority = wanted.unwrap_or(self.queue(leaf).config.default_application_priority);
        self.config.maximum_application_priority.map_or(priority, |maximum| priority.min(maximum))
    }

    /// How long an application in the leaf may live: its own lifetime or else the default, at most the maximum. Default
    /// and maximum are those of the nearest queue, from the leaf up, that sets them.
    pub(crate) fn application_lifetime_ms(&self, wanted_ms: Option<u64>, leaf: QueueId) -> Option<u64> {
        let said = |what: fn(&Lifetimes) -> Option<u64>| {
            self.queue(leaf).chain.iter().rev().find_map(|id| what(&self.queue(*id).config.lifetimes))
        };
        let wanted_ms = wanted_ms.or_else(|| said(|lifetimes| lifetimes.default_ms));
        [wanted_ms, said(|lifetimes| lifetimes.maximum_ms)].into_iter().flatten().min()
    }
}
