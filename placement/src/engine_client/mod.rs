//! The Apportion engine as a cluster manager.

mod attach;
mod commands;
mod explain;
mod nodes;
mod requests;
mod stop;
mod swap;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apportion::engine::SubmitError;
use apportion::event::{Event, EventKind};
use apportion::view::ApplicationView;
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskId, Blacklist, ContainerId, EndCause, EventStream,
    Handle,
};

use crate::client::{
    Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest, Dismissal, Launch, NodeReport,
    Obstacle, RequestId, RunningContainer, Unserved,
};
use crate::exit::ContainerExit;
pub use commands::NodeCommand;
use nodes::ReportedNodes;
pub(crate) use nodes::reports;
use requests::Requests;
use swap::Swaps;

/// One service as an application of an engine.
///
/// The engine places containers and does not run them. What is [started](ClusterClient::start) counts as started at
/// once, and what is given back as ended, unless [node agents](Self::with_node_agents) run it.
#[derive(Debug)]
pub struct EngineClient {
    handle: Handle,
    application: ApplicationId,
    events: EventStream,
    requests: Requests,
    containers: BTreeMap<ContainerRef, Placed>,
    /// Containers that were being stopped when this client found them: their agents are still to be told.
    found_stopping: BTreeSet<ContainerRef>,
    exits: BTreeMap<ContainerId, ContainerExit>,
    /// The processes in containers that nodes reported and the engine has not announced.
    late: BTreeMap<ContainerRef, Launch>,
    nodes: ReportedNodes,
    has_node_agents: bool,
    dismissal: Option<Dismissal>,
    blacklisted: BTreeSet<Arc<str>>,
    swaps: Swaps,
    /// Callbacks that do not come from the engine's events.
    told: Vec<Callback>,
    commands: Vec<NodeCommand>,
}

/// A container of the service.
#[derive(Clone, Debug)]
struct Placed {
    priority: u32,
    host: Arc<str>,
    launch: Option<Launch>,
    /// Set while the engine waits for its end: the cause that the end will have.
    stopping: Option<EndCause>,
}

impl Placed {
    fn as_running(&self, container: ContainerRef) -> RunningContainer {
        RunningContainer {
            container,
            priority: self.priority,
            host: self.host.clone(),
            launch: self.launch.clone(),
            is_stopping: self.stopping.is_some(),
        }
    }
}

/// The end of its application, as a dismissal of the service.
fn dismissal_by(end: ApplicationEnd) -> Dismissal {
    match end {
        ApplicationEnd::Expired => Dismissal::Expired,
        ApplicationEnd::Finished | ApplicationEnd::Killed => Dismissal::Ended,
    }
}

impl EngineClient {
    /// Submits the service's application. `events_max` events may wait to be polled.
    ///
    /// # Errors
    /// When the engine does not take the application.
    pub fn submit(handle: Handle, spec: ApplicationSpec, events_max: usize) -> Result<Self, SubmitError> {
        let events = handle.event_stream(events_max);
        let application = handle.submit_application(spec, &events)?;
        Ok(Self::of(handle, application, events))
    }

    fn of(handle: Handle, application: ApplicationId, events: EventStream) -> Self {
        Self {
            handle,
            application,
            events,
            swaps: Swaps::default(),
            requests: Requests::default(),
            containers: BTreeMap::new(),
            found_stopping: BTreeSet::new(),
            exits: BTreeMap::new(),
            late: BTreeMap::new(),
            nodes: ReportedNodes::default(),
            has_node_agents: false,
            dismissal: None,
            blacklisted: BTreeSet::new(),
            told: Vec::new(),
            commands: Vec::new(),
        }
    }

    /// The same client, for node agents that do what [`take_commands`](Self::take_commands) says and report what was
    /// started and how it ended. A container that is given back keeps its place until its end is reported, or until the
    /// engine's [`stop_timeout_ms`](apportion::config::EngineConfig::stop_timeout_ms) has passed.
    #[must_use]
    pub fn with_node_agents(mut self) -> Self {
        self.has_node_agents = true;
        self
    }

    /// The engine's application.
    #[must_use]
    pub fn application(&self) -> ApplicationId {
        self.application
    }

    /// The engine's identifier of a container; `None` once it has ended.
    #[must_use]
    pub fn engine_container(&self, container: ContainerRef) -> Option<ContainerId> {
        self.containers.contains_key(&container).then(|| ContainerId::from_number(container.0))
    }

    /// The identifier that every client uses for this container of its engine.
    #[must_use]
    pub fn reference(container: ContainerId) -> ContainerRef {
        ContainerRef(container.number())
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

    /// A node agent says that nothing could be started. A container that is being stopped has ended with that.
    ///
    /// # Errors
    /// When the container has ended.
    pub fn report_start_failed(&mut self, container: ContainerRef, why: String) -> Result<(), ClientError> {
        let placed = self.containers.get_mut(&container).ok_or(ClientError::UnknownContainer(container))?;
        if placed.stopping.is_some() {
            return self.report_exit(container, ContainerExit { status: 1, diagnostics: why });
        }
        placed.launch = None;
        self.told.push(Callback::StartFailed { container, diagnostics: why });
        Ok(())
    }

    /// Ends the application; its containers end with it. Where the engine
    /// [stops](apportion::config::EngineConfig::stop_ended_applications) them first, go on polling and carrying out
    /// [commands](Self::take_commands) until none is left.
    ///
    /// # Errors
    /// When the engine is shut down.
    pub fn finish(&mut self, end: ApplicationEnd) -> Result<(), SubmitError> {
        self.handle.end_application(self.application, end)?;
        if self.handle.config().stop_ended_applications && !self.has_node_agents {
            self.confirm_all()?;
        }
        Ok(())
    }

    /// Whether the engine has no such application any more, or not yet.
    pub(crate) fn is_gone(&self) -> bool {
        self.handle.read(|view| view.application(self.application).is_none())
    }

    fn engine_containers(&self) -> impl Iterator<Item = ContainerId> {
        self.containers.keys().map(|container| ContainerId::from_number(container.0))
    }

    fn placed(&self, container: ContainerRef) -> Result<&Placed, ClientError> {
        self.containers.get(&container).ok_or(ClientError::UnknownContainer(container))
    }

    fn on_event(&mut self, event: &Event) -> Option<Callback> {
        match event.kind {
            EventKind::Allocated { ask, container, node, .. } => {
                let host = self.nodes.host_of(&self.handle, node);
                self.allocated(ask, container, host)
            }
            EventKind::ContainerStopping { container, cause, .. } => self.told_to_stop(container, cause),
            EventKind::ContainerRecovered { container, .. } => self.recovered(container),
            EventKind::ContainerEnded { container, cause } => self.ended(container, Some(cause)),
            EventKind::AskCancelled { ask, .. } | EventKind::AskRefused { ask, .. } => {
                self.requests.over(ask).map(Callback::Withdrawn)
            }
            EventKind::ApplicationEnding { end } | EventKind::ApplicationEnded { end } => {
                self.dismissed(dismissal_by(end))
            }
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
            let all: Vec<ContainerId> = self.engine_containers().collect();
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
        let reference = Self::reference(container);
        let allocation = self.requests.served(ask, reference, host)?;
        let (priority, host) = (allocation.priority, allocation.host.clone());
        self.containers.insert(reference, Placed { priority, host, launch: None, stopping: None });
        Some(Callback::Allocated(vec![allocation]))
    }

    /// Events were left out: what runs now says what was missed.
    fn resynchronise(&mut self) -> Vec<Callback> {
        let (_, running) = self.handle.resync(&self.events, &[self.application]);
        let ending = |known: ApplicationView<'_>| known.ending();
        let ending = self.handle.read(|view| view.application(self.application).and_then(ending));
        if running.is_empty() || ending.is_some() {
            self.dismissed(ending.map_or(Dismissal::Ended, dismissal_by));
        }
        let running: BTreeMap<ContainerId, _> =
            running.into_iter().flat_map(|(_, found)| found).map(|found| (found.container, found)).collect();
        let gone: Vec<ContainerId> =
            self.engine_containers().filter(|known| !running.contains_key(known)).collect();
        let mut callbacks: Vec<Callback> =
            gone.into_iter().filter_map(|container| self.ended(container, None)).collect();
        for (container, found) in running {
            if !self.containers.contains_key(&Self::reference(container)) {
                let host = self.nodes.host_of(&self.handle, found.node);
                let came = self.allocated(found.ask, container, host);
                // Of what was placed for asks that this client did not make nothing was told before either.
                callbacks.extend(match came {
                    None if found.is_recovered => self.recovered(container),
                    came => came,
                });
            }
            if let Some(stopping) = found.stopping {
                self.told_to_stop(container, stopping.cause);
            }
        }
        let over: Vec<AskId> = self.handle.read(|view| self.requests.over_in(view));
        callbacks.extend(over.into_iter().filter_map(|ask| self.requests.over(ask)).map(Callback::Withdrawn));
        callbacks
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
        if self.swaps.take_waiting(request) {
            self.told.push(Callback::Withdrawn(request));
            return Ok(());
        }
        let ask = self.requests.ask(request).ok_or(ClientError::UnknownRequest(request))?;
        self.handle.cancel_ask(ask, 1).map_err(|error| self.refused(&error))
    }

    fn release(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        let placed = self.placed(container)?;
        if self.awaits_end_of(placed) {
            self.stop(container);
            return Ok(());
        }
        self.give_back(container)
    }

    /// One commit request: the engine takes the one and gives the other, or does neither. If it does neither, because
    /// another service has claimed the node or the queue has no room for the difference, the container is given back
    /// and the request waits. With node agents the request is made when the end of the container is reported.
    fn swap(&mut self, container: ContainerRef, request: ContainerRequest) -> Result<(), ClientError> {
        let placed = self.placed(container)?;
        if request.hosts.len() != 1 {
            return Err(ClientError::CannotSwap);
        }
        if self.awaits_end_of(placed) {
            requests::ask_spec(&self.handle, &request)?;
            self.requests.check_new(request.id)?;
            self.swaps.wait(container, request);
            self.stop(container);
            return Ok(());
        }
        self.swap_now(container, request)
    }

    fn start(&mut self, container: ContainerRef, launch: &Launch) -> Result<(), ClientError> {
        let placed = self.containers.get_mut(&container);
        let placed = placed.ok_or(ClientError::UnknownContainer(container))?;
        placed.launch = Some(launch.clone());
        if self.has_node_agents {
            let (host, launch) = (placed.host.clone(), launch.clone());
            self.commands.push(NodeCommand::Launch { container, host, launch });
        } else {
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
        // What was told and not polled, and what is still to be swapped, concerns a master that is no more; what was
        // placed since is found here.
        self.told.clear();
        self.swaps = Swaps::default();
        let mut waiting = Vec::new();
        while self.events.drain_into(&mut waiting).is_err() {
            self.resynchronise();
        }
        for event in &waiting {
            self.on_event(event);
        }
        for ask in self.requests.forget() {
            // One that is over cannot be cancelled, and needs not be.
            let _ = self.handle.cancel_ask(ask, 1);
        }
        self.nodes.forget();
        let hosts: Vec<Arc<str>> = self.blacklisted.iter().cloned().collect();
        // An engine that is shut down has no list to change.
        let _ = self.update_blacklist(&[], &hosts);
        self.containers.iter().map(|(container, placed)| placed.as_running(*container)).collect()
    }

    fn explain(&self, request: RequestId) -> Option<Unserved> {
        if let Some(container) = self.swaps.awaited(request) {
            let text = format!("container {} is being stopped and makes way for it", container.0);
            return Some(Unserved { obstacle: Obstacle::None, text });
        }
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
            let _ = self.give_back(container);
        }
        let mut callbacks = Vec::new();
        let mut events = Vec::new();
        if self.events.drain_into(&mut events).is_err() {
            callbacks.extend(self.resynchronise());
        }
        for event in events {
            callbacks.extend(self.on_event(&event));
        }
        self.obey_found_stops();
        self.forget_late();
        callbacks.append(&mut self.told);
        callbacks.extend(self.nodes.update(&self.handle));
        callbacks
    }
}
