//! Released containers that have not ended: surplus ones, and the times by which ends have to be reported.

use std::collections::{BTreeMap, BTreeSet};

use crate::client::ContainerRef;
use crate::component::ComponentId;

/// Containers whose end is awaited. A container has one due time.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaving {
    /// Containers that were surplus when they came. Some run an instance of a component that the service
    /// does not know.
    surplus: BTreeMap<ContainerRef, Option<ComponentId>>,
    due: BTreeSet<(u64, ContainerRef)>,
    due_of: BTreeMap<ContainerRef, u64>,
}

impl Leaving {
    /// Adds a surplus container. It may run an instance of a component that the service does not know.
    pub(super) fn add_surplus(&mut self, container: ContainerRef, orphan_of: Option<ComponentId>) {
        self.surplus.insert(container, orphan_of);
    }

    pub(super) fn is_surplus(&self, container: ContainerRef) -> bool {
        self.surplus.contains_key(&container)
    }

    pub(super) fn surplus_count(&self) -> usize {
        self.surplus.len()
    }

    /// Returns whether a surplus container runs an instance of this unknown component.
    pub(super) fn has_orphan_of(&self, component: ComponentId) -> bool {
        self.surplus.values().any(|orphan_of| *orphan_of == Some(component))
    }

    pub(super) fn expect_end(&mut self, container: ContainerRef, by_ms: u64) {
        self.forget_due(container);
        self.due.insert((by_ms, container));
        self.due_of.insert(container, by_ms);
    }

    pub(super) fn ended(&mut self, container: ContainerRef) {
        self.surplus.remove(&container);
        self.forget_due(container);
    }

    /// Takes the containers whose end is overdue.
    pub(super) fn take_late(&mut self, now_ms: u64) -> Vec<ContainerRef> {
        let late = self.due.iter().take_while(|(due_ms, _)| *due_ms <= now_ms);
        let late: Vec<ContainerRef> = late.map(|(_, container)| *container).collect();
        for container in &late {
            self.forget_due(*container);
        }
        late
    }

    pub(super) fn next_ms(&self) -> Option<u64> {
        self.due.first().map(|(due_ms, _)| *due_ms)
    }

    fn forget_due(&mut self, container: ContainerRef) {
        if let Some(due_ms) = self.due_of.remove(&container) {
            self.due.remove(&(due_ms, container));
        }
    }
}
