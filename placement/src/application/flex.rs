//! Flexing: new numbers of instances, or new components (spec 1.16).

use super::{ApplicationState, Component, Operation};
use crate::client::ContainerRef;
use crate::component::{ComponentId, ComponentSpec, PlacementPolicy};
use crate::history::InstanceState;

impl ApplicationState {
    /// Returns whether a flex to these components would change anything.
    #[must_use]
    pub fn would_change(&self, components: &[ComponentSpec]) -> bool {
        let is_new =
            |spec: &ComponentSpec| self.components.get(&spec.id).is_none_or(|known| known.spec != *spec);
        let is_left_out = |known: &Component| {
            known.spec.desired > 0 && components.iter().all(|spec| spec.id != known.spec.id)
        };
        components.iter().any(is_new) || self.components.values().any(is_left_out)
    }

    /// Adds or replaces one component; the others stay.
    pub(super) fn change(&mut self, spec: ComponentSpec, operations: &mut Vec<Operation>) {
        let (id, after) = (spec.id, spec.clone());
        let before = self.declare(spec);
        let Some(before) = before.filter(|before| asks_differently(before, &after)) else { return };
        self.cancel_requests(id, usize::MAX, operations);
        if before.policy != after.policy || before.name != after.name || before.apart_from != after.apart_from
        {
            self.separate(id, operations);
        }
    }

    /// Separates instances that started before they had to be apart. The manager does not keep those apart.
    /// An instance too near to another is released, the newest first.
    fn separate(&mut self, component: ComponentId, operations: &mut Vec<Operation>) {
        let Some(known) = self.components.get_mut(&component) else { return };
        let containers: Vec<ContainerRef> = known.census.iter().map(|(container, _)| container).collect();
        known.untagged.extend(&containers);
        for container in containers.into_iter().rev() {
            let host = self.instances.get(&container).map(|instance| instance.host.clone());
            let is_held = self.instance_state(container).is_some_and(InstanceState::is_held);
            let is_near = host.is_some_and(|host| self.is_beside_a_held_one(component, &host, container));
            if is_held && is_near {
                self.release(container, operations);
            }
        }
    }

    /// Shrinks components that are left out to 0 instances; they stay known. Forgets recent failures.
    pub(super) fn flex(&mut self, components: Vec<ComponentSpec>, operations: &mut Vec<Operation>) {
        for known in self.components.values_mut() {
            if components.iter().all(|spec| spec.id != known.spec.id) {
                known.spec.desired = 0;
                self.touched.insert(known.spec.id);
            }
        }
        for spec in components {
            self.change(spec, operations);
        }
        self.reset_failures();
    }
}

/// Returns whether requests made for one specification do not suit the other.
fn asks_differently(before: &ComponentSpec, after: &ComponentSpec) -> bool {
    before.size != after.size
        || before.label != after.label
        || before.policy != after.policy
        || before.apart_from != after.apart_from
        || (before.name != after.name && after.policy == PlacementPolicy::AntiAffinity)
}
