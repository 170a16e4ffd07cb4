//! Standbys that come and go, canaries that have to go well, and requests that cannot go on.

use uuid::Uuid;

use super::super::processor::{ProcessorId, ProcessorSpec};
use super::Job;
use super::plan::{Move, RunStage};
use crate::application::ServiceEvent;
use crate::client::ClusterClient;
use crate::component::ComponentId;

impl<C: ClusterClient> Job<C> {
    pub(super) fn processor(&self, processor: &ProcessorId) -> Option<&ProcessorSpec> {
        self.spec.processors.get(*self.places.get(&processor.active())?)
    }

    /// The processor has a standby more, kept apart from it and from the others. It belongs to the job as others know it
    /// when the step that it was started by is done.
    pub(super) fn add_standby(&mut self, group: &ProcessorId, number: u32, now_ms: u64) {
        let Some(place) = self.places.get(group).copied() else { return };
        let Some(mut processor) = self.spec.processors.get(place).cloned() else { return };
        processor.standbys.insert(number);
        let (id, component) = self.spec.component(place, &processor, Some(number));
        let apart_from = component.apart_from.clone();
        let active = self.numbers.get(group).copied();
        self.numbers.insert(id, component.id);
        self.components.insert(component.id, component.clone());
        let active = active.and_then(|active| self.components.get_mut(&active));
        if let Some(active) = active.filter(|active| active.apart_from != apart_from) {
            active.apart_from = apart_from;
            let active = active.clone();
            self.service.handle(ServiceEvent::Change(active), now_ms);
        }
        self.service.handle(ServiceEvent::Change(component), now_ms);
    }

    /// The processor has this standby no more; its container goes.
    fn remove_standby(&mut self, group: &ProcessorId, number: u32, now_ms: u64) -> Option<ComponentId> {
        if self.processor(group)?.standbys.contains(&number) {
            self.change_processor(group, |processor| processor.standbys.retain(|known| *known != number));
        }
        let component = self.numbers.remove(&group.standby(number))?;
        let mut known = self.components.remove(&component)?;
        self.caught_up.remove(&component);
        known.desired = 0;
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
        let standby = self.numbers.get(&group.standby(number)).copied();
        let host = standby.and_then(|standby| self.host_of(standby));
        self.remember_vacated(request, group, host);
        match self.remove_standby(group, number, now_ms) {
            Some(component) => self.await_stage(request, group, RunStage::Gone { component, until_ms }),
            None => self.step_failed(request, group, "the standby is not there any more", now_ms),
        }
    }

    /// Standbys that a step started and did not stop belong to the job from now on.
    pub(super) fn keep_started_standbys(&mut self, request: Uuid, group: &ProcessorId) {
        let Some((_, running)) = self.running(request, group) else { return };
        let stay = running
            .started
            .iter()
            .copied()
            .filter(|number| self.numbers.contains_key(&group.standby(*number)));
        let stay: Vec<u32> = stay.collect();
        if !stay.is_empty() {
            self.change_processor(group, |processor| processor.standbys.extend(stay));
        }
    }

    /// Standbys that a step started, and that are of no use without its success.
    pub(super) fn drop_started_standbys(&mut self, request: Uuid, group: &ProcessorId, now_ms: u64) {
        let Some((_, running)) = self.running(request, group) else { return };
        let started = running.started.clone();
        for number in started {
            self.remove_standby(group, number, now_ms);
        }
    }

    /// When the last of a request's canaries is done, they have to run on for a while.
    pub(super) fn canary_done(&mut self, request: Uuid, now_ms: u64) {
        let Some(plan) = self.plans.get_mut(&request) else { return };
        let Some(canary) = plan.batch.as_mut().and_then(|batch| batch.canary.as_mut()) else { return };
        if plan.succeeded < canary.steps.min(plan.steps) || plan.waiting.is_empty() {
            return;
        }
        canary.until_ms.get_or_insert(now_ms.saturating_add(canary.wait_ms));
    }

    /// Whether the request's canaries let another step begin.
    pub(super) fn canaries_allow(&mut self, request: Uuid, now_ms: u64) -> bool {
        let Some(plan) = self.plans.get(&request) else { return false };
        let Some(canary) = plan.batch.as_ref().and_then(|batch| batch.canary.as_ref()) else { return true };
        let Some(until_ms) = canary.until_ms else {
            let begun = plan.succeeded + plan.failed + u32::try_from(plan.running.len()).unwrap_or(u32::MAX);
            return begun < canary.steps;
        };
        let died = canary.runs.iter().filter(|(component, container)| {
            self.service.state().container_of(*component) != Some(*container)
        });
        let died = died.count();
        let Some(plan) = self.plans.get_mut(&request) else { return false };
        if died > 0 {
            plan.failed += u32::try_from(died).unwrap_or(u32::MAX);
            plan.succeeded = plan.succeeded.saturating_sub(u32::try_from(died).unwrap_or(u32::MAX));
            plan.reason = format!("{died} of the first containers did not run on");
            plan.waiting.clear();
            return false;
        }
        if now_ms < until_ms {
            return false;
        }
        if let Some(batch) = &mut plan.batch {
            batch.canary = None;
        }
        true
    }

    /// A canary's container that runs now has to run on.
    pub(super) fn note_canaries(&mut self, request: Uuid, group: &ProcessorId) {
        let next = self.running(request, group).and_then(|(_, running)| running.left.front());
        let Some(Move::Act { component, .. }) = next else { return };
        let component = *component;
        let Some(container) = self.live_container(component) else { return };
        let batch = self.plans.get_mut(&request).and_then(|plan| plan.batch.as_mut());
        if let Some(canary) = batch.and_then(|batch| batch.canary.as_mut()) {
            canary.runs.push((component, container));
        }
    }

    /// A request that cannot begin anything because too much is down does not wait for ever.
    pub(super) fn note_stall(&mut self, request: Uuid, is_stalled: bool, now_ms: u64) {
        let missing = self.service.state().missing();
        let Some(plan) = self.plans.get_mut(&request) else { return };
        let Some(batch) = &mut plan.batch else { return };
        if !is_stalled || !plan.running.is_empty() {
            batch.stalled_since_ms = None;
            return;
        }
        let since_ms = *batch.stalled_since_ms.get_or_insert(now_ms);
        if now_ms.saturating_sub(since_ms) <= plan.expires_after_ms {
            return;
        }
        plan.failed += 1;
        plan.reason = format!(
            "{missing} containers were down for too long, with a disruption budget of {}",
            batch.pace.disruption_budget
        );
        plan.waiting.clear();
    }

    /// The next time at which something that is waited for has taken too long.
    pub(super) fn next_deadline_ms(&self) -> Option<u64> {
        let awaited = self.awaiting.iter().filter_map(|(request, group)| {
            match self.running(*request, group)?.1.stage {
                RunStage::AwaitingContainer { until_ms }
                | RunStage::Standby { until_ms, .. }
                | RunStage::Gone { until_ms, .. } => Some(until_ms.saturating_add(1)),
                RunStage::Acting(_) => None,
            }
        });
        let batches = self.batches.iter().filter_map(|request| {
            let plan = self.plans.get(request)?;
            let batch = plan.batch.as_ref()?;
            let canary_ms = batch.canary.as_ref().and_then(|canary| canary.until_ms);
            let stall_ms = batch
                .stalled_since_ms
                .map(|since_ms| since_ms.saturating_add(plan.expires_after_ms).saturating_add(1));
            [canary_ms, stall_ms].into_iter().flatten().min()
        });
        awaited.chain(batches).min()
    }
}
