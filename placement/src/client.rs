//! The interface between placement and a cluster manager.

use std::sync::Arc;

use apportion::Resources;
use apportion::preempt::DisruptionBudget;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::exit::ContainerExit;

/// The id of a request for one container, given by its service; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub u64);

/// The id of a container, given by the cluster manager; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContainerRef(pub u64);

/// A request for one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerRequest {
    /// Its id.
    pub id: RequestId,
    /// Its size.
    pub size: Resources,
    /// Its priority; a lower number is served first.
    pub priority: u32,
    /// The preferred hosts; empty for any.
    pub hosts: Vec<Arc<str>>,
    /// The preferred racks besides those hosts.
    pub racks: Vec<Arc<str>>,
    /// Whether hosts other than those named are acceptable.
    pub relax_locality: bool,
    /// The node label required; `None` for nodes without a label. A manager that accepts no label together
    /// with hosts, such as YARN, may then ignore the label: the hosts have it.
    pub label: Option<String>,
    /// The container's tag: at most one container with this tag runs on a host. Only for managers that
    /// [keep containers apart](ClusterClient::keeps_apart).
    pub apart: Option<Arc<str>>,
    /// A further tag of the container, by which a disruption budget covers it.
    pub budget: Option<Arc<str>>,
}

impl ContainerRequest {
    /// Creates a request for a container of this size on any host.
    #[must_use]
    pub fn new(id: RequestId, size: Resources, priority: u32) -> Self {
        let (hosts, racks) = (Vec::new(), Vec::new());
        let (label, apart, budget) = (None, None, None);
        Self { id, size, priority, hosts, racks, relax_locality: true, label, apart, budget }
    }

    /// Restricts the request to these hosts.
    #[must_use]
    pub fn only_on<H: Into<Arc<str>>>(mut self, hosts: impl IntoIterator<Item = H>) -> Self {
        self.hosts.extend(hosts.into_iter().map(Into::into));
        self.relax_locality = false;
        self
    }
}

/// A node as the cluster manager reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeReport {
    /// Its host name.
    pub host: Arc<str>,
    /// Its rack; empty if unknown.
    pub rack: Arc<str>,
    /// Its label; empty for none.
    pub label: Arc<str>,
    /// Its capacity.
    pub capacity: Resources,
    /// Its free resources.
    pub free: Resources,
    /// Whether it accepts new containers.
    pub is_usable: bool,
}

/// An allocated container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The request that it serves, which is over now; `None` from managers that do not name it.
    pub request: Option<RequestId>,
    /// The request's priority.
    pub priority: u32,
    /// The container.
    pub container: ContainerRef,
    /// Its size, at least the request's.
    pub size: Resources,
    /// Its host.
    pub host: Arc<str>,
}

/// The process to run in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Launch {
    /// The component's name.
    pub component: String,
    /// The component's version; empty if versions do not matter.
    pub version: String,
}

impl Launch {
    /// Creates a launch of a component without a version.
    #[must_use]
    pub fn of(component: impl Into<String>) -> Self {
        Self { component: component.into(), version: String::new() }
    }
}

/// A container of the service that the manager knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunningContainer {
    /// The container.
    pub container: ContainerRef,
    /// The priority of its request.
    pub priority: u32,
    /// Its host.
    pub host: Arc<str>,
    /// The process that was started in it or is about to be; `None` if there is none.
    pub launch: Option<Launch>,
    /// Whether it was released and has not ended.
    pub is_stopping: bool,
}

/// A message from the cluster manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callback {
    /// Containers were allocated.
    Allocated(Vec<Allocation>),
    /// A node came back with a container of the service, after [`take_over`](ClusterClient::take_over). If
    /// its process is unknown, the [`Launch`] is empty.
    Recovered(RunningContainer),
    /// The process in a container runs.
    Started(ContainerRef),
    /// The start of a container failed. The service keeps the container until it releases it.
    StartFailed {
        /// The container.
        container: ContainerRef,
        /// The host's diagnostics.
        diagnostics: String,
    },
    /// A released container could not be stopped; it runs on.
    StopFailed(ContainerRef),
    /// Containers have ended.
    Completed(Vec<(ContainerRef, ContainerExit)>),
    /// A request ended without a container: it was cancelled or refused, or its container came and went
    /// while callbacks were lost.
    Withdrawn(RequestId),
    /// Nodes were added, removed or changed.
    NodesUpdated(Vec<NodeReport>),
}

/// Why the cluster manager refused a call.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No node has this name.
    #[error("unknown host `{host}`")]
    UnknownHost {
        /// The name given.
        host: String,
    },
    /// No node has this label.
    #[error("unknown label `{label}`")]
    UnknownLabel {
        /// The label given.
        label: String,
    },
    /// The request is over: served or cancelled.
    #[error("request {} is over", .0.0)]
    UnknownRequest(RequestId),
    /// The request id was used before.
    #[error("request {} was made before", .0.0)]
    RequestRepeated(RequestId),
    /// The container has ended, or belongs to another service.
    #[error("container {} has ended", .0.0)]
    UnknownContainer(ContainerRef),
    /// The manager cannot swap containers in one step.
    #[error("this cluster manager cannot swap containers")]
    CannotSwap,
    /// The manager refused.
    #[error("refused: {0}")]
    Refused(String),
}

/// Why a manager does not serve a request, as far as it can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unserved {
    /// The obstacle.
    pub obstacle: Obstacle,
    /// The explanation in a sentence, with figures.
    pub text: String,
}

/// An obstacle for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// No lasting obstacle.
    None,
    /// A queue limit, a user limit or the queue order, before any node was examined.
    Queue,
    /// No acceptable node would have room even if it were empty.
    TooLarge,
    /// No acceptable node has room now.
    NoRoom,
    /// Nodes with room run a container that it has to be apart from.
    Apart,
    /// No node is acceptable: no usable node has its hosts or its label.
    NoNode,
}

/// Why a manager no longer serves a service.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Dismissal {
    /// It refused the service's application.
    #[error("the cluster manager did not take the application: {0}")]
    Refused(String),
    /// It ended the application after its lifetime.
    #[error("the cluster manager ended the application after its lifetime")]
    Expired,
    /// It is gone, with all its containers.
    #[error("the cluster manager is gone")]
    Gone,
    /// The application was ended at the cluster manager.
    #[error("the application was ended at the cluster manager")]
    Ended,
}

/// A cluster manager as one service sees it.
///
/// Calls do not wait; their results arrive through [`poll`](Self::poll).
pub trait ClusterClient {
    /// Returns whether the manager itself keeps tagged containers apart, however many are requested at
    /// once.
    fn keeps_apart(&self) -> bool;

    /// Requests a container.
    ///
    /// # Errors
    /// If a host or the label is unknown, or the manager refuses the request. No callback will name the
    /// request then.
    fn request(&mut self, request: ContainerRequest) -> Result<(), ClientError>;

    /// Cancels a request. If it was served meanwhile, its container still arrives.
    ///
    /// # Errors
    /// If the request is over.
    fn cancel(&mut self, request: RequestId) -> Result<(), ClientError>;

    /// Releases a container. Its end arrives as a callback.
    ///
    /// # Errors
    /// If the container has ended.
    fn release(&mut self, container: ContainerRef) -> Result<(), ClientError>;

    /// Releases a container and requests another in one step, so that no other service gets the room in
    /// between. The request names only the container's host. If the manager finds that it cannot, it does
    /// one after the other. The container's end and the new container arrive as callbacks.
    ///
    /// # Errors
    /// If the container has ended, the request is refused, or the manager never does both in one step. The
    /// manager has then done neither, and the caller does one after the other.
    fn swap(&mut self, container: ContainerRef, request: ContainerRequest) -> Result<(), ClientError> {
        let _ = (container, request);
        Err(ClientError::CannotSwap)
    }

    /// Starts the component in an allocated container. The result arrives as a callback.
    ///
    /// # Errors
    /// If the container has ended.
    fn start(&mut self, container: ContainerRef, launch: &Launch) -> Result<(), ClientError>;

    /// Changes the hosts to which the service's containers never go.
    ///
    /// # Errors
    /// If the manager is gone.
    fn update_blacklist(&mut self, add: &[Arc<str>], remove: &[Arc<str>]) -> Result<(), ClientError>;

    /// Sets the disruption budgets of the service, in place of those that it had. Managers that do not preempt
    /// need not implement it.
    ///
    /// # Errors
    /// If the manager is gone or refuses the budgets.
    fn set_disruption_budgets(&mut self, budgets: Vec<DisruptionBudget>) -> Result<(), ClientError> {
        let _ = budgets;
        Ok(())
    }

    /// Returns the present nodes.
    fn nodes(&self) -> Vec<NodeReport>;

    /// Prepares the client for a restarted master: withdraws all earlier requests, forgets their ids and
    /// the blacklist, and returns the service's containers. Containers for earlier requests that still
    /// arrive name none of them.
    fn take_over(&mut self) -> Vec<RunningContainer>;

    /// Explains why a request waits; `None` if it does not.
    fn explain(&self, request: RequestId) -> Option<Unserved>;

    /// Returns the callbacks since the last call, in order.
    fn poll(&mut self) -> Vec<Callback>;

    /// Returns why the manager no longer serves the service, as of the last [`poll`](Self::poll). The value
    /// never changes back. Managers that never dismiss a service need not implement it.
    fn dismissal(&self) -> Option<&Dismissal> {
        None
    }
}
