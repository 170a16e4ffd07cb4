//! Actions are submitted, queued and begun.

use std::sync::Arc;

use super::{
    ActionId, ActionKind, ActionStatus, Active, ApplicationState, ComponentChange, ContainerAction, Place,
    Source, Stage,
};
use crate::application::Operation;
use crate::application::outstanding::{OutstandingRequest, Reach};
use crate::client::ContainerRef;
use crate::component::ComponentId;

/// Why an action ends at once: it is invalid or impossible.
pub(super) type Refusal = (ActionStatus, String);

impl ApplicationState {
    /// Accepts an action. It begins at once unless another one works on the same container.
    pub(in crate::application) fn submit_action(&mut self, action: ContainerAction) {
        if let Err(reason) = self.check(&action) {
            self.answer(action.id, ActionStatus::BadRequest, reason);
            return;
        }
        self.answer(action.id, ActionStatus::Accepted, "it waits for its turn");
        self.fleet.components.touch(action.component);
        self.actions.queue(action);
    }

    fn check(&self, action: &ContainerAction) -> Result<(), String> {
        if self.is_over() {
            return Err("the service ends".to_owned());
        }
        if self.actions.is_known(action.id) {
            return Err("an action with this id waits or runs already".to_owned());
        }
        let known = self.fleet.component(action.component);
        let known = known.ok_or_else(|| format!("there is no component {}", action.component.0))?;
        self.check_way(action)?;
        if action.change.size.is_some_and(|size| !self.fleet.could_hold(action.component, &size)) {
            return Err("no host that may have it could hold a container of that size".to_owned());
        }
        if let Some(container) = action.container {
            let is_its = self.fleet.instance(container).is_some_and(|found| found.component == known.spec.id);
            return if is_its { Ok(()) } else { Err(format!("no container {} of it runs", container.0)) };
        }
        if known.spec.desired > 1 {
            return Err(format!(
                "component `{}` should have {} instances: name a container",
                known.spec.name, known.spec.desired
            ));
        }
        Ok(())
    }

    /// Begins the queued actions of a component whose container is free, in order of arrival.
    pub(in crate::application) fn begin_actions(&mut self, component: ComponentId) {
        for action in self.actions.take_queued(component) {
            let container = action.container.or_else(|| self.fleet.container_of(component));
            if self.actions.is_on(component, container) {
                self.actions.queue(action);
                continue;
            }
            let begun = self.source(component, container).and_then(|source| self.begin(&action, source));
            if let Err((status, reason)) = begun {
                self.answer(action.id, status, reason);
            }
        }
    }

    pub(super) fn source(
        &self,
        component: ComponentId,
        container: Option<ContainerRef>,
    ) -> Result<Source, Refusal> {
        let failed = |reason: &str| (ActionStatus::Failed, reason.to_owned());
        let Some(container) = container else {
            let is_given_up = self.fleet.component(component).is_some_and(|known| known.is_given_up);
            let host = self.requests.host_to_come_back_to(component, &self.fleet);
            return if is_given_up {
                Ok(Source { container: None, host })
            } else {
                Err(failed("the container does not run; it is about to be started"))
            };
        };
        let is_held = self.fleet.is_held(container);
        let instance = self.fleet.instance(container).filter(|_| is_held);
        let instance = instance.ok_or_else(|| failed("the container has ended"))?;
        Ok(Source { container: Some(container), host: Some(instance.host.clone()) })
    }

    fn begin(&mut self, action: &ContainerAction, source: Source) -> Result<(), Refusal> {
        let stays = match &action.kind {
            ActionKind::MoveTo(host) => source.host.as_ref() == Some(host),
            ActionKind::MoveElsewhere => false,
            ActionKind::TakePlaceOf(standby) => {
                return self.begin_in_place_of(*standby, action, source, None);
            }
            ActionKind::Restart | ActionKind::StopAndRestart => true,
        };
        // Where instances keep apart, the successor cannot start beside it.
        let stops_first = stays && self.fleet.is_anti_affine(action.component);
        if !stops_first && action.kind != ActionKind::StopAndRestart {
            return self.reserve_first(action, source);
        }
        let Source { container: Some(container), host: Some(host) } = source else {
            return Err((ActionStatus::BadRequest, "the component has no container to stop".to_owned()));
        };
        self.stop_first(action, container, host);
        Ok(())
    }

    fn stop_first(&mut self, action: &ContainerAction, source: ContainerRef, source_host: Arc<str>) {
        let until_ms = self.now_ms.saturating_add(self.settings.stop_timeout_ms);
        let component = action.component;
        let undo = self.change_component(component, &action.change);
        let message = format!("it is stopped on {source_host}");
        self.answer(action.id, ActionStatus::InProgress, message);
        let may_come_back = {
            let occupied = self.requests.occupied(component, &self.fleet);
            self.fleet.why_unfit(component, Some(source), &occupied, &source_host).is_none()
        };
        let request = self.fleet.request_on(component, &source_host, self.now_ms);
        let request = OutstandingRequest { action: Some(action.id), ..request };
        let asked = if may_come_back { self.swap(source, request) } else { None };
        let stage = Stage::Stopping { place: asked.map_or(Place::Unasked, Place::Asked), until_ms };
        let from = Source { container: Some(source), host: Some(source_host) };
        let active = Active {
            recover_by_ms: until_ms.saturating_add(action.expires_after_ms),
            undo: Some(undo),
            ..Active::new(action, from, stage)
        };
        self.actions.begin(action.id, active);
        self.release(source);
    }

    /// Changes the component for future requests and starts. Returns the change that undoes this.
    pub(super) fn change_component(
        &mut self,
        component: ComponentId,
        change: &ComponentChange,
    ) -> ComponentChange {
        let known = self.fleet.component_mut(component);
        let undo = known.map(|known| known.change(change)).unwrap_or_default();
        if undo.size.is_some() {
            self.requests.cancel_some(component, usize::MAX, &mut self.fleet, &mut self.operations);
            self.fleet.components.touch(component);
        }
        undo
    }

    fn reserve_first(&mut self, action: &ContainerAction, source: Source) -> Result<(), Refusal> {
        match action.destinations(&source, &self.fleet, &self.requests) {
            // Does not wait for a host that is not acceptable.
            Err(_) if action.or_elsewhere => {
                let action = action.elsewhere();
                let hosts = action.destinations(&source, &self.fleet, &self.requests)?;
                self.reserve_on(hosts, &action, source);
            }
            hosts => self.reserve_on(hosts?, action, source),
        }
        Ok(())
    }

    /// Requests a place on one of these hosts.
    fn reserve_on(&mut self, hosts: Vec<Arc<str>>, action: &ContainerAction, source: Source) {
        let deadline_ms = self.now_ms.saturating_add(action.search_ms());
        let mut request = self.fleet.request_for(action.component, true).only_on(hosts);
        request.size = action.change.size.unwrap_or(request.size);
        let outstanding = OutstandingRequest {
            host: (request.hosts.len() == 1).then(|| request.hosts[0].clone()),
            reach: Reach::Host,
            deadline_ms: Some(deadline_ms),
            action: Some(action.id),
            ..OutstandingRequest::new(action.component, request, self.now_ms)
        };
        self.answer(action.id, ActionStatus::InProgress, "a place is looked for");
        let request = self.requests.issue(outstanding, &mut self.fleet, &mut self.operations);
        let active = Active::new(action, source, Stage::Reserving(request));
        self.actions.begin(action.id, active);
    }

    /// Looks for a place on other hosts after the first search failed. Returns whether a new search began.
    pub(super) fn look_elsewhere(&mut self, id: ActionId) -> bool {
        let Some(active) = self.actions.get(id) else { return false };
        let (true, Stage::Reserving(request)) = (active.action.or_elsewhere, active.stage) else {
            return false;
        };
        let expires_after_ms = active.action.expires_after_ms / 2;
        let action = ContainerAction { expires_after_ms, ..active.action.elsewhere() };
        let source = active.source.clone();
        let after = active.after;
        let Ok(others) = action.destinations(&source, &self.fleet, &self.requests) else { return false };
        self.actions.end(id);
        self.requests.cancel(request, &mut self.fleet, &mut self.operations);
        // The host of the cancelled request can be requested again.
        let hosts = action.destinations(&source, &self.fleet, &self.requests).unwrap_or(others);
        self.reserve_on(hosts, &action, source);
        self.actions.transition_after(id, after);
        true
    }

    pub(super) fn answer(&mut self, action: ActionId, status: ActionStatus, message: impl Into<String>) {
        self.operations.push(Operation::Answer { action, status, message: message.into() });
    }
}
