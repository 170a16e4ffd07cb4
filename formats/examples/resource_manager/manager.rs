//! The manager: an engine with a log, nodes that come and go, and jobs that keep a number of containers running.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apportion::event::{Event, EventKind};
use apportion::file_log::{FileLog, FileLogOptions};
use apportion::nodes::{
    NodeHeartbeat, NodeRegistration, NodeSession, ResourceTracker, TrackerOptions, UnknownContainers,
};
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, Clock, ContainerId, Engine, EventStream, Handle, Mode, NodeSpec,
    ResourceTypes, Resources, RunningContainer, SystemClock,
};
use apportion_formats::capacity_scheduler::from_capacity_scheduler_xml;

/// A node that does not connect to a new manager is lost after this time.
const LEASE_MS: u64 = 600_000;

pub(crate) type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// A job that keeps a number of containers running.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    pub(crate) queue: &'static str,
    pub(crate) memory_mib: i64,
    pub(crate) containers: u32,
}

/// An order to the agent of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Directive {
    Start { node: String, container: ContainerId, application: ApplicationId },
    Stop { node: String, container: ContainerId },
}

pub(crate) struct ResourceManager {
    engine: Engine,
    handle: Handle,
    events: EventStream,
    clock: Arc<SystemClock>,
    tracker: ResourceTracker,
    /// The next heartbeat of each connected agent. A connection loses no line, so the manager sends it itself.
    connections: BTreeMap<String, (NodeSession, NodeHeartbeat)>,
    /// The size of each job's containers.
    sizes: BTreeMap<ApplicationId, Resources>,
}

impl ResourceManager {
    /// Goes on with the log in the folder, or begins one with these queues.
    pub(crate) fn open(folder: &Path, queues: &str) -> Fallible<Self> {
        let log = FileLog::open(folder, FileLogOptions::default())?;
        let (mode, clock) = (Mode::Background, Arc::new(SystemClock::new()));
        let engine = if let Some(contents) = log.contents()? {
            Engine::recover(contents, mode, clock.clone(), Some(Box::new(log)))?.0
        } else {
            let types = ResourceTypes::memory_and_vcores();
            let config = from_capacity_scheduler_xml(queues, "capacity-scheduler.xml", &types)?.config;
            Engine::start(config, mode, clock.clone(), Some(Box::new(log)))?
        };
        let (handle, now_ms) = (engine.handle(), clock.now_ms());
        let options = TrackerOptions { epoch: now_ms, lease_ms: LEASE_MS, unknown: UnknownContainers::Stop };
        Ok(Self {
            tracker: ResourceTracker::new(handle.clone(), options, now_ms),
            events: handle.event_stream(1 << 20),
            handle,
            engine,
            clock,
            connections: BTreeMap::new(),
            sizes: BTreeMap::new(),
        })
    }

    /// Runs the job, or goes on with it if the log has it.
    pub(crate) fn submit(&mut self, job: &Job) -> Fallible<ApplicationId> {
        let size = self.handle.resources(&[("memory_mib", job.memory_mib), ("vcore_milli", 100)])?;
        let named = |engine: &Engine| {
            engine.read(|view| view.applications().find(|(_, one)| one.name() == job.name).map(|(id, _)| id))
        };
        let Some(id) = named(&self.engine) else {
            let id = self
                .handle
                .submit_application(ApplicationSpec::new(job.name, job.queue, "ann"), &self.events)?;
            self.handle.submit_ask(id, AskSpec::new(size, job.containers))?;
            self.sizes.insert(id, size);
            return Ok(id);
        };
        self.sizes.insert(id, size);
        let attached = self.handle.attach(id, &self.events)?.wait().ok_or("the engine has ended")??;
        self.tracker.resync();
        // A manager that was killed may not have asked for what had ended.
        let outstanding: u32 = attached.asks.iter().map(|ask| ask.outstanding).sum();
        let missing = job.containers.saturating_sub(attached.containers.len() as u32 + outstanding);
        if missing > 0 {
            self.handle.submit_ask(id, AskSpec::new(size, missing))?;
        }
        Ok(id)
    }

    /// An agent connects and reports the containers that it runs. The tracker knows what has to be stopped.
    pub(crate) fn node_connected(
        &mut self,
        name: &str,
        memory_mib: i64,
        running: &[(ContainerId, ApplicationId)],
    ) -> Fallible<()> {
        let capacity = self.handle.resources(&[("memory_mib", memory_mib), ("vcore_milli", 64_000)])?;
        let mut registration = NodeRegistration::new(NodeSpec::new(name, capacity));
        // The log has every container that was ever started, so none is adopted, and their sizes do not count.
        for (container, application) in running {
            let described = RunningContainer::new(*application, Resources::ZERO);
            registration = registration.with_running(*container, described);
        }
        let session = self.tracker.register(registration, self.clock.now_ms())?;
        self.connections.insert(name.to_owned(), (session, NodeHeartbeat::default()));
        Ok(())
    }

    /// The connection to an agent is broken, and its node counts as lost.
    pub(crate) fn node_lost(&mut self, name: &str) -> Fallible<()> {
        if let Some((session, _)) = self.connections.remove(name) {
            self.tracker.remove(session.node)?.wait().ok_or("the engine has ended")??;
        }
        Ok(())
    }

    /// An agent tells that the processes of a container have ended.
    pub(crate) fn container_ended(&mut self, node: &str, container: ContainerId) -> Fallible<()> {
        let (_, heartbeat) = self.connections.get_mut(node).ok_or("the node is not connected")?;
        heartbeat.completed.push(container);
        Ok(())
    }

    /// Waits for events, and returns the orders that they lead to.
    pub(crate) fn poll(&mut self, patience: Duration) -> Fallible<Vec<Directive>> {
        self.take_events(patience)?;
        self.tracker.expire(self.clock.now_ms())?;
        self.take_directives()
    }

    /// Returns the orders when nothing is left to do.
    pub(crate) fn run_until_quiet(&mut self) -> Fallible<Vec<Directive>> {
        let mut all = Vec::new();
        loop {
            self.engine.run_until_quiet();
            let (events, directives) = (self.take_events(Duration::ZERO)?, self.take_directives()?);
            if events == 0 && directives.is_empty() {
                return Ok(all);
            }
            all.extend(directives);
        }
    }

    fn take_events(&mut self, patience: Duration) -> Fallible<usize> {
        let mut events: Vec<Event> = self.events.wait_timeout(patience)?.into_iter().collect();
        self.events.drain_into(&mut events)?;
        for event in &events {
            self.on_event(event)?;
        }
        if !self.engine.is_running() {
            return Err(self.engine.log_error().unwrap_or_else(|| "the engine has ended".to_owned()).into());
        }
        Ok(events.len())
    }

    fn on_event(&mut self, event: &Event) -> Fallible<()> {
        self.tracker.on_event(event);
        let application = event.application;
        match event.kind {
            EventKind::ContainerEnded { .. } => {
                self.handle.submit_ask(application, AskSpec::new(self.sizes[&application], 1))?;
            }
            EventKind::ApplicationRefused { refusal } | EventKind::AskRefused { refusal, .. } => {
                return Err(refusal.into());
            }
            _ => {}
        }
        Ok(())
    }

    fn take_directives(&mut self) -> Fallible<Vec<Directive>> {
        let (mut all, now_ms) = (Vec::new(), self.clock.now_ms());
        for (node, (session, heartbeat)) in &mut self.connections {
            let answer = self.tracker.heartbeat(session, heartbeat, now_ms)?;
            *heartbeat = NodeHeartbeat { version: answer.version, ..NodeHeartbeat::default() };
            all.extend(answer.stop.iter().map(|id| Directive::Stop { node: node.clone(), container: *id }));
            all.extend(answer.start.iter().map(|start| {
                let (container, application) = (start.container, start.application);
                Directive::Start { node: node.clone(), container, application }
            }));
        }
        Ok(all)
    }

    /// Why the job's first pending ask waits; `None` if nothing is pending.
    pub(crate) fn explain(&self, job: ApplicationId) -> Option<String> {
        let ask =
            self.engine.read(|view| view.asks().find(|ask| ask.application() == job).map(|ask| ask.id()))?;
        Some(self.engine.explain(ask).to_string())
    }

    /// The containers of each node, by name.
    pub(crate) fn containers(&self) -> BTreeMap<String, BTreeSet<ContainerId>> {
        self.engine.read(|view| {
            let of = |node: &apportion::view::NodeView<'_>| node.containers().iter().copied().collect();
            view.nodes().map(|node| (node.name().to_owned(), of(&node))).collect()
        })
    }
}
