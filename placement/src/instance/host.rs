//! The interface between commands and the host that runs applications (Slider model, "YARN").

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use thiserror::Error;

use super::definition::{Definition, ResolvedDefinition, SizeBounds};
use super::name::InstanceName;
use super::report::{AppId, ApplicationReport, RunState};
use crate::client::{ContainerRef, NodeReport};
use crate::component::ComponentSpec;
use crate::status::ServiceStatus;

/// An application to run.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    /// The user.
    pub user: &'a str,
    /// The instance's name.
    pub name: &'a InstanceName,
    /// Its definition.
    pub definition: &'a Definition,
    /// The definition, resolved.
    pub resolved: &'a ResolvedDefinition,
    /// The folder of its role history.
    pub history: &'a Path,
    /// The submission time.
    pub now_ms: u64,
}

/// A container of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostedContainer {
    /// The container.
    pub container: ContainerRef,
    /// The component of the instance in it.
    pub component: String,
    /// The machine that it runs on.
    pub host: Arc<str>,
}

/// Why a host refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HostError {
    /// The user has a running application of this name.
    #[error("application {} of that name runs already", .0.0)]
    AlreadyRunning(AppId),
    /// The host does not know the application.
    #[error("application {} is not known", .0.0)]
    UnknownApplication(AppId),
    /// The application does not run, or not yet.
    #[error("application {} is {state}", app.0)]
    NotLive {
        /// The application.
        app: AppId,
        /// Its state.
        state: RunState,
    },
    /// The application has no running container of this id.
    #[error("it has no container {} that runs", .0.0)]
    UnknownContainer(ContainerRef),
    /// The host does not answer.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// The host refused.
    #[error("refused: {0}")]
    Refused(String),
}

/// A host that runs applications. Several callers share it.
pub trait ApplicationHost: fmt::Debug + Send + Sync {
    /// Returns the smallest and largest container sizes.
    fn size_bounds(&self) -> SizeBounds;

    /// Returns all reports on a user's applications, including ended ones.
    fn reports(&self, user: &str) -> Vec<ApplicationReport>;

    /// Runs an application, unless the user has a running one of that name. Of several simultaneous
    /// callers, one succeeds (Slider model, "Invariant").
    ///
    /// # Errors
    /// If such an application runs, or the host refuses.
    fn submit(&self, submission: Submission<'_>) -> Result<AppId, HostError>;

    /// Waits at most this long for an application to reach this state or a later one. Returns its state.
    ///
    /// # Errors
    /// If the application is unknown.
    fn wait_for(&self, app: AppId, state: RunState, wait_ms: u64) -> Result<RunState, HostError>;

    /// Asks a running application to end, which may take a while.
    ///
    /// # Errors
    /// If it does not run, or its master does not answer.
    fn stop(&self, app: AppId, message: &str) -> Result<(), HostError>;

    /// Ends an application without asking it.
    ///
    /// # Errors
    /// If it has ended.
    fn kill(&self, app: AppId, message: &str) -> Result<(), HostError>;

    /// Ends an application's master only. The host restarts the master within its limit; containers run on.
    ///
    /// # Errors
    /// If it does not run.
    fn kill_master(&self, app: AppId) -> Result<(), HostError>;

    /// Replaces the components of a running application. Returns whether that changed them.
    ///
    /// # Errors
    /// If it does not run, or its master does not answer.
    fn flex(&self, app: AppId, components: &[ComponentSpec]) -> Result<bool, HostError>;

    /// Ends a container of a running application. The application replaces the container.
    ///
    /// # Errors
    /// If the application does not run, or has no such container.
    fn kill_container(&self, app: AppId, container: ContainerRef) -> Result<(), HostError>;

    /// Returns the status of a running application.
    ///
    /// # Errors
    /// If it does not run, or its master does not answer.
    fn status(&self, app: AppId) -> Result<ServiceStatus, HostError>;

    /// Returns the containers of an application in the order of ids; none if it has ended.
    ///
    /// # Errors
    /// If the application is unknown.
    fn containers(&self, app: AppId) -> Result<Vec<HostedContainer>, HostError>;

    /// Returns the present nodes.
    ///
    /// # Errors
    /// If the host cannot be reached.
    fn nodes(&self) -> Result<Vec<NodeReport>, HostError>;

    /// Returns whether an application's master answers: the strongest sign of life (Slider model, "RPC
    /// Access").
    fn is_answering(&self, report: &ApplicationReport) -> bool {
        report.rpc_address().is_some() && self.status(report.id).is_ok()
    }
}
