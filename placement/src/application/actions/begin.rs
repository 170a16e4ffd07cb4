//! Actions that come, wait for their turn, and begin.

use std::sync::Arc;

use super::{ActionId, ActionKind, ActionStatus, Active, ApplicationState, PlacementAction, Stage};
use crate::application::Operation;
use crate::client::ContainerRef;
use crate::component::ComponentId;
use crate::history::{InstanceState, OutstandingRequest, Reach};

impl ApplicationState {
    /// Takes an action on. It begins at once unless another one goes on with the same container.
    pub(in crate::application) fn act(&mut self, action: PlacementAction, operations: &mut Vec<Operation>) {
        if let Err(reason) = self.check(&action) {
            Self::answer(action.id, ActionStatus::BadRequest, reason, operations);
            return;
        }
        Self::answer(action.id, ActionStatus::Accepted, "it waits for its turn", operations);
        self.touch(action.component);
        self.actions.queue(action);
    }

    /// Takes an action back, if its container was not stopped yet.
    pub(in crate::application) fn cancel_action(&mut self, id: ActionId, operations: &mut Vec<Operation>) {
        let was_queued = self.actions.remove_queued(id);
        let request = match self.actions.get(id).map(|active| active.stage) {
            Some(Stage::Reserving(request)) => Some(request),
            _ => None,
        };
        if let Some(request) = request {
            self.actions.end(id);
            self.cancel_request(request, operations);
        }
        if was_queued || request.is_some() {
            Self::answer(id, ActionStatus::Cancelled, "it was taken back", operations);
        }
    }

    fn check(&self, action: &PlacementAction) -> Result<(), String> {
        if self.is_over() {
            return Err("the service ends".to_owned());
        }
        if self.actions.is_known(action.id) {
            return Err("an action with this number goes on already".to_owned());
        }
        let known = self.components.get(&action.component);
        let known = known.ok_or_else(|| format!("there is no component {}", action.component.0))?;
        if let Some(container) = action.container {
            let is_its = self.instances.get(&container).is_some_and(|found| found.component == known.spec.id);
            return if is_its { Ok(()) } else { Err(format!("no container {} of it runs", container.0)) };
        }
        if known.spec.desired > 1 {
            return Err(format!(
                "component `{}` should have {} instances: which one is meant?",
                known.spec.name, known.spec.desired
            ));
        }
        Ok(())
    }

    /// Begins every action on a component whose container is free, in the order in which they came.
    pub(in crate::application) fn begin_actions(
        &mut self,
        component: ComponentId,
        now_ms: u64,
        operations: &mut Vec<Operation>,
    ) {
        for action in self.actions.take_queued(component) {
            let source = action.container.or_else(|| self.only_container(component));
            let is_busy = match source {
                Some(source) => self.actions.on(component, source).is_some(),
                None => self.actions.active_on(component).next().is_some(),
            };
            if is_busy {
                self.actions.queue(action);
                continue;
            }
            if let Err(reason) = self.begin(&action, source, now_ms, operations) {
                Self::answer(action.id, ActionStatus::Failed, reason, operations);
            }
        }
    }

    /// The container of a component that has one, running or about to.
    fn only_container(&self, component: ComponentId) -> Option<ContainerRef> {
        let known = self.components.get(&component)?;
        known.census.iter().find(|(_, state)| state.is_held()).map(|(container, _)| container)
    }

    fn begin(
        &mut self,
        action: &PlacementAction,
        source: Option<ContainerRef>,
        now_ms: u64,
        operations: &mut Vec<Operation>,
    ) -> Result<(), String> {
        let source = source.ok_or("the container does not run; it is about to be started")?;
        let is_held = self.instance_state(source).is_some_and(InstanceState::is_held);
        let instance = self.instances.get(&source).filter(|_| is_held);
        let source_host = instance.ok_or("the container has ended")?.host.clone();
        let stays = match &action.kind {
            ActionKind::MoveTo(host) => *host == source_host,
            ActionKind::MoveElsewhere => false,
            ActionKind::Restart | ActionKind::StopAndRestart => true,
        };
        // Beside itself it cannot be where instances keep apart.
        let stops_first = stays && self.is_anti_affine(action.component);
        if stops_first || action.kind == ActionKind::StopAndRestart {
            self.stop_first(action, source, source_host, now_ms, operations);
            return Ok(());
        }
        self.reserve_first(action, source, source_host, now_ms, operations)
    }

    fn stop_first(
        &mut self,
        action: &PlacementAction,
        source: ContainerRef,
        source_host: Arc<str>,
        now_ms: u64,
        operations: &mut Vec<Operation>,
    ) {
        let until_ms = now_ms.saturating_add(self.settings.stop_timeout_ms);
        let message = format!("it is stopped on {source_host}");
        let active = Active {
            component: action.component,
            source: Some(source),
            source_host,
            stage: Stage::Stopping { reserved: None, until_ms },
            recover_by_ms: until_ms.saturating_add(action.expires_after_ms),
        };
        self.actions.begin(action.id, active);
        Self::answer(action.id, ActionStatus::InProgress, message, operations);
        self.release(source, operations);
    }

    fn reserve_first(
        &mut self,
        action: &PlacementAction,
        source: ContainerRef,
        source_host: Arc<str>,
        now_ms: u64,
        operations: &mut Vec<Operation>,
    ) -> Result<(), String> {
        let hosts = self.destinations(action, &source_host)?;
        let deadline_ms = now_ms.saturating_add(action.expires_after_ms);
        let outstanding = OutstandingRequest {
            component: action.component,
            host: (hosts.len() == 1).then(|| hosts[0].clone()),
            request: self.request_for(action.component, true).only_on(hosts),
            reach: Reach::Host,
            since_ms: now_ms,
            deadline_ms: Some(deadline_ms),
            not_taken: None,
            gained: 0,
            action: Some(action.id),
        };
        let stage = Stage::Reserving(outstanding.request.id);
        let active = Active {
            component: action.component,
            source: Some(source),
            source_host,
            stage,
            recover_by_ms: deadline_ms,
        };
        self.actions.begin(action.id, active);
        Self::answer(action.id, ActionStatus::InProgress, "a place is looked for", operations);
        self.issue(outstanding, operations);
        Ok(())
    }

    /// The hosts that will do.
    fn destinations(&self, action: &PlacementAction, source: &Arc<str>) -> Result<Vec<Arc<str>>, String> {
        let component = action.component;
        let label = self.components.get(&component).and_then(|known| known.spec.label.as_deref());
        let is_fit = |host: &Arc<str>| {
            let node = self.history.node(host).filter(|node| node.is_online && node.has_label(label));
            let is_free = self.history.entry(host, component).is_none_or(|entry| entry.requested.is_empty());
            node.is_some() && is_free && (host == source || !self.would_be_together(component, host))
        };
        let wanted = match &action.kind {
            ActionKind::MoveTo(host) => {
                if self.history.node(host).is_none() {
                    return Err(format!("there is no host `{host}`"));
                }
                vec![host.clone()]
            }
            ActionKind::Restart | ActionKind::StopAndRestart => vec![source.clone()],
            ActionKind::MoveElsewhere => {
                // A host that nobody reported may be gone, and a request that names it is refused as a whole.
                let reported =
                    self.history.nodes().filter(|(host, node)| node.report.is_some() && *host != source);
                reported.map(|(host, _)| host.clone()).collect()
            }
        };
        let fit: Vec<Arc<str>> = wanted.into_iter().filter(is_fit).collect();
        if fit.is_empty() {
            return Err("no host will do: it is down, has another label, is asked for already, or runs an instance that \
                        this one keeps apart from"
                .to_owned());
        }
        Ok(fit)
    }
}
