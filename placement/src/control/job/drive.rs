//! Begins steps, carries out their moves, and waits for conditions that no answer reports.

use std::collections::VecDeque;

use uuid::Uuid;

use super::super::action::JobRequest;
use super::super::processor::ProcessorId;
use super::Job;
use super::plan::{Intent, Move, Plan, RunStage, RunningStep, Step};
use super::planner::Planner;
use crate::application::{ActionId, ActionKind, ActionStatus, ContainerAction, HandOver, ServiceEvent};
use crate::client::ClusterClient;
use crate::component::{ComponentId, ComponentSpec};

impl<C: ClusterClient> Job<C> {
    /// Plans and queues a request, or answers at once why it is invalid.
    pub(super) fn order(&mut self, request: Uuid, asked: JobRequest) {
        let JobRequest { action, expires_after_ms, retries } = asked;
        let planned = match self.service.state().is_over() {
            true => Err("the job ends".to_owned()),
            false => self.look().plan(action),
        };
        let (steps, batch) = match planned {
            Ok(planned) => planned,
            Err(reason) => return self.answer(request, ActionStatus::BadRequest, reason),
        };
        let steps = steps.into_iter().map(|step| Step { retries, ..step }).collect();
        let plan = Plan::new(steps, batch, expires_after_ms);
        let is_drain = plan.drained_host().is_some();
        self.answer(request, ActionStatus::Accepted, "it waits for its turn");
        self.plans.add(request, plan);
        if is_drain {
            self.keep_hosts_free();
        }
    }

    /// Advances requests until none can advance.
    pub(super) fn drive(&mut self) {
        loop {
            self.handle_answers();
            for (request, group) in self.plans.awaiting.clone() {
                self.look_after(request, &group);
            }
            while let Some((request, step)) = self.plans.take_queued() {
                self.begin_step(request, step);
            }
            self.begin_batches();
            if self.service.has_no_answers() && !self.plans.has_freed() {
                return;
            }
        }
    }

    /// Begins as many steps as the pace of each request about many containers allows, oldest request first.
    fn begin_batches(&mut self) {
        for request in self.plans.batches.clone() {
            let look = Planner { processors: &self.processors, state: self.service.state() };
            self.plans.check_canaries(request, look, self.now_ms);
            loop {
                let look = Planner { processors: &self.processors, state: self.service.state() };
                let Some(step) = self.plans.next_of_batch(request, look, self.now_ms) else { break };
                self.tell_begin(request);
                self.begin_step(request, step);
            }
            self.finish_if_done(request);
        }
    }

    /// Reports progress when the first step begins.
    fn tell_begin(&mut self, request: Uuid) {
        let Some(plan) = self.plans.get_mut(request) else { return };
        if !std::mem::replace(&mut plan.is_begun, true) {
            let message = format!("0 of {} done", plan.steps);
            self.answer(request, ActionStatus::InProgress, message);
        }
    }

    fn begin_step(&mut self, request: Uuid, step: Step) {
        let group = step.group.clone();
        let has_left = step.only_while.is_some_and(|(component, container)| {
            self.service.state().container_of(component) != Some(container)
        });
        let is_no_more = matches!(&step.intent, Intent::Restart { component, .. } if !self.processors.components().contains_key(component));
        let is_needless = has_left || is_no_more;
        let moves = if is_needless { Ok(VecDeque::new()) } else { self.look().moves_of(&step) };
        let (left, refused) = match moves {
            Ok(left) => (left, None),
            Err(why) => (VecDeque::new(), Some(why)),
        };
        self.plans.begin_step(request, RunningStep { left, ..RunningStep::new(step) });
        match refused {
            // The request was valid when it was submitted.
            Some(why) => self.step_failed(request, &group, &why),
            None => self.next_move(request, &group),
        }
    }

    /// Completes the current move, and begins the next one.
    pub(super) fn move_done(&mut self, request: Uuid, group: &ProcessorId) {
        if let Some(running) = self.plans.running_mut(request, group) {
            running.left.pop_front();
        }
        self.next_move(request, group);
    }

    /// Begins the next move of a step, or ends the step.
    pub(super) fn next_move(&mut self, request: Uuid, group: &ProcessorId) {
        let Some((plan, running)) = self.plans.running(request, group) else { return };
        let until_ms = self.now_ms.saturating_add(plan.expires_after_ms);
        if plan.is_cancelled && !running.left.is_empty() {
            return self.step_over(request, group, ActionStatus::Cancelled, "it was taken back");
        }
        let is_ready = self.look().is_next_ready(group, running);
        let Some(next) = running.left.front().cloned() else {
            return self.step_over(request, group, ActionStatus::Succeeded, "");
        };
        match next {
            Move::Act { .. }
            | Move::HandOver { .. }
            | Move::ReplaceStandby { .. }
            | Move::BringStandby { .. } => match self.processors.component_of_move(group, &next) {
                None => self.step_failed(request, group, "the standby was stopped meanwhile"),
                Some(component) if self.look().is_there(component, &next) => self.move_done(request, group),
                Some(_) if is_ready => {
                    self.carry_out(request, group, &next);
                }
                Some(_) => self.await_stage(request, group, RunStage::AwaitingContainer { until_ms }),
            },
            Move::StartStandby { number } => {
                let changed = self.processors.add_standby(group, number);
                self.change(changed);
                if let Some(running) = self.plans.running_mut(request, group) {
                    running.started.push(number);
                }
                self.move_done(request, group);
            }
            Move::AwaitStandby { number, has_to_catch_up } => {
                let Some(component) = self.processors.standby(group, number) else {
                    return self.step_failed(request, group, "the standby was stopped meanwhile");
                };
                let stage = RunStage::Standby { component, until_ms, has_to_catch_up };
                self.await_stage(request, group, stage);
            }
            Move::StopStandby { number } => match self.remove_standby(group, number) {
                Some(component) => {
                    self.await_stage(request, group, RunStage::Gone { component, until_ms });
                }
                None => self.step_failed(request, group, "the standby no longer exists"),
            },
        }
    }

    /// Submits the placement action of a move to the service.
    fn carry_out(&mut self, request: Uuid, group: &ProcessorId, next: &Move) {
        let Some(action) = self.action_for(request, group, next) else {
            return self.step_failed(request, group, "the standby was stopped meanwhile");
        };
        let stage = match action.hands_over_to {
            None => RunStage::Acting(action.id),
            Some(HandOver { id: heir, component, .. }) => {
                self.remember_action(heir, request, component);
                RunStage::HandingOver { standby: action.id, heir }
            }
        };
        self.remember_action(action.id, request, action.component);
        self.plans.transition_stage(request, group, stage);
        self.service.submit(action, self.now_ms);
        if let Move::ReplaceStandby { number, .. } = next {
            self.remove_standby(group, *number);
        }
    }

    fn remember_action(&mut self, action: ActionId, request: Uuid, component: ComponentId) {
        if let Some(processor) = self.processors.processor_of(component) {
            self.plans.actions.insert(action, (request, processor));
        }
    }

    /// Puts the step into a waiting stage, and moves on at once if the condition already holds.
    pub(super) fn await_stage(&mut self, request: Uuid, group: &ProcessorId, stage: RunStage) {
        self.plans.begin_wait(request, group, stage);
        if self.is_met(request, group) {
            return self.look_after(request, group);
        }
        if let Some((waits, _)) = stage.in_words() {
            self.tell(request, waits);
        }
    }

    /// Returns whether the condition that the step waits for holds, or the step is over.
    fn is_met(&self, request: Uuid, group: &ProcessorId) -> bool {
        let running = self.plans.running(request, group);
        running.is_none_or(|(_, running)| self.look().is_met(group, running, self.now_ms))
    }

    fn look_after(&mut self, request: Uuid, group: &ProcessorId) {
        let is_met = self.is_met(request, group);
        if is_met {
            self.plans.awaiting.remove(&(request, group.clone()));
        }
        let Some((_, running)) = self.plans.running(request, group) else { return };
        let stage = running.stage;
        let Some(until_ms) = stage.until_ms() else { return };
        match stage {
            _ if !is_met => {
                let why = stage.in_words().map(|(_, why)| why).filter(|_| until_ms < self.now_ms);
                why.into_iter().for_each(|why| self.step_failed(request, group, why));
            }
            RunStage::AwaitingContainer { .. } => self.next_move(request, group),
            RunStage::Pausing { .. } => self.plans.queue_again(request, group),
            RunStage::Gone { .. } => {
                self.record_reason(request, "the standby has stopped".to_owned());
                self.move_done(request, group);
            }
            _ => self.move_done(request, group),
        }
    }

    /// Removes a standby from the processor; the service releases its container.
    pub(super) fn remove_standby(&mut self, group: &ProcessorId, number: u32) -> Option<ComponentId> {
        let changed = self.processors.remove_standby(group, number);
        let standby = changed.last().map(|standby| standby.id);
        self.change(changed);
        standby
    }

    fn change(&mut self, components: Vec<ComponentSpec>) {
        for component in components {
            self.service.handle(ServiceEvent::Change(component), self.now_ms);
        }
    }

    /// Returns the placement action of a move; `None` if its standby no longer exists.
    fn action_for(&mut self, request: Uuid, group: &ProcessorId, next: &Move) -> Option<ContainerAction> {
        let component = self.processors.component_of_move(group, next)?;
        let expires_after_ms = self.plans.running(request, group)?.0.expires_after_ms;
        let action =
            |id, kind| ContainerAction { expires_after_ms, ..ContainerAction::new(id, component, kind) };
        let id = self.plans.next_action();
        Some(match next {
            Move::Act { kind, or_elsewhere, change, .. } => ContainerAction {
                or_elsewhere: *or_elsewhere,
                change: (**change).clone(),
                ..action(id, kind.clone())
            },
            Move::BringStandby { host, .. } => action(id, ActionKind::MoveTo(host.clone())),
            Move::HandOver { component: heir, or_elsewhere, .. } => {
                let (heir, or_elsewhere) = (*heir, *or_elsewhere);
                let hands_over_to = HandOver { id: self.plans.next_action(), component: heir, or_elsewhere };
                ContainerAction {
                    avoid: self.look().host_of(component).into_iter().collect(),
                    hands_over_to: Some(hands_over_to),
                    ..action(id, ActionKind::MoveElsewhere)
                }
            }
            Move::ReplaceStandby { number, .. } => {
                let standby = self.processors.standby(group, *number)?;
                action(id, ActionKind::TakePlaceOf(self.look().live_container(standby)?))
            }
            Move::StartStandby { .. } | Move::AwaitStandby { .. } | Move::StopStandby { .. } => return None,
        })
    }
}
