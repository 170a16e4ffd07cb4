//! Containers start, fail and end (spec 1.11).

use super::{ApplicationState, ComponentInstance, Operation};
use crate::client::ContainerRef;
use crate::exit::{ContainerExit, ContainerOutcome};
use crate::history::InstanceState;

impl ApplicationState {
    /// Marks a starting container as live. A container in any other state stays as it is.
    pub(super) fn container_started(&mut self, container: ContainerRef, operations: &mut Vec<Operation>) {
        if self.instance_state(container) != Some(InstanceState::Starting) {
            return;
        }
        self.transition_instance(container, InstanceState::Live);
        let Some(instance) = self.instances.get_mut(&container) else { return };
        instance.started_ms = Some(self.now_ms);
        if let Some(known) = self.components.get_mut(&instance.component) {
            known.counters.started += 1;
        }
        let component = instance.component;
        self.transition_placed(component);
        self.action_container_started(container, operations);
    }

    /// Counts a failed start. It does not count again when the container ends (table 1.18, D21).
    pub(super) fn container_start_failed(
        &mut self,
        container: ContainerRef,
        diagnostics: String,
        operations: &mut Vec<Operation>,
    ) {
        if self.instance_state(container) != Some(InstanceState::Starting) {
            return;
        }
        self.transition_instance(container, InstanceState::StartFailed);
        operations.push(Operation::Release(container));
        self.look_after_end(container, self.settings.stop_timeout_ms);
        let Some(instance) = self.instances.get(&container).cloned() else { return };
        self.count_failure(&instance, true, diagnostics);
        self.lose_place(instance.component);
        self.action_container_ended(instance.component, container, InstanceState::Starting, operations);
    }

    /// Watches a released container. If its end is not reported in time, or the stop failed, the service
    /// releases it again. The manager then reports an end that was missed.
    pub(super) fn look_after_end(&mut self, container: ContainerRef, within_ms: u64) {
        if self.is_unwanted(container) {
            self.leaving.expect_end(container, self.now_ms.saturating_add(within_ms));
        }
    }

    pub(super) fn stop_again(&mut self, operations: &mut Vec<Operation>) {
        for container in self.leaving.take_late(self.now_ms) {
            if self.is_unwanted(container) {
                operations.push(Operation::Release(container));
                self.look_after_end(container, self.settings.stop_timeout_ms.max(1));
                self.place_stays_taken(container, operations);
            }
        }
    }

    /// Returns whether the container was released and has not ended.
    fn is_unwanted(&self, container: ContainerRef) -> bool {
        let state = self.instance_state(container);
        self.surplus.contains(&container)
            || matches!(state, Some(InstanceState::Releasing | InstanceState::StartFailed))
    }

    pub(super) fn kill_container(&mut self, container: ContainerRef, operations: &mut Vec<Operation>) {
        if let Some(instance) = self.instances.get_mut(&container) {
            instance.is_killed = true;
        }
        self.release(container, operations);
    }

    pub(super) fn container_completed(
        &mut self,
        container: ContainerRef,
        exit: &ContainerExit,
        operations: &mut Vec<Operation>,
    ) {
        self.surplus.remove(&container);
        self.orphans.remove(&container);
        self.leaving.ended(container);
        let Some(state) = self.instance_state(container) else { return };
        let Some(instance) = self.forget_instance(container) else { return };
        let is_trusted = match state {
            InstanceState::Releasing => self.ended_as_planned(&instance),
            InstanceState::StartFailed | InstanceState::Reserved => false,
            InstanceState::Starting | InstanceState::Live => self.ended_by_itself(&instance, exit),
        };
        self.pause_after(state, &instance, exit);
        let used_until_ms = (is_trusted && instance.started_ms.is_some()).then_some(self.now_ms);
        self.history.instance_gone(&instance.host, instance.component, container, used_until_ms);
        self.place_is_free(container, &instance, operations);
        self.way_is_free(container, instance.component);
        self.action_container_ended(instance.component, container, state, operations);
    }

    /// Removes the instance from its component. The caller updates its host.
    pub(super) fn forget_instance(&mut self, container: ContainerRef) -> Option<ComponentInstance> {
        let instance = self.instances.remove(&container)?;
        if let Some(known) = self.components.get_mut(&instance.component) {
            known.census.remove(container);
            known.has_stale_list |= known.untagged.remove(&container) && known.untagged.is_empty();
        }
        self.touch(instance.component);
        Some(instance)
    }

    /// Counts a planned end. A container killed by an operator counts as failed (table 1.18, D29), but not
    /// against its host.
    fn ended_as_planned(&mut self, instance: &ComponentInstance) -> bool {
        if let Some(known) = self.components.get_mut(&instance.component) {
            known.counters.failed += u64::from(instance.is_killed);
            known.counters.completed += u64::from(!instance.is_killed);
        }
        true
    }

    /// Counts an unplanned end. Returns whether the component should return to the host.
    fn ended_by_itself(&mut self, instance: &ComponentInstance, exit: &ContainerExit) -> bool {
        let lived_ms = instance.started_ms.map(|started_ms| self.now_ms.saturating_sub(started_ms));
        let is_short = lived_ms.is_none_or(|lived_ms| lived_ms < self.settings.short_life_ms);
        if exit.takes_place_away() {
            self.lose_place(instance.component);
        }
        let Some(known) = self.components.get_mut(&instance.component) else { return false };
        let counters = &mut known.counters;
        match exit.outcome() {
            ContainerOutcome::Completed => counters.completed += 1,
            ContainerOutcome::Preempted => {
                counters.preempted += 1;
                self.history.preempted(&instance.host, instance.component);
            }
            ContainerOutcome::NodeFailure => {
                counters.failed += 1;
                counters.node_failed += 1;
                self.history.failed(&instance.host, instance.component, false);
            }
            ContainerOutcome::LimitsExceeded => {
                counters.failed += 1;
                counters.limits_exceeded += 1;
                counters.start_failed += u64::from(is_short);
                known.last_failure = exit.describe();
                known.count_recent_failure(self.now_ms);
            }
            ContainerOutcome::Failed => {
                self.count_failure(instance, is_short, exit.describe());
                return !is_short;
            }
        }
        true
    }

    fn count_failure(&mut self, instance: &ComponentInstance, is_start_failure: bool, diagnostics: String) {
        self.history.failed(&instance.host, instance.component, is_start_failure);
        let Some(known) = self.components.get_mut(&instance.component) else { return };
        known.counters.failed += 1;
        known.count_recent_failure(self.now_ms);
        known.counters.start_failed += u64::from(is_start_failure);
        known.last_failure = diagnostics;
    }
}
