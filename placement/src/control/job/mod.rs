//! A running job: its processors' containers, and the actions under way.
//!
//! A request becomes a [`Plan`] of steps, one for each processor that it concerns. A step goes on while no other one
//! concerns the same processor or its standbys (`samza.md` 1.13, I1), and consists of moves; a move is a placement
//! action of the [`Service`] underneath, or a standby that comes or goes.
//!
//! | word | meaning | where it begins | where it ends |
//! |---|---|---|---|
//! | request | a caller's order ([`JobRequest`]) | `submit` | `finish` |
//! | plan | its steps, and the rules for all of them | `order` | `finish` |
//! | step | the moves for one processor and its standbys | `begin_step` | `step_over` |
//! | move | one thing to do, worked out when the step begins (`moves_of`) | `next_move` | `move_done` |
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

/// A job that runs on a cluster. Whoever owns it calls [`tick`](Self::tick) when something may have happened.
#[derive(Debug)]
pub struct Job<C> {
    service: Service<C>,
    spec: JobSpec,
    components: BTreeMap<ComponentId, ComponentSpec>,
    numbers: BTreeMap<ProcessorId, ComponentId>,
    /// Where each processor is in the list of the job's.
    places: BTreeMap<ProcessorId, usize>,
    plans: BTreeMap<Uuid, Plan>,
    /// Requests about one processor that wait for others to end, in order.
    queued: BTreeMap<ProcessorId, VecDeque<Uuid>>,
    /// Requests about many containers, in order.
    batches: Vec<Uuid>,
    /// Which request goes on with a processor and its standbys.
    busy: BTreeMap<ProcessorId, Uuid>,
    acts: BTreeMap<ActionId, (Uuid, ProcessorId)>,
    /// Steps that wait for something that no answer tells.
    awaiting: BTreeSet<(Uuid, ProcessorId)>,
    /// Processors whose next request may begin.
    freed: BTreeSet<ProcessorId>,
    last_action: u64,
    answers: Vec<JobAnswer>,
    unrecorded: Unrecorded,
}

/// An answer to a request. The last answer is terminal, and the only terminal one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobAnswer {
    /// Of which.
    pub request: Uuid,
    /// How it stands.
    pub status: ActionStatus,
    /// The same in words.
    pub message: String,
    /// With the last word: of how many containers something was asked, and what came of that.
    pub steps: Option<StepTally>,
}

/// The outcome for the containers of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepTally {
    /// How many there were.
    pub steps: u32,
    /// With how many it was done.
    pub succeeded: u32,
    /// With how many it was not. Those besides were not begun with.
    pub failed: u32,
}

impl<C: ClusterClient> Job<C> {
    /// A job that starts, where its history says its processors were.
    ///
    /// # Errors
    /// When its definition makes no sense.
    pub fn start(
        spec: JobSpec,
        settings: ServiceSettings,
        client: C,
        history: Option<&HistoryFile>,
        now_ms: u64,
    ) -> Result<Self, JobSpecError> {
        Self::with(spec, |components| Service::start(components, settings, client, history, now_ms), now_ms)
    }

    /// A job whose coordinator was started again: its containers ran on and stay. What was being done with them is
    /// over, each processor has one container, and whoever asked for it is told by the control plane.
    ///
    /// # Errors
    /// When its definition makes no sense.
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

    /// Takes a request on. Its number is new; what becomes of it is told by [`take_answers`](Self::take_answers).
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

    /// Hears what the cluster manager tells, and goes on with what is asked for. Says when it wants to be called again
    /// even if nothing happens.
    pub fn tick(&mut self, now_ms: u64) -> Option<u64> {
        self.service.tick(now_ms);
        self.drive(now_ms);
        // Of what was begun just now too.
        let service_ms = self.service.state().next_deadline_ms();
        [service_ms, self.next_deadline_ms()].into_iter().flatten().min()
    }

    /// The answers since the last call, in order.
    pub fn take_answers(&mut self) -> Vec<JobAnswer> {
        std::mem::take(&mut self.answers)
    }

    /// A standby's container says that it has read all state there is. It has to say so again to a coordinator that was
    /// started again.
    pub fn report_caught_up(&mut self, standby: &ProcessorId, now_ms: u64) {
        let Some(component) = self.numbers.get(standby).copied() else { return };
        if let Some(container) = self.live_container(component) {
            self.service.handle(ServiceEvent::CaughtUp(container), now_ms);
            self.drive(now_ms);
        }
    }

    /// Whether the job has this processor, or this standby.
    #[must_use]
    pub fn has_processor(&self, processor: &ProcessorId) -> bool {
        self.numbers.contains_key(processor)
    }

    /// How many requests wait for or go on with a processor and its standbys.
    #[must_use]
    pub fn requests_for(&self, processor: &ProcessorId) -> usize {
        let group = processor.active();
        let queued = self.queued.get(&group).map_or(0, VecDeque::len);
        queued + usize::from(self.busy.contains_key(&group))
    }

    /// How many requests are not over.
    #[must_use]
    pub fn request_count(&self) -> usize {
        self.plans.len()
    }

    /// How many of them concern many containers.
    #[must_use]
    pub fn batch_count(&self) -> usize {
        self.batches.len()
    }

    /// Requests that are not over, and what came of their containers so far.
    pub fn progress(&self) -> impl Iterator<Item = (Uuid, StepTally)> + '_ {
        self.plans.iter().map(|(request, plan)| {
            let Plan { steps, succeeded, failed, .. } = *plan;
            (*request, StepTally { steps, succeeded, failed })
        })
    }

    /// The job as it is by now, for whoever starts its coordinator again: with the standbys, versions, sizes and
    /// drained hosts that requests left.
    #[must_use]
    pub fn spec(&self) -> &JobSpec {
        &self.spec
    }

    /// Ends the job: everything is given back.
    pub fn stop(&mut self, now_ms: u64) {
        self.service.stop(now_ms);
        self.drive(now_ms);
    }

    /// The service underneath, to look at.
    #[must_use]
    pub fn service(&self) -> &Service<C> {
        &self.service
    }

    /// Its cluster manager, to be told something.
    pub fn client_mut(&mut self) -> &mut C {
        self.service.client_mut()
    }

    /// Its cluster manager, for a coordinator that is started again.
    pub fn into_client(self) -> C {
        self.service.into_client()
    }

    fn answer(&mut self, request: Uuid, status: ActionStatus, message: impl Into<String>) {
        self.answers.push(JobAnswer { request, status, message: message.into(), steps: None });
    }

    /// Nothing comes to hosts that were drained, or are being drained.
    fn keep_hosts_free(&mut self, now_ms: u64) {
        let kept = self.spec.hosts_kept_free.iter().map(|host| Arc::from(host.as_str()));
        let drained = self.drains().map(|(_, host)| Arc::clone(host));
        let hosts = kept.chain(drained).collect();
        self.service.handle(ServiceEvent::Exclude(hosts), now_ms);
    }

    /// Hosts that are being drained, and by which requests.
    fn drains(&self) -> impl Iterator<Item = (Uuid, &Arc<str>)> {
        let batches = self.batches.iter().filter_map(|request| Some((*request, self.plans.get(request)?)));
        batches.filter_map(|(request, plan)| Some((request, &plan.batch.as_ref()?.drains.as_ref()?.host)))
    }

    /// The container of a component, if it runs.
    fn live_container(&self, component: ComponentId) -> Option<ContainerRef> {
        let container = self.service.state().container_of(component)?;
        (self.service.state().instance_state(container) == Some(InstanceState::Live)).then_some(container)
    }

    /// The processor or standby that a component stands for.
    fn processor_of(&self, component: ComponentId) -> Option<ProcessorId> {
        self.components.get(&component)?.name.parse().ok()
    }

    fn has_caught_up(&self, component: ComponentId) -> bool {
        self.live_container(component).is_some_and(|container| self.service.state().has_caught_up(container))
    }

    /// Where the container of a component is, if it has one that is not on its way out.
    fn host_of(&self, component: ComponentId) -> Option<Arc<str>> {
        let state = self.service.state();
        state.host_of(state.container_of(component)?)
    }
}
