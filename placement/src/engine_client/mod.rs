//! The Apportion engine as a cluster manager.

mod explain;
mod nodes;
mod requests;
mod swap;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskId, Blacklist, ContainerId, EndCause, Event,
    EventKind, EventStream, Handle, SubmitError,
};

use crate::client::{
    Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest, Dismissal, Launch, NodeReport,
    RequestId, RunningContainer, Unserved,
};
use crate::exit::ContainerExit;
use nodes::ReportedNodes;
pub(crate) use nodes::reports;
use requests::Requests;
use swap::Swaps;

/// One service as an application of an engine.
///
/// The engine places containers and does not run them. What is [started](ClusterClient::start) counts as started at once,
/// unless [node agents report](Self::with_node_agents) what becomes of it.
#[derive(Debug)]
pub struct EngineClient {
    handle: Handle,
    application: ApplicationId,
    events: EventStream,
    requests: Requests,
    containers: BTreeMap<ContainerRef, Placed>,
    by_container: BTreeMap<ContainerId, ContainerRef>,
    numbers: ContainerNumbers,
    exits: BTreeMap<ContainerId, ContainerExit>,
    nodes: ReportedNodes,
    has_node_agents: bool,
    dismissal: Option<Dismissal>,
    blacklisted: BTreeSet<Arc<str>>,
    swaps: Swaps,
    /// What is to be told besides what the engine says.
    told: Vec<Callback>,
}

/// Numbers for containers, each given once. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct ContainerNumbers(Arc<AtomicU64>);

impl ContainerNumbers {
    fn next(&self) -> ContainerRef {
        ContainerRef(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// A container of the service.
#[derive(Clone, Debug)]
struct Placed {
    container: ContainerId,
    priority: u32,
    host: Arc<str>,
    launch: Option<Launch>,
}

impl EngineClient {
    /// Submits the service's application. `events_max` events may wait to be polled.
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
            swaps: Swaps::default(),
            requests: Requests::default(),
            containers: BTreeMap::new(),
            by_container: BTreeMap::new(),
            numbers: ContainerNumbers::default(),
            exits: BTreeMap::new(),
            nodes: ReportedNodes::default(),
            has_node_agents: false,
            dismissal: None,
            blacklisted: BTreeSet::new(),
            told: Vec::new(),
        })
    }

    /// The same client, to which node agents report what was started and how it ended.
    #[must_use]
    pub fn with_node_agents(mut self) -> Self {
        self.has_node_agents = true;
        self
    }

    /// The same client, whose containers are numbered along with those of all other clients that share these numbers.
    /// Without them, clients of one engine give the same numbers to different containers.
    #[must_use]
    pub fn with_container_numbers(mut self, numbers: &ContainerNumbers) -> Self {
        self.numbers = numbers.clone();
        self
    }

    /// The engine's application.
    #[must_use]
    pub fn application(&self) -> ApplicationId {
        self.application
    }

    /// What the engine calls a container; `None` once it has ended.
    #[must_use]
    pub fn engine_container(&self, container: ContainerRef) -> Option<ContainerId> {
        self.containers.get(&container).map(|placed| placed.container)
    }

    /// A node agent says that what was started runs.
    ///
    /// # Errors
    /// When the container has ended.
    pub fn report_started(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        self.placed(container)?;
        self.told.push(Callback::Started(container));
        Ok(())
    }

    /// A node agent says that nothing could be started.
    ///
    /// # Errors
    /// When the container has ended.
    pub fn report_start_failed(&mut self, container: ContainerRef, why: String) -> Result<(), ClientError> {
        self.placed(container)?;
        self.told.push(Callback::StartFailed { container, diagnostics: why });
        Ok(())
    }

    /// A node agent says that what ran in a container has ended.
    ///
    /// # Errors
    /// When the container has ended before.
    pub fn report_exit(&mut self, container: ContainerRef, exit: ContainerExit) -> Result<(), ClientError> {
        let id = self.placed(container)?.container;
        self.handle.complete_container(id).map_err(|error| self.refused(&error))?;
        self.exits.insert(id, exit);
        Ok(())
    }

    /// Ends the application; its containers end with it.
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn finish(self, end: ApplicationEnd) -> Result<(), SubmitError> {
        self.handle.end_application(self.application, end)
    }

    fn placed(&self, container: ContainerRef) -> Result<&Placed, ClientError> {
        self.containers.get(&container).ok_or(ClientError::UnknownContainer(container))
    }

    fn hear(&mut self, event: &Event) -> Option<Callback> {
        match event.kind {
            EventKind::Allocated { ask, container, node, .. } => {
                let host = self.nodes.host_of(&self.handle, node);
                self.allocated(ask, container, host)
            }
            EventKind::ContainerEnded { container, cause } => self.ended(container, Some(cause)),
            EventKind::AskCancelled { ask, .. } | EventKind::AskRefused { ask, .. } => {
                self.requests.over(ask).map(Callback::Withdrawn)
            }
            EventKind::ApplicationEnded { end } => self.dismissed(match end {
                ApplicationEnd::Expired => Dismissal::Expired,
                ApplicationEnd::Finished | ApplicationEnd::Killed => Dismissal::Ended,
            }),
            EventKind::ApplicationRefused { refusal } => {
                self.dismissed(Dismissal::Refused(refusal.to_string()))
            }
            _ => None,
        }
    }

    /// Why the engine did not take something. With one that is shut down all containers are gone.
    fn refused(&mut self, error: &SubmitError) -> ClientError {
        if *error == SubmitError::Closed && self.dismissal.is_none() {
            self.dismissal = Some(Dismissal::Gone);
            let all: Vec<ContainerId> = self.by_container.keys().copied().collect();
            let ended: Vec<Callback> =
                all.into_iter().filter_map(|container| self.ended(container, None)).collect();
            self.told.extend(ended);
        }
        ClientError::Refused(error.to_string())
    }

    /// Nothing is told of it: it is asked for.
    fn dismissed(&mut self, why: Dismissal) -> Option<Callback> {
        self.dismissal.get_or_insert(why);
        None
    }

    fn allocated(&mut self, ask: AskId, container: ContainerId, host: Arc<str>) -> Option<Callback> {
        let reference = self.numbers.next();
        let allocation = self.requests.served(ask, reference, host)?;
        let placed =
            Placed { container, priority: allocation.priority, host: allocation.host.clone(), launch: None };
        self.containers.insert(reference, placed);
        self.by_container.insert(container, reference);
        Some(Callback::Allocated(vec![allocation]))
    }

    fn ended(&mut self, container: ContainerId, cause: Option<EndCause>) -> Option<Callback> {
        let reference = self.by_container.remove(&container)?;
        self.containers.remove(&reference);
        let reported = self.exits.remove(&container);
        let exit = match (cause, reported) {
            (Some(EndCause::Completed) | None, Some(reported)) => reported,
            (cause, _) => ContainerExit::of(exit_status(cause)),
        };
        Some(Callback::Completed(vec![(reference, exit)]))
    }

    /// Events were left out: what runs now says what was missed.
    fn resynchronise(&mut self) -> Vec<Callback> {
        let (_, running) = self.handle.resync(&self.events, &[self.application]);
        if running.is_empty() {
            self.dismissal.get_or_insert(Dismissal::Ended);
        }
        let running: BTreeMap<ContainerId, _> =
            running.into_iter().flat_map(|(_, found)| found).map(|found| (found.container, found)).collect();
        let gone: Vec<ContainerId> =
            self.by_container.keys().filter(|known| !running.contains_key(known)).copied().collect();
        let mut callbacks: Vec<Callback> =
            gone.into_iter().filter_map(|container| self.ended(container, None)).collect();
        for (container, found) in running {
            if !self.by_container.contains_key(&container) {
                let host = self.nodes.host_of(&self.handle, found.node);
                callbacks.extend(self.allocated(found.ask, container, host));
            }
        }
        let over: Vec<AskId> = self.handle.read(|view| self.requests.over_in(view));
        callbacks.extend(over.into_iter().filter_map(|ask| self.requests.over(ask)).map(Callback::Withdrawn));
        callbacks
    }
}

/// YARN's number for the end of a container that nobody reported the exit of.
fn exit_status(cause: Option<EndCause>) -> i32 {
    match cause {
        Some(EndCause::Completed) => ContainerExit::SUCCESS,
        Some(EndCause::Released) => ContainerExit::KILLED_BY_APPMASTER,
        Some(EndCause::Preempted) => ContainerExit::PREEMPTED,
        Some(EndCause::ApplicationEnded) => ContainerExit::KILLED_AFTER_APP_COMPLETION,
        Some(EndCause::NodeLost) | None => ContainerExit::ABORTED,
    }
}

impl ClusterClient for EngineClient {
    fn keeps_apart(&self) -> bool {
        true
    }

    fn request(&mut self, request: ContainerRequest) -> Result<(), ClientError> {
        let spec = requests::ask_spec(&self.handle, &request);
        if let Err(ClientError::UnknownHost { host }) = &spec {
            self.nodes.doubt(host);
        }
        let spec = spec?;
        self.requests.check_new(request.id)?;
        let ask = self.handle.submit_ask(self.application, spec).map_err(|error| self.refused(&error))?;
        self.requests.made(ask, &request);
        Ok(())
    }

    fn cancel(&mut self, request: RequestId) -> Result<(), ClientError> {
        let ask = self.requests.ask(request).ok_or(ClientError::UnknownRequest(request))?;
        self.handle.cancel_ask(ask, 1).map_err(|error| self.refused(&error))
    }

    fn release(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        let id = self.placed(container)?.container;
        self.handle.release_container(id).map_err(|error| self.refused(&error))
    }

    /// One commit request: the engine takes the one and gives the other, or does neither. If it does neither, because
    /// another service has claimed the node or the queue has no room for the difference, the container is given back
    /// and the request waits.
    fn swap(&mut self, container: ContainerRef, request: ContainerRequest) -> Result<(), ClientError> {
        let id = self.placed(container)?.container;
        let [host] = &request.hosts[..] else { return Err(ClientError::CannotSwap) };
        let unknown = ClientError::UnknownHost { host: host.to_string() };
        let node = self.handle.node(host).ok_or(unknown)?;
        let number = request.id;
        self.request(request)?;
        let ask = self.requests.ask(number).ok_or(ClientError::UnknownRequest(number))?;
        let ticket = self.handle.commit(swap::commit_request(id, ask, node));
        let ticket = ticket.map_err(|error| self.refused(&error))?;
        self.swaps.begun(container, ticket);
        Ok(())
    }

    fn start(&mut self, container: ContainerRef, launch: &Launch) -> Result<(), ClientError> {
        let placed = self.containers.get_mut(&container);
        placed.ok_or(ClientError::UnknownContainer(container))?.launch = Some(launch.clone());
        if !self.has_node_agents {
            self.told.push(Callback::Started(container));
        }
        Ok(())
    }

    fn update_blacklist(&mut self, add: &[Arc<str>], remove: &[Arc<str>]) -> Result<(), ClientError> {
        let list =
            |hosts: &[Arc<str>]| Blacklist::new().with_hosts(hosts.iter().map(|host| host.to_string()));
        let (added, removed) = (list(add), list(remove));
        let updated = self.handle.update_blacklist(self.application, added, removed);
        updated.map_err(|error| self.refused(&error))?;
        self.blacklisted.retain(|host| !remove.contains(host));
        self.blacklisted.extend(add.iter().cloned());
        Ok(())
    }

    fn nodes(&self) -> Vec<NodeReport> {
        nodes::reports(&self.handle)
    }

    fn take_over(&mut self) -> Vec<RunningContainer> {
        // What was told and not polled, and what is still to be swapped, concerns a master that is no more; what was placed
        // since is found here.
        self.told.clear();
        self.swaps = Swaps::default();
        let mut waiting = Vec::new();
        while self.events.drain_into(&mut waiting).is_err() {
            self.resynchronise();
        }
        for event in &waiting {
            self.hear(event);
        }
        for ask in self.requests.forget() {
            // One that is over cannot be cancelled, and needs not be.
            let _ = self.handle.cancel_ask(ask, 1);
        }
        self.nodes.forget();
        let hosts: Vec<Arc<str>> = self.blacklisted.iter().cloned().collect();
        // An engine that is shut down has no list to change.
        let _ = self.update_blacklist(&[], &hosts);
        let running = self.containers.iter().map(|(container, placed)| RunningContainer {
            container: *container,
            priority: placed.priority,
            host: placed.host.clone(),
            launch: placed.launch.clone(),
        });
        running.collect()
    }

    fn explain(&self, request: RequestId) -> Option<Unserved> {
        let ask = self.requests.ask(request)?;
        let explanation = self.handle.read(|view| view.explain(ask));
        explain::unserved(&explanation)
    }

    fn dismissal(&self) -> Option<&Dismissal> {
        self.dismissal.as_ref()
    }

    fn poll(&mut self) -> Vec<Callback> {
        for container in self.swaps.take_refused() {
            // One that has ended meanwhile is told of below.
            let _ = self.release(container);
        }
        let mut callbacks = Vec::new();
        let mut events = Vec::new();
        if self.events.drain_into(&mut events).is_err() {
            callbacks.extend(self.resynchronise());
        }
        for event in events {
            callbacks.extend(self.hear(&event));
        }
        callbacks.append(&mut self.told);
        callbacks.extend(self.nodes.update(&self.handle));
        callbacks
    }
}
