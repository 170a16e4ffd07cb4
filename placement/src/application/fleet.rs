//! The components, their containers, and the hosts where these run or ran.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::back_off::BackOff;
use super::component::Component;
use super::components::Components;
use super::{AllocationOutcome, ServiceSettings};
use crate::client::ContainerRef;
use crate::component::{ComponentId, ComponentSpec};
use crate::history::{InstanceState, RoleHistory};

/// The containers of a service. A container's state is stored with its component and with its host; only
/// [`transition`](Self::transition) and [`remove`](Self::remove) change it.
#[derive(Clone, Debug, Default)]
pub(super) struct Fleet {
    pub(super) components: Components,
    pub(super) history: RoleHistory,
    instances: BTreeMap<ContainerRef, ComponentInstance>,
    /// Whether the cluster manager keeps no instances apart.
    pub(super) asks_one_by_one: bool,
    pub(super) has_node_reports: bool,
}

/// A container of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ComponentInstance {
    pub(super) component: ComponentId,
    pub(super) host: Arc<str>,
    pub(super) came_ms: u64,
    pub(super) started_ms: Option<u64>,
    pub(super) outcome: AllocationOutcome,
    /// The version of the racks that were known when it came.
    pub(super) racks_version: u64,
    /// The version of the program in it.
    pub(super) version: String,
    /// The back-off generation of its component when it came.
    pub(super) generation: u32,
    /// Whether an operator killed it.
    pub(super) is_killed: bool,
    /// Whether it is a standby that has read all state.
    pub(super) has_caught_up: bool,
}

impl ComponentInstance {
    /// Returns whether it ended, or did not start, within `short_life_ms` of its start.
    pub(super) fn is_short_lived(&self, settings: &ServiceSettings, now_ms: u64) -> bool {
        let lived_ms = self.started_ms.map(|started_ms| now_ms.saturating_sub(started_ms));
        lived_ms.is_none_or(|lived_ms| lived_ms < settings.short_life_ms)
    }
}

impl Fleet {
    /// Adds or replaces a component. Returns its previous specification.
    pub(super) fn declare(&mut self, spec: ComponentSpec) -> Option<ComponentSpec> {
        self.history.declare(&spec);
        self.components.declare(spec)
    }

    pub(super) fn component(&self, component: ComponentId) -> Option<&Component> {
        self.components.get(component)
    }

    pub(super) fn component_mut(&mut self, component: ComponentId) -> Option<&mut Component> {
        self.components.get_mut(component)
    }

    pub(super) fn instance(&self, container: ContainerRef) -> Option<&ComponentInstance> {
        self.instances.get(&container)
    }

    pub(super) fn instance_mut(&mut self, container: ContainerRef) -> Option<&mut ComponentInstance> {
        self.instances.get_mut(&container)
    }

    pub(super) fn instances(&self) -> impl ExactSizeIterator<Item = (ContainerRef, &ComponentInstance)> {
        self.instances.iter().map(|(container, instance)| (*container, instance))
    }

    pub(super) fn state(&self, container: ContainerRef) -> Option<InstanceState> {
        self.component(self.instance(container)?.component)?.census.state(container)
    }

    pub(super) fn is_held(&self, container: ContainerRef) -> bool {
        self.state(container).is_some_and(InstanceState::is_held)
    }

    /// Returns the first held container of a component.
    pub(super) fn container_of(&self, component: ComponentId) -> Option<ContainerRef> {
        let census = &self.component(component)?.census;
        census.iter().find(|(_, state)| state.is_held()).map(|(container, _)| container)
    }

    /// Returns the instances of a component with their containers and states.
    pub(super) fn instances_of(
        &self,
        component: ComponentId,
    ) -> impl Iterator<Item = (ContainerRef, InstanceState, &ComponentInstance)> {
        let containers = self.component(component).into_iter().flat_map(|known| known.census.iter());
        containers.filter_map(|(container, state)| Some((container, state, self.instance(container)?)))
    }

    /// Adds a container that came to the host.
    pub(super) fn add(
        &mut self,
        container: ContainerRef,
        state: InstanceState,
        component: ComponentId,
        host: Arc<str>,
        outcome: AllocationOutcome,
        now_ms: u64,
    ) {
        let known = self.component(component);
        let instance = ComponentInstance {
            component,
            host,
            came_ms: now_ms,
            started_ms: None,
            outcome,
            racks_version: self.history.racks_version(),
            version: known.map(|known| known.spec.version.clone()).unwrap_or_default(),
            generation: known.map_or(0, |known| known.back_off.generation()),
            is_killed: false,
            has_caught_up: false,
        };
        self.instances.insert(container, instance);
        self.transition(container, state);
    }

    /// Changes an instance's state in both places that store it.
    pub(super) fn transition(&mut self, container: ContainerRef, to: InstanceState) {
        let Some(instance) = self.instances.get(&container) else { return };
        let component = instance.component;
        self.history.transition_instance(&instance.host, component, container, to);
        if let Some(known) = self.components.get_mut(component) {
            known.census.put(container, to);
        }
        self.components.touch(component);
    }

    /// Removes an instance that has ended. `used_until_ms` is the last use of its host; `None` if the
    /// instance never ran or failed soon after its start.
    pub(super) fn remove(
        &mut self,
        container: ContainerRef,
        used_until_ms: Option<u64>,
    ) -> Option<ComponentInstance> {
        let instance = self.instances.remove(&container)?;
        let component = instance.component;
        if let Some(known) = self.components.get_mut(component) {
            known.census.remove(container);
            known.has_stale_list |= known.untagged.remove(&container) && known.untagged.is_empty();
        }
        self.components.touch(component);
        self.history.instance_gone(&instance.host, component, container, used_until_ms);
        Some(instance)
    }

    /// Chooses containers to release: from hosts with most instances of the component, the newest first.
    pub(super) fn choose_released(&self, component: ComponentId, most: usize) -> Vec<ContainerRef> {
        if most == 0 {
            return Vec::new();
        }
        let held = self.instances_of(component).filter(|(_, state, _)| state.is_held());
        let mut held: Vec<(u64, ContainerRef, &Arc<str>)> =
            held.map(|(container, _, instance)| (instance.came_ms, container, &instance.host)).collect();
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

    /// Counts a failure of an instance, also against its host.
    pub(super) fn count_failure(
        &mut self,
        instance: &ComponentInstance,
        is_start_failure: bool,
        diagnostics: String,
        now_ms: u64,
    ) {
        self.history.failed(&instance.host, instance.component, is_start_failure);
        if let Some(known) = self.component_mut(instance.component) {
            known.count_failure(is_start_failure, diagnostics, now_ms);
        }
    }

    /// Forgets recent failures of components and hosts, and ends all pauses.
    pub(super) fn reset_failures(&mut self) {
        for known in self.components.iter_mut() {
            known.counters.failed_recently = 0;
            known.back_off = BackOff::default();
        }
        self.end_window();
    }

    /// Ends the failure window of components and hosts.
    pub(super) fn end_window(&mut self) {
        self.components.end_window();
        for component in self.history.shunning_alone() {
            if let Some(known) = self.components.get_mut(component) {
                known.has_stale_list = true;
            }
        }
        self.history.reset_failures();
    }
}
