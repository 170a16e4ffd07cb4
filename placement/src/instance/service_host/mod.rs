//! A host that runs services in this process, each with its own connection to the cluster manager.

mod factory;
mod hosted;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use factory::{ClientFactory, EngineFactory, FakeFactory};

use super::ExitCode;
use super::definition::SizeBounds;
use super::host::{ApplicationHost, HostError, HostedContainer, Submission};
use super::report::{AppId, ApplicationReport, RunState};
use crate::client::{ContainerRef, NodeReport};
use crate::component::ComponentSpec;
use crate::status::ServiceStatus;
use hosted::{Ending, Files, Hosted};

/// The most ended applications that the host reports.
const REPORTS_MAX: usize = 1_000;
/// The most rounds until the cluster and its services come to rest.
const STEPS_MAX: usize = 100;

/// Runs services. Its owner calls [`tick`](Self::tick) when something may have happened; commands do all
/// work that takes no time. Times are milliseconds since the epoch, because histories store them. A time
/// earlier than the latest counts as the latest. The host reports the last 1,000 ended applications.
#[derive(Debug)]
pub struct ServiceHost<F: ClientFactory> {
    inner: Mutex<Inner<F>>,
    bounds: SizeBounds,
}

#[derive(Debug)]
struct Inner<F: ClientFactory> {
    factory: F,
    running: BTreeMap<AppId, Hosted<F::Client>>,
    over: VecDeque<ApplicationReport>,
    last_app: u64,
    now_ms: u64,
}

impl<F: ClientFactory> ServiceHost<F> {
    /// Creates a host with these container sizes.
    #[must_use]
    pub fn new(factory: F, bounds: SizeBounds) -> Self {
        let inner =
            Inner { factory, running: BTreeMap::new(), over: VecDeque::new(), last_app: 0, now_ms: 0 };
        Self { inner: Mutex::new(inner), bounds }
    }

    /// Advances all services to this time. Returns the next time at which it must be called even without
    /// events.
    pub fn tick(&self, now_ms: u64) -> Option<u64> {
        let mut inner = self.lock();
        inner.now_ms = inner.now_ms.max(now_ms);
        inner.work()
    }

    /// Calls `change` with the client of a running application.
    ///
    /// # Errors
    /// If it does not run.
    pub fn with_client<T>(
        &self,
        app: AppId,
        change: impl FnOnce(&mut F::Client) -> T,
    ) -> Result<T, HostError> {
        let mut inner = self.lock();
        let done = change(inner.live(app)?.service.client_mut());
        inner.work();
        Ok(done)
    }

    /// Ignores poisoning: a panic is a defect in this program or a client, and must not end the other
    /// applications.
    fn lock(&self) -> MutexGuard<'_, Inner<F>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: ClientFactory> Inner<F> {
    /// Advances cluster and services until nothing moves.
    fn work(&mut self) -> Option<u64> {
        let mut next_ms = None;
        for _ in 0..STEPS_MAX {
            self.factory.run_until_idle();
            let before = self.moves();
            let ticks = self.running.values_mut().map(|hosted| hosted.tick(self.now_ms));
            next_ms = ticks.collect::<Vec<_>>().into_iter().flatten().min();
            self.end_those_that_ended();
            if self.moves() == before {
                break;
            }
        }
        next_ms
    }

    /// Returns a value that changes when anything moves.
    fn moves(&self) -> (usize, u64) {
        (self.running.len(), self.running.values().map(|hosted| hosted.service.moves()).sum())
    }

    fn end_those_that_ended(&mut self) {
        let ended: Vec<AppId> =
            self.running.iter().filter(|(_, hosted)| hosted.has_ended()).map(|(id, _)| *id).collect();
        for id in ended {
            if let Some(ending) = self.running.get(&id).and_then(|hosted| hosted.ending.clone()) {
                self.end(id, ending);
            }
        }
    }

    fn end(&mut self, id: AppId, ending: Ending) {
        let Some(hosted) = self.running.remove(&id) else { return };
        let end = ending.of_application();
        let (report, client) = hosted.end(ending, self.now_ms);
        self.factory.disconnect(client, end);
        self.factory.run_until_idle();
        self.over.push_back(report);
        if self.over.len() > REPORTS_MAX {
            self.over.pop_front();
        }
    }

    /// Returns a running application.
    fn live(&mut self, app: AppId) -> Result<&mut Hosted<F::Client>, HostError> {
        if let Some(report) = self.over.iter().find(|report| report.id == app) {
            return Err(HostError::NotLive { app, state: report.state });
        }
        self.running.get_mut(&app).ok_or(HostError::UnknownApplication(app))
    }

    fn state(&mut self, app: AppId) -> Result<RunState, HostError> {
        match self.live(app) {
            Ok(hosted) => Ok(hosted.report.state),
            Err(HostError::NotLive { state, .. }) => Ok(state),
            Err(other) => Err(other),
        }
    }
}

impl<F: ClientFactory> ApplicationHost for ServiceHost<F> {
    fn size_bounds(&self) -> SizeBounds {
        self.bounds
    }

    fn reports(&self, user: &str) -> Vec<ApplicationReport> {
        let inner = self.lock();
        let running = inner.running.values().map(|hosted| &hosted.report);
        running.chain(&inner.over).filter(|report| report.user == user).cloned().collect()
    }

    fn submit(&self, submission: Submission<'_>) -> Result<AppId, HostError> {
        let mut inner = self.lock();
        inner.now_ms = inner.now_ms.max(submission.now_ms);
        let is_same = |hosted: &&Hosted<F::Client>| {
            hosted.report.user == submission.user && hosted.report.name == submission.name.to_string()
        };
        if let Some(same) = inner.running.values().find(is_same) {
            return Err(HostError::AlreadyRunning(same.report.id));
        }
        let files = Files::open(submission.history)?;
        let client = inner.factory.connect(submission.user, &submission.name.to_string());
        let client = client.map_err(HostError::Refused)?;
        let id = AppId(inner.last_app + 1);
        // The caller's clock may be behind.
        let submission = Submission { now_ms: inner.now_ms, ..submission };
        let hosted = Hosted::start(id, &submission, files, client);
        inner.last_app += 1;
        inner.running.insert(id, hosted);
        inner.work();
        Ok(id)
    }

    /// Returns at once: time only advances through `tick`.
    fn wait_for(&self, app: AppId, _state: RunState, _wait_ms: u64) -> Result<RunState, HostError> {
        let mut inner = self.lock();
        inner.work();
        inner.state(app)
    }

    fn stop(&self, app: AppId, message: &str) -> Result<(), HostError> {
        let mut inner = self.lock();
        let now_ms = inner.now_ms;
        let hosted = inner.live(app)?;
        hosted.ending.get_or_insert_with(|| Ending::new(RunState::Finished, ExitCode::Success, message));
        hosted.service.stop(now_ms);
        inner.work();
        Ok(())
    }

    fn kill(&self, app: AppId, message: &str) -> Result<(), HostError> {
        let mut inner = self.lock();
        inner.live(app)?;
        inner.end(app, Ending::new(RunState::Killed, ExitCode::ApplicationKilled, message));
        inner.work();
        Ok(())
    }

    fn kill_master(&self, app: AppId) -> Result<(), HostError> {
        let mut inner = self.lock();
        let now_ms = inner.now_ms;
        inner.live(app)?;
        if let Some(hosted) = inner.running.remove(&app) {
            inner.running.insert(app, hosted.restart_master(now_ms));
        }
        inner.work();
        Ok(())
    }

    fn flex(&self, app: AppId, components: &[ComponentSpec]) -> Result<bool, HostError> {
        let mut inner = self.lock();
        let now_ms = inner.now_ms;
        let is_change = inner.live(app)?.flex(components, now_ms);
        inner.work();
        Ok(is_change)
    }

    fn kill_container(&self, app: AppId, container: ContainerRef) -> Result<(), HostError> {
        let mut inner = self.lock();
        let now_ms = inner.now_ms;
        let killed = inner.live(app)?.service.kill_container(container, now_ms);
        killed.map_err(|_| HostError::UnknownContainer(container))?;
        inner.work();
        Ok(())
    }

    fn status(&self, app: AppId) -> Result<ServiceStatus, HostError> {
        let mut inner = self.lock();
        let now_ms = inner.now_ms;
        Ok(inner.live(app)?.service.status(now_ms))
    }

    fn containers(&self, app: AppId) -> Result<Vec<HostedContainer>, HostError> {
        let mut inner = self.lock();
        let hosted = match inner.live(app) {
            Ok(hosted) => hosted,
            Err(HostError::NotLive { .. }) => return Ok(Vec::new()),
            Err(other) => return Err(other),
        };
        let of_component = |found: crate::ContainerStatus| HostedContainer {
            container: found.container,
            component: found.component,
            host: found.host.as_str().into(),
        };
        Ok(hosted.service.state().containers().map(of_component).collect())
    }

    fn nodes(&self) -> Result<Vec<NodeReport>, HostError> {
        Ok(self.lock().factory.nodes())
    }
}
