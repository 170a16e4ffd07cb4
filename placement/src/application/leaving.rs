//! Released containers, and the times by which their ends have to be reported.

use std::collections::{BTreeMap, BTreeSet};

use crate::client::ContainerRef;

/// The time of the next release of each container. A container has one entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaving {
    due: BTreeSet<(u64, ContainerRef)>,
    due_of: BTreeMap<ContainerRef, u64>,
}

impl Leaving {
    pub(super) fn expect_end(&mut self, container: ContainerRef, by_ms: u64) {
        self.ended(container);
        self.due.insert((by_ms, container));
        self.due_of.insert(container, by_ms);
    }

    pub(super) fn ended(&mut self, container: ContainerRef) {
        if let Some(due_ms) = self.due_of.remove(&container) {
            self.due.remove(&(due_ms, container));
        }
    }

    /// Takes the containers whose end is overdue.
    pub(super) fn take_late(&mut self, now_ms: u64) -> Vec<ContainerRef> {
        let late = self.due.iter().take_while(|(due_ms, _)| *due_ms <= now_ms);
        let late: Vec<ContainerRef> = late.map(|(_, container)| *container).collect();
        for container in &late {
            self.ended(*container);
        }
        late
    }

    pub(super) fn next_ms(&self) -> Option<u64> {
        self.due.first().map(|(due_ms, _)| *due_ms)
    }
}
