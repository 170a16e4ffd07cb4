//! A running job: the containers of its processors, and the requests under way.
//!
//! A request becomes a [`Plan`] of steps, one for each processor concerned. A step runs only while no other
//! step concerns the same processor or its standbys (`samza.md` 1.13, I1). A step consists of moves. A move
//! is a placement action of the [`Service`] below, or the start or stop of a standby.
//!
//! | word | meaning | begins in | ends in |
//! |---|---|---|---|
//! | request | a caller's order ([`JobRequest`]) | `submit` | `finish` |
//! | plan | the steps of a request, and the rules for all of them | `order` | `finish` |
//! | step | the moves for one processor and its standbys | `begin_step` | `step_over` |
//! | move | one operation, planned when the step begins (`moves_of`) | `next_move` | `move_done` |
//! | action | a move that the service below carries out ([`ContainerAction`](crate::ContainerAction)) | `carry_out` | `handle_answers` |

mod awaiting;
mod batch;
mod drive;
mod finish;
mod moves;
mod order;
mod outcomes;
mod plan;
mod records;
mod standby;
mod status;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use status::{JobStatus, ProcessorStatus};

use super::action::{JobAction, JobRequest};
use super::job_spec::{JobSpec, JobSpecError};
use super::processor::ProcessorId;
use crate::application::{ActionId, ActionStatus, ServiceEvent, ServiceSettings};
use crate::client::{ClusterClient, ContainerRef};
use crate::component::{ComponentId, ComponentSpec};
use crate::history::InstanceState;
use crate::persistence::HistoryFile;
use crate::service::Service;
use plan::Plan;
use records::Unrecorded;

/// A job that runs on a cluster. Its owner calls [`tick`](Self::tick) when something may have happened.
#[derive(Debug)]
pub struct Job<C> {
    service: Service<C>,
    spec: JobSpec,
    components: BTreeMap<ComponentId, ComponentSpec>,
    numbers: BTreeMap<ProcessorId, ComponentId>,
    /// The position of each processor in the job's list.
    places: BTreeMap<ProcessorId, usize>,
    plans: BTreeMap<Uuid, Plan>,
    /// Requests about one processor that wait for other requests, in order.
    queued: BTreeMap<ProcessorId, VecDeque<Uuid>>,
    /// Requests about many containers, in order of arrival.
    batches: Vec<Uuid>,
    /// The request that works on a processor and its standbys.
    busy: BTreeMap<ProcessorId, Uuid>,
    acts: BTreeMap<ActionId, (Uuid, ProcessorId)>,
    /// Steps that wait for a condition that no answer reports.
    awaiting: BTreeSet<(Uuid, ProcessorId)>,
    /// Processors whose next request may begin.
    freed: BTreeSet<ProcessorId>,
    last_action: u64,
    answers: Vec<JobAnswer>,
    unrecorded: Unrecorded,
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
        let named: Vec<(ProcessorId, ComponentSpec)> = spec.components().collect();
        let numbers = named.iter().map(|(name, component)| (name.clone(), component.id)).collect();
        let components: Vec<ComponentSpec> = named.into_iter().map(|(_, component)| component).collect();
        let mut job = Self {
            places: spec.places(),
            service: service(components.clone()),
            components: components.into_iter().map(|component| (component.id, component)).collect(),
            spec,
            numbers,
            plans: BTreeMap::new(),
            queued: BTreeMap::new(),
            batches: Vec::new(),
            busy: BTreeMap::new(),
            acts: BTreeMap::new(),
            awaiting: BTreeSet::new(),
            freed: BTreeSet::new(),
            last_action: 0,
            answers: Vec::new(),
            unrecorded: Unrecorded::default(),
        };
        if !job.spec.hosts_kept_free.is_empty() {
            job.keep_hosts_free(now_ms);
        }
        Ok(job)
    }

    /// Accepts a request under a new uuid. [`take_answers`](Self::take_answers) reports its progress.
    pub fn submit(&mut self, request: Uuid, asked: JobRequest, now_ms: u64) {
        if self.plans.contains_key(&request) {
            return;
        }
        match asked.action {
            JobAction::Cancel { request: other } => self.cancel(request, other, now_ms),
            JobAction::ReadmitHost { host } => self.readmit_host(request, &host, now_ms),
            _ => self.order(request, asked, now_ms),
        }
        self.drive(now_ms);
    }

    /// Handles events of the cluster manager, and advances requests. Returns the next time at which it must
    /// be called even without events.
    pub fn tick(&mut self, now_ms: u64) -> Option<u64> {
        self.service.tick(now_ms);
        self.drive(now_ms);
        // Read after `drive`, so that newly begun actions count as well.
        let service_ms = self.service.state().next_deadline_ms();
        [service_ms, self.next_deadline_ms()].into_iter().flatten().min()
    }

    /// Takes the answers since the last call, in order.
    pub fn take_answers(&mut self) -> Vec<JobAnswer> {
        std::mem::take(&mut self.answers)
    }

    /// Reports that a standby's container has read all state. Report it again to a restarted coordinator.
    pub fn report_caught_up(&mut self, standby: &ProcessorId, now_ms: u64) {
        let Some(component) = self.numbers.get(standby).copied() else { return };
        if let Some(container) = self.live_container(component) {
            self.service.handle(ServiceEvent::CaughtUp(container), now_ms);
            self.drive(now_ms);
        }
    }

    /// Returns whether the job has this processor or standby.
    #[must_use]
    pub fn has_processor(&self, processor: &ProcessorId) -> bool {
        self.numbers.contains_key(processor)
    }

    /// Counts the requests that wait for, or work on, a processor and its standbys.
    #[must_use]
    pub fn requests_for(&self, processor: &ProcessorId) -> usize {
        let group = processor.active();
        let queued = self.queued.get(&group).map_or(0, VecDeque::len);
        queued + usize::from(self.busy.contains_key(&group))
    }

    /// Counts the open requests.
    #[must_use]
    pub fn request_count(&self) -> usize {
        self.plans.len()
    }

    /// Counts the open requests about many containers.
    #[must_use]
    pub fn batch_count(&self) -> usize {
        self.batches.len()
    }

    /// Returns the open requests with their step counts.
    pub fn progress(&self) -> impl Iterator<Item = (Uuid, StepTally)> + '_ {
        self.plans.iter().map(|(request, plan)| {
            let Plan { steps, succeeded, failed, .. } = *plan;
            (*request, StepTally { steps, succeeded, failed })
        })
    }

    /// Returns the specification of the job with the standbys, versions, sizes and drained hosts that
    /// requests left. Use it to start the coordinator again.
    #[must_use]
    pub fn spec(&self) -> &JobSpec {
        &self.spec
    }

    /// Stops the job and releases all its containers.
    pub fn stop(&mut self, now_ms: u64) {
        self.service.stop(now_ms);
        self.drive(now_ms);
    }

    /// The service below, read-only.
    #[must_use]
    pub fn service(&self) -> &Service<C> {
        &self.service
    }

    /// The cluster manager's client, for embedders that pass it reports.
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

    /// Excludes the hosts that were drained or are being drained.
    fn keep_hosts_free(&mut self, now_ms: u64) {
        let kept = self.spec.hosts_kept_free.iter().map(|host| Arc::from(host.as_str()));
        let drained = self.drains().map(|(_, host)| Arc::clone(host));
        let hosts = kept.chain(drained).collect();
        self.service.handle(ServiceEvent::Exclude(hosts), now_ms);
    }

    /// Returns the hosts being drained, with their requests.
    fn drains(&self) -> impl Iterator<Item = (Uuid, &Arc<str>)> {
        let batches = self.batches.iter().filter_map(|request| Some((*request, self.plans.get(request)?)));
        batches.filter_map(|(request, plan)| Some((request, &plan.batch.as_ref()?.drains.as_ref()?.host)))
    }

    /// Returns the container of a component if it runs.
    fn live_container(&self, component: ComponentId) -> Option<ContainerRef> {
        let container = self.service.state().container_of(component)?;
        (self.service.state().instance_state(container) == Some(InstanceState::Live)).then_some(container)
    }

    /// Returns the processor or standby that a component represents.
    fn processor_of(&self, component: ComponentId) -> Option<ProcessorId> {
        self.components.get(&component)?.name.parse().ok()
    }

    fn has_caught_up(&self, component: ComponentId) -> bool {
        self.live_container(component).is_some_and(|container| self.service.state().has_caught_up(container))
    }

    /// Returns the host of a component's container, unless the container is being released.
    fn host_of(&self, component: ComponentId) -> Option<Arc<str>> {
        let state = self.service.state();
        state.host_of(state.container_of(component)?)
    }
}
