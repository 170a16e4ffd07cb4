//! A client for an application that runs already.

use std::sync::Arc;

use apportion::{Attachment, ContainerId, EventStream, Handle};

use super::{EngineClient, Placed};
use crate::client::{ContainerRef, Launch};

impl EngineClient {
    /// A client for an application that runs: after a restart of the service's master, or of the engine. It has what
    /// [`Handle::attach`] answered about the application for `events`; `launched` says what runs in a container, as its node
    /// agent reports, or `None` if nothing was started there. Containers have the [numbers](Self::reference) that they had
    /// before, as long as the engine runs. [`Service::restart`](crate::Service::restart) takes the
    /// containers over.
    ///
    /// After a restart of the engine submit the application again, and register its nodes with
    /// [`Handle::recover_node`] before `Handle::attach`. What a node reports later comes too late: the service has asked
    /// for other containers by then, so those are stopped.
    #[must_use]
    pub fn attach(
        handle: Handle,
        events: EventStream,
        attachment: Attachment,
        mut launched: impl FnMut(ContainerRef) -> Option<Launch>,
    ) -> Self {
        let mut client = Self::of(handle, attachment.application, events);
        client.blacklisted = attachment.blacklist.hosts.iter().map(|host| host.as_str().into()).collect();
        for ask in attachment.asks {
            client.requests.found(ask.ask, ask.priority, ask.size);
        }
        for found in attachment.containers {
            let host = client.nodes.host_of(&client.handle, found.node);
            let container = Self::reference(found.container);
            let placed = Placed {
                priority: found.priority,
                host,
                launch: launched(container),
                is_stopping: found.stopping.is_some(),
            };
            client.containers.insert(container, placed);
        }
        client
    }

    /// A container that its node reported after the attach. The service has replaced it already, so it is stopped.
    pub(super) fn recovered_late(&mut self, container: ContainerId, host: Arc<str>) {
        let reference = Self::reference(container);
        self.containers.insert(reference, Placed { priority: 0, host, launch: None, is_stopping: false });
        self.stop(reference);
    }
}
