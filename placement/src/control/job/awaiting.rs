//! Steps that wait for a condition that no answer reports.

use uuid::Uuid;

use super::super::processor::ProcessorId;
use super::Job;
use super::plan::{Move, RunStage, RunningStep};
use crate::client::ClusterClient;

impl<C: ClusterClient> Job<C> {
    /// Puts the step into a waiting stage, and moves on at once if the condition already holds.
    pub(super) fn await_stage(&mut self, request: Uuid, group: &ProcessorId, stage: RunStage, now_ms: u64) {
        self.transition_stage(request, group, stage);
        self.awaiting.insert((request, group.clone()));
        if self.is_met(request, group, stage, now_ms) {
            return self.look_after(request, group, now_ms);
        }
        if let Some((waits, _)) = stage.in_words() {
            self.tell(request, waits);
        }
    }

    pub(super) fn look_after_awaiting(&mut self, now_ms: u64) {
        let awaiting: Vec<(Uuid, ProcessorId)> = self.awaiting.iter().cloned().collect();
        for (request, group) in awaiting {
            self.look_after(request, &group, now_ms);
        }
    }

    fn look_after(&mut self, request: Uuid, group: &ProcessorId, now_ms: u64) {
        let stage = self.running(request, group).map(|(_, running)| running.stage);
        let awaited = stage.and_then(|stage| Some((stage, stage.until_ms()?)));
        let is_met = awaited.is_none_or(|(stage, _)| self.is_met(request, group, stage, now_ms));
        if is_met {
            self.awaiting.remove(&(request, group.clone()));
        }
        let Some((stage, until_ms)) = awaited else { return };
        match stage {
            _ if !is_met => {
                let why = stage.in_words().map(|(_, why)| why).filter(|_| until_ms < now_ms);
                why.into_iter().for_each(|why| self.step_failed(request, group, why, now_ms));
            }
            RunStage::AwaitingContainer { .. } => self.next_move(request, group, now_ms),
            RunStage::Pausing { .. } => self.queue_again(request, group),
            RunStage::Gone { .. } => {
                self.record_reason(request, "the standby has stopped".to_owned());
                self.move_done(request, group, now_ms);
            }
            _ => self.move_done(request, group, now_ms),
        }
    }

    /// Returns whether the condition that the step waits for holds.
    fn is_met(&self, request: Uuid, group: &ProcessorId, stage: RunStage, now_ms: u64) -> bool {
        match stage {
            RunStage::AwaitingContainer { .. } => self.is_next_ready(request, group),
            RunStage::Standby { component, has_to_catch_up: true, .. } => self.has_caught_up(component),
            RunStage::Standby { component, .. } => self.live_container(component).is_some(),
            RunStage::Gone { component, .. } => !self.service.state().has_containers(component),
            RunStage::Pausing { until_ms } => until_ms <= now_ms,
            RunStage::Acting(_) | RunStage::HandingOver { .. } => true,
        }
    }

    /// Returns whether the containers that the next move concerns run.
    pub(super) fn is_next_ready(&self, request: Uuid, group: &ProcessorId) -> bool {
        let next = self.running(request, group).and_then(|(_, running)| running.left.front());
        let Some(next) = next.filter(|next| next.is_placement()) else { return true };
        let heir = match next {
            Move::HandOver { component, .. } => Some(*component),
            _ => None,
        };
        let concerned = self.component_of_move(group, next).into_iter().chain(heir);
        concerned.into_iter().all(|component| self.is_ready(component))
    }

    /// Ends the pause of a retried step, and puts it at the head of its queue.
    fn queue_again(&mut self, request: Uuid, group: &ProcessorId) {
        let Some(plan) = self.plans.get_mut(&request) else { return };
        let Some(RunningStep { step, .. }) = plan.running.remove(group) else { return };
        plan.waiting.push_front(step);
        if plan.batch.is_none() {
            self.queued.entry(group.clone()).or_default().push_front(request);
        }
        self.busy.remove(group);
        self.freed.insert(group.clone());
    }
}
