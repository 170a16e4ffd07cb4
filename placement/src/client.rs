//! The interface between placement and a cluster manager.

use std::sync::Arc;

use apportion::Resources;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::exit::ContainerExit;

/// A request for one container, numbered by the service that makes it; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub u64);

/// A container, numbered by the cluster manager; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContainerRef(pub u64);

/// A wish for one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerRequest {
    /// Its number.
    pub id: RequestId,
    /// Its size.
    pub size: Resources,
    /// Lower is served first.
    pub priority: u32,
    /// The hosts it should come to; none for any.
    pub hosts: Vec<Arc<str>>,
    /// The racks it should come to besides those hosts.
    pub racks: Vec<Arc<str>>,
    /// Whether other hosts than those named will do.
    pub relax_locality: bool,
    /// The label of the nodes that will do; `None` for nodes without. A manager that takes no label together with
    /// hosts, as YARN does, may leave it out then: the hosts were chosen by it.
    pub label: Option<String>,
    /// At most one container with this tag on a host, whatever else is asked for; the container has the tag. Only for
    /// managers that [keep apart](ClusterClient::keeps_apart).
    pub apart: Option<Arc<str>>,
}

impl ContainerRequest {
    /// A request for a container of this size anywhere.
    #[must_use]
    pub fn new(id: RequestId, size: Resources, priority: u32) -> Self {
        let (hosts, racks) = (Vec::new(), Vec::new());
        Self { id, size, priority, hosts, racks, relax_locality: true, label: None, apart: None }
    }

    /// The same request for these hosts and no others.
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
    /// Host name.
    pub host: Arc<str>,
    /// The rack it is in; empty if that is not known.
    pub rack: Arc<str>,
    /// Its label; empty for none.
    pub label: Arc<str>,
    /// Its capacity.
    pub capacity: Resources,
    /// Its free resources.
    pub free: Resources,
    /// Whether it takes new containers.
    pub is_usable: bool,
}

/// A container that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The request it was placed for, which is over now; `None` from managers that do not say.
    pub request: Option<RequestId>,
    /// The priority of the request.
    pub priority: u32,
    /// The container.
    pub container: ContainerRef,
    /// Its size, at least that of the request.
    pub size: Resources,
    /// Where it is.
    pub host: Arc<str>,
}

/// The process to run in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Launch {
    /// The component's name.
    pub component: String,
    /// The version of it; empty if nobody cares.
    pub version: String,
}

impl Launch {
    /// A component without a version.
    #[must_use]
    pub fn of(component: impl Into<String>) -> Self {
        Self { component: component.into(), version: String::new() }
    }
}

/// A container of the service that the manager knows of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunningContainer {
    /// The container.
    pub container: ContainerRef,
    /// The priority of the request it came for.
    pub priority: u32,
    /// Where it runs.
    pub host: Arc<str>,
    /// The process that was started in it, or is about to be; `None`: none.
    pub launch: Option<Launch>,
    /// Whether it was given back, and has not ended.
    pub is_stopping: bool,
}

/// A message from the cluster manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callback {
    /// Containers came.
    Allocated(Vec<Allocation>),
    /// A node came back with a container of the service, after [`take_over`](ClusterClient::take_over). What runs in it
    /// may be unknown: an empty [`Launch`].
    Recovered(RunningContainer),
    /// The process in a container runs.
    Started(ContainerRef),
    /// Nothing could be started in a container. It stays the service's until it is released.
    StartFailed {
        /// Which.
        container: ContainerRef,
        /// The host's diagnostics.
        diagnostics: String,
    },
    /// A container that was given back could not be stopped: it runs on.
    StopFailed(ContainerRef),
    /// Containers have ended.
    Completed(Vec<(ContainerRef, ContainerExit)>),
    /// A request is over without a container: it was cancelled or refused, or its container came and went while
    /// callbacks were lost.
    Withdrawn(RequestId),
    /// Nodes came, went or changed.
    NodesUpdated(Vec<NodeReport>),
}

/// Why the cluster manager did not take something.
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
    /// The request was served or cancelled before.
    #[error("request {} is over", .0.0)]
    UnknownRequest(RequestId),
    /// A request with this number was made before.
    #[error("request {} was made before", .0.0)]
    RequestRepeated(RequestId),
    /// The container has ended before, or is somebody else's.
    #[error("container {} has ended", .0.0)]
    UnknownContainer(ContainerRef),
    /// The manager cannot give a container for another one in one step.
    #[error("this cluster manager cannot swap containers")]
    CannotSwap,
    /// The manager says no.
    #[error("refused: {0}")]
    Refused(String),
}

/// Why a manager does not serve a request, as far as it can say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unserved {
    /// The obstacle.
    pub obstacle: Obstacle,
    /// The same in a sentence, with the figures.
    pub text: String,
}

/// An obstacle for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Nothing that lasts.
    None,
    /// A queue, a user's share or an order, before any node was looked at.
    Queue,
    /// None of the nodes that may take it would have room if it were empty.
    TooLarge,
    /// Nodes that may take it have no room now.
    NoRoom,
    /// Nodes with room run another container that it has to be apart from.
    Apart,
    /// No node may take it: its hosts or its label have none that is usable.
    NoNode,
}

/// Why a manager does nothing for a service any more.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Dismissal {
    /// It did not take the service's application.
    #[error("the cluster manager did not take the application: {0}")]
    Refused(String),
    /// It ended it after its lifetime.
    #[error("the cluster manager ended the application after its lifetime")]
    Expired,
    /// It is not there any more, and neither is what ran on it.
    #[error("the cluster manager is not there any more")]
    Gone,
    /// It was ended on the node.
    #[error("somebody ended the application at the cluster manager")]
    Ended,
}

/// A cluster manager, from the side of one service.
///
/// Calls do not wait; what comes of them arrives through [`poll`](Self::poll).
pub trait ClusterClient {
    /// Whether the manager itself keeps containers apart that ask for it, however many are asked for at once.
    fn keeps_apart(&self) -> bool;

    /// Asks for a container.
    ///
    /// # Errors
    /// When a host or the label is not known, or the manager does not take the request. Then no callback will
    /// name it.
    fn request(&mut self, request: ContainerRequest) -> Result<(), ClientError>;

    /// Takes a request back. It may have been served meanwhile; then its container still arrives.
    ///
    /// # Errors
    /// When the request is over.
    fn cancel(&mut self, request: RequestId) -> Result<(), ClientError>;

    /// Gives a container back. Its end arrives as a callback.
    ///
    /// # Errors
    /// When the container has ended.
    fn release(&mut self, container: ContainerRef) -> Result<(), ClientError>;

    /// Gives a container back and takes the one that is asked for instead, in one step: nobody else gets the room
    /// between. The request names the container's host and no other. If the manager finds that it cannot, it does one
    /// after the other. The container's end and the other one arrive as callbacks.
    ///
    /// # Errors
    /// When the container has ended, the request is not taken, or the manager never does both in one step. Then it has
    /// done neither, and the caller does one after the other.
    fn swap(&mut self, container: ContainerRef, request: ContainerRequest) -> Result<(), ClientError> {
        let _ = (container, request);
        Err(ClientError::CannotSwap)
    }

    /// Starts the component in a container that came. Whether it runs arrives as a callback.
    ///
    /// # Errors
    /// When the container has ended.
    fn start(&mut self, container: ContainerRef, launch: &Launch) -> Result<(), ClientError>;

    /// Changes which hosts the service's containers never come to.
    ///
    /// # Errors
    /// When the manager is not there any more.
    fn update_blacklist(&mut self, add: &[Arc<str>], remove: &[Arc<str>]) -> Result<(), ClientError>;

    /// The nodes as they are now.
    fn nodes(&self) -> Vec<NodeReport>;

    /// For a master that was started again: withdraws all requests made before, forgets their numbers and the
    /// blacklist, and says which containers the service has. What still comes of the requests names none of them.
    fn take_over(&mut self) -> Vec<RunningContainer>;

    /// Why a request waits; `None` if it does not.
    fn explain(&self, request: RequestId) -> Option<Unserved>;

    /// The messages since the last call, in order.
    fn poll(&mut self) -> Vec<Callback>;

    /// Why the manager does nothing for the service any more, if so, as of the last [`poll`](Self::poll). It stays so.
    /// Managers that dismiss nobody need not say so.
    fn dismissal(&self) -> Option<&Dismissal> {
        None
    }
}
