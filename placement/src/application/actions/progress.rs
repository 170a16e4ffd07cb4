//! Progress of actions: places found, containers stopped and started, and failures in between.

use super::{ActionId, ActionStatus, Active, ApplicationState, Place, Stage};
use crate::application::outstanding::OutstandingRequest;
use crate::application::{AllocationOutcome, Operation};
use crate::client::{Allocation, ContainerRef};
use crate::component::ComponentId;
use crate::history::InstanceState;

impl ApplicationState {
    /// Reserves the container that was found, and stops the one that it replaces.
    pub(in crate::application) fn place_found(&mut self, id: ActionId, came: Allocation) {
        let Some(active) = self.actions.get(id).cloned() else {
            self.give_back(came.container, None);
            return;
        };
        if let Some(why) = self.unfit(&active, &came) {
            self.give_back(came.container, None);
            self.fail_action(id, why);
            return;
        }
        let (reserved, component) = (came.container, active.action.component);
        let (state, outcome) = (InstanceState::Reserved, AllocationOutcome::Placed);
        self.fleet.add(reserved, state, component, came.host, outcome, self.now_ms);
        if let (Some(version), Some(instance)) =
            (&active.action.change.version, self.fleet.instance_mut(reserved))
        {
            instance.version.clone_from(version);
        }
        if active.after.is_some() {
            self.actions.transition_stage(id, Stage::Holding(reserved));
            return;
        }
        self.replace(id, reserved);
    }

    /// Replaces the running container with the reserved one.
    pub(super) fn replace(&mut self, id: ActionId, reserved: ContainerRef) {
        let Some(active) = self.actions.get(id).cloned() else { return };
        let Some(source) = active.source.container else {
            self.start_reserved(id, reserved);
            return;
        };
        let until_ms = self.now_ms.saturating_add(self.settings.stop_timeout_ms);
        self.actions.transition_stage(id, Stage::Stopping { place: Place::Reserved(reserved), until_ms });
        if self.fleet.is_held(source) {
            let from = active.source.host.as_deref().unwrap_or("its host");
            self.answer(id, ActionStatus::InProgress, format!("it is stopped on {from}"));
        }
        if let Some(heir) = active.action.hands_over_to {
            self.hand_over(id, source, heir);
        }
        self.release(source);
    }

    fn start_reserved(&mut self, id: ActionId, reserved: ContainerRef) {
        let Some(component) = self.actions.get(id).map(|active| active.action.component) else { return };
        self.actions.transition_stage(id, self.starting(reserved));
        self.fleet.transition(reserved, InstanceState::Starting);
        self.operations.push(Operation::Start { container: reserved, component });
    }

    /// Returns why a place that was found is no longer acceptable.
    fn unfit(&self, active: &Active, came: &Allocation) -> Option<&'static str> {
        if self.blacklist.is_excluded(&came.host) {
            return Some("its host is excluded from the service");
        }
        let is_together =
            self.fleet.would_be_together(active.action.component, &came.host, active.source.container);
        is_together.then_some("an instance that it keeps apart from has come there")
    }

    /// Returns whether an action has reserved a replacement for the container, or has stopped it.
    pub(crate) fn is_being_replaced(&self, container: ContainerRef) -> bool {
        let stage = self.action_on(container).and_then(|id| self.actions.get(id)).map(|active| active.stage);
        stage.is_some_and(|stage| !matches!(stage, Stage::Reserving(_)))
    }

    /// Returns whether the request is for the place of a container that is being stopped.
    pub(in crate::application) fn is_swapped(&self, waits: &OutstandingRequest) -> bool {
        let Some(active) = waits.action.and_then(|id| self.actions.get(id)) else { return false };
        let makes_way = waits.way.is_some_and(|way| self.fleet.instance(way.of).is_some());
        makes_way || matches!(active.stage, Stage::Stopping { .. })
    }

    /// Ends the search for a place if the container is released for another reason meanwhile.
    pub(in crate::application) fn action_container_released(&mut self, container: ContainerRef) {
        let stage = self.action_on(container).and_then(|id| self.actions.get(id)).map(|active| active.stage);
        if let Some(Stage::Reserving(request)) = stage {
            self.no_place_found(request, "the container was released meanwhile");
        }
    }

    /// Returns the action that works on a container of a component.
    pub(super) fn action_on(&self, container: ContainerRef) -> Option<ActionId> {
        self.actions.on(self.fleet.instance(container)?.component, container)
    }

    /// Advances or fails the action of a container that has ended and was removed.
    pub(in crate::application) fn action_container_ended(
        &mut self,
        component: ComponentId,
        container: ContainerRef,
        was: InstanceState,
    ) {
        let Some(id) = self.actions.on(component, container) else { return };
        let Some(active) = self.actions.get(id) else { return };
        let is_source = active.source.container == Some(container);
        match active.stage {
            Stage::Reserving(request) => self
                .no_place_found(request, "the container ended by itself; the service restarts it as usual"),
            Stage::Stopping { place: Place::Reserved(reserved), .. } | Stage::Holding(reserved)
                if is_source =>
            {
                self.start_reserved(id, reserved);
            }
            Stage::Stopping { place, .. } if is_source => {
                self.actions.transition_stage(id, Stage::Recovering);
                if let Place::Asked(request) = place {
                    self.requests.wait_as_any_other(
                        request,
                        &mut self.fleet,
                        self.now_ms,
                        &mut self.operations,
                    );
                }
            }
            Stage::Stopping { .. } | Stage::Holding(_) => {
                self.fail_action(id, "the place that was found for it was lost");
            }
            Stage::Starting { .. } | Stage::Recovering => {
                let ended = if was == InstanceState::Live { "ended" } else { "could not be started" };
                self.fail_action(id, &format!("the container {ended} where it should be"));
            }
        }
    }

    fn starting(&self, container: ContainerRef) -> Stage {
        Stage::Starting { container, until_ms: self.now_ms.saturating_add(self.settings.start_timeout_ms) }
    }

    /// Assigns a new container to the action that stopped an instance of its component, if there is one.
    pub(in crate::application) fn action_container_allocated(
        &mut self,
        component: ComponentId,
        container: ContainerRef,
    ) {
        let is_recovering = |active: &Active| active.stage == Stage::Recovering;
        let found = self.actions.active_on(component).find(|(_, active)| is_recovering(active));
        if let Some(id) = found.map(|(id, _)| id) {
            self.actions.transition_stage(id, self.starting(container));
        }
    }

    /// Completes the action that started this container.
    pub(in crate::application) fn action_container_started(&mut self, container: ContainerRef) {
        let Some(instance) = self.fleet.instance(container) else { return };
        let is_done = |active: &Active| matches!(active.stage, Stage::Starting { container: its, .. } if its == container);
        let found = self.actions.active_on(instance.component).find(|(_, active)| is_done(active));
        let done = found.map(|(id, _)| id);
        if let Some(id) = done {
            let message = format!("it runs on {}", instance.host);
            let component = instance.component;
            let active = self.actions.end(id);
            self.fleet.components.touch(component);
            let known = self.fleet.component_mut(component);
            if let Some(known) = known.filter(|known| known.is_given_up) {
                known.transition_given_up(false);
            }
            if let Some(active) = active.as_ref().filter(|active| active.undo.is_none()) {
                self.change_component(component, &active.action.change);
            }
            self.answer(id, ActionStatus::Succeeded, message);
            if let Some(heir) = active.and_then(|active| active.action.hands_over_to) {
                self.tell_heir(id, heir, true);
            }
        }
    }
}
