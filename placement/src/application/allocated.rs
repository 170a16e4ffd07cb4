//! Handles allocated containers (spec 1.9): finds the request that each one answers, and keeps or releases
//! it.

use std::cmp::Reverse;
use std::sync::Arc;

use super::outstanding::OutstandingRequest;
use super::{AllocationOutcome, ApplicationState, Operation};
use crate::client::{Allocation, ContainerRef};
use crate::component::ComponentId;
use crate::history::{InstanceState, component_of};

impl ApplicationState {
    pub(super) fn containers_allocated(&mut self, mut allocations: Vec<Allocation>) {
        allocations.sort_by_cached_key(|came| self.rank(came));
        for came in allocations {
            self.container_allocated(came);
        }
    }

    /// Sorts containers on requested hosts first, so that no other container takes their place. Then sorts
    /// by component, and the most recently used host first.
    fn rank(&self, came: &Allocation) -> (bool, ComponentId, Reverse<u64>) {
        let component = self.component_asked(came);
        let entry = self.fleet.history.entry(&came.host, component);
        let is_placed = entry.is_some_and(|entry| !entry.requested.is_empty());
        (!is_placed, component, Reverse(entry.map_or(0, |entry| entry.last_used_ms)))
    }

    fn component_asked(&self, came: &Allocation) -> ComponentId {
        let asked = came.request.and_then(|request| self.requests.get(request));
        asked.map_or_else(|| component_of(came.priority), |asked| asked.component)
    }

    /// Starts or releases an allocated container. A known container changes nothing. A container without a
    /// request starts if its component is short of one. It then answers the youngest request, which the
    /// review cancels (table 1.18, D3).
    fn container_allocated(&mut self, came: Allocation) {
        if self.fleet.instance(came.container).is_some() || self.leaving.is_surplus(came.container) {
            return;
        }
        let component = self.component_asked(&came);
        let answered = self.requests.answered_by(component, &came);
        let answered = answered.and_then(|request| self.requests.forget(request, &mut self.fleet));
        if let Some(answered) = answered.as_ref().filter(|_| came.request.is_none()) {
            self.operations.push(Operation::Cancel(answered.id()));
            self.ask_again_for_served(answered, &came);
        }
        if let Some(action) = answered.as_ref().and_then(|answered| answered.action) {
            self.place_found(action, came);
            return;
        }
        if !self.is_wanted(component, &came.host) || (answered.is_none() && !self.would_do(component, &came))
        {
            if let Some(known) = self.fleet.component_mut(component) {
                known.counters.surplus += 1;
            }
            self.give_back(came.container, None);
            return;
        }
        self.take_on(component, came, answered.as_ref());
    }

    /// Releases a container that no known component owns. `orphan_of` names its component if the service does not know
    /// it.
    pub(super) fn give_back(&mut self, container: ContainerRef, orphan_of: Option<ComponentId>) {
        self.leaving.add_surplus(container, orphan_of);
        self.operations.push(Operation::Release(container));
        self.look_after_end(container, self.settings.stop_timeout_ms);
    }

    /// Reissues a request that the manager considers served. The container answered the request for its
    /// host, but its priority shows that the manager served another request. That one still waits here.
    fn ask_again_for_served(&mut self, answered: &OutstandingRequest, came: &Allocation) {
        if answered.request.priority == came.priority {
            return;
        }
        let served = self.requests.open_for(answered.component, came);
        if let Some(served) = served {
            self.requests.reissue(served, |_| {}, &mut self.fleet, &mut self.operations);
        }
    }

    /// Returns whether the component is short of an instance that may run on the host.
    pub(super) fn is_wanted(&self, component: ComponentId, host: &Arc<str>) -> bool {
        let Some(known) = self.fleet.component(component).filter(|_| !self.is_over()) else { return false };
        known.actual() < known.wanted() && !self.fleet.would_be_together(component, host, None)
    }

    /// Returns whether an unrequested container has a size and label that the component accepts. It may
    /// have been requested before a flex.
    fn would_do(&self, component: ComponentId, came: &Allocation) -> bool {
        let Some(known) = self.fleet.component(component) else { return false };
        let label = known.spec.label.as_deref();
        known.spec.size.within(&came.size)
            && self.fleet.history.node(&came.host).is_none_or(|node| node.has_label(label))
    }

    fn take_on(&mut self, component: ComponentId, came: Allocation, answered: Option<&OutstandingRequest>) {
        let outcome = outcome(&came, answered);
        let container = came.container;
        self.fleet.add(container, InstanceState::Starting, component, came.host, outcome, self.now_ms);
        self.operations.push(Operation::Start { container, component });
        self.action_container_allocated(component, container);
        let Some(known) = self.fleet.component_mut(component) else { return };
        known.counters.unrequested += u64::from(outcome == AllocationOutcome::Unallocated);
        if known.actual() >= known.spec.desired {
            self.requests.cancel_some(component, usize::MAX, &mut self.fleet, &mut self.operations);
        }
    }
}

fn outcome(came: &Allocation, answered: Option<&OutstandingRequest>) -> AllocationOutcome {
    match answered {
        None => AllocationOutcome::Unallocated,
        Some(asked) if asked.host.is_none() => AllocationOutcome::Open,
        Some(asked) if !asked.is_escalated() && asked.host.as_ref() == Some(&came.host) => {
            AllocationOutcome::Placed
        }
        Some(_) => AllocationOutcome::Escalated,
    }
}
