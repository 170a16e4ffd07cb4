//! Actions that wait or go on, found by number, by component and by deadline.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{ActionId, Active, ContainerAction, Place, Stage};
use crate::client::ContainerRef;
use crate::component::ComponentId;

/// Actions that wait or go on. What is found by component and by deadline follows from the actions themselves.
#[derive(Clone, Debug, Default)]
pub(in crate::application) struct Actions {
    /// In the order in which they came.
    queued: BTreeMap<ComponentId, VecDeque<ContainerAction>>,
    queued_for: BTreeMap<ActionId, ComponentId>,
    active: BTreeMap<ActionId, Active>,
    active_on: BTreeMap<ComponentId, BTreeSet<ActionId>>,
    deadlines: BTreeSet<(u64, ActionId)>,
}

impl Actions {
    /// Actions that wait or go on.
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

    /// Takes out what waits for a component.
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

    /// Says whether it was there.
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

    /// The action is over.
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

    /// Those that go on with a component.
    pub(super) fn active_on(&self, component: ComponentId) -> impl Iterator<Item = (ActionId, &Active)> {
        let ids = self.active_on.get(&component).into_iter().flatten();
        ids.filter_map(|id| Some((*id, self.active.get(id)?)))
    }

    /// The action comes after this one, or after none any more.
    pub(super) fn transition_after(&mut self, id: ActionId, after: Option<ActionId>) {
        if let Some(active) = self.active.get_mut(&id) {
            active.after = after;
        }
    }

    /// The action that goes on with a container of a component, as the one that is replaced or the one that replaces
    /// it.
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

    pub(super) fn active_ids(&self) -> Vec<ActionId> {
        self.active.keys().copied().collect()
    }

    /// Those whose time is over.
    pub(super) fn late(&self, now_ms: u64) -> Vec<ActionId> {
        let late = self.deadlines.iter().take_while(|(deadline_ms, _)| *deadline_ms < now_ms);
        late.map(|(_, id)| *id).collect()
    }

    /// When the next source has had enough time to stop, or to run again.
    pub(in crate::application) fn next_deadline_ms(&self) -> Option<u64> {
        self.deadlines.first().map(|(deadline_ms, _)| *deadline_ms)
    }
}
