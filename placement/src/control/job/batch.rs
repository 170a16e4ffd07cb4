//! Requests about many containers: pace, canaries and the disruption budget.

use uuid::Uuid;

use super::super::processor::ProcessorId;
use super::Job;
use super::plan::{Move, RunStage, RunningStep, Step};
use crate::application::ActionStatus;
use crate::client::{ClusterClient, ContainerRef};
use crate::component::ComponentId;

impl<C: ClusterClient> Job<C> {
    /// Begins as many steps as the pace of each such request allows, oldest request first.
    pub(super) fn begin_batches(&mut self, now_ms: u64) {
        for request in self.batches.clone() {
            self.check_canaries(request, now_ms);
            while let Some(step) = self.next_of_batch(request, now_ms) {
                self.tell_begin(request);
                self.begin_step(request, step, now_ms);
            }
            self.finish_if_done(request, now_ms);
        }
    }

    /// Reports progress when the first step begins.
    fn tell_begin(&mut self, request: Uuid) {
        let Some(plan) = self.plans.get_mut(&request) else { return };
        if !std::mem::replace(&mut plan.is_begun, true) {
            let message = format!("0 of {} done", plan.steps);
            self.answer(request, ActionStatus::InProgress, message);
        }
    }

    fn next_of_batch(&mut self, request: Uuid, now_ms: u64) -> Option<Step> {
        if !self.may_begin(request, now_ms) {
            return None;
        }
        let is_free = |step: &Step| !self.busy.contains_key(&step.group);
        let waiting = &self.plans.get(&request)?.waiting;
        let place = waiting.iter().position(is_free)?;
        self.plans.get_mut(&request)?.waiting.remove(place)
    }

    /// Returns whether pace, canaries and budget let the request begin another step.
    fn may_begin(&mut self, request: Uuid, now_ms: u64) -> bool {
        if !self.canaries_allow(request) || self.waits_for_another_rolling(request) {
            return false;
        }
        let Some(plan) = self.plans.get(&request).filter(|plan| !plan.waiting.is_empty()) else {
            return false;
        };
        let Some(batch) = &plan.batch else { return false };
        let pace = batch.pace;
        if plan.running.len() >= pace.at_once.get() as usize {
            return false;
        }
        let budget = u64::from(pace.disruption_budget.get());
        let down = self.down_unattended();
        self.check_stall(request, down >= budget, down, now_ms);
        down + self.down_or_worked_on() < budget
    }

    /// Rolling restarts go one after the other; otherwise an older version could overwrite a newer one.
    fn waits_for_another_rolling(&self, request: Uuid) -> bool {
        let is_rolling = |request: &Uuid| {
            let batch = self.plans.get(request).and_then(|plan| plan.batch.as_ref());
            batch.is_some_and(|batch| batch.is_rolling)
        };
        is_rolling(&request) && self.batches.iter().find(|other| is_rolling(other)) != Some(&request)
    }

    /// Counts containers that should run but are down, outside the processors that requests work on.
    fn down_unattended(&self) -> u64 {
        let of_busy: u64 = self.busy.keys().map(|group| self.down_of(group)).sum();
        self.service.state().down().saturating_sub(of_busy)
    }

    /// Counts the containers that are down, or may go down, because of running steps. A step of a request
    /// about many containers counts at least one. Another step does so only while its container is being
    /// replaced. Temporary standbys do not count.
    fn down_or_worked_on(&self) -> u64 {
        let each = self.busy.iter().filter_map(|(group, request)| {
            let (plan, running) = self.running(*request, group)?;
            let standbys = running.started.iter().map(|number| group.standby(*number));
            let for_a_while: u64 = standbys.map(|standby| self.down_of_one(&standby)).sum();
            let at_least = u64::from(plan.batch.is_some() || self.is_replaced_by(group, running));
            Some(self.down_of(group).saturating_sub(for_a_while).max(at_least))
        });
        each.sum()
    }

    /// Counts the missing containers of a processor and its standbys.
    fn down_of(&self, group: &ProcessorId) -> u64 {
        let names = self.numbers.range(group..).map(|(name, _)| name);
        names.take_while(|name| name.is_of(group)).map(|name| self.down_of_one(name)).sum()
    }

    fn down_of_one(&self, name: &ProcessorId) -> u64 {
        self.numbers.get(name).map_or(0, |number| self.service.state().down_of(*number))
    }

    fn is_replaced_by(&self, group: &ProcessorId, running: &RunningStep) -> bool {
        let component = running.left.front().and_then(|next| self.component_of_move(group, next));
        let container = component.and_then(|component| self.live_container(component));
        container.is_some_and(|container| self.service.state().is_being_replaced(container))
    }

    pub(super) fn component_of_move(&self, group: &ProcessorId, next: &Move) -> Option<ComponentId> {
        match next {
            Move::Act { component, .. } | Move::ReplaceStandby { component, .. } => Some(*component),
            Move::HandOver { standby, .. } => Some(*standby),
            Move::StartStandby { number }
            | Move::AwaitStandby { number, .. }
            | Move::BringStandby { number, .. }
            | Move::StopStandby { number } => self.numbers.get(&group.standby(*number)).copied(),
        }
    }

    /// Starts the waiting time after the last canary.
    pub(super) fn canary_done(&mut self, request: Uuid, now_ms: u64) {
        let Some(plan) = self.plans.get_mut(&request) else { return };
        let Some(canary) = plan.batch.as_mut().and_then(|batch| batch.canary.as_mut()) else { return };
        if plan.succeeded < canary.steps.min(plan.steps) || plan.waiting.is_empty() {
            return;
        }
        canary.until_ms.get_or_insert(now_ms.saturating_add(canary.wait_ms));
    }

    /// Fails the request if a canary has ended. Lets the other steps begin once the waiting time has
    /// passed.
    fn check_canaries(&mut self, request: Uuid, now_ms: u64) {
        let canary = self.plans.get(&request).and_then(|plan| plan.batch.as_ref()?.canary.as_ref());
        let Some((canary, until_ms)) = canary.and_then(|canary| Some((canary, canary.until_ms?))) else {
            return;
        };
        let runs_on = |(component, container): &&(ComponentId, ContainerRef)| {
            // While another request works on the container, its successor is not yet known.
            let group = self.processor_of(*component).map(|processor| processor.active());
            group.is_some_and(|group| self.busy.contains_key(&group))
                || self.service.state().container_of(*component) == Some(*container)
        };
        let died = canary.runs.len() - canary.runs.iter().filter(runs_on).count();
        let died = u32::try_from(died).unwrap_or(u32::MAX);
        let Some(plan) = self.plans.get_mut(&request) else { return };
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

    /// Returns whether canaries let another step begin: it is a canary, or the canaries have passed.
    fn canaries_allow(&self, request: Uuid) -> bool {
        let Some(plan) = self.plans.get(&request) else { return false };
        let Some(canary) = plan.batch.as_ref().and_then(|batch| batch.canary.as_ref()) else { return true };
        let begun = plan.succeeded + plan.failed + u32::try_from(plan.running.len()).unwrap_or(u32::MAX);
        canary.until_ms.is_none() && begun < canary.steps
    }

    /// Records the container of a canary, which has to keep running. If another request replaces that
    /// container, its successor counts instead.
    pub(super) fn record_canary(&mut self, request: Uuid, group: &ProcessorId) {
        let next = self.running(request, group).and_then(|(_, running)| running.left.front());
        let Some(component) = next.and_then(|next| self.component_of_move(group, next)) else { return };
        let Some(container) = self.live_container(component) else { return };
        let batches = self.plans.values_mut().filter_map(|plan| plan.batch.as_mut()?.canary.as_mut());
        for known in
            batches.flat_map(|canary| canary.runs.iter_mut()).filter(|(known, _)| *known == component)
        {
            known.1 = container;
        }
        let batch = self.plans.get_mut(&request).and_then(|plan| plan.batch.as_mut());
        let canary = batch.and_then(|batch| batch.canary.as_mut());
        if let Some(canary) = canary.filter(|canary| canary.runs.iter().all(|(known, _)| *known != component))
        {
            canary.runs.push((component, container));
        }
    }

    /// Fails a request that has waited too long because too many containers are down. Waiting for other
    /// requests has no limit.
    fn check_stall(&mut self, request: Uuid, is_stalled: bool, down: u64, now_ms: u64) {
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
            "containers that were down for too long: {down}, with a disruption budget of {}",
            batch.pace.disruption_budget
        );
        plan.waiting.clear();
    }

    /// Returns the next time at which a wait exceeds its limit.
    pub(super) fn next_deadline_ms(&self) -> Option<u64> {
        let awaited = self.awaiting.iter().filter_map(|(request, group)| {
            let stage = self.running(*request, group)?.1.stage;
            let is_pause = matches!(stage, RunStage::Pausing { .. });
            Some(stage.until_ms()?.saturating_add(u64::from(!is_pause)))
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
