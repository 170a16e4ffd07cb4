//! A client for an application that runs already.

use apportion::{Attachment, ContainerId, EventStream, Handle};

use super::{EngineClient, Placed, dismissal_by};
use crate::client::{Callback, ContainerRef, Launch};

impl EngineClient {
    /// A client for an application that runs: after a restart of the service's master, or of the engine. It has what
    /// [`Handle::attach`] answered about the application for `events`; `launched` says what runs in a container, as its node
    /// agent reports, or `None` if nothing was started there. Containers have the [numbers](Self::reference) that they had
    /// before, as long as the engine runs. [`Service::restart`](crate::Service::restart) takes the
    /// containers over.
    ///
    /// After a restart of the engine submit the application again, and register its nodes with
    /// [`Handle::recover_node`] before `Handle::attach`. Containers of a node that is recovered later come as
    /// [`Callback::Recovered`]: the service keeps those that it has not replaced by then, and
    /// stops the others. Say what runs in them with [`report_running`](Self::report_running).
    #[must_use]
    pub fn attach(
        handle: Handle,
        events: EventStream,
        attachment: Attachment,
        mut launched: impl FnMut(ContainerRef) -> Option<Launch>,
    ) -> Self {
        let mut client = Self::of(handle, attachment.application, events);
        client.dismissal = attachment.ending.map(dismissal_by);
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
                stopping: found.stopping.map(|stopping| stopping.cause),
            };
            client.insert(container, placed);
        }
        client
    }

    /// A node agent says what runs in a container of a node that is recovered after the attach. Call it before the next
    /// [`poll`](crate::ClusterClient::poll): after that the container counts as one of an unknown version.
    pub fn report_running(&mut self, container: ContainerRef, launch: Launch) {
        if !self.containers.contains_key(&container) {
            self.late.insert(container, launch);
        }
    }

    /// A container that its node reported after the attach. One that has ended since is not worth a word.
    pub(super) fn recovered(&mut self, container: ContainerId) -> Option<Callback> {
        let reference = Self::reference(container);
        let launch = self.late.remove(&reference).unwrap_or_default();
        if self.containers.contains_key(&reference) {
            return None;
        }
        let found = self.handle.read(|view| view.container(container))?;
        let host = self.nodes.host_of(&self.handle, found.node);
        let placed = Placed {
            priority: found.priority,
            host,
            launch: Some(launch),
            stopping: found.stopping.map(|stopping| stopping.cause),
        };
        let running = placed.as_running(reference);
        self.insert(reference, placed);
        Some(Callback::Recovered(running))
    }

    /// The event that tells a found container to stop came before this client, or is still to be heard.
    fn insert(&mut self, container: ContainerRef, placed: Placed) {
        if placed.stopping.is_some() {
            self.found_stopping.insert(container);
        }
        self.containers.insert(container, placed);
    }
}
