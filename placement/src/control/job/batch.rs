//! Requests about many containers: pace, canaries and the disruption budget.

use uuid::Uuid;

use super::plan::{Canary, Plan, Step};
use super::planner::Planner;
use super::plans::Plans;
use crate::client::ContainerRef;
use crate::component::ComponentId;

impl Plan {
    fn canary(&self) -> Option<&Canary> {
        self.batch.as_ref()?.canary.as_ref()
    }

    fn canary_mut(&mut self) -> Option<&mut Canary> {
        self.batch.as_mut()?.canary.as_mut()
    }

    /// Starts the waiting time after the last canary.
    pub(super) fn canary_done(&mut self, now_ms: u64) {
        let (steps, succeeded) = (self.steps, self.succeeded);
        let is_last = self.waiting.is_empty();
        let Some(canary) = self.canary_mut() else { return };
        if succeeded < canary.steps.min(steps) || is_last {
            return;
        }
        canary.until_ms.get_or_insert(now_ms.saturating_add(canary.wait_ms));
    }

    /// Returns whether canaries let another step begin: it is a canary, or the canaries have passed.
    pub(super) fn canaries_allow(&self) -> bool {
        let Some(canary) = self.canary() else { return true };
        let begun = self.succeeded + self.failed + u32::try_from(self.running.len()).unwrap_or(u32::MAX);
        canary.until_ms.is_none() && begun < canary.steps
    }

    /// Fails a request that has waited too long because too many containers are down. Waiting for other
    /// requests has no limit.
    pub(super) fn check_stall(&mut self, is_stalled: bool, down: u64, now_ms: u64) {
        let Some(batch) = &mut self.batch else { return };
        if !is_stalled || !self.running.is_empty() {
            batch.stalled_since_ms = None;
            return;
        }
        let since_ms = *batch.stalled_since_ms.get_or_insert(now_ms);
        if now_ms.saturating_sub(since_ms) <= self.expires_after_ms {
            return;
        }
        self.failed += 1;
        self.reason = format!(
            "containers that were down for too long: {down}, with a disruption budget of {}",
            batch.pace.disruption_budget
        );
        self.waiting.clear();
    }

    /// Returns the next time at which its canaries have passed, or at which it has waited too long.
    pub(super) fn next_deadline_ms(&self) -> Option<u64> {
        let batch = self.batch.as_ref()?;
        let canary_ms = self.canary().and_then(|canary| canary.until_ms);
        let stall_ms = batch
            .stalled_since_ms
            .map(|since_ms| since_ms.saturating_add(self.expires_after_ms).saturating_add(1));
        [canary_ms, stall_ms].into_iter().flatten().min()
    }
}

impl Plans {
    /// Takes the next step that the request may begin.
    pub(super) fn next_of_batch(&mut self, request: Uuid, look: Planner<'_>, now_ms: u64) -> Option<Step> {
        if !self.may_begin(request, look, now_ms) {
            return None;
        }
        let is_free = |step: &Step| !self.busy.contains_key(&step.group);
        let place = self.get(request)?.waiting.iter().position(is_free)?;
        self.get_mut(request)?.waiting.remove(place)
    }

    /// Returns whether pace, canaries and budget let the request begin another step.
    fn may_begin(&mut self, request: Uuid, look: Planner<'_>, now_ms: u64) -> bool {
        let Some(plan) = self.get(request) else { return false };
        let may_begin = plan.canaries_allow() && !self.waits_for_another_rolling(request);
        let Some(batch) = plan.batch.as_ref().filter(|_| may_begin && !plan.waiting.is_empty()) else {
            return false;
        };
        let pace = batch.pace;
        if plan.running.len() >= pace.at_once.get() as usize {
            return false;
        }
        let budget = u64::from(pace.disruption_budget.get());
        let down = self.down_unattended(look);
        if let Some(plan) = self.get_mut(request) {
            plan.check_stall(down >= budget, down, now_ms);
        }
        down + self.down_or_worked_on(look) < budget
    }

    /// Rolling restarts go one after the other; otherwise an older version could overwrite a newer one.
    fn waits_for_another_rolling(&self, request: Uuid) -> bool {
        let is_rolling = |request: &Uuid| {
            let batch = self.get(*request).and_then(|plan| plan.batch.as_ref());
            batch.is_some_and(|batch| batch.is_rolling)
        };
        is_rolling(&request) && self.batches.iter().find(|other| is_rolling(other)) != Some(&request)
    }

    /// Counts containers that should run but are down, outside the processors that requests work on.
    fn down_unattended(&self, look: Planner<'_>) -> u64 {
        let of_busy: u64 = self.busy.keys().map(|group| look.down_of(group)).sum();
        look.state.down().saturating_sub(of_busy)
    }

    /// Counts the containers that are down, or may go down, because of running steps. A step of a request
    /// about many containers counts at least one. Another step does so only while its container is being
    /// replaced. Temporary standbys do not count.
    fn down_or_worked_on(&self, look: Planner<'_>) -> u64 {
        let each = self.busy.iter().filter_map(|(group, request)| {
            let (plan, running) = self.running(*request, group)?;
            let standbys =
                running.started.iter().filter_map(|number| look.processors.standby(group, *number));
            let for_a_while: u64 = standbys.map(|standby| look.state.down_of(standby)).sum();
            let at_least = u64::from(plan.batch.is_some() || look.is_replaced_by(group, running));
            Some(look.down_of(group).saturating_sub(for_a_while).max(at_least))
        });
        each.sum()
    }

    /// Fails the request if a canary has ended. Lets the other steps begin once the waiting time has
    /// passed.
    pub(super) fn check_canaries(&mut self, request: Uuid, look: Planner<'_>, now_ms: u64) {
        let canary = self.get(request).and_then(Plan::canary);
        let Some((canary, until_ms)) = canary.and_then(|canary| Some((canary, canary.until_ms?))) else {
            return;
        };
        let runs_on = |(component, container): &&(ComponentId, ContainerRef)| {
            // While another request works on the container, its successor is not yet known.
            let group = look.processors.processor_of(*component).map(|processor| processor.active());
            group.is_some_and(|group| self.busy.contains_key(&group))
                || look.state.container_of(*component) == Some(*container)
        };
        let died = canary.runs.len() - canary.runs.iter().filter(runs_on).count();
        let died = u32::try_from(died).unwrap_or(u32::MAX);
        let Some(plan) = self.get_mut(request) else { return };
        if died > 0 {
            plan.failed += died;
            plan.succeeded = plan.succeeded.saturating_sub(died);
            plan.reason = format!("{died} of the first containers did not run on");
            plan.waiting.clear();
        } else if now_ms >= until_ms
            && let Some(batch) = &mut plan.batch
        {
            batch.canary = None;
        }
    }

    /// Records the container of a canary, which has to keep running. If another request replaces that
    /// container, its successor counts instead.
    pub(super) fn record_canary(&mut self, request: Uuid, component: ComponentId, container: ContainerRef) {
        let runs = self.iter_mut().filter_map(Plan::canary_mut).flat_map(|canary| canary.runs.iter_mut());
        for known in runs.filter(|(known, _)| *known == component) {
            known.1 = container;
        }
        let canary = self.get_mut(request).and_then(Plan::canary_mut);
        if let Some(canary) = canary.filter(|canary| canary.runs.iter().all(|(known, _)| *known != component))
        {
            canary.runs.push((component, container));
        }
    }
}
