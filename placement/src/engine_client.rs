//! The Apportion engine as a cluster manager.

use std::collections::{BTreeMap, BTreeSet};

use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskId, AskSpec, ContainerId, EndCause, EventKind,
    EventStream, Handle, NodeState, SubmitError,
};

use crate::client::{
    Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest, NodeReport, RequestId,
};

/// One service as an application of an engine.
#[derive(Debug)]
pub struct EngineClient {
    handle: Handle,
    application: ApplicationId,
    events: EventStream,
    last_number: u64,
    requests: BTreeMap<RequestId, AskId>,
    by_ask: BTreeMap<AskId, RequestId>,
    containers: BTreeMap<ContainerRef, ContainerId>,
    by_container: BTreeMap<ContainerId, ContainerRef>,
}

impl EngineClient {
    /// Submits the service's application. `events_max` callbacks may wait to be polled.
    ///
    /// # Errors
    /// When the engine does not take the application.
    pub fn submit(handle: Handle, spec: ApplicationSpec, events_max: usize) -> Result<Self, SubmitError> {
        let events = handle.event_stream(events_max);
        let application = handle.submit_application(spec, &events)?;
        Ok(Self {
            handle,
            application,
            events,
            last_number: 0,
            requests: BTreeMap::new(),
            by_ask: BTreeMap::new(),
            containers: BTreeMap::new(),
            by_container: BTreeMap::new(),
        })
    }

    /// Ends the application; its containers end with it.
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn finish(self) -> Result<(), SubmitError> {
        self.handle.end_application(self.application, ApplicationEnd::Finished)
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn allocated(&mut self, ask: AskId, container: ContainerId, host: String) -> Option<Callback> {
        let request = self.by_ask.remove(&ask)?;
        self.requests.remove(&request);
        let reference = ContainerRef(self.next_number());
        self.containers.insert(reference, container);
        self.by_container.insert(container, reference);
        Some(Callback::Allocated { request, container: reference, host })
    }

    fn withdrawn(&mut self, ask: AskId) -> Option<Callback> {
        let request = self.by_ask.remove(&ask)?;
        self.requests.remove(&request);
        Some(Callback::Withdrawn { request })
    }

    /// Events were left out: what runs now says what was missed.
    fn resynchronise(&mut self) -> Vec<Callback> {
        let (_, running) = self.handle.resync(&self.events, &[self.application]);
        let running: Vec<_> = running.into_iter().flat_map(|(_, containers)| containers).collect();
        let runs: BTreeSet<ContainerId> = running.iter().map(|container| container.container).collect();
        let gone = self.by_container.keys().filter(|known| !runs.contains(known));
        let gone: Vec<ContainerId> = gone.copied().collect();
        let mut callbacks = Vec::new();
        callbacks.extend(gone.into_iter().filter_map(|container| self.ended(container, None)));
        for container in running {
            if !self.by_container.contains_key(&container.container) {
                let host = self.host_of(container.node);
                callbacks.extend(self.allocated(container.ask, container.container, host));
            }
        }
        let asks = self.by_ask.keys().copied();
        let over: Vec<AskId> = self.handle.read(|view| asks.filter(|ask| view.is_ask_over(*ask)).collect());
        callbacks.extend(over.into_iter().filter_map(|ask| self.withdrawn(ask)));
        callbacks
    }

    fn host_of(&self, node: apportion::NodeId) -> String {
        self.handle.read(|view| view.node(node).map_or_else(String::new, |node| node.name().to_owned()))
    }

    fn ended(&mut self, container: ContainerId, cause: Option<EndCause>) -> Option<Callback> {
        let reference = self.by_container.remove(&container)?;
        self.containers.remove(&reference);
        Some(Callback::Completed { container: reference, cause })
    }
}

impl ClusterClient for EngineClient {
    fn request(&mut self, request: ContainerRequest) -> Result<RequestId, ClientError> {
        let mut spec = AskSpec::new(request.size, 1).with_priority(request.priority);
        if let Some(host) = request.host {
            let node = self.handle.node(&host).ok_or(ClientError::UnknownHost { host })?;
            spec = spec.on_hosts([node]);
            spec.wishes.relax_locality = request.relax_locality;
        }
        let ask = self.handle.submit_ask(self.application, spec);
        let ask = ask.map_err(|error| ClientError::Refused(error.to_string()))?;
        let id = RequestId(self.next_number());
        self.requests.insert(id, ask);
        self.by_ask.insert(ask, id);
        Ok(id)
    }

    fn cancel(&mut self, request: RequestId) -> Result<(), ClientError> {
        let ask = *self.requests.get(&request).ok_or(ClientError::UnknownRequest(request))?;
        self.handle.cancel_ask(ask, 1).map_err(|error| ClientError::Refused(error.to_string()))
    }

    fn release(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        let id = *self.containers.get(&container).ok_or(ClientError::UnknownContainer(container))?;
        self.handle.release_container(id).map_err(|error| ClientError::Refused(error.to_string()))
    }

    fn nodes(&self) -> Vec<NodeReport> {
        self.handle.read(|view| {
            let report = |node: apportion::NodeView<'_>| NodeReport {
                host: node.name().to_owned(),
                capacity: node.capacity(),
                free: node.free(),
                is_usable: node.state() == NodeState::Active && !node.is_stale(),
            };
            view.nodes().map(report).collect()
        })
    }

    fn poll(&mut self) -> Vec<Callback> {
        let mut events = Vec::new();
        let mut callbacks = Vec::new();
        if self.events.drain_into(&mut events).is_err() {
            callbacks = self.resynchronise();
        }
        for event in events {
            let callback = match event.kind {
                EventKind::Allocated { ask, container, node, .. } => {
                    let host = self.host_of(node);
                    self.allocated(ask, container, host)
                }
                EventKind::ContainerEnded { container, cause } => self.ended(container, Some(cause)),
                EventKind::AskCancelled { ask, .. } | EventKind::AskRefused { ask, .. } => {
                    self.withdrawn(ask)
                }
                _ => None,
            };
            callbacks.extend(callback);
        }
        callbacks
    }
}
