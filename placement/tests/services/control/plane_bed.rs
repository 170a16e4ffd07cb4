//! A job, its control plane and a store that may fail.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use apportion_placement::ServiceSettings;
use apportion_placement::control::{
    Change, ConflictPolicy, ControlPlane, ControlSettings, ControlStore, ControlStoreError, Counts,
    Deployment, Job, JobRecord, JobSpec, MemoryControlStore, Page, PlacementRequest, PlacementResponse,
    StatusCode,
};
use parking_lot::Mutex;
use serde_json::Map;
use uuid::Uuid;

use crate::support::Manager;

/// A store whose process ends at one of its writes, before or after the write is made. The writer cannot know which.
#[derive(Debug)]
pub(super) struct MortalStore {
    store: MemoryControlStore,
    /// The number of writes until the end, and whether the last one is made.
    ends: Mutex<Option<(u32, bool)>>,
    is_dead: Mutex<bool>,
}

impl MortalStore {
    pub(super) fn new() -> Self {
        Self { store: MemoryControlStore::new(), ends: Mutex::new(None), is_dead: Mutex::new(false) }
    }

    pub(super) fn ends_after(&self, writes: u32, is_made: bool) {
        *self.ends.lock() = Some((writes, is_made));
    }

    pub(super) fn is_dead(&self) -> bool {
        *self.is_dead.lock()
    }

    /// Another process opens the store.
    pub(super) fn reopen(&self) {
        *self.is_dead.lock() = false;
        *self.ends.lock() = None;
    }

    fn alive(&self) -> Result<&MemoryControlStore, ControlStoreError> {
        if self.is_dead() {
            return Err(ControlStoreError::Storage {
                action: "read",
                reason: "the process ended".to_owned(),
            });
        }
        Ok(&self.store)
    }
}

impl ControlStore for MortalStore {
    fn apply(&self, changes: &[Change]) -> Result<(), ControlStoreError> {
        self.alive()?;
        let ends = &mut *self.ends.lock();
        match ends {
            Some((0, is_made)) => {
                if *is_made {
                    self.store.apply(changes)?;
                }
                *self.is_dead.lock() = true;
                self.alive().map(|_| ())
            }
            Some((writes, _)) => {
                *writes -= 1;
                self.store.apply(changes)
            }
            None => self.store.apply(changes),
        }
    }

    fn request(&self, uuid: Uuid) -> Result<Option<PlacementRequest>, ControlStoreError> {
        self.alive()?.request(uuid)
    }

    fn response(&self, uuid: Uuid) -> Result<Option<PlacementResponse>, ControlStoreError> {
        self.alive()?.response(uuid)
    }

    fn requests(&self, after: Option<(u64, Uuid)>, limit: usize) -> Result<Page, ControlStoreError> {
        self.alive()?.requests(after, limit)
    }

    fn responses(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<PlacementResponse>, ControlStoreError> {
        self.alive()?.responses(after, limit)
    }

    fn deployment(&self, id: &str) -> Result<Option<Deployment>, ControlStoreError> {
        self.alive()?.deployment(id)
    }

    fn deployments(&self) -> Result<Vec<Deployment>, ControlStoreError> {
        self.alive()?.deployments()
    }

    fn job_records(&self, job: &str) -> Result<Vec<JobRecord>, ControlStoreError> {
        self.alive()?.job_records(job)
    }

    fn counts(&self) -> Result<Counts, ControlStoreError> {
        self.alive()?.counts()
    }

    fn written(&self) -> u64 {
        self.store.written()
    }

    fn wait_for_write(&self, seen: u64, timeout: Duration) -> u64 {
        self.store.wait_for_write(seen, timeout)
    }
}

/// A job that the control plane and the test share.
pub(super) type SharedJob<M> = Arc<Mutex<Job<M>>>;

pub(super) struct PlaneBed<M> {
    pub(super) store: Arc<MortalStore>,
    pub(super) plane: ControlPlane,
    pub(super) job: SharedJob<M>,
    pub(super) now_ms: u64,
    settings: ControlSettings,
    deployments: u32,
    last_request: u128,
}

impl<M: Manager + Debug + Send + 'static> PlaneBed<M> {
    pub(super) fn start(spec: JobSpec, manager: M) -> Self {
        Self::with(spec, manager, ControlSettings::default(), ConflictPolicy::default())
    }

    pub(super) fn with(
        spec: JobSpec,
        manager: M,
        settings: ControlSettings,
        conflicts: ConflictPolicy,
    ) -> Self {
        let store = Arc::new(MortalStore::new());
        let job = Job::start(spec, ServiceSettings::default(), manager, None, 1);
        let job = Arc::new(Mutex::new(job.unwrap_or_else(|error| panic!("{error}"))));
        let mut plane = ControlPlane::new(Arc::clone(&store) as Arc<dyn ControlStore>, settings.clone());
        let allow = apportion_placement::control::AllowAll;
        let deployed = plane.deploy_with("run-1", Arc::clone(&job), conflicts, allow, 1);
        assert!(deployed.is_ok(), "{deployed:?}");
        let mut bed = Self { store, plane, job, now_ms: 1, settings, deployments: 1, last_request: 0 };
        bed.run_until_idle();
        bed
    }

    pub(super) fn deployment(&self) -> String {
        format!("run-{}", self.deployments)
    }

    pub(super) fn turn(&mut self) {
        let turned = self.plane.turn(self.now_ms);
        assert!(turned.is_ok() || self.store.is_dead(), "{turned:?}");
        assert_eq!(self.job.lock().service().state().audit(), []);
    }

    /// Runs everything until nothing changes.
    pub(super) fn run_until_idle(&mut self) {
        for _ in 0..2_000 {
            let before = {
                let mut job = self.job.lock();
                job.client_mut().set_time(self.now_ms);
                job.client_mut().run_until_idle();
                (job.service().moves(), self.plane.open_count())
            };
            self.turn();
            if before == (self.job.lock().service().moves(), self.plane.open_count()) {
                return;
            }
        }
        panic!("it does not become idle");
    }

    pub(super) fn at(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.run_until_idle();
    }

    pub(super) fn message(&mut self, processor: &str, host: &str) -> PlacementRequest {
        self.last_request += 1;
        PlacementRequest {
            uuid: Uuid::from_u128(self.last_request),
            deployment_id: self.deployment(),
            processor_id: processor.to_owned(),
            destination_host: host.to_owned(),
            request_expiry_ms: None,
            timestamp_ms: self.now_ms,
            action: None,
            parameters: Map::new(),
            principal: None,
        }
    }

    pub(super) fn submit(&self, request: PlacementRequest) -> Uuid {
        let uuid = request.uuid;
        // The request comes from another process, so it is written to the inner store.
        assert_eq!(self.store.store.apply(&[Change::PutRequest(request)]), Ok(()));
        uuid
    }

    pub(super) fn ask(&mut self, processor: &str, host: &str) -> Uuid {
        let message = self.message(processor, host);
        self.submit(message)
    }

    pub(super) fn ask_for(
        &mut self,
        action: &str,
        processor: &str,
        host: &str,
        parameters: &serde_json::Value,
    ) -> Uuid {
        let message = PlacementRequest {
            action: Some(action.to_owned()),
            parameters: parameters.as_object().cloned().unwrap_or_default(),
            ..self.message(processor, host)
        };
        self.submit(message)
    }

    pub(super) fn answer(&self, uuid: Uuid) -> Option<PlacementResponse> {
        self.store.response(uuid).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(super) fn status(&self, uuid: Uuid) -> Option<StatusCode> {
        self.answer(uuid).map(|answer| answer.status_code)
    }

    pub(super) fn why(&self, uuid: Uuid) -> String {
        self.answer(uuid).map(|answer| answer.response_message).unwrap_or_default()
    }

    pub(super) fn host_of(&self, name: &str) -> String {
        let name = name.parse().unwrap_or_else(|error| panic!("{error}"));
        self.job.lock().processor_status(&name).and_then(|status| status.host).unwrap_or_default()
    }

    /// The job as the next coordinator finds it, given its configuration.
    pub(super) fn restored(&self, configured: &JobSpec) -> JobSpec {
        let records =
            self.store.store.job_records(&configured.name).unwrap_or_else(|error| panic!("{error}"));
        configured.clone().with_records(&records)
    }

    /// Ends the coordinator's process; the next one gets this job.
    pub(super) fn crash(self, spec: JobSpec) -> Self {
        let Self { store, plane, job, now_ms, settings, deployments, last_request } = self;
        drop(plane);
        let job = Arc::into_inner(job).unwrap_or_else(|| panic!("nobody else has the job")).into_inner();
        let job = Job::restart(spec, ServiceSettings::default(), job.into_client(), None, now_ms);
        let job = Arc::new(Mutex::new(job.unwrap_or_else(|error| panic!("{error}"))));
        store.reopen();
        let plane = ControlPlane::new(Arc::clone(&store) as Arc<dyn ControlStore>, settings.clone());
        let mut bed =
            Self { store, plane, job, now_ms, settings, deployments: deployments + 1, last_request };
        let id = bed.deployment();
        let deployed = bed.plane.deploy(&id, Arc::clone(&bed.job), now_ms);
        assert!(deployed.is_ok(), "{deployed:?}");
        bed
    }
}
