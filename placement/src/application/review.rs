//! The desired numbers: flexing changes them (spec 1.16), and the review compares the containers with them
//! (1.5).

use super::ApplicationState;
use super::component::Component;
use super::fleet::ComponentInstance;
use crate::client::ContainerRef;
use crate::component::{ComponentId, ComponentSpec, PlacementPolicy};

impl ApplicationState {
    /// Requests missing containers and releases surplus ones of changed components. A second review in a
    /// row does nothing.
    pub(super) fn review(&mut self) {
        if !self.is_over() {
            self.fleet.components.update_health(self.started_ms, self.now_ms);
            self.failure = self.fleet.components.failure(self.now_ms);
        }
        if self.is_over() {
            self.keep_history_as_it_is();
            self.give_everything_back();
            for component in self.fleet.components.take_touched() {
                self.fleet.components.recount_down(component);
            }
            return;
        }
        self.blacklist.review(&self.fleet.history, &mut self.operations);
        if self.fleet.asks_one_by_one {
            // Any component may have got an acceptable host.
            self.fleet.components.touch_all();
        }
        if self.requests.are_lists_stale(&mut self.fleet) {
            self.actions.relist(&mut self.fleet, &mut self.requests, &mut self.operations);
        }
        loop {
            let touched = self.fleet.components.take_touched();
            if touched.is_empty() {
                return;
            }
            for component in &touched {
                self.review_component(*component);
                self.fleet.components.recount_down(*component);
            }
            for component in touched {
                self.begin_actions(component);
            }
        }
    }

    fn review_component(&mut self, component: ComponentId) {
        self.requests.refresh(component, &mut self.fleet, &mut self.operations);
        let requested = self.requests.count(component);
        let delta = self.fleet.component(component).map_or(0, |known| known.delta(requested));
        let delta = if delta > 0 && self.waits_for_standby(component) { 0 } else { delta };
        let delta =
            self.fleet.component_mut(component).map_or(delta, |known| known.due_of(delta, self.now_ms));
        let is_one_by_one = self.fleet.is_one_by_one(component);
        if delta < 0 {
            self.shrink(component, delta.unsigned_abs());
        } else if !is_one_by_one {
            for _ in 0..delta {
                self.requests.ask(component, &mut self.fleet, self.now_ms, &mut self.operations);
            }
        } else if delta > 0 && self.requests.count(component) == 0 {
            self.requests.ask_apart(component, &mut self.fleet, self.now_ms, &mut self.operations);
        }
        let (lists_hosts, requested) = (self.fleet.lists_hosts(component), self.requests.count(component));
        if let Some(known) = self.fleet.component_mut(component) {
            let pending = if lists_hosts { known.unasked(requested).max(0) } else { 0 };
            known.pending_anti_affine = u32::try_from(pending).unwrap_or(u32::MAX);
        }
    }

    /// Cancels requests first, then releases containers.
    fn shrink(&mut self, component: ComponentId, excess: u64) {
        let excess = usize::try_from(excess).unwrap_or(usize::MAX);
        let cancelled = self.requests.cancel_some(component, excess, &mut self.fleet, &mut self.operations);
        for container in self.fleet.choose_released(component, excess - cancelled) {
            self.release(container);
        }
    }

    /// Returns whether a flex to these components would change anything.
    #[must_use]
    pub fn would_change(&self, components: &[ComponentSpec]) -> bool {
        let is_new =
            |spec: &ComponentSpec| self.fleet.component(spec.id).is_none_or(|known| known.spec != *spec);
        let is_left_out = |known: &Component| {
            known.spec.desired > 0 && components.iter().all(|spec| spec.id != known.spec.id)
        };
        components.iter().any(is_new) || self.fleet.components.iter().any(is_left_out)
    }

    /// Adds or replaces one component; the others stay.
    pub(super) fn change(&mut self, spec: ComponentSpec) {
        let (id, after) = (spec.id, spec.clone());
        let before = self.fleet.declare(spec);
        let Some(before) = before.filter(|before| asks_differently(before, &after)) else { return };
        self.requests.cancel_some(id, usize::MAX, &mut self.fleet, &mut self.operations);
        if before.policy != after.policy || before.name != after.name || before.apart_from != after.apart_from
        {
            self.separate(id);
        }
    }

    /// Separates instances that started before they had to be apart. The manager does not keep those apart.
    /// An instance too near to another is released, the newest first.
    fn separate(&mut self, component: ComponentId) {
        let Some(known) = self.fleet.component_mut(component) else { return };
        let containers: Vec<ContainerRef> = known.census.iter().map(|(container, _)| container).collect();
        known.untagged.extend(&containers);
        for container in containers.into_iter().rev() {
            let instance = self.fleet.instance(container).filter(|_| self.fleet.is_held(container));
            let is_beside = |instance: &ComponentInstance| {
                self.fleet.is_beside_a_held_one(component, &instance.host, container)
            };
            if instance.is_some_and(is_beside) {
                self.release(container);
            }
        }
    }

    /// Shrinks components that are left out to 0 instances; they stay known. Forgets recent failures.
    pub(super) fn flex(&mut self, components: Vec<ComponentSpec>) {
        self.fleet.components.shrink_all_but(&components);
        for spec in components {
            self.change(spec);
        }
        self.fleet.reset_failures();
    }
}

/// Returns whether requests made for one specification do not suit the other.
fn asks_differently(before: &ComponentSpec, after: &ComponentSpec) -> bool {
    before.size != after.size
        || before.label != after.label
        || before.policy != after.policy
        || before.apart_from != after.apart_from
        || before.disruption.is_some() != after.disruption.is_some()
        || (before.name != after.name && after.policy == PlacementPolicy::AntiAffinity)
}
