//! Final answers: to requests about one processor or many, to cancelled ones, and to all when the job ends.

use uuid::Uuid;

use super::super::processor::ProcessorId;
use super::plan::{RunStage, Step};
use super::{Job, JobAnswer};
use crate::application::{ActionId, ActionStatus, ServiceEvent};
use crate::client::ClusterClient;
use crate::history::InstanceState;

/// Whether the host of a drain is empty.
enum Drained {
    Yes,
    /// Containers remain, and the drain cannot move them.
    No {
        left: usize,
    },
    NotYet,
}

impl<C: ClusterClient> Job<C> {
    /// Sends the final answer to a request about many containers once no step is left.
    pub(super) fn finish_if_done(&mut self, request: Uuid) {
        if self.plans.get(request).is_none_or(|plan| !plan.is_done() || plan.batch.is_none()) {
            return;
        }
        let left = match self.look_after_drain(request) {
            Drained::NotYet => return,
            Drained::No { left } => left,
            Drained::Yes => 0,
        };
        let Some(plan) = self.plans.get_mut(request) else { return };
        let drained = plan.drained_host().cloned();
        let status = match (plan.is_cancelled, plan.failed, left) {
            (true, ..) => ActionStatus::Cancelled,
            (false, 0, 0) => ActionStatus::Succeeded,
            _ => ActionStatus::Failed,
        };
        if let Some(host) = drained.as_ref().filter(|_| left > 0) {
            let remain = format!("containers still on {host}: {left}");
            plan.reason = if plan.reason.is_empty() { remain } else { format!("{remain}; {}", plan.reason) };
            plan.failed = plan.failed.max(1);
        }
        if let Some(host) = drained.as_ref().filter(|_| status == ActionStatus::Succeeded) {
            self.processors.change_hosts_kept_free(|hosts| hosts.extend([host.to_string()]));
        }
        self.finish(request, status);
    }

    /// Checks the host of a drain. Adds steps for containers that were on their way there when the drain
    /// began.
    fn look_after_drain(&mut self, request: Uuid) -> Drained {
        let Some(plan) = self.plans.get(request) else { return Drained::Yes };
        let Some(drain) = plan.batch.as_ref().and_then(|batch| batch.drains.as_ref()) else {
            return Drained::Yes;
        };
        let state = self.service.state();
        let mut states =
            state.containers_on(&drain.host).filter_map(|(container, _)| state.instance_state(container));
        let is_reserved = states.any(|state| state == InstanceState::Reserved);
        let there = self.look().departures(&drain.host, usize::MAX);
        let left = there.len();
        let is_new =
            |step: &Step| step.only_while.is_some_and(|(_, container)| !drain.seen.contains(&container));
        let came: Vec<Step> = there.into_iter().filter(is_new).collect();
        if plan.is_cancelled || (came.is_empty() && !is_reserved) {
            return if left == 0 { Drained::Yes } else { Drained::No { left } };
        }
        let Some(plan) = self.plans.get_mut(request) else { return Drained::Yes };
        plan.steps = plan.steps.saturating_add(u32::try_from(came.len()).unwrap_or(u32::MAX));
        if let Some(drain) = plan.batch.as_mut().and_then(|batch| batch.drains.as_mut()) {
            drain.seen.extend(came.iter().filter_map(|step| Some(step.only_while?.1)));
        }
        plan.waiting.extend(came);
        Drained::NotYet
    }

    pub(super) fn finish(&mut self, request: Uuid, status: ActionStatus) {
        let Some(plan) = self.plans.remove(request) else { return };
        let (steps, was_drain) = (Some(plan.tally()), plan.drained_host().is_some());
        let message = if plan.batch.is_some() { plan.summary() } else { plan.reason };
        if was_drain {
            self.keep_hosts_free();
        }
        self.answers.push(JobAnswer { request, status, message, steps });
    }

    /// Cancels a request, as far as that is still possible.
    pub(super) fn cancel(&mut self, request: Uuid, other: Uuid) {
        let Some(plan) = self.plans.cancel(other) else {
            let reason = format!("request {other} is over or not known");
            return self.answer(request, ActionStatus::BadRequest, reason);
        };
        let running: Vec<(ProcessorId, RunStage)> =
            plan.running.iter().map(|(group, running)| (group.clone(), running.stage)).collect();
        "it was taken back".clone_into(&mut plan.reason);
        let is_idle = running.is_empty();
        for (group, stage) in running {
            match stage {
                RunStage::Acting(action) => {
                    self.service.handle(ServiceEvent::CancelAction(action), self.now_ms);
                }
                RunStage::HandingOver { standby, heir } => {
                    self.service.handle(ServiceEvent::CancelAction(heir), self.now_ms);
                    self.service.handle(ServiceEvent::CancelAction(standby), self.now_ms);
                }
                // The service has already been told to stop the standby.
                RunStage::Gone { .. } => {}
                RunStage::AwaitingContainer { .. } | RunStage::Standby { .. } | RunStage::Pausing { .. } => {
                    self.step_over(other, &group, ActionStatus::Cancelled, "it was taken back");
                }
            }
        }
        if is_idle {
            self.finish(other, ActionStatus::Cancelled);
        }
        self.answer(
            request,
            ActionStatus::Succeeded,
            format!("request {other} is taken back as far as it can be"),
        );
    }

    /// Lets containers return to the host, and answers the request.
    pub(super) fn readmit_host(&mut self, request: Uuid, host: &str) {
        match self.readmit(host) {
            Ok(()) => {
                self.keep_hosts_free();
                self.answer(request, ActionStatus::Succeeded, format!("containers may come to {host} again"));
            }
            Err(reason) => self.answer(request, ActionStatus::BadRequest, reason),
        }
    }

    fn readmit(&mut self, host: &str) -> Result<(), String> {
        if let Some((request, _)) = self.plans.drains().find(|(_, drained)| ***drained == *host) {
            return Err(format!("host `{host}` is being drained by request {request}; cancel that first"));
        }
        if !self.processors.spec().hosts_kept_free.contains(host) {
            return Err(format!("host `{host}` is not kept free"));
        }
        self.processors.change_hosts_kept_free(|hosts| hosts.retain(|kept| *kept != *host));
        Ok(())
    }

    /// Ends all requests for this reason, and cancels their placement actions where that is still possible.
    pub fn end_requests(&mut self, why: &str, now_ms: u64) {
        self.now_ms = now_ms;
        let acting: Vec<ActionId> = self.plans.actions.keys().copied().collect();
        for action in acting {
            self.service.handle(ServiceEvent::CancelAction(action), now_ms);
        }
        self.end_all(why);
        self.drive();
    }

    pub(super) fn end_all(&mut self, why: &str) {
        let requests: Vec<Uuid> = self.plans.iter().map(|(request, _)| request).collect();
        for request in requests {
            let Some(plan) = self.plans.get_mut(request) else { continue };
            plan.waiting.clear();
            let groups: Vec<ProcessorId> = plan.running.keys().cloned().collect();
            for group in groups {
                self.step_over(request, &group, ActionStatus::Failed, why);
            }
            if let Some(plan) = self.plans.get_mut(request) {
                why.clone_into(&mut plan.reason);
                self.finish(request, ActionStatus::Failed);
            }
        }
    }
}
