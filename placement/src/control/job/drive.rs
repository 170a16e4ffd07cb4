//! Begins steps, and carries out their moves.

use std::collections::VecDeque;

use uuid::Uuid;

use super::super::processor::ProcessorId;
use super::Job;
use super::plan::{Intent, Move, Plan, RunStage, RunningStep, Step};
use crate::application::{ActionId, ActionKind, ActionStatus, ContainerAction, HandOver};
use crate::client::ClusterClient;
use crate::component::ComponentId;

impl<C: ClusterClient> Job<C> {
    /// Advances requests until none can advance.
    pub(super) fn drive(&mut self, now_ms: u64) {
        loop {
            self.handle_answers(now_ms);
            self.look_after_awaiting(now_ms);
            self.begin_queued(now_ms);
            self.begin_batches(now_ms);
            if self.service.has_no_answers() && self.freed.is_empty() {
                return;
            }
        }
    }

    /// Begins the next request of each free processor.
    fn begin_queued(&mut self, now_ms: u64) {
        while let Some(group) = self.freed.pop_first() {
            if self.busy.contains_key(&group) {
                continue;
            }
            let Some(queue) = self.queued.get_mut(&group) else { continue };
            let Some(request) = queue.pop_front() else {
                self.queued.remove(&group);
                continue;
            };
            match self.plans.get_mut(&request).and_then(|plan| plan.waiting.pop_front()) {
                Some(step) => self.begin_step(request, step, now_ms),
                // It was cancelled while it waited.
                None => {
                    self.freed.insert(group);
                }
            }
        }
    }

    pub(super) fn begin_step(&mut self, request: Uuid, step: Step, now_ms: u64) {
        let group = step.group.clone();
        let has_left = step.only_while.is_some_and(|(component, container)| {
            self.service.state().container_of(component) != Some(container)
        });
        let is_no_more = matches!(&step.intent, Intent::Restart { component, .. } if !self.components.contains_key(component));
        let is_needless = has_left || is_no_more;
        let moves = if is_needless { Ok(VecDeque::new()) } else { self.moves_of(&step) };
        let Some(plan) = self.plans.get_mut(&request) else { return };
        let until_ms = now_ms.saturating_add(plan.expires_after_ms);
        let (left, refused) = match moves {
            Ok(left) => (left, None),
            Err(why) => (VecDeque::new(), Some(why)),
        };
        let stage = RunStage::AwaitingContainer { until_ms };
        plan.running.insert(group.clone(), RunningStep { left, stage, ..RunningStep::new(step) });
        self.busy.insert(group.clone(), request);
        match refused {
            // The request was valid when it was submitted.
            Some(why) => self.step_failed(request, &group, &why, now_ms),
            None => self.next_move(request, &group, now_ms),
        }
    }

    pub(super) fn running(&self, request: Uuid, group: &ProcessorId) -> Option<(&Plan, &RunningStep)> {
        let plan = self.plans.get(&request)?;
        Some((plan, plan.running.get(group)?))
    }

    pub(super) fn running_mut(&mut self, request: Uuid, group: &ProcessorId) -> Option<&mut RunningStep> {
        self.plans.get_mut(&request)?.running.get_mut(group)
    }

    /// Completes the current move, and begins the next one.
    pub(super) fn move_done(&mut self, request: Uuid, group: &ProcessorId, now_ms: u64) {
        if let Some(running) = self.running_mut(request, group) {
            running.left.pop_front();
        }
        self.next_move(request, group, now_ms);
    }

    /// Begins the next move of a step, or ends the step.
    pub(super) fn next_move(&mut self, request: Uuid, group: &ProcessorId, now_ms: u64) {
        let Some((plan, running)) = self.running(request, group) else { return };
        let until_ms = now_ms.saturating_add(plan.expires_after_ms);
        if plan.is_cancelled && !running.left.is_empty() {
            return self.step_over(request, group, ActionStatus::Cancelled, "it was taken back", now_ms);
        }
        let Some(next) = running.left.front().cloned() else {
            return self.step_over(request, group, ActionStatus::Succeeded, "", now_ms);
        };
        match next {
            Move::Act { .. }
            | Move::HandOver { .. }
            | Move::ReplaceStandby { .. }
            | Move::BringStandby { .. } => match self.component_of_move(group, &next) {
                None => self.step_failed(request, group, "the standby was stopped meanwhile", now_ms),
                Some(component) if self.is_there(component, &next) => self.move_done(request, group, now_ms),
                Some(_) if self.is_next_ready(request, group) => {
                    self.carry_out(request, group, &next, now_ms);
                }
                Some(_) => self.await_stage(request, group, RunStage::AwaitingContainer { until_ms }, now_ms),
            },
            Move::StartStandby { number } => {
                self.add_standby(group, number, now_ms);
                if let Some(running) = self.running_mut(request, group) {
                    running.started.push(number);
                }
                self.move_done(request, group, now_ms);
            }
            Move::AwaitStandby { number, has_to_catch_up } => {
                let Some(component) = self.numbers.get(&group.standby(number)).copied() else {
                    return self.step_failed(request, group, "the standby was stopped meanwhile", now_ms);
                };
                let stage = RunStage::Standby { component, until_ms, has_to_catch_up };
                self.await_stage(request, group, stage, now_ms);
            }
            Move::StopStandby { number } => self.stop_standby(request, group, number, until_ms, now_ms),
        }
    }

    pub(super) fn transition_stage(&mut self, request: Uuid, group: &ProcessorId, stage: RunStage) {
        if let Some(running) = self.running_mut(request, group) {
            running.stage = stage;
        }
    }

    /// Returns whether an action on the component can begin: its container runs, or it was given up.
    pub(super) fn is_ready(&self, component: ComponentId) -> bool {
        self.live_container(component).is_some() || self.service.state().is_given_up(component)
    }

    fn is_there(&self, component: ComponentId, next: &Move) -> bool {
        let is_at =
            |host| self.live_container(component).is_some() && self.host_of(component).as_ref() == Some(host);
        matches!(next, Move::BringStandby { host, .. } if is_at(host))
    }

    /// Submits the placement action of a move to the service.
    fn carry_out(&mut self, request: Uuid, group: &ProcessorId, next: &Move, now_ms: u64) {
        let Some(action) = self.action_for(request, group, next) else {
            return self.step_failed(request, group, "the standby was stopped meanwhile", now_ms);
        };
        let stage = match action.hands_over_to {
            None => RunStage::Acting(action.id),
            Some(HandOver { id: heir, component, .. }) => {
                self.remember_action(heir, request, component);
                RunStage::HandingOver { standby: action.id, heir }
            }
        };
        self.remember_action(action.id, request, action.component);
        self.transition_stage(request, group, stage);
        self.service.submit(action, now_ms);
        if let Move::ReplaceStandby { number, .. } = next {
            self.remove_standby(group, *number, now_ms);
        }
    }

    fn remember_action(&mut self, action: ActionId, request: Uuid, component: ComponentId) {
        if let Some(processor) = self.processor_of(component) {
            self.acts.insert(action, (request, processor));
        }
    }

    fn next_action(&mut self) -> ActionId {
        self.last_action += 1;
        ActionId(self.last_action)
    }

    /// Returns the placement action of a move; `None` if its standby no longer exists.
    fn action_for(&mut self, request: Uuid, group: &ProcessorId, next: &Move) -> Option<ContainerAction> {
        let component = self.component_of_move(group, next)?;
        let expires_after_ms = self.running(request, group)?.0.expires_after_ms;
        let action =
            |id, kind| ContainerAction { expires_after_ms, ..ContainerAction::new(id, component, kind) };
        let id = self.next_action();
        Some(match next {
            Move::Act { kind, or_elsewhere, change, .. } => ContainerAction {
                or_elsewhere: *or_elsewhere,
                change: (**change).clone(),
                ..action(id, kind.clone())
            },
            Move::BringStandby { host, .. } => action(id, ActionKind::MoveTo(host.clone())),
            Move::HandOver { component: heir, or_elsewhere, .. } => {
                let (heir, or_elsewhere) = (*heir, *or_elsewhere);
                let hands_over_to = HandOver { id: self.next_action(), component: heir, or_elsewhere };
                ContainerAction {
                    avoid: self.host_of(component).into_iter().collect(),
                    hands_over_to: Some(hands_over_to),
                    ..action(id, ActionKind::MoveElsewhere)
                }
            }
            Move::ReplaceStandby { number, .. } => {
                let standby = *self.numbers.get(&group.standby(*number))?;
                action(id, ActionKind::TakePlaceOf(self.live_container(standby)?))
            }
            Move::StartStandby { .. } | Move::AwaitStandby { .. } | Move::StopStandby { .. } => return None,
        })
    }
}
