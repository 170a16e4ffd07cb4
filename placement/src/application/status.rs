//! The status of the service as a value.

use std::sync::Arc;

use apportion::Resources;

use super::ApplicationState;
use super::audit::{Audit, Inconsistency};
use super::component::Component;
use super::explain::Explainer;
use crate::client::{ContainerRef, Launch, RequestId, Unserved};
use crate::component::ComponentId;
use crate::history::InstanceState;
use crate::status::{ComponentStatus, ContainerStatus, ServiceStatus};

impl ApplicationState {
    /// Recounts everything. Each finding is a defect of this crate, whatever the manager did.
    #[must_use]
    pub fn audit(&self) -> Vec<Inconsistency> {
        Audit::of(self)
    }

    /// Returns the status of the service. `explain` returns the cluster manager's explanation of a request.
    #[must_use]
    pub fn status(&self, now_ms: u64, explain: &dyn Fn(RequestId) -> Option<Unserved>) -> ServiceStatus {
        ServiceStatus {
            now_ms,
            components: self.components().collect(),
            outstanding: Explainer { state: self, manager: explain, now_ms }.outstanding(),
            failure: self.failure.clone(),
            containers_at_restart: self.containers_at_restart,
            refused_budgets: None,
        }
    }

    /// Returns the status of a component; `None` if the id is unknown.
    #[must_use]
    pub fn component(&self, component: ComponentId) -> Option<ComponentStatus> {
        self.fleet.component(component).map(|known| self.component_status(known))
    }

    /// Returns the status of each component in the order of ids.
    pub fn components(&self) -> impl Iterator<Item = ComponentStatus> + '_ {
        self.fleet.components.iter().map(|known| self.component_status(known))
    }

    fn component_status(&self, known: &Component) -> ComponentStatus {
        let spec = &known.spec;
        let count = |state| known.census.count(state);
        ComponentStatus {
            name: spec.name.clone(),
            group: spec.group.clone(),
            id: spec.id,
            policy: spec.policy,
            desired: spec.desired,
            actual: known.actual(),
            starting: count(InstanceState::Starting),
            live: known.live(),
            reserved: count(InstanceState::Reserved),
            releasing: known.census.leaving(),
            requested: self.requests.count(spec.id),
            pending_anti_affine: known.pending_anti_affine,
            is_given_up: known.is_given_up,
            counters: known.counters,
        }
    }

    /// Returns the service's containers in the order of ids, without surplus ones.
    pub fn containers(&self) -> impl Iterator<Item = ContainerStatus> + '_ {
        self.fleet.instances().filter_map(|(container, _)| self.container(container))
    }

    /// Returns the first container of a component that is not being released.
    #[must_use]
    pub fn container_of(&self, component: ComponentId) -> Option<ContainerRef> {
        self.fleet.container_of(component)
    }

    /// Returns the host of a component's container.
    #[must_use]
    pub fn host_of(&self, container: ContainerRef) -> Option<Arc<str>> {
        self.fleet.instance(container).map(|instance| instance.host.clone())
    }

    /// Returns whether a component has containers, including releasing ones and those of an earlier
    /// component with its id.
    #[must_use]
    pub fn has_containers(&self, component: ComponentId) -> bool {
        self.leaving.has_orphan_of(component)
            || self.fleet.component(component).is_some_and(|known| known.census.total() > 0)
    }

    /// Returns whether a component failed too often, while the service runs on without it.
    #[must_use]
    pub fn is_given_up(&self, component: ComponentId) -> bool {
        self.fleet.component(component).is_some_and(|known| known.is_given_up)
    }

    /// Returns the containers on a host, with their components.
    pub fn containers_on(&self, host: &str) -> impl Iterator<Item = (ContainerRef, ComponentId)> + '_ {
        let entries = self.fleet.history.node(host).into_iter().flat_map(|node| node.entries.iter());
        entries.flat_map(|(component, entry)| entry.instances.iter().map(|(found, _)| (found, *component)))
    }

    /// Returns whether the host accepts containers of the component, given room.
    pub(crate) fn is_taken_by(&self, component: ComponentId, host: &str) -> bool {
        self.fleet.takes(component, host)
    }

    /// Returns whether an empty host with the component's label could hold a container of this size; true
    /// while no host is reported.
    pub(crate) fn could_hold(&self, component: ComponentId, size: &Resources) -> bool {
        self.fleet.could_hold(component, size)
    }

    /// Returns whether the host was ever reported or used.
    #[must_use]
    pub fn knows_host(&self, host: &str) -> bool {
        self.fleet.history.node(host).is_some()
    }

    /// Counts the instances that should run but do not.
    #[must_use]
    pub fn missing(&self) -> u64 {
        let missing = |known: &Component| known.spec.desired.saturating_sub(known.live());
        self.fleet.components.iter().map(|known| u64::from(missing(known))).sum()
    }

    /// Counts the same without components that were given up.
    #[must_use]
    pub fn down(&self) -> u64 {
        self.fleet.components.down()
    }

    /// Counts the missing instances of one component.
    pub(crate) fn down_of(&self, component: ComponentId) -> u64 {
        self.fleet.component(component).map_or(0, Component::count_down)
    }

    /// Counts queued and active placement actions.
    #[must_use]
    pub fn action_count(&self) -> usize {
        self.actions.len()
    }

    /// Counts the active actions of a component, without actions that wait for another action to end.
    #[must_use]
    pub fn actions_on(&self, component: ComponentId) -> usize {
        self.actions.running_on(component)
    }

    /// Returns what to launch in a container of a component.
    pub(crate) fn launch(&self, container: ContainerRef, component: ComponentId) -> Launch {
        let known = self.fleet.component(component);
        let instance = self.fleet.instance(container);
        Launch {
            component: known.map(|known| known.spec.name.clone()).unwrap_or_default(),
            version: instance.map(|instance| instance.version.clone()).unwrap_or_default(),
        }
    }

    /// Returns the status of one container.
    #[must_use]
    pub fn container(&self, container: ContainerRef) -> Option<ContainerStatus> {
        let instance = self.fleet.instance(container)?;
        let known = self.fleet.component(instance.component)?;
        Some(ContainerStatus {
            container,
            component: known.spec.name.clone(),
            host: instance.host.to_string(),
            state: known.census.state(container)?,
            outcome: instance.outcome,
            version: instance.version.clone(),
            came_ms: instance.came_ms,
            started_ms: instance.started_ms,
        })
    }
}
