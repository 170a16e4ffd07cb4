//! Outcomes of steps, and of their requests.

use std::collections::VecDeque;

use uuid::Uuid;

use super::super::processor::ProcessorId;
use super::Job;
use super::moves::plain;
use super::plan::{Intent, Move, RunStage, RunningStep, Step};
use crate::application::{ActionId, ActionKind, ActionStatus, ComponentChange};
use crate::client::ClusterClient;
use crate::service::ActionProgress;

impl<C: ClusterClient> Job<C> {
    pub(super) fn handle_answers(&mut self, now_ms: u64) {
        for said in self.service.take_answers() {
            self.on_progress(said, now_ms);
        }
        if self.service.state().is_over() && !self.plans.is_empty() {
            self.end_all("the job ends", now_ms);
        }
    }

    fn on_progress(&mut self, said: ActionProgress, now_ms: u64) {
        let ActionProgress { action, status, message } = said;
        let Some((request, processor)) = self.acts.get(&action).cloned() else { return };
        if status == ActionStatus::InProgress {
            let message = if processor.is_standby() { format!("`{processor}`: {message}") } else { message };
            return self.tell(request, message);
        }
        if !status.is_terminal() {
            return;
        }
        self.acts.remove(&action);
        let group = processor.active();
        if let Some((status, message)) = self.last_of_two(request, &group, action, status, message) {
            self.move_over(request, &group, status, message, now_ms);
        }
    }

    /// Joins the two answers of a handover: the move ends with the later one. The container's outcome
    /// counts. If the standby stays, the container's action never answers.
    fn last_of_two(
        &mut self,
        request: Uuid,
        group: &ProcessorId,
        action: ActionId,
        status: ActionStatus,
        message: String,
    ) -> Option<(ActionStatus, String)> {
        let running = self.running_mut(request, group)?;
        let RunStage::HandingOver { heir, .. } = running.stage else { return Some((status, message)) };
        if action == heir {
            running.early = Some((status, message));
            return None;
        }
        match running.early.take() {
            Some(early) => Some(early),
            None if status == ActionStatus::Succeeded => {
                self.transition_stage(request, group, RunStage::Acting(heir));
                None
            }
            None => {
                self.acts.remove(&heir);
                Some((status, message))
            }
        }
    }

    fn move_over(
        &mut self,
        request: Uuid,
        group: &ProcessorId,
        status: ActionStatus,
        message: String,
        now_ms: u64,
    ) {
        match status {
            ActionStatus::Accepted | ActionStatus::InProgress => {}
            ActionStatus::Succeeded => {
                self.keep_change(request, group);
                self.record_canary(request, group);
                self.record_reason(request, message);
                self.move_done(request, group, now_ms);
            }
            ActionStatus::Failed => self.step_failed(request, group, &message, now_ms),
            ActionStatus::BadRequest | ActionStatus::Cancelled => {
                self.step_over(request, group, status, &message, now_ms);
            }
        }
    }

    /// Reports progress of a request about one processor. Other requests report counts of finished steps.
    pub(super) fn tell(&mut self, request: Uuid, message: impl Into<String>) {
        if self.plans.get(&request).is_some_and(|plan| plan.batch.is_none()) {
            self.answer(request, ActionStatus::InProgress, message);
        }
    }

    /// Keeps the new size and version of the component after its action succeeded.
    fn keep_change(&mut self, request: Uuid, group: &ProcessorId) {
        let Some((_, running)) = self.running(request, group) else { return };
        let Some(Move::Act { component, change, .. }) = running.left.front().cloned() else { return };
        let Some(known) = self.components.get_mut(&component) else { return };
        if let Some(size) = change.size {
            known.size = size;
        }
        if let Some(version) = &change.version {
            known.version.clone_from(version);
        }
        let (is_active, size, version) = (known.name == group.to_string(), known.size, known.version.clone());
        if is_active && *change != ComponentChange::default() {
            self.change_processor(group, |processor| {
                processor.size = size;
                processor.version = version;
            });
        }
    }

    pub(super) fn record_reason(&mut self, request: Uuid, message: String) {
        // A request about many containers reports only the reasons of failures.
        if let Some(plan) = self.plans.get_mut(&request).filter(|plan| plan.batch.is_none()) {
            plan.reason = message;
        }
    }

    /// Returns the moves of a departure without its standby, if the standby cannot make way.
    fn other_way(&self, request: Uuid, group: &ProcessorId) -> Option<VecDeque<Move>> {
        let (plan, running) = self.running(request, group)?;
        let Intent::Depart { component, .. } = running.step.intent else { return None };
        let is_by_standby = running.left.iter().any(|next| matches!(next, Move::HandOver { .. }));
        let goes_on = is_by_standby && !plan.is_cancelled && !self.service.state().is_over();
        goes_on.then(|| [plain(component, ActionKind::MoveElsewhere)].into())
    }

    fn go_on_with(&mut self, request: Uuid, group: &ProcessorId, left: VecDeque<Move>, now_ms: u64) {
        self.awaiting.remove(&(request, group.clone()));
        if let Some(running) = self.running_mut(request, group) {
            running.left = left;
        }
        self.next_move(request, group, now_ms);
    }

    /// Retries the step after a pause if it has retries left; otherwise the step fails.
    pub(super) fn step_failed(&mut self, request: Uuid, group: &ProcessorId, why: &str, now_ms: u64) {
        let again = self.running(request, group).and_then(|(plan, running)| {
            let step = &running.step;
            let is_left = step.retries > 0 && !plan.is_cancelled;
            is_left.then(|| Step { retries: step.retries - 1, tries: step.tries + 1, ..step.clone() })
        });
        if let Some(other_way) = self.other_way(request, group) {
            return self.go_on_with(request, group, other_way, now_ms);
        }
        let Some(again) = again.filter(|_| !self.service.state().is_over()) else {
            return self.step_over(request, group, ActionStatus::Failed, why, now_ms);
        };
        self.answer(request, ActionStatus::InProgress, format!("{why}; {} tries left", again.retries));
        self.drop_started_standbys(request, group, now_ms);
        let until_ms = now_ms.saturating_add(again.pause_ms());
        if let Some(running) = self.running_mut(request, group) {
            *running = RunningStep::new(again);
        }
        self.await_stage(request, group, RunStage::Pausing { until_ms }, now_ms);
    }

    /// Ends a step. Ends the request too if that concerns one processor.
    pub(super) fn step_over(
        &mut self,
        request: Uuid,
        group: &ProcessorId,
        status: ActionStatus,
        why: &str,
        now_ms: u64,
    ) {
        match status {
            ActionStatus::Succeeded => self.keep_started_standbys(request, group),
            _ => self.drop_started_standbys(request, group, now_ms),
        }
        self.awaiting.remove(&(request, group.clone()));
        let Some(plan) = self.plans.get_mut(&request) else { return };
        if plan.running.remove(group).is_none() {
            return;
        }
        self.busy.remove(group);
        self.freed.insert(group.clone());
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
            return self.finish(request, status, now_ms);
        }
        let message = (plan.percent_done() > before && !plan.is_done()).then(|| plan.tally());
        if let Some(message) = message {
            self.answer(request, ActionStatus::InProgress, message);
        }
        self.canary_done(request, now_ms);
        self.finish_if_done(request, now_ms);
    }
}
