//! Queued and active actions, indexed by id, component and deadline.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{ActionId, Active, ContainerAction, Place, Stage};
use crate::client::ContainerRef;
use crate::component::ComponentId;

/// Queued and active actions. The other indexes follow from `queued` and `active`.
#[derive(Clone, Debug, Default)]
pub(in crate::application) struct Actions {
    /// Queued actions in order of arrival.
    queued: BTreeMap<ComponentId, VecDeque<ContainerAction>>,
    queued_for: BTreeMap<ActionId, ComponentId>,
    active: BTreeMap<ActionId, Active>,
    active_on: BTreeMap<ComponentId, BTreeSet<ActionId>>,
    deadlines: BTreeSet<(u64, ActionId)>,
}

impl Actions {
    /// Counts queued and active actions.
    pub(in crate::application) fn len(&self) -> usize {
        self.queued_for.len() + self.active.len()
    }

    pub(super) fn is_known(&self, id: ActionId) -> bool {
        self.queued_for.contains_key(&id) || self.active.contains_key(&id)
    }

    pub(super) fn queue(&mut self, action: ContainerAction) {
        self.queued_for.insert(action.id, action.component);
        self.queued.entry(action.component).or_default().push_back(action);
    }

    /// Takes the queued actions of a component.
    pub(super) fn take_queued(&mut self, component: ComponentId) -> VecDeque<ContainerAction> {
        let queued = self.queued.remove(&component).unwrap_or_default();
        for action in &queued {
            self.queued_for.remove(&action.id);
        }
        queued
    }

    pub(super) fn take_all_queued(&mut self) -> Vec<ContainerAction> {
        self.queued_for.clear();
        std::mem::take(&mut self.queued).into_values().flatten().collect()
    }

    /// Removes a queued action. Returns whether it was queued.
    pub(super) fn remove_queued(&mut self, id: ActionId) -> bool {
        let Some(component) = self.queued_for.remove(&id) else { return false };
        if let Some(queued) = self.queued.get_mut(&component) {
            queued.retain(|action| action.id != id);
        }
        true
    }

    pub(super) fn begin(&mut self, id: ActionId, active: Active) {
        self.active_on.entry(active.action.component).or_default().insert(id);
        self.deadlines.extend(active.deadline_ms().map(|deadline_ms| (deadline_ms, id)));
        self.active.insert(id, active);
    }

    /// Removes an active action.
    pub(super) fn end(&mut self, id: ActionId) -> Option<Active> {
        let active = self.active.remove(&id)?;
        if let Some(deadline_ms) = active.deadline_ms() {
            self.deadlines.remove(&(deadline_ms, id));
        }
        if let Some(ids) = self.active_on.get_mut(&active.action.component) {
            ids.remove(&id);
            if ids.is_empty() {
                self.active_on.remove(&active.action.component);
            }
        }
        Some(active)
    }

    pub(super) fn get(&self, id: ActionId) -> Option<&Active> {
        self.active.get(&id)
    }

    pub(super) fn transition_stage(&mut self, id: ActionId, stage: Stage) {
        if let Some(active) = self.end(id) {
            self.begin(id, Active { stage, ..active });
        }
    }

    /// Returns the active actions of a component.
    pub(super) fn active_on(&self, component: ComponentId) -> impl Iterator<Item = (ActionId, &Active)> {
        let ids = self.active_on.get(&component).into_iter().flatten();
        ids.filter_map(|id| Some((*id, self.active.get(id)?)))
    }

    /// Counts the active actions of a component without those that wait for another one to end.
    pub(in crate::application) fn running_on(&self, component: ComponentId) -> usize {
        self.active_on(component).filter(|(_, active)| active.after.is_none()).count()
    }

    /// Sets or clears the action that this action waits for.
    pub(super) fn transition_after(&mut self, id: ActionId, after: Option<ActionId>) {
        if let Some(active) = self.active.get_mut(&id) {
            active.after = after;
        }
    }

    /// Returns the action that works on a container: the container is replaced or is the replacement.
    pub(super) fn on(&self, component: ComponentId, container: ContainerRef) -> Option<ActionId> {
        let is_concerned = |active: &Active| {
            let other = match active.stage {
                Stage::Stopping { place: Place::Reserved(reserved), .. } => Some(reserved),
                Stage::Starting { container, .. } | Stage::Holding(container) => Some(container),
                Stage::Stopping { .. } | Stage::Reserving(_) | Stage::Recovering => None,
            };
            active.source.container == Some(container) || other == Some(container)
        };
        self.active_on(component).find(|(_, active)| is_concerned(active)).map(|(id, _)| id)
    }

    /// Returns whether an action works on the container, or on a component without one.
    pub(super) fn is_on(&self, component: ComponentId, container: Option<ContainerRef>) -> bool {
        match container {
            Some(container) => self.on(component, container).is_some(),
            None => self.active_on(component).next().is_some(),
        }
    }

    pub(super) fn active_ids(&self) -> Vec<ActionId> {
        self.active.keys().copied().collect()
    }

    /// Returns the actions whose deadline has passed.
    pub(super) fn late(&self, now_ms: u64) -> Vec<ActionId> {
        let late = self.deadlines.iter().take_while(|(deadline_ms, _)| *deadline_ms < now_ms);
        late.map(|(_, id)| *id).collect()
    }

    /// Returns the next deadline for a stop or a restart.
    pub(in crate::application) fn next_deadline_ms(&self) -> Option<u64> {
        self.deadlines.first().map(|(deadline_ms, _)| *deadline_ms)
    }
}
