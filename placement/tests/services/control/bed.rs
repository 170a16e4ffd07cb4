//! A test bed: a job on a cluster.

use std::num::NonZeroU32;

use apportion::Resources;
use apportion_placement::control::{
    Destination, Job, JobAction, JobRequest, JobSpec, Pace, ProcessorId, ProcessorSpec, ProcessorStatus,
};
use apportion_placement::{ActionStatus, ContainerExit, ServiceSettings};
use uuid::Uuid;

use crate::support::Manager;

/// The time limit of a request.
pub(super) const EXPIRES_AFTER_MS: u64 = 10_000;

pub(super) struct JobBed<M> {
    pub(super) job: Job<M>,
    pub(super) now_ms: u64,
    last_request: u128,
    answers: Vec<(Uuid, ActionStatus, String)>,
    /// The most containers that were down at the same time while the bed was watched.
    pub(super) down_max: u64,
}

pub(super) fn processor(name: &str) -> ProcessorId {
    name.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// A job of this many stateless processors of one slot.
pub(super) fn job_of(processors: usize) -> JobSpec {
    let spec = |number: usize| ProcessorSpec::new(processor(&number.to_string()), Resources::new(&[1]));
    JobSpec::new("job", (0..processors).map(spec).collect())
}

/// The same with state and with this many standbys of each processor.
pub(super) fn with_standbys(mut spec: JobSpec, standbys: u32) -> JobSpec {
    for processor in &mut spec.processors {
        processor.is_stateful = true;
        processor.standbys = (0..standbys).collect();
    }
    spec
}

pub(super) fn pace(at_once: u32, budget: u32) -> Pace {
    let number = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
    Pace { at_once: number(at_once), disruption_budget: number(budget) }
}

impl<M: Manager> JobBed<M> {
    /// Starts the job on this manager and runs it until nothing changes.
    pub(super) fn start(spec: JobSpec, manager: M) -> Self {
        let job = Job::start(spec, ServiceSettings::default(), manager, None, 1);
        let job = job.unwrap_or_else(|error| panic!("{error}"));
        let mut bed = Self { job, now_ms: 1, last_request: 0, answers: Vec::new(), down_max: 0 };
        bed.manager().set_time(1);
        bed.run_until_idle();
        bed
    }

    pub(super) fn manager(&mut self) -> &mut M {
        self.job.client_mut()
    }

    pub(super) fn tick(&mut self) {
        let next_ms = self.job.tick(self.now_ms);
        assert!(next_ms.is_none_or(|next_ms| next_ms > self.now_ms), "{next_ms:?} at {}", self.now_ms);
        self.collect_answers();
    }

    fn collect_answers(&mut self) {
        let said = self.job.take_answers().into_iter();
        self.answers.extend(said.map(|answer| (answer.request, answer.status, answer.message)));
        assert_eq!(self.job.service().state().audit(), []);
        self.down_max = self.down_max.max(self.job.status().below_configured);
    }

    /// Runs job and cluster until nothing changes.
    pub(super) fn run_until_idle(&mut self) {
        for _ in 0..1_000 {
            self.manager().run_until_idle();
            let before = self.job.service().moves();
            self.tick();
            if self.job.service().moves() == before {
                return;
            }
        }
        panic!("it does not become idle: {:?}", self.job.status());
    }

    /// The same, with standbys that have read all state at once.
    pub(super) fn run_until_idle_warm(&mut self) {
        for _ in 0..8 {
            self.run_until_idle();
            let standbys = self.job.status().processors.into_iter().map(|known| known.processor);
            for standby in standbys.filter(ProcessorId::is_standby) {
                self.job.report_caught_up(&standby, self.now_ms);
            }
            self.collect_answers();
        }
    }

    pub(super) fn at(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.manager().set_time(now_ms);
        self.tick();
    }

    pub(super) fn ask(&mut self, action: JobAction) -> Uuid {
        self.ask_with(JobRequest { expires_after_ms: EXPIRES_AFTER_MS, ..JobRequest::new(action) })
    }

    pub(super) fn ask_with(&mut self, request: JobRequest) -> Uuid {
        self.last_request += 1;
        let id = Uuid::from_u128(self.last_request);
        self.job.submit(id, request, self.now_ms);
        self.collect_answers();
        id
    }

    pub(super) fn last_request(&self) -> Uuid {
        Uuid::from_u128(self.last_request)
    }

    pub(super) fn place(&mut self, name: &str, destination: Destination) -> Uuid {
        self.ask(JobAction::Place { processor: processor(name), destination })
    }

    pub(super) fn move_to(&mut self, name: &str, host: &str) -> Uuid {
        self.place(name, Destination::Host(host.into()))
    }

    /// All statuses of a request, in order.
    pub(super) fn said(&self, request: Uuid) -> Vec<ActionStatus> {
        self.answers.iter().filter(|(of, ..)| *of == request).map(|(_, status, _)| *status).collect()
    }

    /// The request's last word. Asserts that nothing follows it.
    pub(super) fn outcome(&self, request: Uuid) -> Option<ActionStatus> {
        let said = self.said(request);
        let last = said.iter().position(|status| status.is_terminal())?;
        assert_eq!(last + 1, said.len(), "nothing is said after the last word: {said:?}");
        said.last().copied()
    }

    pub(super) fn message(&self, request: Uuid) -> &str {
        let said = self.answers.iter().rev().find(|(of, ..)| *of == request);
        said.map_or("", |(_, _, message)| message)
    }

    pub(super) fn status(&self, name: &str) -> ProcessorStatus {
        let status = self.job.processor_status(&processor(name));
        status.unwrap_or_else(|| panic!("there is no processor {name}"))
    }

    pub(super) fn host_of(&self, name: &str) -> String {
        self.status(name).host.unwrap_or_default()
    }

    pub(super) fn end(&mut self, name: &str, exit: i32) {
        let container = self.status(name).container.unwrap_or_else(|| panic!("{name} has a container"));
        assert_eq!(self.manager().end(container, ContainerExit::of(exit)), Ok(()));
    }

    /// Restarts the job's coordinator.
    pub(super) fn restart(self) -> Self {
        let spec = self.job.spec().clone();
        self.restart_as(spec)
    }

    /// The same, with a job that its owner has changed.
    pub(super) fn restart_as(self, spec: JobSpec) -> Self {
        let Self { job, now_ms, last_request, down_max, .. } = self;
        let job = Job::restart(spec, ServiceSettings::default(), job.into_client(), None, now_ms);
        let job = job.unwrap_or_else(|error| panic!("{error}"));
        let mut bed = Self { job, now_ms, last_request, answers: Vec::new(), down_max };
        bed.tick();
        bed
    }
}
