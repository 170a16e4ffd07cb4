//! Attaches a client to a running application.

use apportion::engine::Attachment;
use apportion::{ContainerId, EventStream, Handle};

use super::{EngineClient, Placed, dismissal_by};
use crate::client::{Callback, ContainerRef, Launch};

impl EngineClient {
    /// Creates a client for a running application, after a restart of the service's master or of the
    /// engine. `attachment` is the answer of [`Handle::attach`] for `events`. `launched` returns the
    /// process in a container as its node agent reports it; `None` if none was started. Containers keep
    /// their [ids](Self::reference) while the engine runs. [`Service::restart`](crate::Service::restart)
    /// adopts the containers. Without a service, the next [`poll`](crate::ClusterClient::poll) carries out
    /// earlier stops.
    ///
    /// After a restart of the engine, submit the application again, and register its nodes with
    /// [`Handle::recover_node`] before `Handle::attach`. Containers of a node that is recovered later
    /// arrive as [`Callback::Recovered`]. The service keeps those that it has not replaced, and stops the
    /// others. Report their processes with [`report_running`](Self::report_running).
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

    /// Reports the process in a container of a node that is recovered after the attach. Call it before the
    /// next [`poll`](crate::ClusterClient::poll); afterwards the version of the process counts as
    /// unknown.
    pub fn report_running(&mut self, container: ContainerRef, launch: Launch) {
        if !self.containers.contains_key(&container) {
            self.late.insert(container, launch);
        }
    }

    /// Forgets reported processes of containers that have ended or were announced; no event will name them.
    pub(super) fn forget_late(&mut self) {
        if self.late.is_empty() {
            return;
        }
        let Self { late, containers, handle, application, .. } = self;
        handle.read(|view| {
            late.retain(|container, _| {
                let found = view.container(ContainerId::from_number(container.0));
                let is_its = found.is_some_and(|found| found.application == *application);
                is_its && !containers.contains_key(container)
            });
        });
    }

    /// Handles a container that its node reported after the attach. `None` if it is known or has ended.
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

    /// Adds a container. If it is stopping, this client may have missed the event that says so.
    fn insert(&mut self, container: ContainerRef, placed: Placed) {
        if placed.stopping.is_some() {
            self.found_stopping.insert(container);
        }
        self.containers.insert(container, placed);
    }
}

#[cfg(test)]
mod tests {
    use apportion::config::{EngineConfig, QueueConfig};
    use apportion::{ApplicationSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};

    use super::*;
    use crate::client::{ClusterClient, ContainerRequest, RequestId};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// The stream is too short for the events of the recovery and of the end.
    #[test]
    fn reported_processes_of_ended_containers_are_forgotten() -> Outcome {
        let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
        let engine = Engine::start(config, Mode::Serial, std::sync::Arc::new(ManualClock::new()), None)?;
        let spec = ApplicationSpec::new("service", "root.default", "ann");
        let mut client = EngineClient::submit(engine.handle(), spec, 1)?;
        for id in [1, 2].map(RequestId) {
            client.request(ContainerRequest::new(id, Resources::new(&[1]), 1))?;
            client.cancel(id)?;
        }
        let found = apportion::RunningContainer::new(client.application(), Resources::new(&[1]));
        let node = NodeSpec::new("alpha", Resources::new(&[10]));
        let recovery = engine.handle().recover_node(node, vec![found])?;
        engine.run_until_quiet();
        let [Ok(late)] = recovery.containers.try_take().ok_or("it is answered")?[..] else {
            return Err("known".into());
        };
        client.report_running(EngineClient::reference(late), Launch::of("worker"));
        engine.handle().complete_container(late)?;
        engine.run_until_quiet();
        for _ in 0..2 {
            client.poll();
        }
        assert_eq!(client.late.len(), 0);
        Ok(())
    }
}
