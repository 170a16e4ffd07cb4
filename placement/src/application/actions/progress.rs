//! What becomes of actions: places found, containers stopped and started, and everything that can go wrong meanwhile.

use super::{ActionId, ActionStatus, Active, ApplicationState, Stage};
use crate::application::{AllocationOutcome, ComponentInstance, Operation};
use crate::client::{Allocation, ContainerRef, RequestId};
use crate::history::InstanceState;

impl ApplicationState {
    /// A place was found: the container that came is reserved, and the one it replaces is stopped.
    pub(in crate::application) fn place_found(
        &mut self,
        id: ActionId,
        came: Allocation,
        now_ms: u64,
        operations: &mut Vec<Operation>,
    ) {
        let until_ms = now_ms.saturating_add(self.settings.stop_timeout_ms);
        let Some(active) = self.actions.active.get_mut(&id) else {
            self.give_back(came.container, operations);
            return;
        };
        let reserved = came.container;
        active.stage = Stage::Stopping { reserved: Some(reserved), until_ms };
        let Active { component, source, source_host, .. } = active.clone();
        if source_host != came.host && self.would_be_together(component, &came.host) {
            self.give_back(reserved, operations);
            self.fail_action(id, "an instance that it keeps apart from is there by now", operations);
            return;
        }
        let instance = ComponentInstance {
            component,
            host: came.host,
            came_ms: now_ms,
            started_ms: None,
            outcome: AllocationOutcome::Placed,
            is_killed: false,
        };
        self.instances.insert(reserved, instance);
        self.transition_instance(reserved, InstanceState::Reserved);
        Self::answer(id, ActionStatus::InProgress, format!("it is stopped on {source_host}"), operations);
        self.release(source, operations);
    }

    /// The request for a place came to nothing. What runs goes on running.
    pub(in crate::application) fn no_place_found(
        &mut self,
        request: RequestId,
        why: &str,
        operations: &mut Vec<Operation>,
    ) {
        let Some(id) = self.outstanding.get(request).and_then(|outstanding| outstanding.action) else {
            return;
        };
        self.cancel_request(request, operations);
        self.fail_action(id, why, operations);
    }

    /// A container is given back, by an action or for another reason. In the second case a place that is looked for it is
    /// of no use any more.
    pub(in crate::application) fn action_hears_release(
        &mut self,
        container: ContainerRef,
        operations: &mut Vec<Operation>,
    ) {
        let stage =
            self.actions.on(container).and_then(|id| self.actions.active.get(&id)).map(|active| active.stage);
        if let Some(Stage::Reserving(request)) = stage {
            self.no_place_found(request, "the container was given back meanwhile", operations);
        }
    }

    /// A container of a component has ended, and is known no more.
    pub(in crate::application) fn action_hears_end(
        &mut self,
        container: ContainerRef,
        was: InstanceState,
        operations: &mut Vec<Operation>,
    ) {
        let Some(id) = self.actions.on(container) else { return };
        let Some(active) = self.actions.active.get_mut(&id) else { return };
        match active.stage {
            Stage::Reserving(request) => self.no_place_found(
                request,
                "the container ended by itself; it is started again as if nothing had been asked",
                operations,
            ),
            Stage::Stopping { reserved: Some(reserved), .. } if container == active.source => {
                active.stage = Stage::Starting(reserved);
                let component = active.component;
                self.transition_instance(reserved, InstanceState::Starting);
                operations.push(Operation::Start { container: reserved, component });
            }
            Stage::Stopping { .. } if container == active.source => active.stage = Stage::Recovering,
            Stage::Stopping { .. } => {
                self.fail_action(id, "the place that was found for it was lost", operations);
            }
            Stage::Starting(_) | Stage::Recovering => {
                let ended = if was == InstanceState::Live { "ended" } else { "could not be started" };
                self.fail_action(id, &format!("the container {ended} where it should be"), operations);
            }
        }
    }

    /// A container of a component runs.
    pub(in crate::application) fn action_hears_start(
        &mut self,
        container: ContainerRef,
        operations: &mut Vec<Operation>,
    ) {
        let Some(instance) = self.instances.get(&container) else { return };
        let is_done = |active: &Active| match active.stage {
            Stage::Starting(replacement) => replacement == container,
            Stage::Recovering => active.component == instance.component,
            Stage::Reserving(_) | Stage::Stopping { .. } => false,
        };
        let done = self.actions.active.iter().find(|(_, active)| is_done(active)).map(|(id, _)| *id);
        if let Some(id) = done {
            let message = format!("it runs on {}", instance.host);
            self.actions.active.remove(&id);
            Self::answer(id, ActionStatus::Succeeded, message, operations);
        }
    }

    /// A container that was stopped to be replaced could not be: it goes on running. Of others that nobody wants any more it
    /// changes nothing: to stop them again at once would be to do so for ever.
    pub(in crate::application) fn stop_failed(
        &mut self,
        container: ContainerRef,
        operations: &mut Vec<Operation>,
    ) {
        let Some(id) = self.actions.on(container) else { return };
        if self.instance_state(container) != Some(InstanceState::Releasing) {
            return;
        }
        self.transition_instance(container, InstanceState::Live);
        self.drop_reserved(id, operations);
        self.fail_action(id, "the container could not be stopped; it goes on running", operations);
    }

    /// Sources that have had enough time to stop, or to run again. They will be missed when they do stop, and are asked for
    /// until they run.
    pub(in crate::application) fn check_stops(&mut self, now_ms: u64, operations: &mut Vec<Operation>) {
        let is_late = |active: &Active| match active.stage {
            Stage::Stopping { until_ms, .. } => until_ms < now_ms,
            Stage::Recovering => active.recover_by_ms < now_ms,
            Stage::Reserving(_) | Stage::Starting(_) => false,
        };
        let late: Vec<ActionId> =
            self.actions.active.iter().filter(|(_, active)| is_late(active)).map(|(id, _)| *id).collect();
        for id in late {
            self.drop_reserved(id, operations);
            self.fail_action(id, "the container did not stop, or does not run again, in time", operations);
        }
    }

    /// The service ends, and all actions with it.
    pub(in crate::application) fn end_actions(&mut self, operations: &mut Vec<Operation>) {
        for action in std::mem::take(&mut self.actions.queued) {
            Self::answer(action.id, ActionStatus::Failed, "the service ends", operations);
        }
        let active: Vec<ActionId> = self.actions.active.keys().copied().collect();
        for id in active {
            if let Some(Stage::Reserving(request)) = self.actions.active.get(&id).map(|active| active.stage) {
                self.cancel_request(request, operations);
            }
            self.drop_reserved(id, operations);
            self.fail_action(id, "the service ends", operations);
        }
    }

    fn drop_reserved(&mut self, id: ActionId, operations: &mut Vec<Operation>) {
        let Some(Stage::Stopping { reserved: Some(reserved), .. }) =
            self.actions.active.get(&id).map(|active| active.stage)
        else {
            return;
        };
        if let Some(instance) = self.instances.remove(&reserved) {
            if let Some(known) = self.components.get_mut(&instance.component) {
                known.census.remove(reserved);
            }
            self.history.instance_gone(&instance.host, instance.component, reserved, None);
        }
        self.give_back(reserved, operations);
    }

    fn fail_action(&mut self, id: ActionId, why: &str, operations: &mut Vec<Operation>) {
        if self.actions.active.remove(&id).is_some() {
            Self::answer(id, ActionStatus::Failed, why, operations);
        }
    }
}
