//! Adds and removes standbys.

use uuid::Uuid;

use super::super::processor::{ProcessorId, ProcessorSpec};
use super::Job;
use super::plan::RunStage;
use crate::application::ServiceEvent;
use crate::client::ClusterClient;
use crate::component::{ComponentId, ComponentSpec};

impl<C: ClusterClient> Job<C> {
    pub(super) fn processor(&self, processor: &ProcessorId) -> Option<&ProcessorSpec> {
        self.spec.processors.get(*self.places.get(&processor.active())?)
    }

    /// Adds a standby to the processor, in another fault domain than the processor and its other standbys.
    /// The standby joins the job's specification only when its step succeeds.
    pub(super) fn add_standby(&mut self, group: &ProcessorId, number: u32, now_ms: u64) {
        let Some(place) = self.places.get(group).copied() else { return };
        let Some(mut processor) = self.spec.processors.get(place).cloned() else { return };
        processor.standbys.insert(number);
        let (id, component) = self.spec.component(place, &processor, Some(number));
        let apart_from = component.apart_from.clone();
        self.numbers.insert(id, component.id);
        self.components.insert(component.id, component.clone());
        self.change_active(group, now_ms, |active| {
            active.apart_from = apart_from;
            active.takes_over.push(component.id);
        });
        self.service.handle(ServiceEvent::Change(component), now_ms);
    }

    fn change_active(&mut self, group: &ProcessorId, now_ms: u64, change: impl FnOnce(&mut ComponentSpec)) {
        let active = self.numbers.get(group).and_then(|active| self.components.get_mut(active));
        let Some(active) = active else { return };
        change(active);
        let active = active.clone();
        self.service.handle(ServiceEvent::Change(active), now_ms);
    }

    /// Removes a standby from the processor; the service releases its container.
    pub(super) fn remove_standby(
        &mut self,
        group: &ProcessorId,
        number: u32,
        now_ms: u64,
    ) -> Option<ComponentId> {
        if self.processor(group)?.standbys.contains(&number) {
            self.change_processor(group, |processor| processor.standbys.retain(|known| *known != number));
        }
        let component = self.numbers.remove(&group.standby(number))?;
        let mut known = self.components.remove(&component)?;
        known.desired = 0;
        self.change_active(group, now_ms, |active| active.takes_over.retain(|standby| *standby != component));
        self.service.handle(ServiceEvent::Change(known), now_ms);
        Some(component)
    }

    pub(super) fn stop_standby(
        &mut self,
        request: Uuid,
        group: &ProcessorId,
        number: u32,
        until_ms: u64,
        now_ms: u64,
    ) {
        match self.remove_standby(group, number, now_ms) {
            Some(component) => {
                self.await_stage(request, group, RunStage::Gone { component, until_ms }, now_ms);
            }
            None => self.step_failed(request, group, "the standby no longer exists", now_ms),
        }
    }

    /// Adds the standbys that a step started, and did not stop, to the job's specification.
    pub(super) fn keep_started_standbys(&mut self, request: Uuid, group: &ProcessorId) {
        let Some((_, running)) = self.running(request, group) else { return };
        let stay = running
            .started
            .iter()
            .copied()
            .filter(|number| self.numbers.contains_key(&group.standby(*number)));
        let stay: Vec<u32> = stay.collect();
        if let Some(number) = stay.last() {
            let standby = group.standby(*number);
            let host = self.numbers.get(&standby).and_then(|component| self.host_of(*component));
            let host = host.as_deref().unwrap_or("its host");
            self.record_reason(request, format!("`{standby}` runs on {host}"));
        }
        if !stay.is_empty() {
            self.change_processor(group, |processor| processor.standbys.extend(stay));
        }
    }

    /// Removes the standbys that a failed step started.
    pub(super) fn drop_started_standbys(&mut self, request: Uuid, group: &ProcessorId, now_ms: u64) {
        let Some((_, running)) = self.running(request, group) else { return };
        let started = running.started.clone();
        for number in started {
            self.remove_standby(group, number, now_ms);
        }
    }
}
