//! What placement needs of a cluster manager.

use apportion::{EndCause, Resources};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A request for one container, numbered by whoever takes it.
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
    /// Its size.
    pub size: Resources,
    /// Lower is served first.
    pub priority: u32,
    /// The host it should come to; `None` for any.
    pub host: Option<String>,
    /// Whether, after the manager's delay, another host will do.
    pub relax_locality: bool,
}

/// A node as the cluster manager reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReport {
    /// Host name.
    pub host: String,
    /// What it has.
    pub capacity: Resources,
    /// What is not in use.
    pub free: Resources,
    /// Whether it takes new containers.
    pub is_usable: bool,
}

/// What the cluster manager tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callback {
    /// A request got its container.
    Allocated {
        /// The request, which is over now.
        request: RequestId,
        /// The container.
        container: ContainerRef,
        /// Where it is.
        host: String,
    },
    /// A container has ended.
    Completed {
        /// Which.
        container: ContainerRef,
        /// Why; `None` if it ended while callbacks were lost.
        cause: Option<EndCause>,
    },
    /// A request is over without a container: it was cancelled or refused, or its container came and went while
    /// callbacks were lost.
    Withdrawn {
        /// Which.
        request: RequestId,
    },
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
    /// The request was served or cancelled before.
    #[error("request {} is over", .0.0)]
    UnknownRequest(RequestId),
    /// The container has ended before.
    #[error("container {} has ended", .0.0)]
    UnknownContainer(ContainerRef),
    /// The manager says no.
    #[error("refused: {0}")]
    Refused(String),
}

/// A cluster manager, from the side of one service.
///
/// Calls do not wait; what comes of them arrives through [`poll`](Self::poll).
pub trait ClusterClient {
    /// Asks for a container.
    ///
    /// # Errors
    /// When the host is not known, or the manager does not take the request.
    fn request(&mut self, request: ContainerRequest) -> Result<RequestId, ClientError>;

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

    /// The nodes as they are now.
    fn nodes(&self) -> Vec<NodeReport>;

    /// What has happened since the last call, in order.
    fn poll(&mut self) -> Vec<Callback>;
}
