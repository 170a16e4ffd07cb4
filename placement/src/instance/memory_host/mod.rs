//! A host in memory for tests. Applications run at once, unless a fault is set.

mod application;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ExitCode;
use super::definition::SizeBounds;
use super::host::{ApplicationHost, HostError, HostedContainer, Submission};
use super::report::{AppId, ApplicationReport, RunState};
use crate::client::{ContainerRef, NodeReport};
use crate::component::{ComponentId, ComponentSpec};
use crate::status::ServiceStatus;
use application::Application;

/// A fault of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HostFault {
    /// Applications submitted from now on are accepted but never run.
    StaysAccepted,
    /// Applications submitted from now on fail during their start.
    FailsAtStart,
    /// The host refuses submissions.
    RefusesSubmissions,
    /// Masters do not answer.
    MastersUnreachable,
    /// Masters accept a request to stop, but run on.
    IgnoresStop,
}

/// A host in memory.
#[derive(Debug, Default)]
pub struct MemoryHost {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    bounds: SizeBounds,
    applications: BTreeMap<AppId, Application>,
    last_container: u64,
    nodes: Vec<NodeReport>,
    faults: BTreeSet<HostFault>,
}

impl MemoryHost {
    /// A host with these bounds and nodes.
    #[must_use]
    pub fn new(bounds: SizeBounds, nodes: Vec<NodeReport>) -> Self {
        Self { inner: Mutex::new(Inner { bounds, nodes, ..Inner::default() }) }
    }

    /// Sets a fault, until [`behave`](Self::behave).
    pub fn misbehave(&self, fault: HostFault) {
        self.lock().faults.insert(fault);
    }

    /// Clears all faults. Their effects stay.
    pub fn behave(&self) {
        self.lock().faults.clear();
    }

    /// Moves an application on: from accepted to running, or from either to its end.
    pub fn move_to(&self, app: AppId, state: RunState, diagnostics: &str) {
        let mut inner = self.lock();
        if let Some(application) = inner.applications.get_mut(&app) {
            let exit_code = match state {
                RunState::Finished => ExitCode::Success,
                RunState::Killed => ExitCode::ApplicationKilled,
                _ => ExitCode::ApplicationFailed,
            };
            application.transition_to(state, diagnostics, exit_code);
        }
        inner.place(app);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_live<T>(
        &self,
        app: AppId,
        act: impl FnOnce(&mut Application) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let mut inner = self.lock();
        let is_unreachable = inner.faults.contains(&HostFault::MastersUnreachable);
        let application = inner.application(app)?;
        let state = application.report.state;
        if state != RunState::Running {
            return Err(HostError::NotLive { app, state });
        }
        if is_unreachable {
            return Err(HostError::Unreachable("connection refused".to_owned()));
        }
        let done = act(application)?;
        inner.place(app);
        Ok(done)
    }
}

impl Inner {
    fn application(&mut self, app: AppId) -> Result<&mut Application, HostError> {
        self.applications.get_mut(&app).ok_or(HostError::UnknownApplication(app))
    }

    /// Gives every component of a running application its desired containers.
    fn place(&mut self, app: AppId) {
        let Some(application) = self.applications.get_mut(&app) else { return };
        if application.report.state != RunState::Running {
            return;
        }
        let components = &application.components;
        application.containers.retain(|_, id| components.iter().any(|spec| spec.id == *id));
        for spec in components {
            let counters = application.counters.entry(spec.id).or_default();
            let has = |(container, id): (&ContainerRef, &ComponentId)| (*id == spec.id).then_some(*container);
            let owned: Vec<ContainerRef> = application.containers.iter().filter_map(has).collect();
            let desired = usize::try_from(spec.desired).unwrap_or(usize::MAX);
            for surplus in owned.iter().skip(desired) {
                application.containers.remove(surplus);
                counters.completed += 1;
            }
            for _ in owned.len()..desired {
                self.last_container += 1;
                application.containers.insert(ContainerRef(self.last_container), spec.id);
                counters.requested += 1;
                counters.started += 1;
            }
        }
    }
}

impl ApplicationHost for MemoryHost {
    fn size_bounds(&self) -> SizeBounds {
        self.lock().bounds
    }

    fn reports(&self, user: &str) -> Vec<ApplicationReport> {
        let inner = self.lock();
        let reports = inner.applications.values().map(|application| &application.report);
        reports.filter(|report| report.user == user).cloned().collect()
    }

    fn submit(&self, submission: Submission<'_>) -> Result<AppId, HostError> {
        let mut inner = self.lock();
        if inner.faults.contains(&HostFault::RefusesSubmissions) {
            return Err(HostError::Refused("the queue takes no applications".to_owned()));
        }
        let same = |report: &&ApplicationReport| {
            report.user == submission.user && report.name == submission.name.as_str()
        };
        let mut others = inner.applications.values().map(|application| &application.report).filter(same);
        if let Some(running) = others.find(|report| report.state.is_running()) {
            return Err(HostError::AlreadyRunning(running.id));
        }
        let id = AppId(inner.applications.last_key_value().map_or(0, |(last, _)| last.0) + 1);
        let mut application = Application::new(id, &submission);
        if inner.faults.contains(&HostFault::FailsAtStart) {
            let failed = ExitCode::ApplicationFailed;
            application.transition_to(RunState::Failed, "the master could not be launched", failed);
        } else if !inner.faults.contains(&HostFault::StaysAccepted) {
            application.transition_to(RunState::Running, "", ExitCode::Success);
        }
        inner.applications.insert(id, application);
        inner.place(id);
        Ok(id)
    }

    /// Returns at once, because nothing happens here by itself.
    fn wait_for(&self, app: AppId, _: RunState, _: u64) -> Result<RunState, HostError> {
        Ok(self.lock().application(app)?.report.state)
    }

    fn stop(&self, app: AppId, message: &str) -> Result<(), HostError> {
        let is_ignored = self.lock().faults.contains(&HostFault::IgnoresStop);
        self.with_live(app, |application| {
            if !is_ignored {
                application.transition_to(RunState::Finished, message, ExitCode::Success);
            }
            Ok(())
        })
    }

    fn kill(&self, app: AppId, message: &str) -> Result<(), HostError> {
        let mut inner = self.lock();
        let application = inner.application(app)?;
        let state = application.report.state;
        if state.is_final() {
            return Err(HostError::NotLive { app, state });
        }
        application.transition_to(RunState::Killed, message, ExitCode::ApplicationKilled);
        Ok(())
    }

    fn kill_master(&self, app: AppId) -> Result<(), HostError> {
        self.with_live(app, |application| {
            if application.master_starts_left == Some(0) {
                let failed = ExitCode::ApplicationFailed;
                application.transition_to(RunState::Failed, "the master died too often", failed);
                return Ok(());
            }
            application.master_starts_left = application.master_starts_left.map(|left| left - 1);
            application.containers_at_restart = u32::try_from(application.containers.len()).ok();
            Ok(())
        })
    }

    fn flex(&self, app: AppId, components: &[ComponentSpec]) -> Result<bool, HostError> {
        self.with_live(app, |application| {
            let changes = application.components != components;
            application.components = components.to_vec();
            Ok(changes)
        })
    }

    fn kill_container(&self, app: AppId, container: ContainerRef) -> Result<(), HostError> {
        self.with_live(app, |application| {
            let component = application.containers.remove(&container);
            let component = component.ok_or(HostError::UnknownContainer(container))?;
            let counters = application.counters.entry(component).or_default();
            // The formal model counts it as failed; shipped Slider does not (`slider.md` D29).
            counters.failed += 1;
            Ok(())
        })
    }

    fn status(&self, app: AppId) -> Result<ServiceStatus, HostError> {
        self.with_live(app, |application| Ok(application.status(application.report.started_ms)))
    }

    fn containers(&self, app: AppId) -> Result<Vec<HostedContainer>, HostError> {
        let mut inner = self.lock();
        let host: Arc<str> = inner.nodes.first().map_or("localhost", |node| &*node.host).into();
        let application = inner.application(app)?;
        let hosted = |(container, id): (&ContainerRef, &ComponentId)| {
            let component = application.components.iter().find(|spec| spec.id == *id);
            let component = component.map_or_else(String::new, |spec| spec.name.clone());
            HostedContainer { container: *container, component, host: Arc::clone(&host) }
        };
        Ok(application.containers.iter().map(hosted).collect())
    }

    fn nodes(&self) -> Result<Vec<NodeReport>, HostError> {
        Ok(self.lock().nodes.clone())
    }
}
