//! Commands on instances (Slider's, `slider.md` 4.2), a few in each file.

mod answer;
mod build;
mod containers;
mod destroy;
mod diagnostics;
mod error;
mod flex;
mod list;
mod query;
mod run;
mod verb;

use std::sync::Arc;

pub use answer::{ActionAnswer, AnswerDetail};
pub use destroy::DestroyOptions;
pub use diagnostics::Diagnostics;
pub use error::ActionError;
pub use list::{InstanceSummary, ListOptions};
pub use query::ExistsOptions;
pub use run::{StartOptions, StopOptions};
pub use verb::{Verb, VerbError};

use super::definition::{Definition, ResolvedDefinition};
use super::directory::{InstanceDirectories, InstanceDirectory, Presence};
use super::host::ApplicationHost;
use super::locks::{DefinitionLocks, HeldLock, LockError, LockKind};
use super::name::InstanceName;
use super::provider::Providers;
use super::report::{ApplicationReport, find_application};
use super::state::LifeState;

/// A client that works with a user's instances.
///
/// ```
/// use std::sync::Arc;
/// use apportion::Resources;
/// use apportion_placement::FakeCluster;
/// use apportion_placement::instance::{
///     AnswerDetail, ConfTree, Definition, ExitCode, FakeFactory, InstanceClient, InstanceDirectories, Providers,
///     ServiceHost, SizeBounds, StartOptions, StopOptions,
/// };
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut cluster = FakeCluster::new();
/// cluster.add_node("alpha", Resources::new(&[8_192, 8_000]));
/// let host = ServiceHost::new(FakeFactory::new(cluster), SizeBounds::default());
/// let folder = tempfile::tempdir()?;
/// let directories = InstanceDirectories::new(folder.path());
/// let providers = Arc::new(Providers::built_in());
/// let client = InstanceClient::new(directories, Arc::new(host), providers, "ann", "this machine, process 7");
///
/// let resources = ConfTree::default()
///     .with("worker", "yarn.role.priority", 1)
///     .with("worker", "yarn.component.instances", 2);
/// client.build("web", &Definition::of(resources))?;
/// client.start("web", StartOptions::default(), 1_450_435_691_617)?;
/// let answer = client.status("web")?;
/// let AnswerDetail::Status(status) = answer.detail else { return Err("it has a status".into()) };
/// assert_eq!(status.components[0].live, 2);
/// let answer = client.stop("web", &StopOptions::default())?;
/// assert_eq!(answer.exit_code(), ExitCode::Success);
/// assert_eq!(client.status("web").map_err(|error| error.exit_code()).err(), Some(ExitCode::BadState));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct InstanceClient {
    directories: InstanceDirectories,
    host: Arc<dyn ApplicationHost>,
    providers: Arc<Providers>,
    user: String,
    owner: String,
}

/// An instance as a command finds it.
struct Target {
    name: InstanceName,
    directory: InstanceDirectory,
    report: Option<ApplicationReport>,
    state: LifeState,
}

impl InstanceClient {
    /// Creates a client for this user's instances. `owner` identifies the holder of a lock to other
    /// clients: best a machine and a process.
    #[must_use]
    pub fn new(
        directories: InstanceDirectories,
        host: Arc<dyn ApplicationHost>,
        providers: Arc<Providers>,
        user: impl Into<String>,
        owner: impl Into<String>,
    ) -> Self {
        Self { directories, host, providers, user: user.into(), owner: owner.into() }
    }

    fn target(&self, name: &str) -> Result<Target, ActionError> {
        Ok(self.look_at(name.parse()?))
    }

    fn look_at(&self, name: InstanceName) -> Target {
        let directory = self.directories.of(&name);
        let report = find_application(&self.host.reports(&self.user), &name).cloned();
        let state = LifeState::observed(&directory.presence(), report.as_ref());
        Target { name, directory, report, state }
    }

    fn resolved(&self, definition: &Definition) -> Result<ResolvedDefinition, ActionError> {
        let resolved = definition.resolve(&self.host.size_bounds())?;
        self.providers.validate(definition, &resolved)?;
        Ok(resolved)
    }

    fn lock(&self, target: &Target, kind: LockKind) -> Result<HeldLock, ActionError> {
        let taken = target.locks().take(kind, &self.owner);
        taken.map_err(|error| match error {
            // Another client removed the folder first.
            LockError::Storage(_) if !target.directory.path().exists() => {
                ActionError::Unknown(target.name.clone())
            }
            LockError::Storage(error) => ActionError::Storage(error),
            error @ LockError::Held { .. } => ActionError::Locked { name: target.name.clone(), error },
        })
    }
}

impl Target {
    fn definition(&self) -> Result<Definition, ActionError> {
        self.directory.load().map_err(|error| ActionError::load(&self.name, error))
    }

    fn locks(&self) -> DefinitionLocks {
        DefinitionLocks::of(self.directory.path())
    }

    /// Checks that the instance may enter this state. The error says why not.
    fn may_become(&self, next: LifeState) -> Result<(), ActionError> {
        if self.state.may_become(next) {
            return Ok(());
        }
        match &self.report {
            Some(report) if self.state.is_running() => {
                Err(ActionError::Running { name: self.name.clone(), app: report.id, state: report.state })
            }
            _ if next == LifeState::Created => Err(ActionError::Exists(self.name.clone())),
            _ => self.complete(),
        }
    }

    /// Checks that the folder is complete. The error names the missing part.
    fn complete(&self) -> Result<(), ActionError> {
        match self.directory.presence() {
            Presence::Complete => Ok(()),
            Presence::Absent => Err(ActionError::Unknown(self.name.clone())),
            Presence::Incomplete { missing } => {
                Err(ActionError::Incomplete { name: self.name.clone(), missing })
            }
        }
    }

    /// Returns the present or last application.
    fn application(&self) -> Result<&ApplicationReport, ActionError> {
        let Some(report) = &self.report else {
            self.complete()?;
            return Err(ActionError::NeverRan(self.name.clone()));
        };
        Ok(report)
    }

    fn not_live(&self, report: &ApplicationReport) -> ActionError {
        let is_destroyed = self.directory.presence() == Presence::Absent;
        ActionError::NotLive { name: self.name.clone(), app: report.id, state: report.state, is_destroyed }
    }
}
