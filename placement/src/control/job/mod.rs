//! A running job: the containers of its processors, and the requests under way.
//!
//! A request becomes a `Plan` of steps, one for each processor concerned. A step runs only while no other
//! step concerns the same processor or its standbys (`samza.md` 1.13, I1). A step consists of moves. A move
//! is a placement action of the [`Service`] below, or the start or stop of a standby.
//!
//! | word | meaning | begins in | ends in |
//! |---|---|---|---|
//! | request | a caller's order ([`JobRequest`]) | `submit` | `finish` |
//! | plan | the steps of a request, and the rules for all of them | `Planner::plan` | `finish` |
//! | step | the moves for one processor and its standbys | `begin_step` | `step_over` |
//! | move | one operation, planned when the step begins (`Planner::moves_of`) | `next_move` | `move_done` |
//! | action | a move that the service below carries out ([`ContainerAction`](crate::ContainerAction)) | `carry_out` | `handle_answers` |

mod batch;
mod drive;
mod finish;
mod moves;
mod outcomes;
mod plan;
mod planner;
mod plans;
mod processors;
mod status;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use status::{JobStatus, ProcessorStatus};

use super::action::{JobAction, JobRequest};
use super::job_record::JobRecord;
use super::job_spec::{JobSpec, JobSpecError};
use super::processor::ProcessorId;
use crate::application::{ActionStatus, ServiceEvent, ServiceSettings};
use crate::client::ClusterClient;
use crate::component::ComponentSpec;
use crate::persistence::HistoryFile;
use crate::service::Service;
use planner::Planner;
use plans::Plans;
use processors::Processors;

/// A job that runs on a cluster. Its owner calls [`tick`](Self::tick) when something may have happened.
#[derive(Debug)]
pub struct Job<C> {
    service: Service<C>,
    processors: Processors,
    plans: Plans,
    /// The time of the current call.
    now_ms: u64,
    answers: Vec<JobAnswer>,
}

/// An answer to a request. Exactly one answer is terminal, and it is the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobAnswer {
    /// The request answered.
    pub request: Uuid,
    /// Its status.
    pub status: ActionStatus,
    /// The status in words.
    pub message: String,
    /// The numbers of its steps; only in the final answer.
    pub steps: Option<StepTally>,
}

/// The outcome of a request, counted in steps of one processor each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepTally {
    /// All steps.
    pub steps: u32,
    /// Steps that succeeded.
    pub succeeded: u32,
    /// Steps that failed. The remaining steps never began.
    pub failed: u32,
}

impl<C: ClusterClient> Job<C> {
    /// Starts a job. Its processors return to the hosts in the history.
    ///
    /// # Errors
    /// If the specification is invalid.
    pub fn start(
        spec: JobSpec,
        settings: ServiceSettings,
        client: C,
        history: Option<&HistoryFile>,
        now_ms: u64,
    ) -> Result<Self, JobSpecError> {
        Self::with(spec, |components| Service::start(components, settings, client, history, now_ms), now_ms)
    }

    /// Restarts the coordinator of a job. Its containers ran on and stay. Actions under way are over, and
    /// each processor keeps one container. The control plane answers the requests that were open.
    ///
    /// # Errors
    /// If the specification is invalid.
    pub fn restart(
        spec: JobSpec,
        settings: ServiceSettings,
        client: C,
        history: Option<&HistoryFile>,
        now_ms: u64,
    ) -> Result<Self, JobSpecError> {
        Self::with(spec, |components| Service::restart(components, settings, client, history, now_ms), now_ms)
    }

    fn with(
        spec: JobSpec,
        service: impl FnOnce(Vec<ComponentSpec>) -> Service<C>,
        now_ms: u64,
    ) -> Result<Self, JobSpecError> {
        spec.check()?;
        let processors = Processors::new(spec);
        let service = service(processors.components().values().cloned().collect());
        let mut job = Self { service, processors, plans: Plans::default(), now_ms, answers: Vec::new() };
        if !job.processors.spec().hosts_kept_free.is_empty() {
            job.keep_hosts_free();
        }
        Ok(job)
    }

    /// Accepts a request under a new uuid. [`take_answers`](Self::take_answers) reports its progress.
    pub fn submit(&mut self, request: Uuid, asked: JobRequest, now_ms: u64) {
        self.now_ms = now_ms;
        if self.plans.get(request).is_some() {
            return;
        }
        match asked.action {
            JobAction::Cancel { request: other } => self.cancel(request, other),
            JobAction::ReadmitHost { host } => self.readmit_host(request, &host),
            _ => self.order(request, asked),
        }
        self.drive();
    }

    /// Handles events of the cluster manager, and advances requests. Returns the next time at which it must
    /// be called even without events.
    pub fn tick(&mut self, now_ms: u64) -> Option<u64> {
        self.now_ms = now_ms;
        self.service.tick(now_ms);
        self.drive();
        // Read after `drive`, so that newly begun actions count as well.
        let service_ms = self.service.state().next_deadline_ms();
        [service_ms, self.plans.next_deadline_ms()].into_iter().flatten().min()
    }

    /// Takes the answers since the last call, in order.
    pub fn take_answers(&mut self) -> Vec<JobAnswer> {
        std::mem::take(&mut self.answers)
    }

    /// Reports that a standby's container has read all state. Report it again to a restarted coordinator.
    pub fn report_caught_up(&mut self, standby: &ProcessorId, now_ms: u64) {
        self.now_ms = now_ms;
        let Some(component) = self.processors.number(standby) else { return };
        if let Some(container) = self.look().live_container(component) {
            self.service.handle(ServiceEvent::CaughtUp(container), now_ms);
            self.drive();
        }
    }

    /// Returns whether the job has this processor or standby.
    #[must_use]
    pub fn has_processor(&self, processor: &ProcessorId) -> bool {
        self.processors.number(processor).is_some()
    }

    /// Counts the requests that wait for, or work on, a processor and its standbys.
    #[must_use]
    pub fn requests_for(&self, processor: &ProcessorId) -> usize {
        let group = processor.active();
        self.plans.queued_for(&group) + usize::from(self.plans.busy.contains_key(&group))
    }

    /// Counts the open requests.
    #[must_use]
    pub fn request_count(&self) -> usize {
        self.plans.iter().len()
    }

    /// Counts the open requests about many containers.
    #[must_use]
    pub fn batch_count(&self) -> usize {
        self.plans.batches.len()
    }

    /// Returns the open requests with their step counts.
    pub fn progress(&self) -> impl Iterator<Item = (Uuid, StepTally)> + '_ {
        self.plans.iter().map(|(request, plan)| (request, plan.tally()))
    }

    /// Returns the specification of the job with the standbys, versions, sizes and drained hosts that
    /// requests left. Use it to start the coordinator again.
    #[must_use]
    pub fn spec(&self) -> &JobSpec {
        self.processors.spec()
    }

    /// Stops the job and releases all its containers.
    pub fn stop(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.service.stop(now_ms);
        self.drive();
    }

    /// Returns the service below, read-only.
    #[must_use]
    pub fn service(&self) -> &Service<C> {
        &self.service
    }

    /// Returns the cluster manager's client, for embedders that pass it reports.
    pub fn client_mut(&mut self) -> &mut C {
        self.service.client_mut()
    }

    /// Returns the cluster manager's client, for a coordinator that restarts.
    pub fn into_client(self) -> C {
        self.service.into_client()
    }

    fn answer(&mut self, request: Uuid, status: ActionStatus, message: impl Into<String>) {
        self.answers.push(JobAnswer { request, status, message: message.into(), steps: None });
    }

    /// Takes the records of parts that requests changed since the last call, in their present state. Store
    /// them with, or before, the answers of the same turn. Then a restarted coordinator finds every change
    /// that a client was told of.
    pub fn take_records(&mut self) -> Vec<JobRecord> {
        self.processors.take_records()
    }

    fn look(&self) -> Planner<'_> {
        Planner { processors: &self.processors, state: self.service.state() }
    }

    /// Excludes the hosts that were drained or are being drained.
    fn keep_hosts_free(&mut self) {
        let kept = self.processors.spec().hosts_kept_free.iter().map(|host| Arc::from(host.as_str()));
        let drained = self.plans.drains().map(|(_, host)| Arc::clone(host));
        let hosts = kept.chain(drained).collect();
        self.service.handle(ServiceEvent::Exclude(hosts), self.now_ms);
    }
}
