//! Handles allocated containers (spec 1.9): finds the request that each one answers, and keeps or releases
//! it.

use std::cmp::Reverse;
use std::sync::Arc;

use super::{AllocationOutcome, ApplicationState, ComponentInstance, Operation};
use crate::client::{Allocation, ContainerRef};
use crate::component::ComponentId;
use crate::history::{InstanceState, OutstandingRequest, component_of};

impl ApplicationState {
    pub(super) fn containers_allocated(
        &mut self,
        mut allocations: Vec<Allocation>,
        operations: &mut Vec<Operation>,
    ) {
        allocations.sort_by_cached_key(|came| self.rank(came));
        for came in allocations {
            self.container_allocated(came, operations);
        }
    }

    /// Sorts containers on requested hosts first, so that no other container takes their place. Then sorts
    /// by component, and the most recently used host first.
    fn rank(&self, came: &Allocation) -> (bool, ComponentId, Reverse<u64>) {
        let component = self.component_asked(came);
        let entry = self.history.entry(&came.host, component);
        let is_placed = entry.is_some_and(|entry| !entry.requested.is_empty());
        (!is_placed, component, Reverse(entry.map_or(0, |entry| entry.last_used_ms)))
    }

    fn component_asked(&self, came: &Allocation) -> ComponentId {
        let asked = came.request.and_then(|request| self.outstanding.get(request));
        asked.map_or_else(|| component_of(came.priority), |asked| asked.component)
    }

    /// Starts or releases an allocated container. A known container changes nothing. A container without a
    /// request starts if its component is short of one. It then answers the youngest request, which the
    /// review cancels (table 1.18, D3).
    fn container_allocated(&mut self, came: Allocation, operations: &mut Vec<Operation>) {
        if self.instances.contains_key(&came.container) || self.surplus.contains(&came.container) {
            return;
        }
        let component = self.component_asked(&came);
        let answered = self.outstanding.answered_by(component, &came);
        let answered = answered.and_then(|request| self.forget_request(request));
        if let Some(answered) = answered.as_ref().filter(|_| came.request.is_none()) {
            operations.push(Operation::Cancel(answered.id()));
            self.ask_again_for_served(answered, &came, operations);
        }
        if let Some(action) = answered.as_ref().and_then(|answered| answered.action) {
            self.place_found(action, came, operations);
            return;
        }
        if !self.is_wanted(component, &came.host) || (answered.is_none() && !self.would_do(component, &came))
        {
            if let Some(known) = self.components.get_mut(&component) {
                known.counters.surplus += 1;
            }
            self.give_back(came.container, operations);
            return;
        }
        self.take_on(component, came, answered.as_ref(), operations);
    }

    /// Releases a container that belongs to no component.
    pub(super) fn give_back(&mut self, container: ContainerRef, operations: &mut Vec<Operation>) {
        self.surplus.insert(container);
        operations.push(Operation::Release(container));
        self.look_after_end(container, self.settings.stop_timeout_ms);
    }

    /// Reissues a request that the manager considers served. The container answered the request for its
    /// host, but its priority shows that the manager served another request. That one still waits here.
    fn ask_again_for_served(
        &mut self,
        answered: &OutstandingRequest,
        came: &Allocation,
        operations: &mut Vec<Operation>,
    ) {
        if answered.request.priority == came.priority {
            return;
        }
        let served = self.outstanding.open_for(answered.component, came);
        if let Some(served) = served {
            self.reissue(served, |_| {}, operations);
        }
    }

    /// Returns whether the component is short of an instance that may run on the host.
    pub(super) fn is_wanted(&self, component: ComponentId, host: &Arc<str>) -> bool {
        let Some(known) = self.components.get(&component).filter(|_| !self.is_over()) else { return false };
        known.actual() < known.wanted() && !self.would_be_together(component, host, None)
    }

    /// Returns whether an unrequested container has a size and label that the component accepts. It may
    /// have been requested before a flex.
    fn would_do(&self, component: ComponentId, came: &Allocation) -> bool {
        let Some(known) = self.components.get(&component) else { return false };
        let label = known.spec.label.as_deref();
        known.spec.size.within(&came.size)
            && self.history.node(&came.host).is_none_or(|node| node.has_label(label))
    }

    /// Returns the version that a container gets when it starts now.
    pub(super) fn version_of(&self, component: ComponentId) -> String {
        self.components.get(&component).map(|known| known.spec.version.clone()).unwrap_or_default()
    }

    /// Returns the back-off generation of an instance that comes now.
    pub(super) fn generation_of(&self, component: ComponentId) -> u32 {
        self.components.get(&component).map_or(0, |known| known.back_off.generation())
    }

    fn take_on(
        &mut self,
        component: ComponentId,
        came: Allocation,
        answered: Option<&OutstandingRequest>,
        operations: &mut Vec<Operation>,
    ) {
        let outcome = outcome(&came, answered);
        let version = self.version_of(component);
        let (container, host) = (came.container, came.host);
        let instance = ComponentInstance {
            component,
            host,
            came_ms: self.now_ms,
            started_ms: None,
            outcome,
            racks_version: self.history.racks_version(),
            version,
            generation: self.generation_of(component),
            is_killed: false,
            has_caught_up: false,
        };
        self.instances.insert(container, instance);
        self.transition_instance(container, InstanceState::Starting);
        operations.push(Operation::Start { container, component });
        self.action_container_allocated(component, container);
        let Some(known) = self.components.get_mut(&component) else { return };
        known.counters.unrequested += u64::from(outcome == AllocationOutcome::Unallocated);
        if known.actual() >= known.spec.desired {
            self.cancel_requests(component, usize::MAX, operations);
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
