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
use apportion::preempt::DisruptionBudget;
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
/// The engine places containers but runs no processes. Without [node agents](Self::with_node_agents), a
/// container counts as running when it is [started](ClusterClient::start), and as ended when it is
/// released.
#[derive(Debug)]
pub struct EngineClient {
    handle: Handle,
    application: ApplicationId,
    events: EventStream,
    requests: Requests,
    containers: BTreeMap<ContainerRef, Placed>,
    /// Containers that were stopping when this client found them; their agents have no command yet.
    found_stopping: BTreeSet<ContainerRef>,
    exits: BTreeMap<ContainerId, ContainerExit>,
    /// Processes in containers that node agents reported and the engine has not announced.
    late: BTreeMap<ContainerRef, Launch>,
    nodes: ReportedNodes,
    has_node_agents: bool,
    dismissal: Option<Dismissal>,
    blacklisted: BTreeSet<Arc<str>>,
    swaps: Swaps,
    /// Callbacks that come from this client instead of the engine's events.
    told: Vec<Callback>,
    commands: Vec<NodeCommand>,
}

/// A container of the service.
#[derive(Clone, Debug)]
struct Placed {
    priority: u32,
    host: Arc<str>,
    launch: Option<Launch>,
    /// Set while the engine waits for its end: the cause of that end.
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

/// Converts the end of an application into a dismissal.
fn dismissal_by(end: ApplicationEnd) -> Dismissal {
    match end {
        ApplicationEnd::Expired => Dismissal::Expired,
        ApplicationEnd::Finished | ApplicationEnd::Killed => Dismissal::Ended,
    }
}

impl EngineClient {
    /// Submits the service's application. At most `events_max` events may wait to be polled.
    ///
    /// # Errors
    /// If the engine refuses the application.
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

    /// Sets up the client for node agents, which carry out [`take_commands`](Self::take_commands) and
    /// report starts and exits. A released container keeps its place until its exit is reported, or until
    /// the engine's [`stop_timeout_ms`](apportion::config::EngineConfig::stop_timeout_ms) has passed.
    #[must_use]
    pub fn with_node_agents(mut self) -> Self {
        self.has_node_agents = true;
        self
    }

    /// Returns the engine's application.
    #[must_use]
    pub fn application(&self) -> ApplicationId {
        self.application
    }

    /// Returns the engine's identifier of a container; `None` once it has ended.
    #[must_use]
    pub fn engine_container(&self, container: ContainerRef) -> Option<ContainerId> {
        self.containers.contains_key(&container).then(|| ContainerId::from_number(container.0))
    }

    /// Returns the reference that every client uses for this container.
    #[must_use]
    pub fn reference(container: ContainerId) -> ContainerRef {
        ContainerRef(container.number())
    }

    /// Reports, for a node agent, that the process runs.
    ///
    /// # Errors
    /// If the container has ended.
    pub fn report_started(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        self.placed(container)?;
        self.told.push(Callback::Started(container));
        Ok(())
    }

    /// Reports, for a node agent, that the start failed. A stopping container has thereby ended.
    ///
    /// # Errors
    /// If the container has ended.
    pub fn report_start_failed(&mut self, container: ContainerRef, why: String) -> Result<(), ClientError> {
        let placed = self.containers.get_mut(&container).ok_or(ClientError::UnknownContainer(container))?;
        if placed.stopping.is_some() {
            return self.report_exit(container, ContainerExit { status: 1, diagnostics: why });
        }
        placed.launch = None;
        self.told.push(Callback::StartFailed { container, diagnostics: why });
        Ok(())
    }

    /// Ends the application and its containers. If the engine
    /// [stops](apportion::config::EngineConfig::stop_ended_applications) the containers first, keep polling
    /// and carrying out [commands](Self::take_commands) until none is left.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn finish(&mut self, end: ApplicationEnd) -> Result<(), SubmitError> {
        self.handle.end_application(self.application, end)?;
        if self.handle.config().stop_ended_applications && !self.has_node_agents {
            self.confirm_all()?;
        }
        Ok(())
    }

    /// Returns whether the engine does not know the application, or not yet.
    pub(crate) fn is_unknown(&self) -> bool {
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
            EventKind::ContainerEnded { container, cause, .. } => self.ended(container, Some(cause)),
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

    /// Handles a refusal of the engine. If the engine is shut down, all containers have ended.
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

    /// Records a dismissal. There is no callback; the service asks for it.
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

    /// Catches up after lost events, by comparing the known containers with the running ones.
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
                // Containers of asks that this client did not make have no allocation callback.
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
        if self.waits_for_end_of(placed) {
            self.stop(container);
            return Ok(());
        }
        self.give_back(container)
    }

    /// Swaps in one commit request: the engine releases one container and allocates the other, or does
    /// neither. It may do neither because another service has taken the node, or because the queue has no
    /// room for the difference. Then the container is released and the request waits. With node agents, the
    /// commit follows the reported exit.
    fn swap(&mut self, container: ContainerRef, request: ContainerRequest) -> Result<(), ClientError> {
        let placed = self.placed(container)?;
        if request.hosts.len() != 1 {
            return Err(ClientError::CannotSwap);
        }
        if self.waits_for_end_of(placed) {
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

    fn set_disruption_budgets(&mut self, budgets: Vec<DisruptionBudget>) -> Result<(), ClientError> {
        let set = self.handle.set_disruption_budgets(self.application, budgets);
        set.map_err(|error| self.refused(&error))
    }

    fn nodes(&self) -> Vec<NodeReport> {
        nodes::reports(&self.handle)
    }

    fn take_over(&mut self) -> Vec<RunningContainer> {
        // Pending callbacks and swaps belong to the previous master. Containers placed since are found below.
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
            // An ask that is over needs no cancel.
            let _ = self.handle.cancel_ask(ask, 1);
        }
        self.nodes.forget();
        let hosts: Vec<Arc<str>> = self.blacklisted.iter().cloned().collect();
        // An engine that is shut down has no blacklist.
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
            // A container that has ended meanwhile is reported below.
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
