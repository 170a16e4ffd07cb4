//! Outcomes of steps, and of their requests.

use std::collections::VecDeque;

use uuid::Uuid;

use super::super::processor::ProcessorId;
use super::Job;
use super::moves::plain;
use super::plan::{Intent, Move, RunStage, RunningStep, Step};
use crate::application::{ActionKind, ActionStatus};
use crate::client::ClusterClient;
use crate::service::ActionProgress;

impl<C: ClusterClient> Job<C> {
    pub(super) fn handle_answers(&mut self) {
        for said in self.service.take_answers() {
            self.on_progress(said);
        }
        if self.service.state().is_over() && self.plans.iter().len() > 0 {
            self.end_all("the job ends");
        }
    }

    fn on_progress(&mut self, said: ActionProgress) {
        let Some((request, processor)) = self.plans.actions.get(&said.action).cloned() else { return };
        if said.status == ActionStatus::InProgress {
            let message = said.message;
            let message = if processor.is_standby() { format!("`{processor}`: {message}") } else { message };
            return self.tell(request, message);
        }
        if !said.status.is_terminal() {
            return;
        }
        self.plans.actions.remove(&said.action);
        let group = processor.active();
        if let Some(said) = self.last_of_two(request, &group, said) {
            self.move_over(request, &group, said.status, said.message);
        }
    }

    /// Joins the two answers of a handover: the move ends with the later one. The container's outcome
    /// counts. If the standby stays, the container's action never answers.
    fn last_of_two(
        &mut self,
        request: Uuid,
        group: &ProcessorId,
        said: ActionProgress,
    ) -> Option<ActionProgress> {
        let running = self.plans.running_mut(request, group)?;
        let RunStage::HandingOver { heir, .. } = running.stage else { return Some(said) };
        if said.action == heir {
            running.early = Some(said);
            return None;
        }
        match running.early.take() {
            Some(early) => Some(early),
            None if said.status == ActionStatus::Succeeded => {
                running.stage = RunStage::Acting(heir);
                None
            }
            None => {
                self.plans.actions.remove(&heir);
                Some(said)
            }
        }
    }

    fn move_over(&mut self, request: Uuid, group: &ProcessorId, status: ActionStatus, message: String) {
        match status {
            ActionStatus::Accepted | ActionStatus::InProgress => {}
            ActionStatus::Succeeded => {
                self.keep_change(request, group);
                self.record_canary(request, group);
                self.record_reason(request, message);
                self.move_done(request, group);
            }
            ActionStatus::Failed => self.step_failed(request, group, &message),
            ActionStatus::BadRequest | ActionStatus::Cancelled => {
                self.step_over(request, group, status, &message);
            }
        }
    }

    /// Reports progress of a request about one processor. Other requests report counts of finished steps.
    pub(super) fn tell(&mut self, request: Uuid, message: impl Into<String>) {
        if self.plans.get(request).is_some_and(|plan| plan.batch.is_none()) {
            self.answer(request, ActionStatus::InProgress, message);
        }
    }

    /// Keeps the new size and version of the component after its action succeeded.
    fn keep_change(&mut self, request: Uuid, group: &ProcessorId) {
        let Some((_, running)) = self.plans.running(request, group) else { return };
        let Some(Move::Act { component, change, .. }) = running.left.front().cloned() else { return };
        self.processors.keep_change(group, component, &change);
    }

    /// Records the container of a canary.
    fn record_canary(&mut self, request: Uuid, group: &ProcessorId) {
        let next = self.plans.running(request, group).and_then(|(_, running)| running.left.front());
        let Some(component) = next.and_then(|next| self.processors.component_of_move(group, next)) else {
            return;
        };
        let Some(container) = self.look().live_container(component) else { return };
        self.plans.record_canary(request, component, container);
    }

    pub(super) fn record_reason(&mut self, request: Uuid, message: String) {
        // A request about many containers reports only the reasons of failures.
        if let Some(plan) = self.plans.get_mut(request).filter(|plan| plan.batch.is_none()) {
            plan.reason = message;
        }
    }

    /// Returns the moves of a departure without its standby, if the standby cannot make way.
    fn other_way(&self, request: Uuid, group: &ProcessorId) -> Option<VecDeque<Move>> {
        let (plan, running) = self.plans.running(request, group)?;
        let Intent::Depart { component, .. } = running.step.intent else { return None };
        let is_by_standby = running.left.iter().any(|next| matches!(next, Move::HandOver { .. }));
        let goes_on = is_by_standby && !plan.is_cancelled && !self.service.state().is_over();
        goes_on.then(|| [plain(component, ActionKind::MoveElsewhere)].into())
    }

    fn go_on_with(&mut self, request: Uuid, group: &ProcessorId, left: VecDeque<Move>) {
        self.plans.awaiting.remove(&(request, group.clone()));
        if let Some(running) = self.plans.running_mut(request, group) {
            running.left = left;
        }
        self.next_move(request, group);
    }

    /// Retries the step after a pause if it has retries left; otherwise the step fails.
    pub(super) fn step_failed(&mut self, request: Uuid, group: &ProcessorId, why: &str) {
        let again = self.plans.running(request, group).and_then(|(plan, running)| {
            let step = &running.step;
            let is_left = step.retries > 0 && !plan.is_cancelled;
            is_left.then(|| Step { retries: step.retries - 1, tries: step.tries + 1, ..step.clone() })
        });
        if let Some(other_way) = self.other_way(request, group) {
            return self.go_on_with(request, group, other_way);
        }
        let Some(again) = again.filter(|_| !self.service.state().is_over()) else {
            return self.step_over(request, group, ActionStatus::Failed, why);
        };
        self.answer(request, ActionStatus::InProgress, format!("{why}; {} tries left", again.retries));
        self.drop_started_standbys(request, group);
        let until_ms = self.now_ms.saturating_add(again.pause_ms());
        if let Some(running) = self.plans.running_mut(request, group) {
            *running = RunningStep::new(again);
        }
        self.await_stage(request, group, RunStage::Pausing { until_ms });
    }

    /// Ends a step. Ends the request too if that concerns one processor.
    pub(super) fn step_over(&mut self, request: Uuid, group: &ProcessorId, status: ActionStatus, why: &str) {
        match status {
            ActionStatus::Succeeded => self.keep_started_standbys(request, group),
            _ => self.drop_started_standbys(request, group),
        }
        if self.plans.end_step(request, group).is_none() {
            return;
        }
        let Some(plan) = self.plans.get_mut(request) else { return };
        let before = plan.percent_done();
        if status == ActionStatus::Succeeded {
            plan.succeeded += 1;
        } else {
            plan.failed += 1;
            why.clone_into(&mut plan.reason);
            if plan.batch.as_ref().is_some_and(|batch| batch.is_rolling) {
                plan.waiting.clear();
            }
        }
        if plan.batch.is_none() {
            return self.finish(request, status);
        }
        plan.canary_done(self.now_ms);
        let message = (plan.percent_done() > before && !plan.is_done()).then(|| plan.summary());
        if let Some(message) = message {
            self.answer(request, ActionStatus::InProgress, message);
        }
        self.finish_if_done(request);
    }

    /// Adds the standbys that a step started, and did not stop, to the job's specification.
    fn keep_started_standbys(&mut self, request: Uuid, group: &ProcessorId) {
        let Some((_, running)) = self.plans.running(request, group) else { return };
        let stay = running.started.iter().copied();
        let stay: Vec<u32> =
            stay.filter(|number| self.processors.standby(group, *number).is_some()).collect();
        if let Some(number) = stay.last() {
            let standby = group.standby(*number);
            let host = self.processors.number(&standby).and_then(|component| self.look().host_of(component));
            let host = host.as_deref().unwrap_or("its host");
            self.record_reason(request, format!("`{standby}` runs on {host}"));
        }
        if !stay.is_empty() {
            self.processors.change_processor(group, |processor| processor.standbys.extend(stay));
        }
    }

    /// Removes the standbys that a failed step started.
    fn drop_started_standbys(&mut self, request: Uuid, group: &ProcessorId) {
        let Some((_, running)) = self.plans.running(request, group) else { return };
        let started = running.started.clone();
        for number in started {
            self.remove_standby(group, number);
        }
    }
}
