//! The interface between actions and the host on which applications run (Slider model, "YARN").

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
    /// Whose.
    pub user: &'a str,
    /// The instance's name.
    pub name: &'a InstanceName,
    /// Its definition.
    pub definition: &'a Definition,
    /// The definition, resolved.
    pub resolved: &'a ResolvedDefinition,
    /// Where its history is kept.
    pub history: &'a Path,
    /// When it is submitted.
    pub now_ms: u64,
}

/// A container of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostedContainer {
    /// Which.
    pub container: ContainerRef,
    /// The component it is an instance of.
    pub component: String,
    /// Where it runs.
    pub host: Arc<str>,
}

/// Why a host did not do something.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HostError {
    /// The user has an application of this name that runs.
    #[error("application {} of that name runs already", .0.0)]
    AlreadyRunning(AppId),
    /// It knows no such application.
    #[error("application {} is not known", .0.0)]
    UnknownApplication(AppId),
    /// The application does not run, or not yet.
    #[error("application {} is {state}", app.0)]
    NotLive {
        /// Which.
        app: AppId,
        /// How far it is.
        state: RunState,
    },
    /// The application has no such container that runs.
    #[error("it has no container {} that runs", .0.0)]
    UnknownContainer(ContainerRef),
    /// The host does not answer.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// It says no.
    #[error("refused: {0}")]
    Refused(String),
}

/// Wherever applications run. Several callers share it.
pub trait ApplicationHost: fmt::Debug + Send + Sync {
    /// How small and how large its containers are.
    fn size_bounds(&self) -> SizeBounds;

    /// All it knows of a user's applications, those that are over included.
    fn reports(&self, user: &str) -> Vec<ApplicationReport>;

    /// Runs an application, unless the user has one of that name that runs: of several callers at the same moment one
    /// is served (Slider model, "Invariant").
    ///
    /// # Errors
    /// When one runs, or the host does not take it.
    fn submit(&self, submission: Submission<'_>) -> Result<AppId, HostError>;

    /// Waits at most this long for an application to come to this state or beyond, and says where it is then.
    ///
    /// # Errors
    /// When it is not known.
    fn wait_for(&self, app: AppId, state: RunState, wait_ms: u64) -> Result<RunState, HostError>;

    /// Asks an application that runs to end. It may take a while.
    ///
    /// # Errors
    /// When it does not run, or its master does not answer.
    fn stop(&self, app: AppId, message: &str) -> Result<(), HostError>;

    /// Ends an application without asking it.
    ///
    /// # Errors
    /// When it is over.
    fn kill(&self, app: AppId, message: &str) -> Result<(), HostError>;

    /// Ends an application's master only. The host starts it again as long as its limit allows; containers run on.
    ///
    /// # Errors
    /// When it does not run.
    fn kill_master(&self, app: AppId) -> Result<(), HostError>;

    /// Gives an application that runs other components, and says whether these are other than what it had.
    ///
    /// # Errors
    /// When it does not run, or its master does not answer.
    fn flex(&self, app: AppId, components: &[ComponentSpec]) -> Result<bool, HostError>;

    /// Ends a container of an application that runs. Another one comes in its place.
    ///
    /// # Errors
    /// When the application does not run, or has no such container.
    fn kill_container(&self, app: AppId, container: ContainerRef) -> Result<(), HostError>;

    /// How an application that runs stands.
    ///
    /// # Errors
    /// When it does not run, or its master does not answer.
    fn status(&self, app: AppId) -> Result<ServiceStatus, HostError>;

    /// The containers of an application, in order of their numbers; of one that is over none.
    ///
    /// # Errors
    /// When it is not known.
    fn containers(&self, app: AppId) -> Result<Vec<HostedContainer>, HostError>;

    /// The nodes as they are now.
    ///
    /// # Errors
    /// When the host cannot be reached.
    fn nodes(&self) -> Result<Vec<NodeReport>, HostError>;

    /// Whether an application's master answers: the strongest sign of life there is (Slider model, "RPC Access").
    fn is_answering(&self, report: &ApplicationReport) -> bool {
        report.rpc_address().is_some() && self.status(report.id).is_ok()
    }
}
