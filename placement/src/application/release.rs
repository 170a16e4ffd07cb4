//! Releases containers and cancels requests: surplus ones (table 1.18, D11), one, or all.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ApplicationState, Operation};
use crate::client::ContainerRef;
use crate::component::ComponentId;
use crate::history::InstanceState;

impl ApplicationState {
    /// Cancels up to `most` requests, those without a host first, the oldest first of each kind. Returns
    /// how many.
    pub(super) fn cancel_requests(
        &mut self,
        component: ComponentId,
        most: usize,
        operations: &mut Vec<Operation>,
    ) -> usize {
        let (placed, open): (Vec<_>, Vec<_>) = self
            .outstanding
            .of(component)
            .map(|outstanding| (outstanding.host.is_some(), outstanding.id()))
            .partition(|(is_placed, _)| *is_placed);
        let chosen: Vec<_> = open.into_iter().chain(placed).take(most).map(|(_, id)| id).collect();
        for request in &chosen {
            self.cancel_request(*request, operations);
        }
        chosen.len()
    }

    /// Chooses containers to release: from hosts with most instances of the component, the newest first.
    pub(super) fn choose_released(&self, component: ComponentId, most: usize) -> Vec<ContainerRef> {
        let Some(known) = self.components.get(&component).filter(|_| most > 0) else { return Vec::new() };
        let mut held: Vec<(u64, ContainerRef, &Arc<str>)> = Vec::new();
        for (container, state) in known.census.iter() {
            if let Some(instance) = self.instances.get(&container).filter(|_| state.is_held()) {
                held.push((instance.came_ms, container, &instance.host));
            }
        }
        held.sort_unstable();
        let mut before_on_host: BTreeMap<&Arc<str>, u32> = BTreeMap::new();
        let mut ranked = Vec::with_capacity(held.len());
        for (came_ms, container, host) in held {
            let older = before_on_host.entry(host).or_default();
            ranked.push((Reverse(*older), Reverse(came_ms), Reverse(container)));
            *older += 1;
        }
        ranked.sort_unstable();
        ranked.into_iter().take(most).map(|(_, _, Reverse(container))| container).collect()
    }

    /// Cancels all requests and releases all containers, because the service is over.
    pub(super) fn give_everything_back(&mut self, operations: &mut Vec<Operation>) {
        self.end_actions(operations);
        let components: Vec<ComponentId> = self.components.keys().copied().collect();
        for component in components {
            self.cancel_requests(component, usize::MAX, operations);
            if let Some(known) = self.components.get_mut(&component) {
                known.pending_anti_affine = 0;
            }
        }
        let containers: Vec<_> = self.instances.keys().copied().collect();
        for container in containers {
            self.release(container, operations);
        }
    }

    /// Releases a container, unless it is being released already.
    pub(super) fn release(&mut self, container: ContainerRef, operations: &mut Vec<Operation>) {
        if self.transition_releasing(container) {
            operations.push(Operation::Release(container));
            self.action_container_released(container, operations);
        }
    }

    /// Marks a container as releasing. Returns whether it was held before.
    pub(super) fn transition_releasing(&mut self, container: ContainerRef) -> bool {
        let is_held = self.instance_state(container).is_some_and(InstanceState::is_held);
        if is_held {
            self.transition_instance(container, InstanceState::Releasing);
            self.look_after_end(container, self.settings.stop_timeout_ms);
        }
        is_held
    }
}
