//! Containers start, fail, end (spec 1.11), and are released.

use super::fleet::ComponentInstance;
use super::{ApplicationState, Operation};
use crate::client::ContainerRef;
use crate::component::ComponentId;
use crate::exit::{ContainerExit, ContainerOutcome};
use crate::history::InstanceState;

impl ApplicationState {
    /// Marks a starting container as live. A container in any other state stays as it is.
    pub(super) fn container_started(&mut self, container: ContainerRef) {
        if self.fleet.state(container) != Some(InstanceState::Starting) {
            return;
        }
        self.fleet.transition(container, InstanceState::Live);
        let Some(instance) = self.fleet.instance_mut(container) else { return };
        instance.started_ms = Some(self.now_ms);
        let component = instance.component;
        if let Some(known) = self.fleet.component_mut(component) {
            known.counters.started += 1;
        }
        self.fleet.placed(component);
        self.action_container_started(container);
    }

    /// Counts a failed start. It does not count again when the container ends (table 1.18, D21).
    pub(super) fn container_start_failed(&mut self, container: ContainerRef, diagnostics: String) {
        if self.fleet.state(container) != Some(InstanceState::Starting) {
            return;
        }
        self.fleet.transition(container, InstanceState::StartFailed);
        self.operations.push(Operation::Release(container));
        self.look_after_end(container, self.settings.stop_timeout_ms);
        let Some(instance) = self.fleet.instance(container).cloned() else { return };
        self.fleet.count_failure(&instance, true, diagnostics, self.now_ms);
        self.fleet.lose_place(instance.component);
        self.action_container_ended(instance.component, container, InstanceState::Starting);
    }

    /// Watches a released container. If its end is not reported in time, or the stop failed, the service
    /// releases it again. The manager then reports an end that was missed.
    pub(super) fn look_after_end(&mut self, container: ContainerRef, within_ms: u64) {
        if self.is_unwanted(container) {
            self.leaving.expect_end(container, self.now_ms.saturating_add(within_ms));
        }
    }

    pub(super) fn stop_again(&mut self) {
        for container in self.leaving.take_late(self.now_ms) {
            if self.is_unwanted(container) {
                self.operations.push(Operation::Release(container));
                self.look_after_end(container, self.settings.stop_timeout_ms.max(1));
                self.place_stays_taken(container);
            }
        }
    }

    /// Returns whether the container was released and has not ended.
    fn is_unwanted(&self, container: ContainerRef) -> bool {
        let state = self.fleet.state(container);
        self.leaving.is_surplus(container)
            || matches!(state, Some(InstanceState::Releasing | InstanceState::StartFailed))
    }

    pub(super) fn kill_container(&mut self, container: ContainerRef) {
        if let Some(instance) = self.fleet.instance_mut(container) {
            instance.is_killed = true;
        }
        self.release(container);
    }

    pub(super) fn container_completed(&mut self, container: ContainerRef, exit: &ContainerExit) {
        self.leaving.ended(container);
        let Some(state) = self.fleet.state(container) else { return };
        let Some(instance) = self.fleet.instance(container).cloned() else { return };
        let is_trusted = match state {
            InstanceState::Releasing => self.ended_as_planned(&instance),
            InstanceState::StartFailed | InstanceState::Reserved => false,
            InstanceState::Starting | InstanceState::Live => self.ended_by_itself(&instance, exit),
        };
        let known = self.fleet.component_mut(instance.component);
        let until_ms =
            known.and_then(|known| known.pause_after(state, &instance, exit, &self.settings, self.now_ms));
        if let Some(until_ms) = until_ms {
            self.fleet.components.wake_at(until_ms, instance.component);
        }
        let used_until_ms = (is_trusted && instance.started_ms.is_some()).then_some(self.now_ms);
        self.fleet.remove(container, used_until_ms);
        self.place_is_free(container, &instance);
        self.way_is_free(container, instance.component);
        self.action_container_ended(instance.component, container, state);
    }

    /// Counts a planned end. A container killed by an operator counts as failed (table 1.18, D29), but not
    /// against its host.
    fn ended_as_planned(&mut self, instance: &ComponentInstance) -> bool {
        if let Some(known) = self.fleet.component_mut(instance.component) {
            known.counters.failed += u64::from(instance.is_killed);
            known.counters.completed += u64::from(!instance.is_killed);
        }
        true
    }

    /// Counts an unplanned end. Returns whether the component should return to the host.
    fn ended_by_itself(&mut self, instance: &ComponentInstance, exit: &ContainerExit) -> bool {
        let is_short = instance.is_short_lived(&self.settings, self.now_ms);
        if exit.takes_place_away() {
            self.fleet.lose_place(instance.component);
        }
        let Some(known) = self.fleet.component_mut(instance.component) else { return false };
        let counters = &mut known.counters;
        match exit.outcome() {
            ContainerOutcome::Completed => counters.completed += 1,
            ContainerOutcome::Preempted => counters.preempted += 1,
            ContainerOutcome::NodeFailure => {
                counters.failed += 1;
                counters.node_failed += 1;
                self.fleet.history.failed(&instance.host, instance.component, false);
            }
            ContainerOutcome::LimitsExceeded => {
                counters.limits_exceeded += 1;
                known.count_failure(is_short, exit.describe(), self.now_ms);
            }
            ContainerOutcome::Failed => {
                self.fleet.count_failure(instance, is_short, exit.describe(), self.now_ms);
                return !is_short;
            }
        }
        true
    }

    /// Cancels all requests and releases all containers, because the service is over.
    pub(super) fn give_everything_back(&mut self) {
        self.end_actions();
        let components: Vec<ComponentId> = self.fleet.components.ids().collect();
        for component in components {
            self.requests.cancel_some(component, usize::MAX, &mut self.fleet, &mut self.operations);
            if let Some(known) = self.fleet.component_mut(component) {
                known.pending_anti_affine = 0;
            }
        }
        let containers: Vec<_> = self.fleet.instances().map(|(container, _)| container).collect();
        for container in containers {
            self.release(container);
        }
    }

    /// Releases a container, unless it is being released already.
    pub(super) fn release(&mut self, container: ContainerRef) {
        if self.transition_releasing(container) {
            self.operations.push(Operation::Release(container));
            self.action_container_released(container);
        }
    }

    /// Marks a container as releasing. Returns whether it was held before.
    pub(super) fn transition_releasing(&mut self, container: ContainerRef) -> bool {
        let is_held = self.fleet.is_held(container);
        if is_held {
            self.fleet.transition(container, InstanceState::Releasing);
            self.look_after_end(container, self.settings.stop_timeout_ms);
        }
        is_held
    }
}
