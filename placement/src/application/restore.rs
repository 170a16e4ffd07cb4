//! Restores a service that ran before: its history (spec 1.7) and the containers that ran on without it
//! (1.8).

use super::component::Component;
use super::{AllocationOutcome, ApplicationState, Operation};
use crate::client::{Launch, RunningContainer};
use crate::component::ComponentId;
use crate::history::{InstanceState, ThawReport, component_of};
use crate::persistence::HistoryFile;

impl ApplicationState {
    /// Loads the role history. Call it before the first event and before [`adopt`](Self::adopt).
    pub fn thaw(&mut self, file: &HistoryFile) -> ThawReport {
        let names = self.fleet.components.names();
        self.fleet.history.thaw(file, &names, self.settings.history_age_max_ms)
    }

    /// Adopts containers that ran on while the service's master was away. Earlier requests are forgotten;
    /// their containers are kept if the service is short of them. It releases containers of unknown
    /// components, containers without a started process, containers released before, and containers too
    /// near to others that stay.
    pub fn adopt(&mut self, running: &[RunningContainer], now_ms: u64) -> Vec<Operation> {
        self.now_ms = now_ms;
        for found in running {
            let component = component_of(found.priority);
            let is_known = self.fleet.component(component).is_some();
            if self.fleet.instance(found.container).is_some() {
                continue;
            }
            // Such a container runs nothing. Starting it could add one instance too many.
            let Some(launch) = found.launch.as_ref().filter(|_| is_known) else {
                let is_orphan = !is_known && found.launch.is_some();
                self.give_back(found.container, is_orphan.then_some(component));
                continue;
            };
            let is_too_near = self.fleet.is_beside_a_held_one(component, &found.host, found.container);
            self.take_on_running(found, launch, component);
            if is_too_near || found.is_stopping {
                self.release(found.container);
            }
        }
        let missing = self.fleet.components.iter().filter(|known| known.actual() < known.wanted());
        let missing: Vec<ComponentId> = missing.map(Component::id).collect();
        for component in missing {
            self.fleet.lose_place(component);
        }
        self.containers_at_restart = Some(u32::try_from(running.len()).unwrap_or(u32::MAX));
        std::mem::take(&mut self.operations)
    }

    /// Handles a container that came back with its host later. It is kept while its component is short of
    /// an instance. It then replaces the request for its host, or another one that the review cancels.
    pub(super) fn container_recovered(&mut self, found: &RunningContainer) {
        if self.fleet.instance(found.container).is_some() || self.leaving.is_surplus(found.container) {
            return;
        }
        let component = component_of(found.priority);
        let is_wanted = self.is_wanted(component, &found.host) && !found.is_stopping;
        let Some(launch) = found.launch.as_ref().filter(|_| is_wanted) else {
            let known = self.fleet.component_mut(component);
            let is_orphan = known.map(|known| known.counters.surplus += 1).is_none();
            self.give_back(found.container, is_orphan.then_some(component));
            return;
        };
        if let Some(request) = self.requests.on(component, &found.host) {
            self.requests.cancel(request, &mut self.fleet, &mut self.operations);
        }
        self.take_on_running(found, launch, component);
        self.fleet.placed(component);
    }

    fn take_on_running(&mut self, found: &RunningContainer, launch: &Launch, component: ComponentId) {
        if let Some(known) = self.fleet.component_mut(component) {
            known.counters.started += 1;
            // It may have started before it had to be apart.
            known.untagged.insert(found.container);
        }
        let (state, outcome) = (InstanceState::Live, AllocationOutcome::Unallocated);
        self.fleet.add(found.container, state, component, found.host.clone(), outcome, self.now_ms);
        if let Some(instance) = self.fleet.instance_mut(found.container) {
            instance.started_ms = Some(self.now_ms);
            instance.version.clone_from(&launch.version);
        }
        self.fleet.history.used(&found.host, component, self.now_ms);
    }

    /// Returns the history to save. For a service that is over, this is the history at its end, so that the
    /// teardown is not saved (table 1.18, D32).
    #[must_use]
    pub fn image(&self, now_ms: u64) -> HistoryFile {
        match &self.at_end {
            Some((_, file)) => file.clone(),
            None => self.fleet.history.image(now_ms, &self.fleet.components.names()),
        }
    }

    /// Returns a version that changes whenever the history to save changes.
    #[must_use]
    pub fn history_version(&self) -> u64 {
        self.at_end.as_ref().map_or_else(|| self.fleet.history.version(), |(version, _)| *version)
    }

    /// Freezes the history to save, because from now on containers end with the service.
    pub(super) fn keep_history_as_it_is(&mut self) {
        if self.at_end.is_none() {
            self.at_end = Some((self.fleet.history.version(), self.image(self.now_ms)));
        }
    }
}
