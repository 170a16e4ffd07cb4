//! Errors of commands, and their exit codes.

use thiserror::Error;

use crate::instance::ExitCode;
use crate::instance::definition::DefinitionError;
use crate::instance::directory::{BuildError, LoadError};
use crate::instance::host::HostError;
use crate::instance::locks::LockError;
use crate::instance::name::{InstanceName, InvalidName};
use crate::instance::provider::ProviderError;
use crate::instance::report::{AppId, RunState, UnknownRunState};
use crate::instance::storage::StorageError;

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ActionError {
    /// The instance name is invalid.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// An argument is wrong.
    #[error("{0}")]
    Argument(String),
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// The state is unknown.
    #[error(transparent)]
    RunState(#[from] UnknownRunState),
    /// The instance is unknown.
    #[error("there is no instance `{0}`")]
    Unknown(InstanceName),
    /// The folder is incomplete: its creation did not finish, or files were removed.
    #[error("`{name}` is incomplete: its `{missing}` is missing; update it, or destroy it")]
    Incomplete {
        /// The name.
        name: InstanceName,
        /// The first missing file.
        missing: String,
    },
    /// The instance is defined, but the host knows no application of it.
    #[error("`{0}` is built and never ran; start it first")]
    NeverRan(InstanceName),
    /// The instance runs.
    #[error("`{name}` runs as application {}, which is {state}; stop it first", app.0)]
    Running {
        /// The name.
        name: InstanceName,
        /// The application.
        app: AppId,
        /// The state of the application.
        state: RunState,
    },
    /// The instance does not run.
    #[error(
        "`{name}` does not run: application {} is {state}{}",
        app.0,
        if *is_destroyed { ", and the instance has been destroyed" } else { "" }
    )]
    NotLive {
        /// The name.
        name: InstanceName,
        /// The application that it ran as.
        app: AppId,
        /// The state of the application.
        state: RunState,
        /// Whether the instance has been destroyed, so that only the host's report is left.
        is_destroyed: bool,
    },
    /// The instance exists already.
    #[error("`{0}` is there already; update it, or destroy it first")]
    Exists(InstanceName),
    /// The instance was created again while it was being removed.
    #[error("`{0}` was removed and created again")]
    MadeAgain(InstanceName),
    /// Another client holds a lock on the instance.
    #[error("`{name}` is being changed: {error}")]
    Locked {
        /// The name.
        name: InstanceName,
        /// The lock and its holder.
        error: LockError,
    },
    /// The definition is wrong.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// The component is unknown. A flex cannot add it, because it would have no component id.
    #[error(
        "`{name}` has no component `{component}`; a new one needs a `yarn.role.priority` and comes with `update`{}",
        crate::instance::definition::hint(nearest.as_deref())
    )]
    UnknownComponent {
        /// The instance.
        name: InstanceName,
        /// The component.
        component: String,
        /// The nearest known name.
        nearest: Option<String>,
    },
    /// The provider rejects the definition.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The container is unknown.
    #[error("application {} of `{name}` has no container {container} that runs", app.0)]
    UnknownContainer {
        /// The instance.
        name: InstanceName,
        /// The application that it runs as.
        app: AppId,
        /// The container.
        container: u64,
    },
    /// The host refused or failed.
    #[error("`{name}`: {error}{}", if *is_saved { "; the definition is saved" } else { "" })]
    Host {
        /// The instance.
        name: InstanceName,
        /// The reason.
        error: HostError,
        /// Whether the definition was saved before that.
        is_saved: bool,
    },
    /// The application ended, or did not run in time.
    #[error("`{name}` was submitted as application {}, which is {state}; {diagnostics}", app.0)]
    NotStarted {
        /// The instance.
        name: InstanceName,
        /// The application.
        app: AppId,
        /// The state of the application.
        state: RunState,
        /// The host's message.
        diagnostics: String,
    },
    /// The host does not answer.
    #[error("the cluster cannot be asked: {0}")]
    Cluster(HostError),
    /// A file or folder could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl ActionError {
    /// Returns the exit code of the command (`slider.md` 4.2 and 4.3).
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Name(_) | Self::Argument(_) | Self::RunState(_) => ExitCode::BadArgument,
            Self::Usage(_) => ExitCode::Usage,
            Self::Unknown(_) | Self::Incomplete { .. } | Self::NeverRan(_) => ExitCode::UnknownInstance,
            Self::Running { .. } | Self::Locked { .. } | Self::MadeAgain(_) => ExitCode::InUse,
            Self::NotLive { .. } | Self::UnknownContainer { .. } => ExitCode::BadState,
            Self::Exists(_) => ExitCode::InstanceExists,
            Self::Definition(error) => error.exit_code(),
            Self::UnknownComponent { .. } | Self::Provider(_) => ExitCode::BadConfiguration,
            Self::Host { error, .. } | Self::Cluster(error) => of_host(error),
            Self::NotStarted { state, .. } => of_end(*state),
            Self::Storage(_) => ExitCode::ExceptionThrown,
        }
    }

    pub(super) fn host(name: &InstanceName, error: HostError) -> Self {
        Self::Host { name: name.clone(), error, is_saved: false }
    }

    pub(super) fn load(name: &InstanceName, error: LoadError) -> Self {
        match error {
            LoadError::Absent(_) => Self::Unknown(name.clone()),
            LoadError::Incomplete { missing, .. } => Self::Incomplete { name: name.clone(), missing },
            LoadError::Definition(error) => Self::Definition(error),
            LoadError::Storage(error) => Self::Storage(error),
        }
    }

    pub(super) fn build(name: &InstanceName, error: BuildError) -> Self {
        match error {
            BuildError::Exists(_) => Self::Exists(name.clone()),
            BuildError::Storage(error) => Self::Storage(error),
        }
    }
}

fn of_host(error: &HostError) -> ExitCode {
    match error {
        HostError::AlreadyRunning(_) => ExitCode::InUse,
        HostError::UnknownApplication(_) => ExitCode::UnknownInstance,
        HostError::NotLive { state, .. } if state.is_final() => ExitCode::BadState,
        HostError::UnknownContainer(_) => ExitCode::BadState,
        HostError::NotLive { .. } | HostError::Unreachable(_) => ExitCode::Connectivity,
        HostError::Refused(_) => ExitCode::ApplicationFailed,
    }
}

/// A state that is not final means that the wait timed out.
fn of_end(state: RunState) -> ExitCode {
    match state {
        RunState::Finished => ExitCode::FinishedWithError,
        RunState::Failed => ExitCode::ApplicationFailed,
        RunState::Killed => ExitCode::ApplicationKilled,
        _ => ExitCode::TimedOut,
    }
}
